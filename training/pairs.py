"""How well cross-encoders in training order what recall would show them, without running recall for each.

    python -m training.pairs collect                  # once, where recollect is installed
    python training/pairs.py score NAME[+NAME…] …     # states; on a GPU it takes seconds

`collect` keeps the pairs of development queries and their best candidates as token ids, with all other signals.
`score` prints recall@10 / NDCG@10 of recall's mix with a reader's logits on the best six, twelve and twenty-four;
of several names, of the mean of their weights.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "training" / ".cache" / "pairs.npz"
EMBEDDER, RERANKER = "recollect-embed-6", "recollect-rerank-6"
DEPTHS = (6, 12, 24)
WEIGHTS = (0.3, 0.4, 0.5)
BUDGET = 65536  # tokens at once
# (set, units kept, queries kept). Only queries that no model was trained on: scores of trained ones look better
# than they are.
PLAN = (
    ("realmem-as-of", None, 130),
    ("lifebench", 1500, 60),
    ("friendsqa", 2000, None),
    ("timeqa", 2000, 150),
    ("chats", None, None),
    ("assistants", None, None),
    ("notes", None, 100),
    ("answers", None, None),
)


class Recorder:
    """A reranker that keeps what it is shown, and gives each pair its number."""

    name = "recorder"

    def __init__(self, manifest_file: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(manifest_file.parent / "tokenizer.json"))
        manifest = json.loads(manifest_file.read_text(encoding="utf-8"))
        self._tokenizer.enable_truncation(manifest["max_length"])
        self.ids: list[list[int]] = []
        self.asked: list[int] = []  # tokens of each pair that are the query's

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        first = len(self.ids)
        for passage in passages:
            pair = self._tokenizer.encode(query, passage)
            self.ids.append(pair.ids)
            self.asked.append(pair.type_ids.index(1))
        return np.arange(first, len(self.ids), dtype=np.float32)


def collect() -> None:
    from training.fit_relevance import SIGNALS, gathered

    recorder = Recorder(ROOT / "src" / "recollect" / "models" / "weights" / f"{RERANKER}.json")
    lists = gathered(PLAN, recorder)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        FILE,
        **lists,
        signals=np.array(SIGNALS),
        ids=np.concatenate([np.array(ids, np.uint16) for ids in recorder.ids]),
        lengths=np.array([len(ids) for ids in recorder.ids]),
        asked=np.array(recorder.asked),
    )


def logits_of(names: str, data: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Of every pair, by one reader or by the mean of several's weights."""
    import torch

    from states import CACHE, DEVICE, autocast, load_cross
    from weights import unpack

    states = [unpack(CACHE / "state" / f"{name}.npz") for name in names.split("+")]
    mean = {k: np.mean([state[k] for state in states], axis=0) for k in states[0]}
    reader = load_cross(mean, unpack(CACHE / "gte" / "weights.npz")).eval()
    lengths, ends = data["lengths"], np.cumsum(data["lengths"])
    order, out, at = np.argsort(lengths, kind="stable"), np.zeros(len(lengths)), 0
    while at < len(order):
        size = max(1, BUDGET // int(lengths[order[min(at + 512, len(order) - 1)]]))
        part = order[at : at + size]
        ids = np.zeros((len(part), int(lengths[part].max())), np.int64)
        types = np.zeros_like(ids)
        for row, i in enumerate(part):
            ids[row, : lengths[i]] = data["ids"][ends[i] - lengths[i] : ends[i]]
            types[row, data["asked"][i] : lengths[i]] = 1
        with torch.no_grad(), autocast():
            # Of several depths the shallowest is what ships.
            given = reader(*(torch.from_numpy(x).to(DEVICE) for x in (ids, types)))[0]
        out[part] = given.float().cpu().numpy()
        at += len(part)
    return out


def figures(
    data: dict[str, NDArray[Any]], base: NDArray[Any], read: NDArray[Any], depth: int
) -> NDArray[np.float64]:
    """recall@10 and NDCG@10 of each set, the best `depth` of the base order scored as read."""
    from compare import at_ten

    y, out = data["y"], np.zeros((len(data["starts"]), 2))
    ends = [*data["starts"][1:], len(y)]
    for i, (a, b) in enumerate(zip(data["starts"], ends, strict=True)):
        mixed, best = base[a:b].copy(), np.argsort(-base[a:b], kind="stable")[:depth]
        mixed[best] = np.where(np.isnan(read[a:b][best]), mixed[best], read[a:b][best])
        out[i] = at_ten(y[a:b][np.argsort(-mixed, kind="stable")[:10]], int(data["gold"][i]))
    return np.array([out[data["sets"] == s].mean(axis=0) for s in range(len(PLAN))])


def score(names: Sequence[str]) -> None:
    table = json.loads((ROOT / "src/recollect/recall/calibration.json").read_text(encoding="utf-8"))
    late, cross = (table[EMBEDDER]["relevance"][stage] for stage in ("late", "cross"))
    with np.load(FILE) as file:
        data: dict[str, NDArray[Any]] = dict(file)
    x, signals = data["x"].astype(np.float64), data["signals"].tolist()
    columns = [signals.index(s) for s in late["weights"]]
    base = np.nan_to_num(x[:, columns]) @ np.array(list(late["weights"].values()))
    number = x[:, signals.index("cross")]
    shown = np.flatnonzero(~np.isnan(number))
    print("sets", " ".join(name for name, *_ in PLAN))
    for name in names:
        logits = logits_of(name, data)[number[shown].astype(np.int64)]
        for weight in WEIGHTS:
            read = np.full(len(base), np.nan)
            # What was read competes with what was not: each is a probability, by a bias of its own.
            read[shown] = base[shown] + weight * logits + cross["bias"] - late["bias"]
            for depth in DEPTHS:
                by = 100 * figures(data, base, read, depth)
                cells = "  ".join(f"{r:.1f}/{n:.1f}" for r, n in [*by, by.mean(axis=0)])
                print(f"{name} weight {weight} best {depth}: {cells} (mean)", flush=True)


if __name__ == "__main__":
    collect() if sys.argv[1] == "collect" else score(sys.argv[2:])

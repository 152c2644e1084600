"""How well cross-encoders order what recall shows them, without running recall for each.

    python -m training.pairs collect                  # run recall once, keep what a reader would read
    python training/pairs.py score NAME[+NAME…] …     # of training/.cache/state; on a GPU in seconds

`collect` keeps the pairs of development queries and their best candidates as token ids, with all other
signals. `score` prints recall@10 / NDCG@10 of recall's mix with a reader's logits, for the best six, twelve
and twenty-four; of several names, the mean of their weights.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "training" / ".cache" / "pairs.npz"
READ, DEPTH = 24, 300
DEPTHS = (6, 12, 24)
WEIGHTS = (0.35, 0.5, 0.7, 1.0)
GAINS = 1 / np.log2(np.arange(2, 12))
BUDGET = 65536  # tokens at once
# (set, units kept, queries kept)
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

    def __init__(self, tokenizer: Any, most: int) -> None:
        self._tokenizer, self._most = tokenizer, most
        self.ids: list[list[int]] = []
        self.asked: list[int] = []  # tokens of each pair that are the query's

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        first = len(self.ids)
        for passage in passages:
            pair = self._tokenizer.encode(query, passage)
            self.ids.append(pair.ids[: self._most])
            self.asked.append(pair.type_ids.index(1))
        return np.arange(first, len(self.ids), dtype=np.float32)


def collect() -> None:
    sys.path.insert(0, str(ROOT))
    from benchmarks.sets import read, sample
    from tokenizers import Tokenizer

    import recollect
    from recollect.eval.splits import Split
    from recollect.eval.systems import Recollect as System
    from recollect.recall.pipeline import rank
    from recollect.recall.rerank import Reading
    from recollect.telemetry import Run
    from training.fit_relevance import SIGNALS

    shipped = ROOT / "src" / "recollect" / "models" / "weights" / "recollect-rerank-4"
    tokenizer = Tokenizer.from_file(str(shipped / "tokenizer.json"))
    tokenizer.enable_truncation(json.loads((shipped / "recollect.json").read_text())["max_length"])
    recorder = Recorder(tokenizer, 512)
    rows, labels, heads = [], [], list[tuple[int, int, int]]()
    for number, (name, units, queries) in enumerate(PLAN):
        for bank in read(name, Split.DEVELOPMENT).banks:
            bank = sample(bank, units, queries)
            with recollect.open(":memory:") as memory:
                system = System(memory)
                system.index(bank)
                view = memory._store.view(bank.id)
                shown = replace(
                    memory._recalling,
                    reranker=lambda: recorder,
                    crossed={"mid": Reading(READ, READ)},
                )
                for query in bank.queries:
                    gold = {system.gold_key(bank, g) for g in query.gold}
                    if not gold:
                        continue
                    options = dict(system._arguments(query))
                    request = memory._request(bank.id, query.text[:2000], options)
                    pool = rank(shown, view, request, Run()).pool
                    keys = pool.keys[:DEPTH].tolist()
                    loaded = view.load(keys)
                    unit = [system._keys.get((bank.id, loaded[k].id), "") for k in keys]
                    nothing = np.full(len(pool), np.nan)
                    found = [pool.signals.get(s, nothing)[:DEPTH] for s in SIGNALS]
                    rows.append(np.stack(found, axis=1).astype(np.float32))
                    labels.append(np.array([u in gold for u in unit]))
                    heads.append((number, len(unit), len(gold)))
        print(name, sum(1 for h in heads if h[0] == number), "queries", flush=True)
    counts = np.array([h[1] for h in heads])
    FILE.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        FILE,
        x=np.concatenate(rows),
        y=np.concatenate(labels),
        starts=np.concatenate([[0], np.cumsum(counts)[:-1]]),
        sets=np.array([h[0] for h in heads]),
        gold=np.array([h[2] for h in heads]),
        signals=np.array(SIGNALS),
        ids=np.concatenate([np.array(ids, np.uint16) for ids in recorder.ids]),
        lengths=np.array([len(ids) for ids in recorder.ids]),
        asked=np.array(recorder.asked),
    )


def weights_of(names: str) -> Any:
    """One reader's arrays, or the mean of several's."""
    from weights import unpack

    read = [unpack(ROOT / "training" / ".cache" / "state" / f"{name}.npz") for name in names.split("+")]
    return {k: sum(r[k] for r in read) / len(read) for k in read[0]}


def logits_of(names: str, data: Any) -> NDArray[np.float32]:
    import torch

    from dump import load_cross
    from train import CACHE, DEVICE, autocast
    from weights import unpack

    reader = load_cross(weights_of(names), unpack(CACHE / "gte" / "weights.npz")).to(DEVICE).eval()
    lengths, asked, flat = data["lengths"], data["asked"], data["ids"].astype(np.int64)
    ends = np.cumsum(lengths)
    order, out, at = np.argsort(lengths, kind="stable"), np.zeros(len(lengths), np.float32), 0
    while at < len(order):
        size = max(1, BUDGET // int(lengths[order[min(at + 512, len(order) - 1)]]))
        part = order[at : at + size]
        ids = np.zeros((len(part), int(lengths[part].max())), np.int64)
        types = np.zeros_like(ids)
        for row, i in enumerate(part):
            ids[row, : lengths[i]] = flat[ends[i] - lengths[i] : ends[i]]
            types[row, asked[i] : lengths[i]] = 1
        with torch.no_grad(), autocast():
            # Of several depths the shallowest is what ships.
            given = reader(torch.from_numpy(ids).to(DEVICE), torch.from_numpy(types).to(DEVICE))[0]
        out[part] = given.float().cpu().numpy()
        at += len(part)
    return out


def at_ten(best: NDArray[np.bool_], gold: int) -> tuple[float, float]:
    ideal = GAINS[: min(10, gold)].sum()
    return float(best.sum() / gold), float((GAINS[: len(best)] * best).sum() / ideal)


def figures(data: Any, score: NDArray[np.float64], cross: NDArray[np.float64], depth: int, weight: float) -> NDArray[np.float64]:
    """recall@10 and NDCG@10 of each set, with the logits of the best `depth` added."""
    starts, y = data["starts"], data["y"]
    out = np.zeros((len(starts), 2))
    for i, (a, b) in enumerate(zip(starts, [*starts[1:], len(y)], strict=True)):
        mixed, order = score[a:b].copy(), np.argsort(-score[a:b], kind="stable")[:depth]
        mixed[order] += np.nan_to_num(weight * cross[a:b][order])
        out[i] = at_ten(y[a:b][np.argsort(-mixed, kind="stable")[:10]], int(data["gold"][i]))
    return np.array([out[data["sets"] == s].mean(axis=0) for s in range(len(PLAN))])


def score(names: Sequence[str]) -> None:
    table = json.loads((ROOT / "src/recollect/recall/calibration.json").read_text())
    known = table["recollect-embed-4"]["relevance"]
    data = dict(np.load(FILE))
    x, signals = data["x"].astype(np.float64), data["signals"].tolist()
    late = known["late"]["weights"]
    base = np.nan_to_num(x[:, [signals.index(s) for s in late]]) @ np.array(list(late.values()))
    # What was read competes with what was not: each is a probability of its own bias.
    shift = known["cross"]["bias"] - known["late"]["bias"]
    number = x[:, signals.index("cross")]
    read = ~np.isnan(number)
    print("sets", " ".join(name for name, *_ in PLAN))
    for name in names:
        logits = logits_of(name, data).astype(np.float64)
        np.save(FILE.parent / f"logits-{name}.npy", logits.astype(np.float32))
        cross = np.full(len(base), np.nan)
        cross[read] = logits[number[read].astype(np.int64)]
        for weight in WEIGHTS:
            for depth in DEPTHS:
                by = 100 * figures(data, base, cross + shift / weight, depth, weight)
                cells = "  ".join(f"{r:.1f}/{n:.1f}" for r, n in by)
                r, n = by.mean(axis=0)
                print(f"{name} weight {weight} best {depth}: {cells}  mean {r:.1f}/{n:.1f}", flush=True)


if __name__ == "__main__":
    collect() if sys.argv[1] == "collect" else score(sys.argv[2:])

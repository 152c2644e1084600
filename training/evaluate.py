"""Mix the scores of a dump, fit on calibration sets, and report on evaluation sets.

    python training/evaluate.py DUMP.npz SHARE [OUT.json]

The mix is a softmax regression over a query's candidates on standardised scores, fitted on the
calibration sets alone (one vote a set). Nothing here looks at an evaluation set before
reporting. Probabilities are fitted by fit_relevance.py, which has recall's other signals too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
DEPTHS = (3, 4, 6)
# Sets that take part in the fit; synthetic conversations are solved and would vote for anything.
LEFT_OUT_OF_FIT = ("cal-synthetic+previous", "cal-friends")


@dataclass(frozen=True, slots=True)
class Asked:
    """One query's candidates."""

    gold: NDArray[np.int8]
    golds: int
    bm25: Array
    cosine: Array
    late: Array
    crossed: NDArray[np.int16] | None
    cross: Array | None


def read(dump: Any, share: str) -> dict[str, list[Asked]]:
    sets: dict[str, list[Asked]] = {}
    for key in sorted({k.rsplit("|", 1)[0] for k in dump.files if k.startswith(share + "|")}):
        fields = {
            f: dump[f"{key}|{f}"] for f in ("candidate", "gold", "golds", "bm25", "cosine", "late")
        }
        crossed = dump[f"{key}|crossed"] if f"{key}|crossed" in dump.files else None
        cross = dump[f"{key}|cross"] if crossed is not None else None
        for i in range(len(fields["golds"])):
            n = int((fields["candidate"][i] >= 0).sum())
            scores = (fields[f][i][:n].astype(np.float32) for f in ("bm25", "cosine", "late"))
            top = None if crossed is None else crossed[i][crossed[i] >= 0]
            logits = (
                None if cross is None or top is None else cross[i][: len(top)].astype(np.float32)
            )
            item = Asked(fields["gold"][i][:n], int(fields["golds"][i]), *scores, top, logits)
            sets.setdefault(key.split("|")[1], []).append(item)
    return sets


def standard(x: Array) -> Array:
    return (x - x.mean()) / (x.std() + 1e-6)


def rrf(q: Asked) -> Array:
    """Reciprocal ranks of BM25 and the embedder, the baseline to beat."""
    total = np.zeros(len(q.gold), dtype=np.float32)
    for scores in (q.bm25, q.cosine):
        order = np.argsort(-scores, kind="stable")
        total[order] += 1 / (61 + np.arange(len(order)))
    return total


def features(q: Asked) -> Array:
    return np.stack([standard(q.bm25), standard(q.cosine), standard(q.late)], 1)


def measure(order: NDArray[np.intp], q: Asked) -> tuple[float, float]:
    hits = q.gold[order[:10]]
    ideal = (1 / np.log2(np.arange(2, 2 + min(10, q.golds)))).sum()
    return hits.sum() / q.golds, float((hits / np.log2(np.arange(2, 2 + len(hits)))).sum() / ideal)


def report(
    sets: dict[str, list[Asked]], rank: Callable[[Asked], NDArray[np.intp]]
) -> dict[str, tuple[float, float, float]]:
    """Recall@10, NDCG@10 and the half width of its 95 % interval, in percent."""
    found: dict[str, tuple[float, float, float]] = {}
    for name, asked in sets.items():
        pairs = np.array([measure(rank(q), q) for q in asked])
        width = 1.96 * pairs[:, 1].std() / np.sqrt(len(pairs))
        recall, gain = pairs.mean(axis=0)
        found[name] = float(100 * recall), float(100 * gain), float(100 * width)
    return found


def fit_softmax(groups: dict[str, list[tuple[Array, NDArray[np.int8]]]], size: int) -> Array:
    """Weights that give gold candidates the most softmax mass, one vote a set."""
    weights = np.full(size, 0.5, dtype=np.float64)
    first = second = np.zeros(size)
    for step in range(1, 401):
        slope = np.zeros(size)
        for items in groups.values():
            for x, gold in items:
                score = x @ weights
                p = np.exp(score - score.max())
                p /= p.sum()
                slope += (p @ x - x[gold > 0].mean(0)) / len(items) / len(groups)
        slope += 0.001 * weights
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        weights = weights - 0.05 * (first / (1 - 0.9**step)) / (
            np.sqrt(second / (1 - 0.99**step)) + 1e-8
        )
    return weights.astype(np.float32)


def fit_set(
    sets: dict[str, list[Asked]], make: Callable[[Asked], tuple[Array, NDArray[np.int8]]]
) -> Iterator[tuple[str, list[tuple[Array, NDArray[np.int8]]]]]:
    for name, asked in sets.items():
        made = [make(q) for q in asked]
        kept = [(x, gold) for x, gold in made if gold.any()]
        if name.startswith("cal-") and name not in LEFT_OUT_OF_FIT and kept:
            yield name, kept


def cross_features(
    q: Asked, weights: Array, depth: int, most: int
) -> tuple[Array, NDArray[np.intp]]:
    """Of the best by the late mix: that mix, standardised over all candidates, and the logit."""
    assert q.crossed is not None and q.cross is not None
    mixed = standard(features(q) @ weights)
    logits = {
        int(i): float(v) for i, v in zip(q.crossed, q.cross[:, DEPTHS.index(depth)], strict=True)
    }
    top = np.array([i for i in np.argsort(-mixed, kind="stable")[:most] if int(i) in logits])
    crossed = np.array([logits[int(i)] for i in top], dtype=np.float32)
    return np.stack([mixed[top], crossed], 1), top


def main(path: str, share: str, out: str | None = None) -> None:
    sets = read(np.load(path), share)
    calibrated = {n: a for n, a in sets.items() if n.startswith("cal-")}
    tested = {n: a for n, a in sets.items() if not n.startswith("cal-")}
    weights = fit_softmax(dict(fit_set(calibrated, lambda q: (features(q), q.gold))), 3)
    print("late mix (bm25, cosine, late):", weights)
    rows: dict[str, Callable[[Asked], NDArray[np.intp]]] = {
        "bm25": lambda q: np.argsort(-q.bm25, kind="stable"),
        "embedder": lambda q: np.argsort(-q.cosine, kind="stable"),
        "rrf": lambda q: np.argsort(-rrf(q), kind="stable"),
        "maxsim": lambda q: np.argsort(-q.late, kind="stable"),
        "late mix": lambda q: np.argsort(-(features(q) @ weights), kind="stable"),
    }
    mixes: dict[str, Any] = {}
    for depth, most in ((3, 12), (3, 24), (4, 24), (6, 12), (6, 24), (6, 50)):

        def make(q: Asked, depth: int = depth, most: int = most) -> tuple[Array, NDArray[np.int8]]:
            x, top = cross_features(q, weights, depth, most)
            return x, q.gold[top]

        fitted = fit_softmax(dict(fit_set(calibrated, make)), 2)

        def rank(
            q: Asked, depth: int = depth, most: int = most, fitted: Array = fitted
        ) -> NDArray[np.intp]:
            x, top = cross_features(q, weights, depth, most)
            head = top[np.argsort(-(x @ fitted), kind="stable")]
            rest = np.argsort(-(features(q) @ weights), kind="stable")
            return np.concatenate([head, rest[~np.isin(rest, head)]])

        rows[f"cross {depth} layers, top {most}"] = rank
        mixes[f"{depth}/{most}"] = fitted.tolist()
        print(f"cross mix depth {depth} top {most} (late mix, logit):", fitted)
    names = list(tested)
    print("| |", " | ".join(names), "| mean |")
    for label, rank in rows.items():
        found = report(tested, rank)
        mean = np.mean([found[n][1] for n in names if n != "friends"])
        print(
            f"| {label} |",
            " | ".join("{:.1f} / {:.1f} ± {:.1f}".format(*found[n]) for n in names),
            f"| {mean:.1f} |",
        )
    if out:
        Path(out).write_text(json.dumps({"late": weights.tolist(), "cross": mixes}, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])

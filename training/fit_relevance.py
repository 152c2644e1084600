"""Fit the weights of recall's relevance (`recall/calibration.json`).

    python -m training.fit_relevance collect     # run recall, keep every candidate's signals
    python -m training.fit_relevance fit         # choose weights, write calibration.json

Two steps, because they answer two questions. The *weights* are fitted to order candidates: a
softmax over each query's list, every data set counting the same. Then scale and bias are
fitted to make the score a probability: a logistic regression on whether a candidate is
relevant. Messages that go on with what is going on have weights of their own, near those of all queries. Everything
here happens on development queries (`recollect.eval.splits`): no model was trained on them and no figure is reported
on them. Weights are shown by five folds, each measured on what it was not fitted on, then fitted on all.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.sets import read, sample
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from training.compare import at_ten
from training.pairs import PLAN

import recollect
from recollect.eval.data import Bank
from recollect.eval.splits import Split
from recollect.eval.systems import Recollect as System
from recollect.models.base import Reranker
from recollect.recall.pipeline import CERTAIN, CROSSED, MATTERS, rank
from recollect.recall.relevance import sigmoid
from recollect.recall.rerank import Reading
from recollect.telemetry import Run

ROOT = Path(__file__).resolve().parent.parent

CACHE = ROOT / "training" / ".cache"
TARGET = ROOT / "src" / "recollect" / "recall" / "calibration.json"
DEPTH = 300
# Fitted, links get 1.3 and lift RealMem's recall by a point at the price of FriendsQA's and
# LifeBench's; at 0.3 every set stays within half a point of leaving them out.
# Fitted, the time asked for gets 0.1, since few questions name one; then a month asked for no longer fills
# the best ten (tests/recall/test_temporal.py). At 0.25 every set stays within half a point.
# These queries name no identifiers: `training/fit_identifiers.py`.
# How lately a memory was told counts for messages alone; fitted on all sets it would be chosen by one persona.
HELD = {"exact": 2.0, "graph": 0.3, "window": 0.25, "lately": 0.75}
# Messages that go on with what is going on have weights of their own, near those of all queries, for they are few: RealMem's,
# some of LifeBench's questions, and those about notes. None of these asks for an identifier or a standing wish.
STAY = 1.0
AS_IN_ALL = ("exact", "window", "wish")
# Bands: at MAYBE, questions of another bank are turned away in 93 % of cases and 7 % of answerable
# ones are, on development banks; `benchmarks/abstain.py` asks reported ones.
STRONG, MAYBE = 0.35, 0.03
READ = 24  # candidates shown to the cross-encoder; recall itself shows it fewer
# The cross-encoder's logit joins the late model as it is. Fitted with everything else it takes the
# place of late interaction, which orders requests and records better than it does. What a message asks
# for is less in its words, so what reads them counts for less.
CROSS_WEIGHTS: Mapping[str, float] = {"relevance": 0.4, "messages": 0.2}
CROSS_DEPTHS = (4, 6, 8, 12, 24)
CALIBRATED = 8  # of them, the depth at which the mixed score is made a probability
MODEL: dict[str, Any] = {}  # settings of the models the weights are for; none: the defaults
ASKED: dict[str, Any] = {}  # options of every recall, besides the query's own
Plan = Sequence[tuple[str, int | None, int | None]]
FIRST = ("semantic", "around", "keyword", "exact", "graph", "window", "length", "wish", "lately")
LATE = (*FIRST, "late", "late_before", "beside")
SIGNALS = (*LATE, "cross")
MODELS: Mapping[str, tuple[str, ...]] = {"first": FIRST, "late": LATE}
KINDS = ("relevance", "messages")  # of weights: for queries, and for messages
FEWEST = 10  # queries of a set that count
FOLDS = 5
PARTS = {
    "beside": "the turns beside",
    "wish": "standing wishes",
    "lately": "how lately it was told",
}


@dataclass(frozen=True)
class Lists:
    """Candidates of many queries: signals, relevance, and where each query's list begins."""

    x: NDArray[np.float64]
    y: NDArray[np.bool_]
    starts: NDArray[np.int64]
    sets: NDArray[np.int64]  # of each query
    gold: NDArray[np.int64]  # how many are relevant, found or not
    messages: NDArray[np.bool_]  # which go on with what is going on


def collect() -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(CACHE / "relevance.npz", **gathered(PLAN))


def gathered(plan: Plan, reranker: Reranker | None = None) -> dict[str, NDArray[Any]]:
    """Candidates of development queries with their signals, as the shipped cross-encoder reads them or this one."""
    rows: list[NDArray[np.float32]] = []
    labels: list[NDArray[np.bool_]] = []
    heads: list[tuple[int, int, int, bool]] = []
    for number, (name, units, queries) in enumerate(plan):
        for bank in read(name, Split.DEVELOPMENT).banks:
            for x, y, gold, message in _bank(sample(bank, units, queries), reranker):
                rows.append(x)
                labels.append(y)
                heads.append((number, len(y), gold, message))
        print(name, sum(1 for h in heads if h[0] == number), "queries", flush=True)
    counts = np.array([h[1] for h in heads])
    return {
        "x": np.concatenate(rows),
        "y": np.concatenate(labels),
        "starts": np.concatenate([[0], np.cumsum(counts)[:-1]]),
        "sets": np.array([h[0] for h in heads]),
        "gold": np.array([h[2] for h in heads]),
        "messages": np.array([h[3] for h in heads]),
    }


def _bank(
    bank: Bank, reranker: Reranker | None
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_], int, bool]]:
    with recollect.open(":memory:", **MODEL) as memory:
        system = System(memory)
        system.index(bank)
        view = memory._store.view(bank.id)
        many = replace(memory._recalling, crossed={"mid": Reading((READ,))})
        if reranker is not None:
            many = replace(many, reranker=lambda: reranker)
        for query in bank.queries:
            gold = {system.gold_key(bank, g) for g in query.gold}
            if not gold:
                continue
            options = {**system._arguments(query), **ASKED}
            request = memory._request(bank.id, query.text[:2000], options)
            ranked = rank(many, view, request, Run())
            pool = ranked.pool
            keys = pool.keys[:DEPTH].tolist()
            loaded = view.load(keys)
            unit = [system._keys.get((bank.id, loaded[k].id), "") for k in keys]
            x = np.stack(
                [pool.signals.get(s, np.full(len(pool), np.nan))[:DEPTH] for s in SIGNALS], axis=1
            )
            found = np.array([u in gold for u in unit])
            yield x.astype(np.float32), found, len(gold), ranked.query.goes_on


def lists_of(data: Mapping[str, NDArray[Any]]) -> Lists:
    about = (data[name] for name in ("starts", "sets", "gold", "messages"))
    return Lists(data["x"].astype(np.float64), data["y"].astype(bool), *about)


def part(lists: Lists, queries: NDArray[np.bool_]) -> Lists:
    counts = np.diff([*lists.starts, len(lists.y)])
    rows = np.repeat(queries, counts)
    starts = np.concatenate([[0], np.cumsum(counts[queries])[:-1]])
    of = (lists.sets[queries], lists.gold[queries], lists.messages[queries])
    return Lists(lists.x[rows], lists.y[rows], starts, *of)


def of_each(lists: Lists) -> NDArray[np.int64]:
    """The number of the query of each candidate."""
    return np.repeat(np.arange(len(lists.starts)), np.diff([*lists.starts, len(lists.y)]))


def counting(lists: Lists) -> NDArray[np.float64]:
    """What each query counts for: every set the same, but for those that have next to none."""
    count = np.bincount(lists.sets, minlength=len(PLAN))
    return np.where(count >= FEWEST, 1 / np.maximum(count, 1), 0)[lists.sets]


def fit(
    lists: Lists,
    signals: Sequence[str],
    near: NDArray[np.float64] | None = None,
    stay: float = 1e-3,
) -> tuple[NDArray[np.float64], float, float]:
    """Weights, scale and bias; weights that stay `near` others, or near nothing."""
    x = columns_of(lists, signals)
    spread = x.std(axis=0) + 1e-9
    z = x / spread
    found = np.add.reduceat(lists.y.astype(float), lists.starts)
    query_weight = (found > 0) * counting(lists)
    of = of_each(lists)
    begun = 0.0 if near is None else x @ near

    def loss(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        s = z @ w + begun
        s = s - np.maximum.reduceat(s, lists.starts)[of]
        e = np.exp(s)
        total = np.add.reduceat(e, lists.starts)
        log_p = s - np.log(total)[of]
        share = lists.y / np.maximum(found, 1)[of] * query_weight[of]
        gradient = (e / total[of]) * query_weight[of] - share
        return float(-(share * log_p).sum() + stay * w @ w), z.T @ gradient + 2 * stay * w

    moved = minimize(loss, np.zeros(len(signals)), jac=True, method="L-BFGS-B").x / spread
    weights = moved if near is None else near + moved
    return (weights, *_calibrate(x @ weights, lists, query_weight[of]))


def held_out(
    lists: Lists, signals: Sequence[str], near: NDArray[np.float64] | None, stay: float
) -> NDArray[np.float64]:
    """Every candidate's score by weights that did not see its query."""
    out, of = np.zeros(len(lists.y)), of_each(lists)
    for fold in range(FOLDS):
        mine = np.arange(len(lists.starts)) % FOLDS == fold
        weights, _, _ = fit(part(lists, ~mine), signals, near, stay)
        out[mine[of]] = (columns_of(lists, signals) @ weights)[mine[of]]
    return out


def columns_of(lists: Lists, signals: Sequence[str]) -> NDArray[np.float64]:
    """What nobody looked at adds nothing."""
    return np.nan_to_num(lists.x[:, [SIGNALS.index(s) for s in signals]])


def crossed_first(
    lists: Lists, score: NDArray[np.float64], depth: int, weight: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Scores with the cross-encoder's logit added to the best `depth` of each list, and which rows those are."""
    cross = lists.x[:, SIGNALS.index("cross")]
    out, seen = score.copy(), np.zeros(len(score), dtype=bool)
    for a, b in zip(lists.starts, [*lists.starts[1:], len(score)], strict=True):
        top = a + np.argsort(-score[a:b], kind="stable")[:depth]
        top = top[~np.isnan(cross[top])]
        out[top] += weight * cross[top]
        seen[top] = True
    return out, seen


def report_reading(lists: Lists, chance: NDArray[np.float64], read: NDArray[np.float64]) -> None:
    """As recall reads: so many at once, and at budget `mid` on while what comes next may matter."""
    for reading in (*(Reading((depth,)) for depth in CROSS_DEPTHS), CROSSED["mid"]):
        found, reads = read_on(lists, chance, read, reading)
        name = f"cross-encoder on the best {reading.most}"
        if len(reading.marks) > 1:
            name = f"… on {np.mean(reads):.1f}, while it matters"
        report(name, lists, found)


def read_on(
    lists: Lists, before: NDArray[np.float64], read: NDArray[np.float64], reading: Reading
) -> tuple[NDArray[np.float64], list[int]]:
    """Relevance with the cross-encoder's logits of what it reads, and how many that are of each list."""
    chance, reads = before.copy(), list[int]()
    for a, b in zip(lists.starts, [*lists.starts[1:], len(chance)], strict=True):
        best = a + np.argsort(-chance[a:b], kind="stable")
        best, count = best[~np.isnan(read[best])], 0
        for mark in reading.marks:
            top = chance[best].max()
            if count == len(best) or (count and top >= CERTAIN):
                break
            if count >= reading.least and chance[best[count]] < MATTERS * top:
                break
            count = min(mark, len(best))
            chance[best[:count]] = read[best[:count]]
        reads.append(count)
    return chance, reads


def cross_bias(lists: Lists, score: NDArray[np.float64], weight: float) -> float:
    """What makes the mixed score a probability again, on what the cross-encoder saw."""
    mixed, seen = crossed_first(lists, score, CALIBRATED, weight)
    share = counting(lists)[of_each(lists)][seen]
    z, y = mixed[seen], lists.y[seen].astype(float)
    found = minimize_scalar(
        lambda bias: float((share * (np.logaddexp(0, z + bias) - y * (z + bias))).sum()),
        bounds=(-30, 10),
        method="bounded",
    )
    return float(found.x)


def _calibrate(
    score: NDArray[np.float64], lists: Lists, weight: NDArray[np.float64]
) -> tuple[float, float]:
    y = lists.y.astype(float)

    def loss(p: NDArray[np.float64]) -> float:
        logit = p[0] * score + p[1]
        return float((weight * (np.logaddexp(0, logit) - y * logit)).sum())

    scale, bias = minimize(loss, np.array([1.0, -4.0]), method="Nelder-Mead").x
    return float(scale), float(bias)


def ndcg(lists: Lists, score: NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """NDCG@10 and recall@10, averaged by set."""
    ends = [*lists.starts[1:], len(lists.y)]
    out = np.zeros((len(lists.starts), 2))
    for i, (a, b) in enumerate(zip(lists.starts, ends, strict=True)):
        top = a + np.argsort(-score[a:b], kind="stable")[:10]
        out[i] = at_ten(lists.y[top], int(lists.gold[i]))
    by = [out[lists.sets == s].mean(axis=0) for s in sets_in(lists)]
    return [float(b[1]) for b in by], [float(b[0]) for b in by]


def sets_in(lists: Lists) -> list[int]:
    return sorted(set(lists.sets[counting(lists) > 0].tolist()))


def report(name: str, lists: Lists, score: NDArray[np.float64]) -> None:
    n, r = ndcg(lists, score)
    names = [PLAN[number][0] for number in sets_in(lists)]
    cells = "  ".join(
        f"{s} {100 * b:5.1f}/{100 * a:5.1f}" for s, a, b in zip(names, n, r, strict=True)
    )
    print(f"{name:34s} {cells}   mean {100 * np.mean(r):.1f}/{100 * np.mean(n):.1f}")


def entry(bias: float, weights: Mapping[str, float], held: Mapping[str, float]) -> dict[str, Any]:
    """A model as `recall/relevance.py` reads it."""
    return {
        "bias": round(bias, 4),
        "weights": {s: held.get(s, round(float(w), 4)) for s, w in weights.items()},
        "strong": STRONG,
        "maybe": MAYBE,
    }


def stages(lists: Lists) -> dict[str, Any]:
    """The weights of each stage before the cross-encoder, for queries of all kinds."""
    out = dict[str, Any]()
    for name, signals in MODELS.items():
        if np.isnan(lists.x[:, [SIGNALS.index(s) for s in signals]]).all(axis=0).any():
            continue  # no such model was running
        out[name] = stage(name, lists, signals, HELD)
    return out


def stages_of_messages(lists: Lists, general: Mapping[str, Any]) -> dict[str, Any]:
    """The same for messages, near what is for all."""
    out = dict[str, Any]()
    for name, model in general.items():
        weights = model["weights"]
        held = {s: weights[s] for s in AS_IN_ALL}
        near = np.array([weights[s] for s in MODELS[name]])
        report(f"messages, {name}, as others", lists, score_of(lists, model))
        out[name] = stage(f"messages, {name}", lists, MODELS[name], held, near, STAY)
    return out


def stage(
    name: str,
    lists: Lists,
    signals: Sequence[str],
    held: Mapping[str, float],
    near: NDArray[np.float64] | None = None,
    stay: float = 1e-3,
) -> dict[str, Any]:
    report(f"{name}, by folds", lists, held_out(lists, signals, near, stay))
    weights, scale, bias = fit(lists, signals, near, stay)
    return entry(bias, dict(zip(signals, (weights * scale).tolist(), strict=True)), held)


def crossed(lists: Lists, out: Mapping[str, Any], weight: float) -> dict[str, Any]:
    """The same with the cross-encoder's part, where one read after late interaction."""
    if "late" not in out or np.isnan(lists.x[:, SIGNALS.index("cross")]).all():
        return {}
    bias = cross_bias(lists, score_of(lists, out["late"]), weight)
    return {"cross": entry(bias, {**out["late"]["weights"], "cross": weight}, {})}


def score_of(lists: Lists, model: Mapping[str, Any]) -> NDArray[np.float64]:
    """Without its bias."""
    return columns_of(lists, list(model["weights"])) @ list(model["weights"].values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["collect", "fit"])
    parser.add_argument("--model", default=None, help="embedder the weights belong to")
    parser.add_argument(
        "--cross", action="store_true", help="keep all but the cross-encoder's part"
    )
    parser.add_argument("--embedder", default=None)
    parser.add_argument("--reranker", default=None)
    given = parser.parse_args()
    if given.cross and given.model is None:
        parser.error("--cross keeps what is written for a model: name it with --model")
    MODEL.update({k: v for k in ("embedder", "reranker") if (v := getattr(given, k))})
    if given.step == "collect":
        collect()
        return
    lists = lists_of(np.load(CACHE / "relevance.npz"))
    messages = part(lists, lists.messages)
    table: dict[str, Any] = json.loads(TARGET.read_text())
    old = table.get(given.model, table["general"])
    if given.cross:
        kept = {kind: old.get(kind, old["relevance"]) for kind in KINDS}
        out = {kind: {s: kept[kind][s] for s in MODELS} for kind in KINDS}
    else:
        general = stages(lists)
        out = {"relevance": general, "messages": stages_of_messages(messages, general)}
    for kind, asked in (("relevance", lists), ("messages", messages)):
        out[kind] |= crossed(asked, out[kind], CROSS_WEIGHTS[kind])
    for kind, models in out.items():
        for name, model in models.items():
            print(kind, name, model)
    report_pieces(lists, out)
    if given.model:
        table[given.model] = {**old, **{kind: {**old.get(kind, {}), **out[kind]} for kind in KINDS}}
        TARGET.write_text(json.dumps(table, indent=1) + "\n")


def report_pieces(lists: Lists, out: Mapping[str, Mapping[str, Any]]) -> None:
    """What every piece brings, questions and messages each with the weights that are theirs."""
    message = lists.messages[of_each(lists)]

    def logit(name: str, without: str | None = None) -> NDArray[np.float64]:
        asked, told = (
            score_of(lists, lacking(out[kind][name], without)) + out[kind][name]["bias"]
            for kind in KINDS
        )
        return np.where(message, told, asked)

    for name in MODELS:
        if name in out["relevance"]:
            report(f"{name}, as written", lists, logit(name))
    if "cross" in out["relevance"]:
        plain = score_of(lists, out["relevance"]["late"]) + out["relevance"]["late"]["bias"]
        report("late, messages as all", lists, plain)
        for name, words in PARTS.items():
            report(f"late, without {words}", lists, logit("late", name))
        unread = np.isnan(lists.x[:, SIGNALS.index("cross")])
        read = np.where(unread, np.nan, sigmoid(logit("cross")))
        report_reading(lists, sigmoid(logit("late")), read)
    of = of_each(lists)
    for number, (name, *_) in enumerate(PLAN):
        cosines = lists.x[lists.y & (lists.sets[of] == number), SIGNALS.index("semantic")]
        print(f"cosine of {name}'s answers, a tenth under {np.nanpercentile(cosines, 10):.2f}")
    for s in ("semantic", "around", "keyword", "graph"):
        report(f"{s} alone", lists, np.nan_to_num(lists.x[:, SIGNALS.index(s)]))


def lacking(model: Mapping[str, Any], without: str | None) -> Mapping[str, Any]:
    return {"weights": {s: w for s, w in model["weights"].items() if s != without}}


if __name__ == "__main__":
    main()

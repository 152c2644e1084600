"""From rankings to figures: retrieval measures through ir-measures, and what it has no word for.

A figure is the mean over queries with a 95 % interval from a seeded bootstrap over queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.eval.data import Query
from recollect.eval.trouble import DatasetError

TOKEN_LIMITS = (2048, 4096)
RESAMPLES = 1000
DRAWN = 1_000_000  # queries at once


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a system returned for one query, best first, as ids in the gold's own terms."""

    ids: tuple[str, ...]
    tokens: tuple[int, ...]
    nothing_known: bool = False
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    stages: tuple[tuple[str, float, float], ...] = ()
    """Each with its milliseconds: wall, and CPU of its own thread."""
    degraded: tuple[str, ...] = ()
    """Parts that failed or were late: what was measured is then not what was meant."""
    left_out: int = 0
    """Hits that did not fit into `max_tokens`."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A query, the gold it is held to, and the ranking it got."""

    query: Query
    gold: frozenset[str]
    forbidden: frozenset[str]
    ranked: Ranked


@dataclass(frozen=True, slots=True)
class Figure:
    value: float
    low: float
    high: float
    queries: int


def measure_names(ks: Sequence[int]) -> tuple[str, ...]:
    """Every per-query measure, in the order reports show them."""
    counted = (f"{kind}@{k}" for kind in ("recall", "all-evidence", "hit") for k in ks)
    within = (f"recall@{limit}tokens" for limit in TOKEN_LIMITS)
    return (*counted, "mrr", "ndcg@10", *within)


def figure_names(ks: Sequence[int]) -> tuple[str, ...]:
    """Every figure there can be; the last three only where queries ask for them."""
    return (*measure_names(ks), "abstention_precision", "abstention_recall", "forbidden@10")


def asked_figures(
    queries: Iterable[Query], ks: Sequence[int], *, headline: bool = False
) -> tuple[str, ...]:
    """The figures that these queries ask for. Whether there is a precision shows only later,
    since it needs a query for which nothing was said to be known. Overall figures (`headline`)
    leave out unanswerable queries."""
    names: set[str] = set()
    for query in queries:
        if query.gold and not (headline and query.answerable is False):
            names.update(measure_names(ks))
        if query.answerable is not None:
            names.add("abstention_precision")
        if query.answerable is False:
            names.add("abstention_recall")
        if query.forbidden:
            names.add("forbidden@10")
    return tuple(name for name in figure_names(ks) if name in names)


def score_queries(judged: Sequence[Judged], ks: Sequence[int]) -> list[dict[str, float]]:
    """One row of measures a query; a query without gold has no row values."""
    rows = _through_ir_measures(judged, ks)
    for row, one in zip(rows, judged, strict=True):
        if not one.gold:
            continue
        row |= {f"all-evidence@{k}": float(row[f"recall@{k}"] > 1 - 1e-9) for k in ks}
        row |= {f"recall@{n}tokens": recall_within(one.ranked, one.gold, n) for n in TOKEN_LIMITS}
    return rows


def measures() -> Any:
    """The package that computes the measures. It is an extra, so this is called before hours of
    recalls, not after."""
    try:
        import ir_measures
    except ImportError as cause:
        raise DatasetError(
            "the measures need ir-measures", hint='pip install "recollect[eval]"'
        ) from cause
    return ir_measures


def _through_ir_measures(judged: Sequence[Judged], ks: Sequence[int]) -> list[dict[str, float]]:
    ir = measures()
    RR, R, Success, nDCG = ir.RR, ir.R, ir.Success, ir.nDCG
    names: dict[Any, str] = {RR: "mrr", nDCG @ 10: "ndcg@10"}
    names |= {R @ k: f"recall@{k}" for k in ks} | {Success @ k: f"hit@{k}" for k in ks}
    # positions stand in for ids, so that two banks may use the same id for a query
    qrels = {str(i): dict.fromkeys(one.gold, 1) for i, one in enumerate(judged) if one.gold}
    run = {
        str(i): {id: 1.0 / rank for rank, id in enumerate(one.ranked.ids, start=1)}
        for i, one in enumerate(judged)
        if one.gold
    }
    rows: list[dict[str, float]] = [
        dict.fromkeys(names.values(), 0.0) if one.gold else {} for one in judged
    ]
    for found in ir.iter_calc(list(names), qrels, run) if qrels else ():
        rows[int(found.query_id)][names[found.measure]] = float(found.value)
    return rows


def recall_within(ranked: Ranked, gold: frozenset[str], limit: int) -> float:
    """Share of the gold in the best results that fit; one that does not fit is skipped."""
    used, found = 0, 0
    for id, tokens in zip(ranked.ids, ranked.tokens, strict=True):
        if used + tokens <= limit:
            used += tokens
            found += id in gold
    return found / len(gold)


def abstention(judged: Iterable[Judged], *, seed: int) -> dict[str, Figure]:
    """How far "nothing known" can be believed: precision, and recall of the unanswerable."""
    known = [one for one in judged if one.query.answerable is not None]
    said = [float(one.query.answerable is False) for one in known if one.ranked.nothing_known]
    due = [float(one.ranked.nothing_known) for one in known if one.query.answerable is False]
    found = {"abstention_precision": said, "abstention_recall": due}
    return {name: figure(values, seed=seed) for name, values in found.items() if values}


def violations(judged: Iterable[Judged], *, seed: int) -> dict[str, Figure]:
    """Share of the queries with forbidden ids whose best ten results hold one of them. A query
    whose forbidden ids all became one memory with its gold does not count: it wants that memory."""
    broken = [
        float(bool(one.forbidden & set(one.ranked.ids[:10]))) for one in judged if one.forbidden
    ]
    return {"forbidden@10": figure(broken, seed=seed)} if broken else {}


def summarise(
    judged: Sequence[Judged], ks: Sequence[int], *, seed: int = 0
) -> tuple[dict[str, Figure], dict[str, dict[str, Figure]]]:
    """Figures over all answerable queries, and over each category."""
    rows = score_queries(judged, ks)
    names = measure_names(ks)

    def over(keep: Callable[[Query], bool], headline: bool) -> dict[str, Figure]:
        chosen = [i for i, one in enumerate(judged) if keep(one.query)]
        # a trick question may name the turn it twists; finding that is no success overall
        scored = [
            rows[i]
            for i in chosen
            if rows[i] and not (headline and judged[i].query.answerable is False)
        ]
        figures = {n: figure([row[n] for row in scored], seed=seed) for n in names if scored}
        those = [judged[i] for i in chosen]
        return figures | abstention(those, seed=seed) | violations(those, seed=seed)

    categories = dict.fromkeys(one.query.category for one in judged)
    by_category = {
        c: over(lambda query, c=c: query.category == c, False) for c in sorted(categories)
    }
    return over(lambda _: True, True), by_category


def figure(values: Sequence[float], *, seed: int) -> Figure:
    """The mean, with its percentile interval over resampled queries."""
    array = np.asarray(values, dtype=np.float64)
    if len(array) == 0:
        return Figure(float("nan"), float("nan"), float("nan"), 0)
    low, high = np.percentile(_resampled(array, np.random.default_rng(seed)), (2.5, 97.5))
    return Figure(float(array.mean()), float(low), float(high), len(array))


def _resampled(array: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Means of as many queries, drawn again and again; some at a time, for all take 16 KB a query."""
    size, at_once = len(array), max(1, DRAWN // len(array))
    counts = (min(at_once, RESAMPLES - done) for done in range(0, RESAMPLES, at_once))
    return np.concatenate([array[rng.integers(0, size, (n, size))].mean(axis=1) for n in counts])


def percentiles(values: Sequence[float], name: str = "p") -> Mapping[str, float]:
    array = np.asarray(values, dtype=np.float64)
    return {f"{name}{q}": float(np.percentile(array, q)) for q in (50, 95)} if len(array) else {}

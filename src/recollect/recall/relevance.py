"""Relevance: one calibrated probability from everything the arms and the rerankers said.

A logistic model over signals that mean the same for every query: cosine, the share of the
query's information the keywords cover, late interaction, cross-encoder, links, the time
asked for. Its weights are fitted on training splits (`training/fit_relevance.py`) for each set
of signals that may be there, so that a score means the same with a reranker, without one,
and when one fails. The sum is kept term by term: it *is* the explanation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np
import orjson

from recollect.language.dates import to_micros
from recollect.recall.pool import Pool
from recollect.recall.understand import Query
from recollect.storage.base import NO_TIME, Columns, Filter, Floats, View
from recollect.types import Arm, Window


@dataclass(frozen=True, slots=True)
class Calibration:
    bias: float
    weights: Mapping[str, float]
    strong: float  # at and above: act on it
    maybe: float  # below: noise


@cache
def calibrations(model: str) -> Mapping[str, Calibration]:
    """By which signals are there: "first", "late", "cross". A model that nobody calibrated gets
    the general weights."""
    table = orjson.loads((files("recollect.recall") / "calibration.json").read_bytes())
    chosen = table.get(model) or table["general"]
    return {name: Calibration(**entry) for name, entry in chosen.items()}


def evidence(view: View, query: Query, vector: Floats | None, pool: Pool, allowed: Filter) -> Pool:
    """The signals that cost nothing more than has been computed."""
    keyword = pool.arms.get(Arm.KEYWORD)
    graph = pool.arms.get(Arm.GRAPH)
    nothing = np.zeros(len(pool), np.float32)
    ceiling = max(view.keyword_ceiling(query.hashes), 1e-9)
    signals = {
        "semantic": nothing if vector is None else _similarity(view, vector, pool),
        "keyword": nothing
        if keyword is None
        else np.nan_to_num(keyword.score) / np.float32(ceiling),
        "graph": nothing if graph is None else np.nan_to_num(graph.score) / np.float32(3),
        "window": _window(pool.columns, query),
        "before": nothing if vector is None else _before(view, vector, pool, allowed),
        "length": np.log(np.maximum(pool.columns.tokens, 1)).astype(np.float32),
    }
    return replace(pool, signals={**pool.signals, **signals})


def _similarity(view: View, vector: Floats, pool: Pool) -> Floats:
    """The semantic arm's own scores, and the same for what other arms found."""
    found = pool.arms.get(Arm.SEMANTIC)
    if found is None:
        return view.similarity(vector, pool.keys)
    scores = found.score.copy()
    missing = np.flatnonzero(found.rank == 0)
    scores[missing] = view.similarity(vector, pool.keys[missing])
    return scores


def _before(view: View, vector: Floats, pool: Pool, allowed: Filter) -> Floats:
    """Similarity of the turn before, where there is one."""
    scores = np.zeros(len(pool), np.float32)
    turns = np.flatnonzero(pool.columns.before)
    turns = turns[view.allows(pool.columns.before[turns], allowed)]
    if len(turns):
        scores[turns] = view.similarity(vector, pool.columns.before[turns])
    return scores


def _window(columns: Columns, query: Query) -> Floats:
    """Inside the time asked for, and not in one that was ruled out ("not last year")."""
    signal = in_window(columns, query.window)
    for out in query.time.excluded:
        signal = np.where(in_window(columns, Window(out.start, out.end)) > 0, -1, signal)
    return signal.astype(np.float32)


def in_window(columns: Columns, window: Window | None) -> Floats:
    """+1 inside the time asked for, −1 dated outside it, 0 undated or no time asked."""
    if window is None:
        return np.zeros(len(columns.keys), np.float32)
    dated = columns.happened_from != NO_TIME
    inside = np.ones(len(columns.keys), np.bool_)
    if window.end is not None:
        inside &= columns.happened_from < to_micros(window.end)
    if window.start is not None:
        start = to_micros(window.start)
        instant = columns.happened_until == columns.happened_from
        inside &= (columns.happened_until > start) | (instant & (columns.happened_from >= start))
    return np.where(dated, np.where(inside, 1.0, -1.0), 0.0).astype(np.float32)


def judge(pool: Pool, calibration: Calibration) -> Pool:
    """sigmoid(bias + Σ weight · signal)."""
    terms = {
        name: (np.float32(weight) * pool.signals[name]).astype(np.float32)
        for name, weight in calibration.weights.items()
        if name in pool.signals
    }
    logit = np.full(len(pool), calibration.bias, np.float32)
    for term in terms.values():
        logit = logit + np.nan_to_num(term)
    return replace(pool, terms=terms, relevance=sigmoid(logit))


def spread(pool: Pool) -> Pool:
    """The seeds' fallback: 1.0 … 0.1 by fused rank. For comparison; it is not calibrated."""
    steps = np.linspace(1.0, 0.1, len(pool)) if len(pool) > 1 else np.ones(len(pool))
    return replace(pool, terms={}, relevance=steps.astype(np.float32))


def sigmoid(x: Floats) -> Floats:
    return (1 / (1 + np.exp(-np.clip(x, -60, 60)))).astype(np.float32)

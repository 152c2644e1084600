"""Relevance: one calibrated probability from everything the arms and the rerankers said.

A logistic model over signals that mean the same for every query: cosine, the share of the
query's information the keywords cover, late interaction, cross-encoder, links, the time
asked for. Its weights are fitted on development queries (`training/fit_relevance.py`) for each
set of signals that may be there (the shares of links and of the cross-encoder are chosen on them),
so that a score means the same with a reranker, without one, and when one fails. The sum is kept term by term: it *is* the explanation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from recollect.language.dates import to_micros
from recollect.language.wishes import WISH
from recollect.recall.around import around
from recollect.recall.boost import DAY, YEAR_DAYS
from recollect.recall.pool import Numbers, Pool, change
from recollect.recall.understand import Query
from recollect.storage.base import NO_TIME, Columns, Filter, Floats, View
from recollect.storage.ranking import distinct
from recollect.types import Arm, Window

_FAR = 1 << 60  # microseconds: later than any date
_FARTHEST = 700.0  # of a logit: exp overflows soon after


@dataclass(frozen=True, slots=True)
class Calibration:
    bias: float
    weights: Mapping[str, float]
    strong: float  # at and above: act on it
    maybe: float  # below: noise


@cache
def _table() -> Mapping[str, Any]:
    return orjson.loads((files("recollect.recall") / "calibration.json").read_bytes())


def _fitted(model: str) -> Mapping[str, Any]:
    """What was fitted for this model, or for those that nobody fitted."""
    return _table().get(model) or _table()["general"]


@cache
def by_words(script: str | None = None) -> Calibration:
    """Where nothing is known of meanings, whatever the model (`training/fit_words.py`). In other scripts, where words
    are inflected or written without spaces, a question shares fewer of its words with what answers it, so the bias is
    higher (`training/fit_scripts.py`)."""
    table = _table()
    words = Calibration(**table["words"])
    return _biased(words, words.bias + table["scripts"].get(script, 0.0))


def _biased(calibration: Calibration, bias: float) -> Calibration:
    """A bias of single precision, as the terms are: so few bits add up in double precision with
    nothing lost, and every way to add them gives the same."""
    return replace(calibration, bias=float(np.float32(bias)))


def least_similarity(model: str) -> float:
    """The cosine under which this model's neighbours of a query are noise. Scales differ: of a model that
    was tuned to tell memories apart, 0.2 may say what 0.3 says of one that was not."""
    return float(_fitted(model)["similarity"])


def least_likeness(model: str) -> float:
    """The cosine under which two memories are not alike. They are likelier to be near each other than a
    question is to what answers it."""
    return float(_fitted(model)["likeness"])


def tells_apart(model: str, script: str | None) -> bool:
    """Whether the model learnt a script. To one that did not, all that is written in it is alike
    (`python -m training.fit_scripts`)."""
    return script not in _fitted(model).get("unlearnt", ())


@cache
def calibrations(model: str, *, message: bool = False) -> Mapping[str, Calibration]:
    """By which signals are there: "first", "late", "cross". A model that nobody calibrated gets
    the general weights.

    A `message` that goes on with what is going on has weights of its own, where they were fitted: it says many things at
    once, so its vector is near to nothing, and rare words, links and the last days tell more."""
    chosen = _fitted(model)
    weights = chosen.get("messages") if message else None
    read = {name: Calibration(**entry) for name, entry in (weights or chosen["relevance"]).items()}
    return {name: _biased(calibration, calibration.bias) for name, calibration in read.items()}


def with_cross(before: Calibration, known: Mapping[str, Calibration]) -> Calibration:
    """The signals from before and a cross-encoder, where there are no token vectors: its logit counts
    for as much, and is as much above nothing, as after late interaction."""
    late, cross = known["late"], known["cross"]
    weights = {**before.weights, "cross": cross.weights["cross"]}
    return replace(before, bias=before.bias + cross.bias - late.bias, weights=weights)


def evidence(
    view: View, query: Query, vector: Floats | None, pool: Pool, allowed: Filter, limit: int
) -> Pool:
    """The signals that cost little more than has been computed; the talk around a turn is looked at
    for the first `limit`."""
    graph = pool.arms.get(Arm.GRAPH)
    nothing = np.zeros(len(pool), np.float32)
    similar = nothing if vector is None else _similarity(view, vector, pool)
    signals = {
        "semantic": similar,
        "around": similar
        if vector is None
        else around(view, vector, similar, pool, allowed, limit),
        "keyword": _keyword(view, query, pool) if Arm.KEYWORD in pool.arms else nothing,
        "exact": _exact(view, query, pool) if query.identifiers else nothing,
        "graph": nothing if graph is None else np.where(graph.rank, graph.score, 0) / np.float32(3),
        "window": _window(view, query, pool.columns, allowed),
        "length": np.log(np.maximum(pool.columns.tokens, 1)).astype(np.float32),
        "wish": _wish(view, pool) if query.request else nothing,
        "lately": nothing,
    }
    return change(pool, signals={**pool.signals, **signals})


def _keyword(view: View, query: Query, pool: Pool) -> Floats:
    """The share of what the query's words could score, also of what only other arms found."""
    ceiling = np.float32(max(view.keyword_ceiling(query.hashes), 1e-9))
    return view.keyword_scores(query.hashes, pool.keys) / ceiling


def _exact(view: View, query: Query, pool: Pool) -> Floats:
    """The share of what the query's words could score that falls to identifiers which a candidate holds to
    the letter: to a model `as_of` is two little words."""
    ceiling = max(view.keyword_ceiling(query.hashes), 1e-9)
    held = np.zeros(len(pool), np.float32)
    for name in query.identifiers:
        share = view.keyword_ceiling(tuple({*name} & {*query.hashes})) / ceiling
        held += np.float32(share) * (view.keyword_scores(name[-1:], pool.keys) > 0)
    return held


def _wish(view: View, pool: Pool) -> Floats:
    """Which of them say how somebody wants things: what is to be done should be done that way."""
    return (view.keyword_scores((WISH,), pool.keys) > 0).astype(np.float32)


def _similarity(view: View, vector: Floats, pool: Pool) -> Floats:
    """The semantic arm's own scores, and the same for what other arms found."""
    found = pool.arms.get(Arm.SEMANTIC)
    if found is None:
        return view.similarity(vector, pool.keys)
    scores = found.score.copy()
    missing = np.flatnonzero(found.rank == 0)
    scores[missing] = view.similarity(vector, pool.keys[missing])
    return scores


LATER = -4.0  # as good as ruled out
AGO = 60  # days until what was told is a third as likely to be what a message goes on with


def lately(columns: Columns, now: datetime, told_by: datetime | None) -> Floats:
    """From 0.5 for what is told now, or is to come, down to −0.5 for what was told long ago. A message of some
    time ago cannot go on with what was told after it, by `told_by`; of the same day a memory may bear a later hour."""
    days = (to_micros(now) - columns.known_from) / DAY
    share = np.exp(-np.maximum(days, 0) / AGO) - 0.5
    if told_by is not None:
        after = (days < -1) & (columns.known_from < to_micros(told_by))
        share = np.where(after, LATER, share)
    return share.astype(np.float32)


def _window(view: View, query: Query, columns: Columns, allowed: Filter) -> Floats:
    """Inside the time asked for, and not in one that was ruled out ("not last year"). The less a
    query asks besides ("What did Alice do in March?"), the more its time decides."""
    signal = np.zeros(len(columns.keys), np.float32)
    if not query.windows and not query.time.excluded:
        return signal
    if query.windows:
        turns = _turns(view, columns, allowed)
        inside = [in_window(columns, each) for each in query.windows]
        if query.time_pull.alone:  # "since 2021" did not happen yesterday
            lasts = [_only_lasts(columns, each) for each in query.windows]
            inside = [np.where(o, 0, i) for o, i in zip(lasts, inside, strict=True)]
        told = [told_in(columns, each, turns) for each in query.windows]
        signal = np.maximum.reduce([*inside, *told])
        if not query.time_pull.strict:
            signal = np.where(turns, _loosely(signal), signal)
    signal = signal * (1 + np.where(signal > 0, query.time_pull.inside, query.time_pull.outside))
    for out in query.time.excluded:
        signal = np.where(in_window(columns, Window(out.start, out.end)) > 0, -1, signal)
    return signal.astype(np.float32)


# A turn of a conversation is dated by when it was said, and people tell of other times. What remains for it of being
# inside, and of being far outside.
SAID, ELSEWHERE = 0.3, -0.1


def _loosely(signal: Floats) -> Floats:
    return np.where(
        signal > 0, SAID * signal, np.where(signal < 0, ELSEWHERE * (-2 * signal - 1), 0)
    )


def in_window(columns: Columns, window: Window) -> Floats:
    """+1 inside the time asked for; outside −0.5 nearby to −1 far off (by the window's own
    length: a day off a day is far, a day off a year is not); 0 undated. Where an event bounds it, nothing
    is nearby: the event itself least of all is what was before or after it."""
    dated = columns.happened_from != NO_TIME
    start = -_FAR if window.start is None else to_micros(window.start)
    end = _FAR if window.end is None else to_micros(window.end)
    instant = columns.happened_until == columns.happened_from
    late = np.maximum(columns.happened_from - end + 1, 0)
    early = np.maximum(start - columns.happened_until + np.where(instant, 0, 1), 0)
    gap = np.maximum(late, early)
    length = max(DAY, min(end - start, YEAR_DAYS * DAY))
    outside = -0.5 - 0.5 * np.minimum(gap / (3 * length), 1) if window.near is None else -1.0
    return np.where(dated, np.where(gap > 0, outside, 1.0), 0.0).astype(np.float32)


LONGER = 30  # times as long as what was asked about: a month holds the days of which it tells


def _only_lasts(columns: Columns, window: Window) -> NDArray[np.bool_]:
    """What neither began nor ended in a time, and takes so much longer that it says nothing of it."""
    if window.start is None or window.end is None:
        return np.zeros(len(columns.keys), np.bool_)
    start, end = to_micros(window.start), to_micros(window.end)
    around = (columns.happened_from < start) & (columns.happened_until > end)
    # Divided, since thirty times the calendar is more than a number of 64 bits can say.
    lasting = (columns.happened_until - columns.happened_from) // LONGER > end - start
    return around & lasting & (columns.happened_from != NO_TIME)


TOLD = 0.5  # what being told in the time asked for is worth, if it happened in another


def told_in(columns: Columns, window: Window, turns: NDArray[np.bool_]) -> Floats:
    """TOLD for turns of a conversation that were said inside, −1 for all others. A turn is dated by the
    first time it names ("letters from the 1920s"), and tells of more than that; and who asks what
    somebody did in May means what they told in May as well."""
    start = -_FAR if window.start is None else to_micros(window.start)
    end = _FAR if window.end is None else to_micros(window.end)
    inside = turns & (columns.known_from >= start) & (columns.known_from < end)
    return np.where(inside, TOLD, -1).astype(np.float32)


def _turns(view: View, columns: Columns, allowed: Filter) -> NDArray[np.bool_]:
    """Which are turns of a conversation: they follow one or, being the first, are followed by one that is
    a candidate, too."""
    follows = columns.before > 0
    return follows | np.isin(columns.keys, view.standing(distinct(columns.before), allowed))


BESIDE = 0.8  # what is left of a neighbour's relevance with every turn further


def beside(pool: Pool) -> Numbers:
    """How relevant the best neighbour is, up to two turns away in the same conversation: an
    answer seldom stands alone, and a turn alone seldom says what it is about."""
    before = pool.columns.before
    order = np.argsort(pool.keys)
    at = order[np.searchsorted(pool.keys, before, sorter=order) % len(pool)]
    # Row of the turn before and of the turn after; the last row holds what is not there: nothing.
    none = len(pool)
    earlier = np.append(np.where(pool.keys[at] == before, at, none), none)
    later = np.full(none + 1, none)
    later[earlier[:-1]] = np.arange(none)
    later[none] = none
    relevance = np.append(pool.relevance, 0)
    near = np.maximum(relevance[earlier], relevance[later])
    far = np.maximum(relevance[earlier[earlier]], relevance[later[later]])
    return np.maximum(near, BESIDE * far)[:-1]


def judge(pool: Pool, calibration: Calibration) -> Pool:
    """sigmoid(bias + Σ weight · signal)."""
    terms = {
        name: (np.float32(weight) * pool.signals[name]).astype(np.float32, copy=False)
        for name, weight in calibration.weights.items()
        if name in pool.signals
    }
    logit = np.full(len(pool), calibration.bias)
    for term in terms.values():
        logit += term
    if np.isnan(logit).any():  # what nobody looked at adds nothing
        logit = np.full(len(pool), calibration.bias)
        for term in terms.values():
            logit += np.where(np.isnan(term), np.float32(0), term)
    return change(
        pool,
        terms=terms,
        logit=logit,
        relevance=sigmoid(logit),
        calibration=calibration,
        rest=None,
    )


def settle(pool: Pool) -> Pool:
    """Relevance once more when nothing moves it any longer, from the very numbers that its explanation
    shows and with everybody's exp, so that whoever works it out gets the same to the bit. Until then
    numpy's will do: it is ten times as fast, and differs in the last bit now and then."""
    own = _chances(pool.logit if pool.bridged is None else pool.logit + pool.bridged.lift)
    if pool.support is None:
        return change(pool, relevance=own)
    support = replace(pool.support, own=own)
    return change(pool, relevance=support.either(), support=support)


def spread(pool: Pool) -> Pool:
    """The seeds' fallback: 1.0 … 0.1 by fused rank. For comparison; it is not calibrated."""
    steps = np.linspace(1.0, 0.1, len(pool)) if len(pool) > 1 else np.ones(len(pool))
    return replace(pool, terms={}, relevance=steps)


def sigmoid(x: Numbers) -> Numbers:
    return 1 / (1 + np.exp(-np.clip(x, -60, 60)))


def _chances(logit: Numbers) -> Numbers:
    away = np.clip(-logit, -_FARTHEST, _FARTHEST).tolist()
    return 1 / (1 + np.fromiter(map(math.exp, away), np.float64, len(away)))

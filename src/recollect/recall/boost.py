"""Boost: signals that relevance cannot see nudge it, each by 1 + α · (signal − 0.5).

Multiplicative, so that recency, time, evidence and lifecycle never outvote relevance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.language.dates import to_micros
from recollect.lifecycle import FACTOR, FROM, Freshness
from recollect.recall.pool import Pool, Support, change
from recollect.storage.base import NO_TIME, Columns, Floats
from recollect.types import MemoryType, State, Window

ALPHA: Mapping[str, float] = {"recency": 0.2, "temporal": 0.2, "proof": 0.1, "order": 0.2}
BEHIND = 0.99  # of the score of what is to come before it
CLOSE = 0.65  # how near to its own that score must be: not far below what a causal link passes on
IN_TIME = 0.3  # well above noise; whether it is what matters of that time, nobody said
DAY = 86_400_000_000  # microseconds
YEAR_DAYS = 365
_TYPES, _STATES = tuple(MemoryType), tuple(State)


def boost(
    pool: Pool,
    now: datetime,
    window: Window | None,
    order: str | None,
    decay: str,
    superseded: float,
    until: int | None = None,
) -> Pool:
    """final = relevance × every factor. `until` is the last moment asked about, else now."""
    columns, at = pool.columns, to_micros(now)
    # "after Alice joined": what counts is the distance from that, not from today.
    decay = "none" if window is not None and window.near is not None else decay
    plain = np.ones(len(pool), np.float32)  # of what was not asked for
    factors = {
        "recency": _nudge("recency", recency(columns, at, decay)),
        "temporal": plain if window is None else _nudge("temporal", closeness(columns, window)),
        "proof": _nudge("proof", proof(columns)) if _observed(columns).any() else plain,
        "order": plain if order is None else _nudge("order", timeline(columns, order)),
        "lifecycle": _current(
            columns, at if until is None else until, superseded, lifecycle(columns, at)
        ),
    }
    final = pool.relevance
    for factor in factors.values():
        final = final if factor is plain else final * factor
    return change(pool, factors=factors, final=final)


def stand_back(pool: Pool) -> Pool:
    """What only restates the question gives way to the cause or effect that was asked for, if that is
    nearly as good."""
    if pool.behind is None:
        return pool
    rows = np.flatnonzero(pool.behind >= 0)
    share = pool.final[pool.behind[rows]] / np.maximum(pool.final[rows], 1e-9)
    back = (share >= CLOSE) & (share <= 1 / BEHIND)
    if not back.any():
        return pool
    factor = np.ones(len(pool), np.float32)
    factor[rows[back]] = BEHIND * share[back]
    return replace(pool, factors={**pool.factors, "restates": factor}, final=pool.final * factor)


def in_time(pool: Pool) -> Pool:
    """When nothing but a time was asked for, to lie in it is an answer, though hardly a word of
    the query is in it. What has grown old or was replaced stands back here as well."""
    lifecycle = pool.factors.get("lifecycle", 1)
    given = np.where(pool.signals["window"] > 0, np.float32(IN_TIME) * lifecycle, 0)
    timely = Support(given.astype(np.float32), pool.final)
    return replace(pool, timely=timely, final=timely.either())


def _nudge(name: str, signal: Floats) -> Floats:
    return (1 + ALPHA[name] * (signal - 0.5)).astype(np.float32)


def recency(columns: Columns, now: int, decay: str = "linear") -> Floats:
    """1 today, 0.1 after a year; 0.5 with no date. A memory known only to the month or year is
    judged by the end of that month or year: nothing says that it is older."""
    dated = columns.recent != NO_TIME
    days = np.maximum(now - np.where(dated, columns.recent, now), 0) / DAY
    if decay == "none":
        return np.full(len(days), 0.5, np.float32)
    if decay == "exponential":
        curve = np.maximum(np.exp2(-days / (YEAR_DAYS / 2)), 0.1)
    else:
        curve = np.clip(1 - days / YEAR_DAYS, 0.1, 1)
    return np.where(dated, curve, 0.5).astype(np.float32)


def closeness(columns: Columns, window: Window) -> Floats:
    """1 in the middle of the window, 0 at its edge and beyond; an open window has no middle, so
    everything inside it is equally close, unless an event bounds it: then what is nearer to the
    event comes first. No date: 0.5."""
    dated = columns.happened_from != NO_TIME
    start = None if window.start is None else to_micros(window.start)
    end = None if window.end is None else to_micros(window.end)
    middle_of = columns.happened_from + (columns.happened_until - columns.happened_from) // 2
    if start is None or end is None:
        inside = np.ones(len(middle_of), np.bool_)
        inside &= True if start is None else middle_of >= start
        inside &= True if end is None else middle_of < end
        near: NDArray[np.float64] = inside.astype(np.float64)
        bound = start if window.near == "start" else end if window.near == "end" else None
        if bound is not None:  # "before Alice joined": shortly before rather than ten years
            away = np.abs(middle_of - bound) / (YEAR_DAYS * DAY)
            near = near / (1 + away)
    else:
        # A memory that spans the middle is in the middle, however long it is.
        middle, half = (start + end) / 2, max((end - start) / 2, 1)
        point = np.clip(middle, columns.happened_from, columns.happened_until)
        spans = np.minimum(np.abs(point - middle), np.abs(middle_of - middle))
        near = 1 - np.minimum(spans / half, 1)
    return np.where(dated, near, 0.5).astype(np.float32)


def timeline(columns: Columns, order: str) -> Floats:
    """ "first" and "latest" prefer an end of the timeline: a candidate's place among all dated
    candidates, 0 to 1. No date: 0.5."""
    dated = columns.happened_from != NO_TIME
    if dated.sum() < 2:
        return np.full(len(dated), 0.5, np.float32)
    moments = columns.happened_from if order == "earliest" else columns.happened_until
    distinct, place = np.unique(moments[dated], return_inverse=True)
    share = place / max(len(distinct) - 1, 1)
    signal = np.full(len(dated), 0.5, np.float32)
    signal[dated] = 1 - share if order == "earliest" else share
    return signal


def proof(columns: Columns) -> Floats:
    signal = np.clip(0.5 + np.log(np.maximum(columns.proof, 1)) / 10, 0, 1)
    return np.where(_observed(columns), signal, 0.5).astype(np.float32)


def _observed(columns: Columns) -> NDArray[np.bool_]:
    return columns.type == _TYPES.index(MemoryType.OBSERVATION)


def lifecycle(columns: Columns, now: int) -> Floats:
    """By share of the kind's window used up; past valid_until is expired."""
    ends = columns.valid_until != NO_TIME
    if not ends.any() and np.isnan(columns.lifetime_days).all():  # most memories never age
        return np.ones(len(ends), np.float32)
    age = np.maximum(now - columns.fresh_from, 0) / DAY
    with np.errstate(invalid="ignore"):
        used = np.nan_to_num(age / columns.lifetime_days, nan=0.0)
    used = np.where(columns.fresh_from == NO_TIME, 0.0, used)
    steps = [used >= share for share in FROM.values()]
    factor = np.select(steps, [FACTOR[freshness] for freshness in FROM], 1.0)
    over = ends & (columns.valid_until <= now)
    return np.where(over, FACTOR[Freshness.EXPIRED], factor).astype(np.float32)


def _current(columns: Columns, until: int, superseded: float, factor: Floats) -> Floats:
    """A value that was replaced (by the time asked about) stands back behind its successor."""
    replaced = columns.state == _STATES.index(State.SUPERSEDED)
    if replaced.any():
        factor = np.where(replaced & (columns.known_until <= until), factor * superseded, factor)
    return factor

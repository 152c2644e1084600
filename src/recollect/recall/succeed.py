"""Succeed: what replaced a good hit answers what that hit answered.

"Where does Alice work?" is in the words of "Alice works at Google", and not in those of "Alice left
Google and joined Meta". The old value stands back, but by a factor only; so its successor is lent the
relevance that the old one has. "Where did Alice work in 2024?" asks for the value that held then: what
had not been replaced by the end of that time does not stand back, and its successor is lent nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.language.dates import to_micros
from recollect.recall.pool import Pool, Support
from recollect.recall.relevance import in_window
from recollect.storage.base import NO_TIME, Columns, View
from recollect.types import Memory, State, Window

LENT = 0.9
OLD = 8  # the best of what was replaced; a bank may be full of it
MANY = 50  # of those whose times are looked up
_NEVER = int(np.iinfo(np.int64).max)
_SUPERSEDED = tuple(State).index(State.SUPERSEDED)


def asked_until(now: datetime, windows: Sequence[Window]) -> int:
    """The last moment asked about: "in 2024" ends with 2024, and nothing ends later than now."""
    ends = [to_micros(window.end) - 1 for window in windows if window.end is not None]
    closed = ends and len(ends) == len(windows)
    return min(to_micros(now), max(ends)) if closed else to_micros(now)


def lasting(
    view: View, pool: Pool, windows: Sequence[Window], as_of: int | None, now: datetime
) -> Pool:
    """A value that was replaced held from when it was told until then, and what replaced it holds since:
    of a time in between, they tell as much as what happened in it. Neither the date of such a time nor the
    event that bounds it ("before Omar") is in their words."""
    columns = pool.columns
    old = np.flatnonzero((columns.state == _SUPERSEDED) & (columns.happened_from != NO_TIME))[:MANY]
    if not len(old):
        return pool
    held = view.load(pool.keys[old].tolist())
    start, end = columns.happened_from.copy(), columns.happened_until.copy()
    for row in old.tolist():
        at = _successor(view, pool, held.get(int(pool.keys[row])), as_of)
        ended = int(columns.known_until[row])
        if at is not None and columns.happened_from[at] != NO_TIME:
            ended = min(ended, int(columns.happened_from[at]))
            if columns.state[at] != _SUPERSEDED:
                start[at] = min(start[at], columns.known_from[at])
                end[at] = max(end[at], to_micros(now))
        start[row], end[row] = min(start[row], columns.known_from[row]), max(end[row], ended)
    lasted = replace(columns, happened_from=start, happened_until=end)
    bounded = any(each.near is not None for each in windows)
    replaced = columns.state == _SUPERSEDED if bounded else np.zeros(len(pool), np.bool_)
    held = _inside(lasted, windows) & (replaced | ~_inside(columns, windows))
    return replace(pool, columns=lasted, held=pool.keys[held])


def _inside(columns: Columns, windows: Sequence[Window]) -> NDArray[np.bool_]:
    return np.any([in_window(columns, each) > 0 for each in windows], axis=0)


def yielding(view: View, pool: Pool, as_of: int | None, factor: float) -> Pool:
    """What holds now stands back behind what it replaced: the former was asked for."""
    old = np.flatnonzero(pool.columns.state == _SUPERSEDED)
    old = old[np.argsort(-pool.relevance[old], kind="stable")][:OLD]
    held = view.load(pool.keys[old].tolist())
    back = {_successor(view, pool, held.get(int(pool.keys[row])), as_of) for row in old.tolist()}
    rows = [row for row in back if row is not None and pool.columns.state[row] != _SUPERSEDED]
    if not rows:
        return pool
    yields = np.ones(len(pool), np.float32)
    yields[rows] = factor
    return replace(pool, factors={**pool.factors, "yields": yields}, final=pool.final * yields)


def _successor(view: View, pool: Pool, memory: Memory | None, as_of: int | None) -> int | None:
    """The row of what replaced a memory, if that is a candidate."""
    by = None if memory is None else memory.superseded_by
    key = None if by is None else view.key_of(by, as_of)
    return None if key is None else pool.at(key)


def succeed(view: View, pool: Pool, as_of: int | None, until: int, *, former: bool = False) -> Pool:
    """Successors that are candidates themselves: those that are not lack more than words. Where the former
    value is asked for, it is taken for one that was not replaced."""
    columns = pool.columns
    old = np.flatnonzero(columns.state == _SUPERSEDED)
    if not len(old):
        return pool
    old = old[np.argsort(-pool.relevance[old], kind="stable")][:OLD]
    given = np.zeros(len(pool), np.float32) if pool.support is None else pool.support.given.copy()
    held, known_until = view.load(pool.keys[old].tolist()), columns.known_until.copy()
    for row in old.tolist():
        at = _successor(view, pool, held.get(int(pool.keys[row])), as_of)
        if at is None:
            continue
        if former and columns.state[at] != _SUPERSEDED:
            known_until[row] = _NEVER
            continue
        began = columns.happened_from[at]  # "since May", though it was told in August
        if began != NO_TIME:
            known_until[row] = min(known_until[row], began)
        if known_until[row] <= until:
            given[at] = max(given[at], LENT * pool.relevance[row])
    pool = replace(pool, columns=replace(columns, known_until=known_until))
    own = pool.relevance if pool.support is None else pool.support.own
    support = Support(given, own)
    return replace(pool, support=support, relevance=support.either()) if given.any() else pool

"""Succeed: what replaced a good hit answers what that hit answered.

"Where does Alice work?" is in the words of "Alice works at Google", and not in those of "Alice left
Google and joined Meta". The old value stands back, but by a factor only; so its successor is lent the
relevance that the old one has.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recollect.language.dates import to_micros
from recollect.recall.pool import Pool, Support
from recollect.recall.request import RecallRequest
from recollect.storage.base import View
from recollect.types import State

LENT = 0.9
OLD = 8  # the best of what was replaced; a bank may be full of it
_SUPERSEDED = tuple(State).index(State.SUPERSEDED)


def succeed(view: View, pool: Pool, request: RecallRequest) -> Pool:
    """Successors that are candidates themselves: those that are not lack more than words."""
    columns = pool.columns
    replaced = (columns.state == _SUPERSEDED) & (columns.known_until <= to_micros(request.now))
    old = np.flatnonzero(replaced)
    if not len(old):
        return pool
    old = old[np.argsort(-pool.relevance[old], kind="stable")][:OLD]
    given = np.zeros(len(pool), np.float32) if pool.support is None else pool.support.given.copy()
    held = view.load(pool.keys[old].tolist())
    for row in old.tolist():
        memory = held.get(int(pool.keys[row]))
        by = None if memory is None else memory.superseded_by
        key = None if by is None else view.key_of(by, request.allowed.as_of)
        at = None if key is None else pool.at(key)
        if at is not None:
            given[at] = max(given[at], LENT * pool.relevance[row])
    own = pool.relevance if pool.support is None else pool.support.own
    support = Support(given, own)
    return replace(pool, support=support, relevance=support.either()) if given.any() else pool

"""Bridge: a second piece of evidence is often like the first one, not like the question.

"Who is the spouse of the director of *Heat*?" is answered by a memory of Michael Mann that holds none of
these words; the memory that says who directed *Heat* names him. And a long request is answered in
several places that tell of one thing. So the best hits are bridges. A candidate is lifted towards one

- for a name that both hold and nobody asked for: the further, the rarer the name is among the candidates
  and the fewer other names the candidate holds;
- for its likeness, if the query is long: a short question has its answer in one place, and what is
  like that is not the answer.

It never gets past the bridge, nor past CEILING: being reached says where it belongs, not that it is
an answer. What was lifted can be the next bridge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from recollect.recall.pool import Bridged, Pool
from recollect.recall.relevance import sigmoid
from recollect.recall.understand import Query
from recollect.storage.base import Floats, View

# As `python -m training.fit_bridge` has them.
BRIDGES = 3
LIFT = 0.8  # of the way, at most
CEILING = 0.2
COMMON = 50  # a name that more candidates hold leads nowhere
LONG = 20  # words of a query from which on likeness counts in full

Numbers = NDArray[np.float64]
_NONE = -1


@dataclass(frozen=True, slots=True)
class Names:
    """Which candidate (row) holds which name, for names that can lead from one to another."""

    row: NDArray[np.int64]
    name: NDArray[np.int64]  # numbered from 0
    rarity: Numbers  # of each name, in (0, 1]; 0 where it leads nowhere
    held: Numbers  # how many each candidate holds, these and all others

    def shared_with(self, row: int) -> Numbers:
        """Of each candidate, in [0, 1)."""
        mine = np.zeros(len(self.rarity))
        mine[self.name[self.row == row]] = 1
        shared = np.bincount(self.row, (mine * self.rarity)[self.name], len(self.held))
        return np.tanh(shared / np.sqrt(np.maximum(self.held, 1)))


@dataclass(frozen=True, slots=True)
class Likeness:
    """The candidates' vectors, and from which cosine on two of them are alike."""

    vectors: Floats
    bar: float
    weight: float

    def of(self, row: int) -> Numbers:
        cosine = np.einsum("ij,j->i", self.vectors, self.vectors[row]).astype(np.float64)
        return self.weight * np.clip((cosine - self.bar) / (1 - self.bar), 0, 1)


def bridge(view: View, query: Query, pool: Pool, limit: int, bar: float) -> Pool:
    """Among the first `limit` candidates; two whose cosine is at least `bar` are alike."""
    keys = pool.keys[:limit]
    names = leading(view.entities_of(keys), query.entities)
    alike = Likeness(view.vectors(keys), bar, min(1.0, len(query.text.split()) / LONG))
    own = _logits(pool.relevance[: len(keys)])
    reached, over = own.copy(), np.full(len(pool), _NONE)
    ceiling = math.log(CEILING / (1 - CEILING))
    for row in _best(pool, reached):
        share = LIFT * np.maximum(names.shared_with(row), alike.of(row))
        target = min(reached[row], ceiling)
        lifted = own + share * np.maximum(target - own, 0)
        better = np.flatnonzero(lifted > reached)
        reached[better], over[better] = lifted[better], row
    if not (over != _NONE).any():
        return pool
    lift = np.zeros(len(pool), np.float32)
    lift[: len(keys)] = reached - own
    at = np.flatnonzero(lift)
    relevance = pool.relevance.copy()
    # At least what it was: a lift may be lost in rounding.
    relevance[at] = np.maximum(sigmoid(reached[at].astype(np.float32)), relevance[at])
    return replace(pool, relevance=relevance, bridged=Bridged(lift, over, pool.relevance))


def leading(named: Sequence[Sequence[int]], asked: Sequence[int]) -> Names:
    """The names that at least two and not too many candidates hold, without those asked for."""
    held = np.fromiter(map(len, named), np.int64, len(named))
    name = np.fromiter(chain.from_iterable(named), np.int64, int(held.sum()))
    row = np.repeat(np.arange(len(named)), held)
    known, number, count = np.unique(name, return_inverse=True, return_counts=True)
    rarity = 1 / np.log2(np.maximum(count, 2))
    rarity[(count < 2) | (count > COMMON) | np.isin(known, np.array(asked, np.int64))] = 0
    kept = np.flatnonzero(rarity[number])
    return Names(row[kept], number[kept], rarity, held.astype(np.float64))


def _best(pool: Pool, reached: Numbers) -> Iterator[int]:
    """The bridges, best first, as things stand when the next one is asked for; ties by key."""
    left = np.ones(len(reached), np.bool_)
    for _ in range(min(BRIDGES, len(reached))):
        rows = np.flatnonzero(left & (reached == reached[left].max()))
        row = int(rows[np.argmin(pool.keys[rows])])
        left[row] = False
        yield row


def _logits(chance: Floats) -> Numbers:
    inside = np.clip(chance.astype(np.float64), 1e-30, 1 - 1e-7)
    return np.log(inside) - np.log1p(-inside)

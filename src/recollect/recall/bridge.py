"""Bridge: a second piece of evidence is often like the first one, not like the question.

"Who is the spouse of the director of *Heat*?" is answered by a memory of Michael Mann that holds none of
these words; the memory that says who directed *Heat* names him. And a long request is answered in
several places that tell of one thing. So the best hits are bridges. A candidate is lifted towards one

- for a name that both hold and nobody asked for: the further, the rarer the name is among the candidates
  and the fewer other names the candidate holds;
- for its likeness, if the query is long: a short question has its answer in one place, and what is
  like that is not the answer. Where everything is alike, as in notes of one project, it is the
  likest that belong to the bridge;
- for the day on which both happened: records of one day tell of one thing more often than not. In a
  conversation everything was said that day, and the turns beside are what belongs to a turn.

It never gets past the bridge, nor past CEILING: being reached says where it belongs, not that it is
an answer. What was lifted can be the next bridge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from recollect.recall.boost import DAY
from recollect.recall.pool import Bridged, Numbers, Pool
from recollect.recall.relevance import sigmoid
from recollect.recall.understand import Query
from recollect.storage.base import NO_TIME, Columns, Floats, View
from recollect.storage.ranking import distinct

# As `python -m training.fit_bridge` has them.
BRIDGES = 3
LIFT = 0.95  # of the way, at most
CEILING = 0.35
COMMON = 50  # a name or a day that more candidates hold leads nowhere
SAME_DAY = 0.4  # of what is left of the way
LONG = 20  # words of a query from which on likeness counts in full
PLAIN = 10  # words up to which to be the likest does not count
LIKEST = 0.9  # of what is left of the way, for the one most like the bridge, by how like it is
AMONG = 30  # others: one that is no liker than the last of them is not among the likest

Days = NDArray[np.int64]
_NONE = -1
_EVEN = 0.03  # cosine: those that differ by less are as like as each other


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
    """The candidates' vectors, from which cosine on two of them are alike, and the query's words."""

    vectors: Floats
    bar: float
    words: int

    def of(self, row: int) -> tuple[Numbers, Numbers]:
        """How like each candidate is, and how much that says of it as one of the likest; in [0, 1]."""
        cosine = np.einsum("ij,j->i", self.vectors, self.vectors[row]).astype(np.float64)
        alike = np.clip((cosine - self.bar) / (1 - self.bar), 0, 1)
        long = min(max((self.words - PLAIN) / (LONG - PLAIN), 0.0), 1.0)
        return min(1.0, self.words / LONG) * alike, long * alike * _standing_out(cosine, row)


def _standing_out(cosine: Numbers, row: int) -> Numbers:
    """How far each does among the likest, 1 for the first; the fourth power, so that it is a few."""
    others = np.sort(np.delete(cosine, row))[::-1]
    if len(others) < 2:
        return np.zeros(len(cosine))
    least = others[min(AMONG, len(others) - 1)]
    return np.clip((cosine - least) / max(others[0] - least, _EVEN), 0, 1) ** 4


def bridge(view: View, query: Query, pool: Pool, limit: int, bar: float) -> Pool:
    """Among the first `limit` candidates; two whose cosine is at least `bar` are alike."""
    keys = pool.keys[:limit]
    names = leading(view.entities_of(keys), query.entities)
    likeness = Likeness(view.vectors(keys), bar, len(query.text.split()))
    days = days_of(pool.columns, len(keys))
    own = _logits(pool.relevance[: len(keys)])
    reached, over = own.copy(), np.full(len(pool), _NONE)
    ceiling = math.log(CEILING / (1 - CEILING))
    left = np.ones(len(keys), np.bool_)
    for _ in range(min(BRIDGES, len(keys))):
        # The best as things stand by now; of equals the one that was fused best.
        row = int(np.where(left, reached, -np.inf).argmax())
        left[row] = False
        alike, likest = likeness.of(row)
        share = np.maximum(names.shared_with(row), alike)
        share = LIFT * (share + (1 - share) * LIKEST * likest)
        share += (1 - share) * SAME_DAY * same_day(days, row)
        lifted = own + share * np.maximum(min(reached[row], ceiling) - own, 0)
        better = np.flatnonzero(lifted > reached)
        reached[better], over[better] = lifted[better], row
    if not (over != _NONE).any():
        return pool
    lift = np.zeros(len(pool), np.float32)
    lift[: len(keys)] = reached - own
    at = np.flatnonzero(lift)
    relevance = pool.relevance.copy()
    # At least what it was: a lift may be lost in rounding.
    relevance[at] = np.maximum(sigmoid(reached[at]), relevance[at])
    return replace(pool, relevance=relevance, bridged=Bridged(lift, over, pool.relevance))


def leading(named: Sequence[Sequence[int]], asked: Sequence[int]) -> Names:
    """The names that at least two and not too many candidates hold, without those asked for."""
    held = np.fromiter(map(len, named), np.int64, len(named))
    name = np.fromiter(chain.from_iterable(named), np.int64, int(held.sum()))
    known = distinct(name)
    number = known.searchsorted(name)
    count = np.bincount(number, minlength=len(known))
    rarity = 1 / np.log2(np.maximum(count, 2))
    rarity[(count < 2) | (count > COMMON)] = 0
    for entity in asked:
        rarity[known == entity] = 0
    kept = np.flatnonzero(rarity[number])
    row = np.repeat(np.arange(len(named)), held)
    return Names(row[kept], number[kept], rarity, held.astype(np.float64))


def days_of(columns: Columns, count: int) -> Days:
    """The day of each of the first candidates; none for turns of a conversation and for what took
    longer or is undated. What was told without a time bears that of the call, when it was also made."""
    began, ended = columns.happened_from[:count], columns.happened_until[:count]
    dated = (began != NO_TIME) & (began != columns.fresh_from[:count])
    dated &= (ended - began <= DAY) & (columns.before[:count] == 0)
    return np.where(dated, began // DAY, _NONE)


def same_day(days: Days, row: int) -> NDArray[np.bool_]:
    """Whose day is the row's; nobody's when it has none, or one that too many share."""
    same = days == days[row]
    rare = days[row] != _NONE and np.count_nonzero(same) <= min(COMMON, len(days) // 2)
    return same if rare else np.zeros(len(days), np.bool_)


def _logits(chance: Numbers) -> Numbers:
    inside = np.clip(chance, 1e-30, 1 - 1e-7)
    return np.log(inside) - np.log1p(-inside)

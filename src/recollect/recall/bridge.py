"""Bridge: a second piece of evidence is often like the first one, not like the question.

"Who is the spouse of the director of *Heat*?" is answered by a memory of Michael Mann that holds none of
these words; the memory that says who directed *Heat* names him. And what is asked about is often told in
several places. So the best hits are bridges. A candidate is lifted towards one

- for a name that both hold and nobody asked for: the further, the rarer the name is among the candidates
  and the fewer other names the candidate holds. One that begins with the name tells of it ("Michael Mann is
  an American director"), however many others it holds;
- for its likeness: what answers together is told in like words;
- for the day on which both happened: records of one day tell of one thing more often than not. In a
  conversation everything was said that day, and the turns beside are what belongs to a turn.

It never gets past the bridge, nor past CEILING: being reached says where it belongs, not that it is
an answer. What was lifted can be the next bridge.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from recollect.recall.boost import DAY
from recollect.recall.pool import Bridged, Numbers, Pool
from recollect.recall.relevance import sigmoid
from recollect.recall.understand import Query
from recollect.storage.base import NO_TIME, Columns, Floats, Keys, View
from recollect.storage.ranking import distinct
from recollect.types import Memory

# As `python -m training.fit_bridge` has them.
BRIDGES = 3
LIFT = 0.8  # of the way, at most
CEILING = 0.35
ABOUT = 0.75  # of that, for what tells of a name that the bridge holds, if at most one other does
COMMON = 50  # a name or a day that more candidates hold leads nowhere
SAME_DAY = 0.4  # of what is left of the way
OUTSIDE = -1.0  # of `window`, below which the time asked for rules out what is only like a hit

Days = NDArray[np.int64]
_NONE = -1
_OPENING = re.compile(r"^\W*(?:the |an? )?", re.IGNORECASE)
_OPENS = 120  # characters: no name is longer


@dataclass(frozen=True, slots=True)
class Names:
    """Which candidate (row) holds which name, for names that can lead from one to another."""

    row: NDArray[np.int64]
    name: NDArray[np.int64]  # numbered from 0
    entity: NDArray[np.int64]  # of each name
    rarity: Numbers  # of each name, in (0, 1]; 0 where it leads nowhere
    held: Numbers  # how many each candidate holds, these and all others

    def shared_with(self, row: int) -> Numbers:
        """Of each candidate, in [0, 1)."""
        mine = np.zeros(len(self.rarity))
        mine[self.name[self.row == row]] = 1
        shared = np.bincount(self.row, (mine * self.rarity)[self.name], len(self.held))
        return np.tanh(shared / np.sqrt(np.maximum(self.held, 1)))

    def of(self, row: int) -> frozenset[int]:
        """The entities that this one can lead from."""
        return frozenset(self.entity[self.name[self.row == row]].tolist())

    def sharing(self, row: int) -> list[int]:
        """The other candidates that hold one of them."""
        sharing = distinct(self.row[np.isin(self.name, self.name[self.row == row])])
        return sharing[sharing != row].tolist()


class Subjects:
    """What candidates tell of: the name that each begins with. Read from those that are asked for, once."""

    def __init__(self, view: View, keys: Keys, named: Sequence[Sequence[int]]) -> None:
        self._view, self._keys, self._named = view, keys, named
        self._of: dict[int, int | None] = {}

    def of(self, rows: Sequence[int]) -> list[int | None]:
        unread = [row for row in rows if row not in self._of]
        memories: Mapping[int, Memory] = {}
        if unread:
            memories = self._view.load(self._keys[unread].tolist())
        for row in unread:
            memory = memories.get(int(self._keys[row]))
            self._of[row] = None if memory is None else subject(memory, self._named[row])
        return [self._of[row] for row in rows]

    def told(self, names: Names, row: int) -> Numbers:
        """Of each candidate, in [0, 1]: whether it tells of a name of this one's; the less, the more others do."""
        share, leading, rows = np.zeros(len(self._keys)), names.of(row), names.sharing(row)
        subjects = self.of(rows)
        often = Counter(subjects)
        for at, of in zip(rows, subjects, strict=True):
            if of in leading:
                share[at] = 1 / math.log2(max(often[of], 2))
        return share


def subject(memory: Memory, named: Sequence[int]) -> int | None:
    """The name that a memory begins with, the longest of several."""
    if len(named) != len(memory.entities):
        return None
    opening = _OPENING.sub("", memory.title or memory.text[:_OPENS]).casefold()
    found = [
        (len(name), number)
        for number, name in zip(named, map(str.casefold, memory.entities), strict=True)
        if opening.startswith(name) and not opening[len(name) :][:1].isalnum()
    ]
    return max(found)[1] if found else None


def likeness(vectors: Floats, bar: float | None, row: int) -> Numbers:
    """How like each candidate is to this one, in [0, 1]: nothing up to the bar."""
    if bar is None:
        return np.zeros(len(vectors))
    cosine = np.einsum("ij,j->i", vectors, vectors[row]).astype(np.float64)
    return np.clip((cosine - bar) / (1 - bar), 0, 1)


def bridge(view: View, query: Query, pool: Pool, limit: int, bar: float | None) -> Pool:
    """Among the first `limit` candidates; two whose cosine is at least `bar` are alike. None are where there is
    no bar: the model finds all that is written as the query is alike."""
    keys = pool.keys[:limit]
    held = view.entities_of(keys)
    names, subjects = leading(held, query.entities), Subjects(view, keys, held)
    vectors, days = view.vectors(keys), days_of(pool.columns, len(keys))
    own = _logits(pool.relevance[: len(keys)])
    reached, over = own.copy(), np.full(len(pool), _NONE)
    window = pool.signals.get("window")
    meant = 1.0 if window is None else window[: len(keys)] >= OUTSIDE
    ceiling = math.log(CEILING / (1 - CEILING))
    left = np.ones(len(keys), np.bool_)
    for _ in range(min(BRIDGES, len(keys))):
        # The best as things stand by now; of equals the one that was fused best.
        row = int(np.where(left, reached, -np.inf).argmax())
        left[row] = False
        named = np.maximum(names.shared_with(row), ABOUT * subjects.told(names, row))
        share = LIFT * np.maximum(named, meant * likeness(vectors, bar, row))
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
    return Names(row[kept], number[kept], known, rarity, held.astype(np.float64))


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

"""Hits: what a ranking says of the memories that are given back.

An answer may hold two hundred, and most are only counted, or written by the column. So they stay
columns, and a `Hit` is made of each when somebody looks at one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, repeat
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from recollect.recall.answerable import Verdict
from recollect.recall.explain import explain, matched
from recollect.recall.pool import Pool
from recollect.recall.relevance import Calibration
from recollect.recall.retrieve import Retrieved
from recollect.recall.understand import Query
from recollect.storage.base import Keys
from recollect.types import Arm, ArmScore, Band, Explanation, Hit, Memory, StageScores
from recollect.types.making import maker

_make_hit, _make_score = maker(Hit), maker(ArmScore)
_LEVELS = (Band.NOISE, Band.MAYBE, Band.STRONG)


@dataclass(frozen=True)
class Ranked:
    """Everything known just before packing; `why` reads it, too."""

    query: Query
    pool: Pool
    rows: NDArray[np.int64]  # best first
    calibration: Calibration | None
    retrieved: Retrieved
    depth: int
    verdict: Verdict


@dataclass(frozen=True)
class Packed:
    """What a ranking says of the memories that are given back, and of no others: answers are kept for
    a while, and several times as many were considered."""

    query: Query
    pool: Pool  # a row for each, best first
    bands: tuple[float, float]

    @cached_property
    def stages(self) -> list[StageScores]:
        """Whoever asks one hit asks them all, and one by one the columns are slow to read."""
        return list(map(StageScores, *self.said()))

    @cached_property
    def scores(self) -> Mapping[str, NDArray[np.floating[Any]]]:
        """The columns of what a hit names its scores."""
        pool = self.pool
        named = {"fused": pool.fused, "relevance": pool.relevance, **pool.signals}
        return named | {f"{name}_factor": column for name, column in pool.factors.items()}

    def said(self) -> tuple[list[float], list[float | None], list[float | None]]:
        """Of each in short: relevance, similarity, keyword score."""
        pool = self.pool
        return pool.relevance.tolist(), _scores(pool, Arm.SEMANTIC), _scores(pool, Arm.KEYWORD)

    def scored(self) -> tuple[list[float], list[Band]]:
        scores, (strong, maybe) = self.pool.score, self.bands
        levels = np.where(scores >= strong, 2, scores >= maybe)
        return scores.tolist(), list(map(_LEVELS.__getitem__, levels.tolist()))


def _scores(pool: Pool, arm: Arm) -> list[float | None]:
    column = pool.arms.get(arm)
    if column is None:
        return [None] * len(pool)
    found = zip(column.rank.tolist(), column.score.tolist(), strict=True)
    return [score if rank else None for rank, score in found]


def bands_of(ranked: Ranked) -> tuple[float, float]:
    """From where a score is strong, and from where it may be one. When nothing is known all of it
    is noise; when something is, then at least the best is not."""
    if not ranked.verdict.known:
        return math.inf, math.inf
    calibration = ranked.calibration
    strong, maybe = (0.7, 0.3) if calibration is None else (calibration.strong, calibration.maybe)
    return strong, min(maybe, ranked.pool.score_of(ranked.rows[0]))


def band_of(score: float, bands: tuple[float, float]) -> Band:
    strong, maybe = bands
    return Band.STRONG if score >= strong else Band.MAYBE if score >= maybe else Band.NOISE


class HitColumns(NamedTuple):
    """Many hits: a column for each thing that all of them say."""

    memories: Sequence[Memory]
    scores: Sequence[float]
    bands: Sequence[Band]
    hops: Sequence[int]
    relevance: Sequence[float | None]
    semantic: Sequence[float | None]
    keyword: Sequence[float | None]


class Hits(Sequence[Hit]):
    """The hits of one ranking, best first: what it says of them, and their memories. After them
    come neighbours that they brought along, where those were asked for."""

    def __init__(
        self, packed: Packed, memories: Sequence[Memory], neighbours: tuple[Hit, ...] = ()
    ) -> None:
        self._packed = packed
        self._memories = memories
        self._neighbours = neighbours

    def along_with(self, neighbours: Iterable[Hit]) -> Hits:
        return Hits(self._packed, self._memories, tuple(neighbours))

    @property
    def keys(self) -> Keys:
        """Of the direct ones."""
        return self._packed.pool.keys

    @property
    def memories(self) -> Sequence[Memory]:
        if not self._neighbours:
            return self._memories
        return [*self._memories, *(hit.memory for hit in self._neighbours)]

    @property
    def tokens(self) -> int:
        """Of all texts. The column has them side by side; memories lie all over the place."""
        own = int(self._packed.pool.columns.tokens.sum())
        return own + sum(hit.memory.tokens for hit in self._neighbours)

    def columns(self) -> HitColumns:
        if self._neighbours:
            return columns_of(self._made)
        packed = self._packed
        hops = [0] * len(self._memories)
        return HitColumns(self._memories, *packed.scored(), hops, *packed.said())

    @cached_property
    def _made(self) -> tuple[Hit, ...]:
        details = map(_Detail, repeat(self._packed), count(), self._memories)
        made = map(_make_hit, self._memories, *self._packed.scored(), repeat(0), details)
        return (*made, *self._neighbours)

    def __len__(self) -> int:
        return len(self._memories) + len(self._neighbours)

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self._made[at]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._made)

    def __eq__(self, other: object) -> bool:
        return self._made == (other._made if isinstance(other, Hits) else other)

    def __hash__(self) -> int:
        return hash(self._made)

    def __repr__(self) -> str:
        return repr(self._made)


def columns_of(hits: Sequence[Hit]) -> HitColumns:
    if isinstance(hits, Hits):
        return hits.columns()
    said = [(h.memory, h.score, h.band, h.hop, *h.stages) for h in hits]
    return HitColumns(*zip(*said, strict=True)) if said else HitColumns(*repeat((), 7))


class _Detail(NamedTuple):
    """A hit's row of what was packed. Who makes one hit makes hundreds: a tuple is made fastest."""

    packed: Packed
    row: int
    memory: Memory

    def stages(self) -> StageScores:
        return self.packed.stages[self.row]

    def arms(self) -> Mapping[Arm, ArmScore]:
        row = self.row
        return {
            arm: _make_score(int(column.rank[row]), float(column.score[row]))
            for arm, column in self.packed.pool.arms.items()
            if column.rank[row]
        }

    def scores(self) -> Mapping[str, float]:
        row, named = self.row, self.packed.scores
        found = [(name, float(column[row])) for name, column in named.items()]
        return {name: value for name, value in found if not math.isnan(value)}

    def matched_terms(self) -> tuple[str, ...]:
        return matched(self.packed.query, self.memory)

    def explanation(self) -> Explanation:
        return explain(self.packed.pool, self.row)

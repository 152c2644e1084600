"""One bank at one moment, in memory: filters and exact searches over arrays that never change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import simsimd
from numpy.typing import NDArray

from recollect.language.terms import label_hash
from recollect.storage.base import NO_TIME, Filter, Found, TagExpression, TagLeaf
from recollect.storage.index.columns import Postings, Rows, places_before
from recollect.storage.index.record import STATE_CODE, TYPE_CODE
from recollect.storage.index.sift import Coding, sifted
from recollect.storage.ranking import (
    K1,
    SIFTED,
    exact_dots,
    idf,
    saturate,
    top,
    weighted_tf,
)
from recollect.types import State

Mask = NDArray[np.bool_]
Scored = tuple[Rows, NDArray[np.float32]]  # rows that hold a term, and what it adds to their score
_QUERIES_KEPT = 8  # whose scores are: a recall asks for its own more than once
_MASKS_KEPT = 64  # every `as_of` is another filter
_PLACES_KEPT = 262_144  # of terms asked for, at least; of a large bank four for each row


class _Parts:
    """Terms asked for and what each adds, up to so many places in all; then it begins anew. A term
    that stands nowhere takes a place, too: queries have no end of those."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._places = 0
        self._held: dict[int, Scored] = {}

    def get(self, term: int) -> Scored | None:
        return self._held.get(term)

    def keep(self, term: int, scored: Scored) -> Scored:
        places = max(len(scored[0]), 1)
        self._places += places
        if self._places > self._most:
            self._held, self._places = {}, places
        self._held[term] = scored
        return scored


@dataclass(frozen=True)
class Snapshot:
    """One bank at one change sequence. Rows are positions; `keys` is ascending."""

    seq: int
    generation: int
    keys: NDArray[np.int64]
    vectors: NDArray[np.float16]
    coding: Coding
    columns: dict[str, NDArray[Any]]
    alive: Mask
    terms: Postings
    labels: Postings
    entities: Postings
    entity_offsets: NDArray[np.int64]
    entity_ids: NDArray[np.int64]
    field_length: NDArray[np.float64]  # summed over all memories, by field
    field_count: NDArray[np.int64]  # memories that have the field
    # What a store has read of links, a memory's with its key; the next snapshot begins anew.
    links: dict[int, NDArray[np.float64]] = field(default_factory=dict[int, "NDArray[np.float64]"])
    _masks: dict[Filter, Mask] = field(default_factory=dict[Filter, "Mask"])
    _idf: dict[int, float] = field(default_factory=dict[int, float])
    _bm25: dict[tuple[int, ...], NDArray[np.float32]] = field(
        default_factory=dict[tuple[int, ...], "NDArray[np.float32]"]
    )

    @cached_property
    def size(self) -> int:
        return int(self.alive.sum())

    @cached_property
    def whole(self) -> bool:
        """Nothing in it was deleted, so nothing needs to be counted around."""
        return self.size == len(self.alive)

    @cached_property
    def _gapless(self) -> bool:
        """Keys are counted up: where none is missing, a row is a distance from the first."""
        return len(self.keys) > 0 and int(self.keys[-1] - self.keys[0]) == len(self.keys) - 1

    def rows_of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._gapless:
            return np.maximum(np.minimum(keys - self.keys[0], len(self.keys)), 0)
        return self.keys.searchsorted(keys)

    def known(self, keys: NDArray[np.int64]) -> Mask:
        return self.among(keys, self.alive)

    def among(self, keys: NDArray[np.int64], mask: Mask) -> Mask:
        """Which keys are rows of the mask."""
        if not len(self.keys):
            return np.zeros(len(keys), np.bool_)
        rows = np.minimum(self.rows_of(keys), len(self.keys) - 1)
        return mask[rows] & (self.keys[rows] == keys)

    # --- filters ---------------------------------------------------------------------------

    def mask(self, allowed: Filter) -> Mask:
        found = self._masks.get(allowed)
        if found is None:
            if len(self._masks) >= _MASKS_KEPT:
                self._masks.clear()
            found = self._masks[allowed] = self._mask(allowed)
        return found

    def _mask(self, allowed: Filter) -> Mask:
        state = self.columns["state"]
        if allowed.as_of is None:
            mask = self.alive & (
                (state == STATE_CODE[State.ACTIVE]) | (state == STATE_CODE[State.SUPERSEDED])
            )
        else:
            then = allowed.as_of
            until = self.columns["known_until"]
            was_open = (until == NO_TIME) | (until > then)
            mask = self.alive & (self.columns["known_from"] <= then)
            mask &= was_open | (state == STATE_CODE[State.SUPERSEDED])
        if allowed.types is not None:
            codes = [TYPE_CODE[t] for t in allowed.types]
            mask &= np.isin(self.columns["type"], codes)
        if allowed.tags is not None:
            mask &= self._tagged(allowed.tags)
        return mask

    def _tagged(self, expression: TagExpression) -> Mask:
        if isinstance(expression, TagLeaf):
            return self._tag_leaf(expression)
        parts = [self._tagged(p) for p in expression.parts]
        if expression.operator == "not":
            return ~parts[0]
        combine = np.logical_and if expression.operator == "and" else np.logical_or
        return combine.reduce(parts)

    def _tag_leaf(self, leaf: TagLeaf) -> Mask:
        count = np.zeros(len(self.keys), np.int16)
        wanted = dict.fromkeys(leaf.tags)
        for tag in wanted:
            count[self.labels.get(label_hash(tag))[0]] += 1
        held = self.columns["labels"]
        if leaf.match == "exact":
            return (count == len(wanted)) & (held == len(wanted))
        hit = count > 0 if leaf.match.startswith("any") else count == len(wanted)
        return hit if leaf.match.endswith("_strict") else hit | (held == 0)

    # --- searches --------------------------------------------------------------------------

    def semantic(self, vector: NDArray[np.float32], mask: Mask, k: int, floor: float) -> Found:
        rows = mask.nonzero()[0]
        if not len(rows):
            return Found.nothing()
        found, exact = self._near(vector, rows, k, floor)
        over = exact >= floor
        keys, scores = top(exact[over], self.keys[found[over]], k)
        return Found(keys, scores)

    def _near(
        self, vector: NDArray[np.float32], rows: NDArray[np.int64], k: int, floor: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows worth an exact look, and what it found: a scan rounds, and on some processors its sums,
        too; what is near the top is scored again in full, so that a ranking does not depend on the
        machine."""

        def exact(at: NDArray[np.int64]) -> NDArray[np.float32]:
            return exact_dots(vector, self.vectors.take(rows[at], axis=0))

        few, codes = len(rows) * 3 <= len(self.keys), self.coding.of(self.vectors)
        if codes is not None:
            rough, off = (codes.at(rows) if few else codes).rough(vector)
            every = few or len(rows) == len(rough)
            found = sifted(rough if every else rough[rows], off, k, floor, SIFTED, exact)
            if found is not None:
                return rows[found.at], found.exact
            few = True  # as good as equal, by the thousand
        rough = _dots(vector, self.vectors[rows] if few else self.vectors)
        at = _best(rough if few else rough[rows], min(len(rows), k + k // 4 + 32))
        return rows[at], exact(at)

    def similarity(
        self, vector: NDArray[np.float32], rows: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Exact for what is ranked against each other; a whole window of thousands is only sifted."""
        dots = exact_dots if len(rows) <= SIFTED else _dots
        return dots(vector, self.vectors.take(rows, axis=0))

    def keyword(self, terms: Sequence[int], mask: Mask, k: int) -> Found:
        scores = self.bm25(terms)
        rows = np.flatnonzero((scores > 0) & mask)
        keys, best = top(scores[rows], self.keys[rows], k)
        return Found(keys, best)

    def bm25(self, terms: Sequence[int]) -> NDArray[np.float32]:
        """Of every row; kept for the few queries under way, which ask more than once."""
        asked = tuple(terms)
        found = self._bm25.get(asked)
        if found is None:
            if len(self._bm25) >= _QUERIES_KEPT:
                self._bm25.clear()
            found = self._bm25[asked] = self._score(asked)
        return found

    def _score(self, terms: Sequence[int]) -> NDArray[np.float32]:
        scores = np.zeros(len(self.keys), np.float32)
        for term in terms:
            rows, part = self._part(term)
            scores[rows] += part
        return scores

    def _part(self, term: int) -> Scored:
        """What a term adds, and to which rows. Many queries ask for the same few words, and those
        stand in the most memories."""
        found = self._parts.get(term)
        if found is None:
            rows, weighted = self._weighted(term)
            part = np.float32(self._weight(term, len(rows))) * saturate(weighted)
            found = self._parts.keep(term, (rows, part))
        return found

    @cached_property
    def _parts(self) -> _Parts:
        return _Parts(max(_PLACES_KEPT, 4 * len(self.keys)))

    def _weighted(self, term: int) -> Scored:
        """The rows that hold a term, and how much of it, as BM25F weighs fields and lengths."""
        rows, (length, tf, fields) = self.terms.get(term)
        if not self.whole:
            live = self.alive[rows]
            rows, length, tf, fields = rows[live], length[live], tf[live], fields[live]
        return weighted_tf(rows, length, tf, fields, self._average_lengths)

    def keyword_ceiling(self, terms: Sequence[int]) -> float:
        """The score of a memory that holds every term without end; terms the bank has never
        seen count as its rarest."""
        return sum(self._weight(term) for term in terms) * (K1 + 1)

    def _weight(self, term: int, containing: int | None = None) -> float:
        """IDF; worked out once a term and snapshot."""
        found = self._idf.get(term)
        if found is None:
            if containing is None:
                rows, _ = self.terms.get(term)
                containing = len(np.unique(rows[self.alive[rows]]))
            found = self._idf[term] = idf(self.size, containing)
        return found

    @cached_property
    def _average_lengths(self) -> NDArray[np.float32]:
        count = np.maximum(self.field_count, 1)
        return np.maximum(self.field_length / count, 1e-9).astype(np.float32)

    def in_window(self, start: int | None, end: int | None, mask: Mask) -> Rows:
        began, ended = self.columns["happened_from"], self.columns["happened_until"]
        inside = mask & (began != NO_TIME)
        if end is not None:
            inside &= began < end
        if start is not None:
            inside &= (ended > start) | ((ended == began) & (began >= start))
        return np.flatnonzero(inside).astype(np.int32)

    def entities_of(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entities that rows name, end to end, and how many each does; a row that is not there
        names none."""
        ends = self.entity_offsets[np.minimum(rows + 1, len(self.keys))]
        counts = ends - self.entity_offsets[rows]
        return self.entity_ids[places_before(ends, counts)], counts


def _dots(vector: NDArray[np.float32], matrix: NDArray[np.float16]) -> NDArray[np.float32]:
    query = vector.astype(np.float16)[None]
    return np.asarray(simsimd.cdist(query, matrix, "dot"))[0].astype(np.float32)


def _best(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    if k >= len(scores):
        return np.arange(len(scores))
    return np.argpartition(scores, len(scores) - k)[len(scores) - k :]

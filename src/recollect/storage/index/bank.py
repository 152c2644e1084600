"""The derived cache of one bank: vectors, terms, filter columns, in memory.

`Index` is built from the `features` table and caught up by change sequence, under a lock.
`Index.snapshot()` is what readers get: arrays that never change under them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import simsimd
from numpy.typing import NDArray

from recollect.language.terms import label_hash
from recollect.storage.base import NO_TIME, Filter, Found, TagExpression, TagLeaf
from recollect.storage.index.columns import Column, Postings, Rows, places_before
from recollect.storage.index.record import POSTING, RECORD, STATE_CODE, TYPE_CODE
from recollect.storage.index.sift import Coding, among_best
from recollect.storage.index.slab import FeatureRow, Lists, Slab, slab_of
from recollect.storage.ranking import (
    FIELD_WEIGHTS,
    K1,
    exact_dots,
    idf,
    saturate,
    top,
    weighted_tf,
)
from recollect.types import State

Mask = NDArray[np.bool_]
_FIELDS = len(FIELD_WEIGHTS)
_QUERIES_KEPT = 8
SIFTED = 2000
_MASKS = 64


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
            if len(self._masks) >= _MASKS:  # every `as_of` is another filter
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
        rows = np.flatnonzero(mask)
        if not len(rows):
            return Found.nothing()
        keep = self._near(vector, rows, k, floor)
        exact = exact_dots(vector, self.vectors.take(keep, axis=0))
        over = exact >= floor
        keys, scores = top(exact[over], self.keys[keep[over]], k)
        return Found(keys, scores)

    def _near(
        self, vector: NDArray[np.float32], rows: NDArray[np.int64], k: int, floor: float
    ) -> NDArray[np.int64]:
        """Rows worth an exact look: a scan rounds, and on some processors its sums, too; what is
        near the top is scored again in full, so that a ranking does not depend on the machine."""
        few, codes = len(rows) * 3 <= len(self.keys), self.coding.of(self.vectors)
        if codes is not None:
            rough, off = (codes.at(rows) if few else codes).rough(vector)
            rows = rows[among_best(rough if few else rough[rows], off, k, floor)]
            if len(rows) <= SIFTED + k:
                return rows
            few = True  # as good as equal, by the thousand
        rough = _dots(vector, self.vectors[rows] if few else self.vectors)
        return rows[_best(rough if few else rough[rows], min(len(rows), k + k // 4 + 32))]

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
        average = self._average_lengths()
        for term in terms:
            rows, (length, tf, fields) = self.terms.get(term)
            if not self.whole:
                live = self.alive[rows]
                rows, length, tf, fields = rows[live], length[live], tf[live], fields[live]
            if not len(rows):
                continue
            rows, weighted = weighted_tf(rows, length, tf, fields, average)
            scores[rows] += np.float32(self._weight(term, len(rows))) * saturate(weighted)
        return scores

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


class _Listed(NamedTuple):
    """What a slab of rows adds to the postings."""

    terms: tuple[NDArray[Any], Rows]
    labels: tuple[NDArray[np.int64], Rows]
    entities: tuple[NDArray[np.int64], Rows]


class Index:
    """The mutable side: build, catch up, hand out snapshots. Callers hold the bank's lock."""

    def __init__(self, dimensions: int, generation: int) -> None:
        self.generation = generation
        self.seq = -1
        self.dimensions = dimensions
        self._keys = Column(np.empty(0, np.int64))
        self._vectors = Column(np.empty((0, dimensions), np.float16))
        self._coding = Coding(dimensions)
        self._alive = Column(np.empty(0, np.bool_))
        self._columns = {name: Column(np.empty(0, RECORD[name])) for name in RECORD.names or ()}
        none = np.empty(0, np.int64)
        no_rows = np.empty(0, np.int32)
        self._terms = Postings.build(
            none, no_rows, [np.empty(0, np.uint16), np.empty(0, np.uint8), np.empty(0, np.uint8)]
        )
        self._labels = Postings.build(none, no_rows)
        self._entities = Postings.build(none, no_rows)
        self._entity_offsets = Column(np.zeros(1, np.int64))
        self._entity_ids = Column(none)
        self._field_length = np.zeros(_FIELDS)
        self._field_count = np.zeros(_FIELDS, np.int64)
        self._snapshot: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        if self._snapshot is None:
            self._snapshot = Snapshot(
                self.seq,
                self.generation,
                self._keys.data,
                self._vectors.data,
                self._coding,
                {name: column.data for name, column in self._columns.items()},
                self._alive.data,
                self._terms,
                self._labels,
                self._entities,
                self._entity_offsets.data,
                self._entity_ids.data,
                self._field_length.copy(),
                self._field_count.copy(),
            )
        return self._snapshot

    @property
    def rows(self) -> int:
        return len(self._keys.data)

    def reserve(self, rows: int) -> None:
        for column in (self._keys, self._vectors, self._alive, *self._columns.values()):
            column.reserve(rows)

    def catch_up(
        self, seq: int, changed: Iterable[Sequence[FeatureRow]], deleted: Iterable[int]
    ) -> None:
        """Apply what happened up to `seq`. `changed` comes in slabs, ascending by key; a row
        already held can only have a new record (any other change makes a new row)."""
        last = int(self._keys.data[-1]) if len(self._keys.data) else -1
        listed: list[_Listed] = []
        for rows in changed:
            self._update([row for row in rows if row[0] <= last])
            fresh = [row for row in rows if row[0] > last]
            if fresh:
                listed.append(self._append(slab_of(fresh, self.dimensions)))
        self._extend_postings(listed)
        self._delete(deleted)
        self.seq = seq
        self._snapshot = None

    def load(self, seq: int, slabs: Iterable[Slab]) -> None:
        """A whole bank, into an index that holds nothing yet."""
        self._extend_postings([self._append(slab) for slab in slabs])
        self.seq = seq
        self._snapshot = None

    def _append(self, slab: Slab) -> _Listed:
        """The columns of new rows; what has lists of its own is left for the postings."""
        at = len(self._keys.data)
        self._keys.append(slab.keys)
        for name, column in self._columns.items():
            column.append(slab.records[name])
        self._vectors.append(slab.vectors)
        self._alive.append(np.ones(len(slab.keys), np.bool_))
        ends = self._entity_offsets.data[-1] + np.cumsum(slab.entities.counts)
        self._entity_offsets.append(ends)
        self._entity_ids.append(slab.entities.values)
        return _Listed(_owned(slab.terms, at), _owned(slab.labels, at), _owned(slab.entities, at))

    def _extend_postings(self, listed: Sequence[_Listed]) -> None:
        """Once for all slabs: a posting list is sorted."""
        if not listed:
            return
        found, rows = _joined([x.terms for x in listed])
        payload = [np.ascontiguousarray(found[name]) for name in ("length", "tf", "field")]
        self._terms = self._terms.extend(found["term"].astype(np.int64), rows, payload)
        # A row's postings stand together, field by field: each change begins another field.
        owner = rows.astype(np.int64) * _FIELDS + found["field"]
        first = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]]) if len(owner) else owner
        self._count_fields(found[first], +1)
        self._labels = self._labels.extend(*_joined([x.labels for x in listed]))
        self._entities = self._entities.extend(*_joined([x.entities for x in listed]))

    def _count_fields(self, one_each: NDArray[Any], sign: int) -> None:
        """`one_each` has one posting of every (row, field)."""
        fields = one_each["field"]
        self._field_length += sign * np.bincount(fields, one_each["length"], _FIELDS)
        self._field_count += sign * np.bincount(fields, minlength=_FIELDS)

    def _update(self, rows: Sequence[FeatureRow]) -> None:
        if not rows:
            return
        at = np.searchsorted(self._keys.data, [row[0] for row in rows]).astype(np.int32)
        packed = np.frombuffer(b"".join(row[2] for row in rows), RECORD)
        for name, column in self._columns.items():
            column.write(at, packed[name])

    def _delete(self, keys: Iterable[int]) -> None:
        held = self._keys.data
        wanted = np.array(sorted(set(keys)), np.int64)
        at = np.searchsorted(held, wanted)
        at = (
            at[(at < len(held)) & np.isin(held[np.minimum(at, max(len(held) - 1, 0))], wanted)]
            if len(held)
            else at[:0]
        )
        at = at[self._alive.data[at]].astype(np.int32)
        if not len(at):
            return
        self._alive.write(at, False)
        gone = np.isin(self._terms.rows, at)
        tail = np.isin(self._terms.tail_rows, at)
        found = np.zeros(int(gone.sum() + tail.sum()), POSTING)
        for name, base, more in zip(
            ("length", "tf", "field"), self._terms.payload, self._terms.tail_payload, strict=True
        ):
            found[name] = np.concatenate([base[gone], more[tail]])
        rows = np.concatenate([self._terms.rows[gone], self._terms.tail_rows[tail]])
        _, first = np.unique(rows.astype(np.int64) * _FIELDS + found["field"], return_index=True)
        self._count_fields(found[first], -1)


def _joined(
    lists: Sequence[tuple[NDArray[Any], Rows]],
) -> tuple[NDArray[Any], Rows]:
    return np.concatenate([ids for ids, _ in lists]), np.concatenate([rows for _, rows in lists])


def _owned(lists: Lists, at: int) -> tuple[NDArray[Any], Rows]:
    """Every value with the row it belongs to."""
    rows = np.arange(at, at + len(lists.counts), dtype=np.int32)
    return lists.values, np.repeat(rows, lists.counts)


def _dots(vector: NDArray[np.float32], matrix: NDArray[np.float16]) -> NDArray[np.float32]:
    query = vector.astype(np.float16)[None]
    return np.asarray(simsimd.cdist(query, matrix, "dot"))[0].astype(np.float32)


def _best(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    if k >= len(scores):
        return np.arange(len(scores))
    return np.argpartition(scores, len(scores) - k)[len(scores) - k :]

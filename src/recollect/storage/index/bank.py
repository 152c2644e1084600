"""The derived cache of one bank, the side that changes: built from what a store keeps for search,
and caught up by change sequence, under a lock. Readers get its `snapshot()`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.storage.index.columns import Column, Postings, Rows
from recollect.storage.index.record import POSTING, RECORD
from recollect.storage.index.sift import Coding
from recollect.storage.index.slab import FeatureRow, Ragged, Slab, slab_of
from recollect.storage.index.snapshot import Snapshot
from recollect.storage.ranking import FIELD_WEIGHTS

_FIELDS = len(FIELD_WEIGHTS)


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
        wanted = np.array(list(keys), np.int64)
        if not len(wanted):
            return
        at = np.flatnonzero(np.isin(self._keys.data, wanted) & self._alive.data).astype(np.int32)
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


def _owned(lists: Ragged, at: int) -> tuple[NDArray[Any], Rows]:
    """Every value with the row it belongs to."""
    rows = np.arange(at, at + len(lists.counts), dtype=np.int32)
    return lists.values, np.repeat(rows, lists.counts)

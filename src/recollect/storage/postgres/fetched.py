"""What a view has read of its memories: records and vectors, by key."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.storage.base import Columns, Keys
from recollect.storage.index.record import RECORD

HEAD = 4  # bytes before the numbers of a halfvec as PostgreSQL sends it: length, and two unused


def blank_vector(dimensions: int) -> bytes:
    """In the place of a vector that a memory lacks: it is near nothing."""
    return bytes(HEAD + 2 * dimensions)


def row_type(dimensions: int, record: Any = RECORD) -> np.dtype[np.void]:
    """Key, record and vector, as they are sent together."""
    vector = ("vector", ">f2", (dimensions,))
    return np.dtype([("key", ">i8"), ("record", record), ("head", f"V{HEAD}"), vector])


def vector_type(dimensions: int) -> np.dtype[np.void]:
    return np.dtype([("key", ">i8"), ("head", f"V{HEAD}"), ("vector", ">f2", (dimensions,))])


RECORD_ROW = np.dtype([("key", ">i8"), ("record", RECORD)])
WINDOW_ROW = np.dtype([("key", ">i8"), ("record", RECORD), ("similar", ">f4")])


def unpacked(blob: bytes | None, kind: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(blob or b"", kind)


class Fetched:
    """Rows already read, one after the other as they came, and where each key stands. Adding makes
    new arrays, and a row stays where it is: whoever reads meanwhile is not disturbed."""

    def __init__(self, dimensions: int) -> None:
        # Records as bytes: numpy joins and picks those ten times as fast as ones with fields.
        record = f"V{RECORD.itemsize}"
        self._sent = row_type(dimensions, record)
        self.blank = blank_vector(dimensions)
        nobody = np.empty(0, np.int64)
        self._keys: Keys = nobody
        self._found = (nobody, nobody)  # keys, ascending, and the row of each
        self._records: NDArray[np.void] = np.empty(0, record)
        self.vectors: NDArray[np.float16] = np.empty((0, dimensions), np.float16)

    @property
    def records(self) -> NDArray[np.void]:
        return self._records.view(RECORD)

    def add(self, blob: bytes | None) -> Keys:
        """Key, record and vector of each, end to end; gives their keys, in the order they came."""
        rows = unpacked(blob, self._sent)
        keys = rows["key"].astype(np.int64)
        fresh = ~self.has(keys)
        if fresh.any():
            if not fresh.all():
                rows = rows[fresh]
            self._records = np.concatenate([self._records, rows["record"]])
            self.vectors = np.concatenate([self.vectors, rows["vector"].astype(np.float16)])
            self._keys = np.concatenate([self._keys, keys[fresh]])
            order = np.argsort(self._keys, kind="stable")
            self._found = (self._keys[order], order)
        return keys

    def missing(self, keys: Keys) -> Keys:
        return keys[~self.has(keys)]

    def rows(self, keys: Keys) -> NDArray[np.int64]:
        """Where each of `keys` stands; for one that is not held, anywhere (see `has`)."""
        ascending, row = self._found
        at = np.searchsorted(ascending, keys)
        return row[np.minimum(at, max(len(row) - 1, 0))] if len(row) else at

    def has(self, keys: Keys) -> NDArray[np.bool_]:
        ascending, row = self._found
        if not len(row):
            return np.zeros(len(keys), np.bool_)
        return ascending[np.minimum(np.searchsorted(ascending, keys), len(row) - 1)] == keys


def columns(keys: Keys, records: NDArray[np.void]) -> Columns:
    """Records, aligned with `keys`, as boosts and packing read them."""
    return Columns(
        keys,
        records["type"],
        records["state"],
        records["happened_from"],
        records["happened_until"],
        records["recent"],
        records["known_from"],
        records["known_until"],
        records["fresh_from"],
        records["valid_until"],
        records["lifetime_days"],
        records["proof"],
        records["before"],
        records["tokens"],
    )

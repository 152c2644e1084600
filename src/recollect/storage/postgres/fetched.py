"""What a view has read of its memories: records and vectors, by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.storage.base import Columns, Keys
from recollect.storage.index.record import RECORD

HEAD = 4  # bytes before the numbers of a halfvec as PostgreSQL sends it: length, and two unused


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
        self._sent = np.dtype([("head", f"V{HEAD}"), ("vector", ">f2", (dimensions,))])
        self._blank = bytes(self._sent.itemsize)  # a memory without a vector is near nothing
        nobody = np.empty(0, np.int64)
        self._keys: Keys = nobody
        self._found = (nobody, nobody)  # keys, ascending, and the row of each
        # As bytes: numpy joins and picks those ten times as fast as records with fields.
        self._records: NDArray[np.void] = np.empty(0, f"V{RECORD.itemsize}")
        self.vectors: NDArray[np.float16] = np.empty((0, dimensions), np.float16)

    @property
    def records(self) -> NDArray[np.void]:
        return self._records.view(RECORD)

    def add(self, rows: Sequence[tuple[int, bytes, bytes | None]]) -> Keys:
        """(key, record, vector) of each; gives their keys, in the order they came."""
        keys = np.array([row[0] for row in rows], np.int64)
        fresh = np.flatnonzero(~self.has(keys)).tolist()
        if fresh:
            records = np.frombuffer(b"".join([rows[n][1] for n in fresh]), self._records.dtype)
            sent = np.frombuffer(b"".join([rows[n][2] or self._blank for n in fresh]), self._sent)
            self._records = np.concatenate([self._records, records])
            self.vectors = np.concatenate([self.vectors, sent["vector"].astype(np.float16)])
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
        records["known_until"],
        records["fresh_from"],
        records["valid_until"],
        records["lifetime_days"],
        records["proof"],
        records["before"],
        records["tokens"],
    )

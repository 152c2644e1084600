"""What a view has read of its memories: records and vectors, by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.storage.base import Columns, Keys
from recollect.storage.sqlite.record import RECORD

HEAD = 4  # bytes before the numbers of a halfvec as PostgreSQL sends it: length, and two unused


def vector_type(dimensions: int) -> np.dtype[np.void]:
    return np.dtype([("key", ">i8"), ("head", f"V{HEAD}"), ("vector", ">f2", (dimensions,))])


RECORD_ROW = np.dtype([("key", ">i8"), ("record", RECORD)])
WINDOW_ROW = np.dtype([("key", ">i8"), ("record", RECORD), ("similar", ">f4")])


def unpacked(blob: bytes | None, kind: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(blob or b"", kind)


class Held:
    """Rows already read, ascending by key. Adding makes new arrays: readers keep theirs."""

    def __init__(self, dimensions: int) -> None:
        self._sent = np.dtype([("head", f"V{HEAD}"), ("vector", ">f2", (dimensions,))])
        self._blank = bytes(self._sent.itemsize)  # a memory without a vector is near nothing
        self.keys: Keys = np.empty(0, np.int64)
        self.records: NDArray[np.void] = np.empty(0, RECORD)
        self.vectors: NDArray[np.float16] = np.empty((0, dimensions), np.float16)

    def add(self, rows: Sequence[tuple[int, bytes, bytes | None]]) -> Keys:
        """(key, record, vector) of each; gives their keys, in the order they came."""
        keys = np.array([row[0] for row in rows], np.int64)
        fresh = np.flatnonzero(~self.has(keys)).tolist()
        if fresh:
            merged = np.concatenate([self.keys, keys[fresh]])
            order = np.argsort(merged, kind="stable")
            records = np.frombuffer(b"".join([rows[n][1] for n in fresh]), RECORD)
            sent = np.frombuffer(b"".join([rows[n][2] or self._blank for n in fresh]), self._sent)
            vectors = np.concatenate([self.vectors, sent["vector"].astype(np.float16)])
            self.records = np.concatenate([self.records, records])[order]
            self.keys, self.vectors = merged[order], vectors[order]
        return keys

    def missing(self, keys: Keys) -> Keys:
        return keys[~np.isin(keys, self.keys)]

    def rows(self, keys: Keys) -> NDArray[np.int64]:
        """Where each of `keys` stands; for one that is not held, anywhere (see `has`)."""
        return np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))

    def has(self, keys: Keys) -> NDArray[np.bool_]:
        if not len(self.keys):
            return np.zeros(len(keys), np.bool_)
        return self.keys[self.rows(keys)] == keys


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

"""The rows of `features` that an index in memory is read from, many at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import numpy as np

from recollect.storage.index.record import KEY_BITS, KEY_MASK, POSTING, RECORD
from recollect.storage.index.slab import Ragged, Slab

STEP = 1024  # keys read by one statement: what SQLite joins then stays in the processor's cache

# SQLite joins the blobs of many rows itself: no Python object a row, and no lock held, so that
# models load meanwhile. `group_concat` keeps the bytes of a blob as they are (in a UTF-8 store
# nothing is converted), and NOT INDEXED is a walk along the row ids, so the order is that of
# the keys; tests/storage/test_slab.py holds it to both.
_JOINED = """
SELECT count(*), min(n) & ?1, max(n) & ?1,
  CAST(group_concat(record || coalesce(vector, zeroblob(?2)), '') AS BLOB),
  CAST(group_concat(terms, '') AS BLOB), group_concat(length(terms)),
  CAST(group_concat(labels, '') AS BLOB), group_concat(coalesce(length(labels), 0)),
  CAST(group_concat(entities, '') AS BLOB), group_concat(coalesce(length(entities), 0))
FROM features NOT INDEXED WHERE n >= ?3 AND n < ?4
"""


def slabs_of_bank(
    db: sqlite3.Connection, number: int, next_key: int, dimensions: int
) -> Iterator[Slab]:
    """All of a bank, in the order of its keys."""
    first = number << KEY_BITS
    for key in range(0, next_key, STEP):
        span = first + key, first + min(key + STEP, next_key)
        found = db.execute(_JOINED, (KEY_MASK, 2 * dimensions, *span)).fetchone()
        count, low, high, fixed, *lists = found
        if not count:
            continue
        if high - low + 1 == count:
            keys = np.arange(low, high + 1, dtype=np.int64)
        else:  # some were deleted
            rows = db.execute("SELECT n FROM features WHERE n >= ? AND n < ? ORDER BY n", span)
            keys = np.array([n & KEY_MASK for (n,) in rows], np.int64)
        row = np.dtype([("record", RECORD), ("vector", "<f2", (dimensions,))])
        whole = np.frombuffer(fixed, row)
        if len(whole) != count:
            raise ValueError(f"{len(whole)} records and vectors in {count} rows of features")
        yield Slab(
            keys,
            whole["record"],
            whole["vector"],
            _split(lists[0], lists[1], POSTING),
            _split(lists[2], lists[3], np.dtype("<i8")),
            _split(lists[4], lists[5], np.dtype("<i8")),
        )


def _split(joined: bytes | None, lengths: str, of: np.dtype[Any]) -> Ragged:
    values = np.frombuffer(joined or b"", of)
    counts = np.fromstring(lengths, np.int64, sep=",") // of.itemsize
    if int(counts.sum()) != len(values):
        raise ValueError(f"a list in features is no multiple of {of.itemsize} bytes")
    return Ragged(values, counts)

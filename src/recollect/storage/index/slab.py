"""What search needs of memories, many at a time, as the arrays that an index is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.storage.index.record import POSTING, RECORD

FeatureRow = tuple[int, int, bytes, bytes | None, bytes, bytes | None, bytes | None]


class Ragged(NamedTuple):
    """One list a row, end to end, and how long each is."""

    values: NDArray[Any]
    counts: NDArray[np.int64]


class Slab(NamedTuple):
    keys: NDArray[np.int64]
    records: NDArray[Any]
    vectors: NDArray[np.float16]
    terms: Ragged
    labels: Ragged
    entities: Ragged


def slab_of(rows: Sequence[FeatureRow], dimensions: int) -> Slab:
    keys, _, records, vectors, terms, labels, entities = zip(*rows, strict=True)
    blank = bytes(2 * dimensions)
    joined = b"".join(vector or blank for vector in vectors)
    return Slab(
        np.array(keys, np.int64),
        np.frombuffer(b"".join(records), RECORD),
        np.frombuffer(joined, "<f2").reshape(len(rows), dimensions),
        _together(terms, POSTING),
        _together(labels, np.dtype("<i8")),
        _together(entities, np.dtype("<i8")),
    )


def _together(blobs: Sequence[bytes | None], of: np.dtype[Any]) -> Ragged:
    counts = np.array([len(b) // of.itemsize if b else 0 for b in blobs])
    return Ragged(np.frombuffer(b"".join(b for b in blobs if b), of), counts)

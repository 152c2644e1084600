"""The nearest memories of many vectors at once: one matrix product, a slab at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.storage.base import Floats, Found
from recollect.storage.sqlite.index import Mask, Snapshot

SLAB = 16_384  # rows turned into float32 at a time: stays in cache, never the whole bank
CROWD = 64  # hits a vector in one slab, above which only its best are looked at


def nearest_of_many(
    snapshot: Snapshot, vectors: Floats, mask: Mask, k: int, floor: float
) -> list[Found]:
    rows = np.flatnonzero(mask)
    found = [
        _of_slab(snapshot, vectors, rows[at : at + SLAB], k, floor)
        for at in range(0, len(rows), SLAB)
    ]
    if not found:
        return [Found.nothing() for _ in vectors]
    which, keys, scores = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((keys, -scores, which))
    which, keys, scores = which[order], keys[order], scores[order]
    starts = np.searchsorted(which, np.arange(len(vectors)))
    ends = np.minimum(np.searchsorted(which, np.arange(len(vectors)), "right"), starts + k)
    return [Found(keys[a:b], scores[a:b]) for a, b in zip(starts, ends, strict=True)]


def _of_slab(
    snapshot: Snapshot, vectors: Floats, slab: NDArray[np.int64], k: int, floor: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    whole = slab[-1] - slab[0] + 1 == len(slab)
    held = snapshot.vectors[slab[0] : slab[-1] + 1] if whole else snapshot.vectors[slab]
    scores = vectors @ held.astype(np.float32).T
    which, at = np.nonzero(scores >= floor)
    if len(which) > CROWD * len(vectors):  # near-duplicates by the thousand: the best will do
        keep = min(4 * k, len(slab))
        at = np.argpartition(scores, len(slab) - keep, axis=1)[:, len(slab) - keep :].ravel()
        which = np.repeat(np.arange(len(vectors)), keep)
        over = scores[which, at] >= floor
        which, at = which[over], at[over]
    return which, snapshot.keys[slab[at]], scores[which, at]

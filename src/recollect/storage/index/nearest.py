"""The nearest memories of many vectors at once: sifted by their codes where there are codes, else
by a matrix product, a slab at a time. A product by BLAS takes two processors for some 30 ms, however
small it is: its threads spin before they sleep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.storage.base import Floats, Found, Keys
from recollect.storage.index.sift import Codes, among_best
from recollect.storage.index.snapshot import Mask, Snapshot
from recollect.storage.ranking import widened

SLAB = 16_384  # rows turned into float32 at a time: stays in cache, never the whole bank
CROWD = 64  # hits a vector in one slab, above which only its best are looked at
Near = tuple[NDArray[np.int64], Keys, Floats]  # which vector, whose key, how near


def nearest_of_many(
    snapshot: Snapshot, vectors: Floats, mask: Mask, k: int, floor: float
) -> list[Found]:
    codes = snapshot.coding.of(snapshot.vectors)
    if codes is not None and len(snapshot.keys):
        found = [_sifted(snapshot, vectors, mask, k, floor, codes)]
    else:
        found = list(_multiplied(snapshot, vectors, mask, k, floor))
    return nearest_of_slabs(found, len(vectors), k)


def _sifted(
    snapshot: Snapshot, vectors: Floats, mask: Mask, k: int, floor: float, codes: Codes
) -> Near:
    pairs = codes.near(vectors, floor)
    seen = mask[pairs.rows]
    which, rows, rough = pairs.which[seen], pairs.rows[seen], pairs.rough[seen]
    if len(which) > CROWD * len(vectors):  # near-duplicates by the thousand: the best will do
        order = np.argsort(which, kind="stable")
        parts = np.split(order, np.searchsorted(which[order], np.arange(1, len(vectors))))
        best = [p[among_best(rough[p], o, k, floor)] for p, o in zip(parts, pairs.off, strict=True)]
        which, rows = which[np.concatenate(best)], rows[np.concatenate(best)]
    scores = np.einsum("ij,ij->i", widened(snapshot.vectors[rows]), vectors[which])
    over = scores >= floor
    return which[over], snapshot.keys[rows[over]], scores[over]


def _multiplied(
    snapshot: Snapshot, vectors: Floats, mask: Mask, k: int, floor: float
) -> Iterator[Near]:
    rows = np.flatnonzero(mask)
    for at in range(0, len(rows), SLAB):
        slab = rows[at : at + SLAB]
        whole = slab[-1] - slab[0] + 1 == len(slab)
        held = snapshot.vectors[slab[0] : slab[-1] + 1] if whole else snapshot.vectors[slab]
        yield nearest_in_slab(vectors, snapshot.keys[slab], held, k, floor)


def nearest_of_slabs(found: Sequence[Near], count: int, k: int) -> list[Found]:
    """The k best of each vector, from what each slab had."""
    if not found:
        return [Found.nothing() for _ in range(count)]
    which, keys, scores = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((keys, -scores, which))
    which, keys, scores = which[order], keys[order], scores[order]
    starts = np.searchsorted(which, np.arange(count))
    ends = np.minimum(np.searchsorted(which, np.arange(count), "right"), starts + k)
    return [Found(keys[a:b], scores[a:b]) for a, b in zip(starts, ends, strict=True)]


def nearest_in_slab(
    vectors: Floats, keys: Keys, held: NDArray[np.float16] | Floats, k: int, floor: float
) -> Near:
    scores = vectors @ held.astype(np.float32, copy=False).T
    which, at = np.divmod(np.flatnonzero(scores >= floor), max(len(keys), 1))
    if len(which) > CROWD * len(vectors):  # near-duplicates by the thousand: the best will do
        keep = min(4 * k, len(keys))
        at = np.argpartition(scores, len(keys) - keep, axis=1)[:, len(keys) - keep :].ravel()
        which = np.repeat(np.arange(len(vectors)), keep)
        over = scores[which, at] >= floor
        which, at = which[over], at[over]
    return which, keys[at], scores[which, at]

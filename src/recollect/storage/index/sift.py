"""Sifting vectors: a scan over 8-bit codes finds what can be among the best, and nothing that can
be is missed. Half the bytes of a scan in half precision; what is left is scored exactly.

A code is a component divided by the row's scale, rounded. What rounding may change of a product
is bounded by the lengths of the remainders (Cauchy–Schwarz), so whoever's rough score is further
below the k-th best than that on both sides cannot be among the k best.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import simsimd
from numpy.typing import NDArray

from recollect.storage.index.columns import Column
from recollect.storage.index.products import SMALL, products
from recollect.storage.ranking import widened

_STEP = 512  # rows coded at a time: they stay in the processor's cache
_SLAB = 1_024  # rows compared with many vectors at a time: their products stay in the cache
_AT_ONCE = 16_384  # rows coded by one search: some 8 ms
_FULL = 127
_SUMS = 1e-5  # what adding up in single precision may differ by


class RoughPairs(NamedTuple):
    """Pairs of a vector and a row, and the product of each as the codes tell it."""

    which: NDArray[np.int64]
    rows: NDArray[np.int64]
    rough: NDArray[np.float32]
    off: NDArray[np.float32]  # for each vector, how far its products may be off


class Codes(NamedTuple):
    """The vectors of all rows, in short. Later rows are appended, none is changed."""

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    length: float  # of the longest vector
    remainder: float  # the length of what coding left of a vector, at most

    def rough(self, vector: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
        """The products of all rows with a vector, and how far each may be off."""
        scale = (float(np.abs(vector).max()) or 1.0) / _FULL
        exact = vector / np.float32(scale)
        codes = np.rint(exact)
        rest = scale * _length(exact - codes)  # one vector: `_coded` is for many
        asked = codes.astype(np.int8)[None]
        dots = np.asarray(simsimd.cdist(asked, self.codes, "dot", out_dtype="float32"))[0]
        off = rest * self.length + (_length(vector) + rest) * self.remainder + _SUMS
        dots *= self.scales
        dots *= np.float32(scale)
        return dots, off

    def near(self, vectors: NDArray[np.float32], floor: float) -> RoughPairs:
        """Which rows can be as near as that to which of many vectors."""
        codes, scales, rest = _coded(vectors, SMALL)
        asked = np.ascontiguousarray(codes.T)
        lengths = np.linalg.norm(vectors, axis=1) + rest
        off = rest * np.float32(self.length) + lengths * np.float32(self.remainder) + _SUMS
        least = (floor - off) / scales
        found: list[tuple[NDArray[np.int64], ...]] = []
        rough: list[NDArray[np.float32]] = []
        for start in range(0, len(self.codes), _SLAB):
            slab = slice(start, start + _SLAB)
            dots = products(self.codes[slab], asked)
            near = np.multiply(dots, self.scales[slab, None], dtype=np.float32, casting="unsafe")
            # A seventh of what `nonzero` takes over two dimensions.
            at, which = np.divmod(np.flatnonzero(near >= least), len(vectors))
            found.append((which, at + start))
            rough.append(near[at, which] * scales[which])
        which, rows = (np.concatenate(part) for part in zip(*found, strict=True))
        return RoughPairs(which, rows, np.concatenate(rough), off)

    def at(self, rows: NDArray[np.int64]) -> Codes:
        return self._replace(codes=self.codes[rows], scales=self.scales[rows])


class Coding:
    """Codes of a growing index, made while it is being searched: nothing at the first search,
    which whoever has just opened the bank waits for, and a part at each one after it."""

    def __init__(self, dimensions: int) -> None:
        self._codes = Column(np.empty((0, dimensions), np.int8))
        self._scales = Column(np.empty(0, np.float32))
        self._made = Codes(self._codes.data, self._scales.data, 0.0, 0.0)
        self._searched = False
        self._lock = threading.Lock()

    def of(self, vectors: NDArray[np.float16]) -> Codes | None:
        """The codes of these, or None while some are still missing."""
        if len(self._made.scales) < len(vectors) and self._lock.acquire(blocking=False):
            try:
                self._make_more(vectors)
            finally:
                self._lock.release()
        made, count = self._made, len(vectors)
        if len(made.scales) <= count:
            return made if len(made.scales) == count else None
        return made._replace(codes=made.codes[:count], scales=made.scales[:count])

    def _make_more(self, vectors: NDArray[np.float16]) -> None:
        if not self._searched:
            self._searched = True
            return
        have = len(self._made.scales)
        if not have:  # later ones find room as they come
            self._codes.reserve(len(vectors))
            self._scales.reserve(len(vectors))
        for start in range(have, min(len(vectors), have + _AT_ONCE), _STEP):
            wide = widened(vectors[start : start + _STEP])
            lengths = np.einsum("ij,ij->i", wide, wide)
            codes, scales, remainders = _coded(wide)
            self._codes.append(codes)
            self._scales.append(scales)
            self._made = Codes(
                self._codes.data,
                self._scales.data,
                max(self._made.length, float(lengths.max()) ** 0.5),
                max(self._made.remainder, float(remainders.max())),
            )


def _length(vector: NDArray[np.float32]) -> float:
    return math.sqrt(float(vector.dot(vector)))


def _coded(
    wide: NDArray[np.float32], full: int = _FULL
) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32]]:
    """Codes, scales, and the length of what they leave of each vector."""
    largest = np.maximum(wide.max(axis=1), -wide.min(axis=1))
    scales = np.where(largest > 0, largest, 1).astype(np.float32) / np.float32(full)
    exact = wide / scales[:, None]
    rounded = np.rint(exact)
    exact -= rounded
    return rounded.astype(np.int8), scales, scales * np.sqrt(np.einsum("ij,ij->i", exact, exact))


def among_best(rough: NDArray[np.float32], off: float, k: int, floor: float) -> NDArray[np.int64]:
    """Where the k best that are not below the floor can be."""
    near = (rough >= np.float32(floor - off)).nonzero()[0]
    if len(near) <= k:
        return near
    close = rough[near]  # of a large bank a part, and only that is worth parting further
    least = float(np.partition(close, len(close) - k)[len(close) - k]) - 2 * off
    return near[close >= np.float32(least)]


class Sifted(NamedTuple):
    at: NDArray[np.int64]
    exact: NDArray[np.float32]


def sifted(
    rough: NDArray[np.float32],
    off: float,
    k: int,
    floor: float,
    most: int,
    exact: Callable[[NDArray[np.int64]], NDArray[np.float32]],
) -> Sifted | None:
    """Where the k best that are not below the floor can be, with their exact products; None where those
    are more than `most` besides k. The k that look best are looked at first: the worst of them says
    exactly what others have to reach, so these may be off once, and not twice as in `among_best`."""
    near = (rough >= np.float32(floor - off)).nonzero()[0]
    if len(near) <= k:
        return Sifted(near, exact(near))
    close = rough[near]
    order = close.argpartition(len(near) - k)
    others, best = order[:-k], order[-k:]
    known = exact(near[best])
    least = max(float(known.min()), floor) - off
    others = others[close[others] >= np.float32(least)]
    if len(others) > most:
        return None
    at = np.concatenate([best, others])
    return Sifted(near[at], np.concatenate([known, exact(near[others])]))

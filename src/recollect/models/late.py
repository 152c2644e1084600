"""Late interaction: every query token finds its best match among a passage's tokens.

A passage's token vectors are kept as codes of four bits, two in a byte: half the disk of eight
bits, for an error of a hundredth in a cosine (docs/why.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_ONE_THREAD = 1 << 18  # multiplications that OpenBLAS does on the caller's thread
_MIDDLE = np.float32(7.5)  # of the sixteen levels


def code_bytes(dimensions: int) -> int:
    """What one token vector takes."""
    return (dimensions + 1) // 2


def to_codes(tokens: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Four bits a component: the first half of a row in the low ones of its bytes, the second half in
    the high ones. A row is scaled to its largest component, which need not be kept: rows are
    directions, and what is read back is made a unit vector again."""
    rows = tokens.astype(np.float32)
    if rows.shape[1] % 2:
        rows = np.pad(rows, ((0, 0), (0, 1)))
    top = np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0), 1)
    codes = np.rint(rows * (_MIDDLE / top) + _MIDDLE).astype(np.uint8)
    half = rows.shape[1] // 2
    return codes[:, :half] | codes[:, half:] << 4


def best_matches(
    query: NDArray[np.int8], passages: Sequence[NDArray[np.uint8]]
) -> NDArray[np.float32]:
    """For each passage (row) and each query token (column) the best cosine times the token's
    weight; a passage without tokens has zeros.

    The length of a query row is its weight. Weights are scaled to a mean of 1, so that means
    over the columns lie in [-1, 1] and queries of any length share one scale.
    """
    best = np.zeros((len(passages), len(query)), dtype=np.float32)
    kept = [i for i, codes in enumerate(passages) if len(codes)]
    if not kept or not len(query):
        return best
    lengths = np.fromiter((len(passages[i]) for i in kept), dtype=np.intp, count=len(kept))
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    stacked = np.concatenate([passages[i] for i in kept])
    similarity = _products(stacked, query)
    full = max(float(np.linalg.norm(query.astype(np.float32), axis=1).mean()), 1.0)
    best[kept] = np.maximum.reduceat(similarity, starts, axis=0) / np.float32(full)
    return best


def _products(codes: NDArray[np.uint8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    """The dot products of the query's rows with the unit vectors that the codes stand for.

    Sums of a thousand products of levels and bytes are multiples of a half that single precision
    holds: they come out the same in any order, on every machine. In parts so small that BLAS takes no further
    threads for them: those spin for longer than the whole product takes."""
    half = codes.shape[1]
    columns = np.zeros((2 * half, len(query)), dtype=np.float32)
    columns[: query.shape[1]] = query.T
    out = np.empty((len(codes), len(query)), dtype=np.float32)
    part = max(1, _ONE_THREAD // max(1, columns.size))
    rows = np.empty((min(part, len(codes)), 2 * half), dtype=np.float32)
    for start in range(0, len(codes), part):
        some = codes[start : start + part]
        levels = rows[: len(some)]
        levels[:, :half] = some & 15
        levels[:, half:] = some >> 4
        levels -= _MIDDLE
        found = np.dot(levels, columns, out=out[start : start + part])
        found /= np.sqrt(np.einsum("ij,ij->i", levels, levels))[:, None]
    return out


def maxsim(query: NDArray[np.int8], passages: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
    """The mean over the query's tokens of the best match in each passage.

    The mean, rather than the sum, keeps scores of short and long queries on one scale; within
    one query the order is the same.
    """
    if not len(query):
        return np.zeros(len(passages), dtype=np.float32)
    return best_matches(query, passages).mean(axis=1)

"""Late interaction: every query token finds its best match among a passage's tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_UNIT = 127.0
_ONE_THREAD = 1 << 18  # multiplications that OpenBLAS does on the caller's thread


def best_matches(
    query: NDArray[np.int8], passages: Sequence[NDArray[np.int8]]
) -> NDArray[np.float32]:
    """For each passage (row) and each query token (column) the best cosine times the token's
    weight; a passage without tokens has zeros.

    The length of a query row is its weight. Weights are scaled to a mean of 1, so that means
    over the columns lie in [-1, 1] and queries of any length share one scale.
    """
    best = np.zeros((len(passages), len(query)), dtype=np.float32)
    kept = [i for i, tokens in enumerate(passages) if len(tokens)]
    if not kept or not len(query):
        return best
    lengths = np.fromiter((len(passages[i]) for i in kept), dtype=np.intp, count=len(kept))
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    stacked = np.concatenate([passages[i] for i in kept])
    similarity = _products(stacked, query)
    full = _UNIT * max(float(np.linalg.norm(query.astype(np.float32), axis=1).mean()), 1.0)
    best[kept] = np.maximum.reduceat(similarity, starts, axis=0) / np.float32(full)
    return best


def _products(tokens: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    """All dot products, exactly: sums of a thousand products of bytes are whole numbers that
    single precision holds. In parts so small that BLAS takes no further threads for them: those
    spin for longer than the whole product takes."""
    columns = np.ascontiguousarray(query.T, dtype=np.float32)
    out = np.empty((len(tokens), len(query)), dtype=np.float32)
    part = max(1, _ONE_THREAD // max(1, query.size))
    for start in range(0, len(tokens), part):
        rows = tokens[start : start + part].astype(np.float32)
        np.dot(rows, columns, out=out[start : start + part])
    return out


def maxsim(query: NDArray[np.int8], passages: Sequence[NDArray[np.int8]]) -> NDArray[np.float32]:
    """The mean over the query's tokens of the best match in each passage.

    The mean, rather than the sum, keeps scores of short and long queries on one scale; within
    one query the order is the same.
    """
    if not len(query):
        return np.zeros(len(passages), dtype=np.float32)
    return best_matches(query, passages).mean(axis=1)


def pool_tokens(tokens: NDArray[np.int8], most: int) -> NDArray[np.int8]:
    """At most so many vectors: the most alike neighbours are merged, round by round.

    Long texts repeat themselves, and so do their vectors; merging loses less than cutting and
    bounds what a memory costs on disk.
    """
    if len(tokens) <= most:
        return tokens
    rows = tokens.astype(np.float32)
    sizes = np.ones(len(rows), dtype=np.float32)
    while len(rows) > most:
        likeness = (rows[:-1] * rows[1:]).sum(axis=1)
        taken = np.zeros(len(rows), dtype=bool)
        firsts: list[int] = []
        for first in np.argsort(-likeness, kind="stable")[: len(rows) - most].tolist():
            if not (taken[first] or taken[first + 1]):
                taken[first : first + 2] = True
                firsts.append(first)
        at = np.array(firsts)
        total = sizes[at] + sizes[at + 1]
        merged = rows[at] * sizes[at, None] + rows[at + 1] * sizes[at + 1, None]
        rows[at] = merged * (_UNIT / np.maximum(np.linalg.norm(merged, axis=1), 1e-6))[:, None]
        sizes[at] = total
        rows, sizes = np.delete(rows, at + 1, axis=0), np.delete(sizes, at + 1)
    return np.round(rows).astype(np.int8)

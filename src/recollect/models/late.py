"""Late interaction: every query token finds its best match among a passage's tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import simsimd
from numpy.typing import NDArray

_FULL = np.float32(127 * 127)


def best_matches(
    query: NDArray[np.int8], passages: Sequence[NDArray[np.int8]]
) -> NDArray[np.float32]:
    """For each passage (row) and each query token (column) the best dot product; a passage
    without tokens has zeros."""
    best = np.zeros((len(passages), len(query)), dtype=np.float32)
    kept = [i for i, tokens in enumerate(passages) if len(tokens)]
    if not kept or not len(query):
        return best
    lengths = np.fromiter((len(passages[i]) for i in kept), dtype=np.intp, count=len(kept))
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    # One int8 product over all passages, on one thread: BLAS knows no int8, and its threads
    # spin for longer than this takes.
    stacked = np.concatenate([passages[i] for i in kept])
    similarity = np.asarray(simsimd.cdist(stacked, np.ascontiguousarray(query), "dot"))
    best[kept] = np.maximum.reduceat(similarity, starts, axis=0) / _FULL
    return best


def maxsim(query: NDArray[np.int8], passages: Sequence[NDArray[np.int8]]) -> NDArray[np.float32]:
    """The mean over the query's tokens of the best match in each passage.

    The mean, rather than the sum, keeps scores of short and long queries on one scale; within
    one query the order is the same.
    """
    if not len(query):
        return np.zeros(len(passages), dtype=np.float32)
    return best_matches(query, passages).mean(axis=1)

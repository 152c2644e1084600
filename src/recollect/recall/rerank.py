"""Rerank: models that read query and memory together score the best of the pool."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recollect.language.passage import passage
from recollect.models.base import Reranker
from recollect.models.late import maxsim
from recollect.recall.pool import Pool
from recollect.storage.base import Floats, View
from recollect.types import Memory


def late_interaction(
    view: View, query_tokens: NDArray[np.int8], dimensions: int, pool: Pool, limit: int
) -> Pool:
    """MaxSim over the token vectors that were made when each memory was retained."""
    held = view.token_vectors(pool.keys[:limit])
    empty = np.empty((0, dimensions), np.int8)
    found = [empty if t is None else t.reshape(-1, dimensions) for t in held]
    scores = maxsim(query_tokens, found)
    return with_signal(pool, "late", scores)


def cross_encode(view: View, reranker: Reranker, query: str, pool: Pool, best: NDArray[np.int64]) -> Pool:
    """The cross-encoder's logits for the rows named by `best`."""
    memories = view.load(pool.keys[best].tolist())
    best = best[np.isin(pool.keys[best], list(memories))]
    scores = np.full(len(pool), np.nan, np.float32)
    scores[best] = reranker.score(query, [reading(m) for m in memories.values()])
    return replace(pool, signals={**pool.signals, "cross": scores})


def reading(memory: Memory) -> str:
    return passage(
        memory.text,
        date=memory.occurred_start or memory.mentioned_at,
        context=memory.context,
        speaker=memory.speaker,
        title=memory.title,
    )


def with_signal(pool: Pool, name: str, scores: Floats) -> Pool:
    """Scores of the first rows; the rest get NaN: not looked at."""
    column = np.full(len(pool), np.nan, np.float32)
    column[: len(scores)] = scores
    return replace(pool, signals={**pool.signals, name: column})

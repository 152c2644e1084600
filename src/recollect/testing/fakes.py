"""A model for tests: no weights, no waiting, the same vectors on every machine."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.aio import AsyncRecollect, aopen_memory
from recollect.language.terms import term_hash, terms
from recollect.memory import Recollect, open_memory
from recollect.models.base import Encoded


class FakeEmbedder:
    """Texts that share words are near each other: a text is the sum of its words' directions.

    Each word points in a direction made from its hash, so cosine similarity is roughly the
    share of words in common. Enough to test what depends on near and far; of no use to tell
    what a text means.
    """

    def __init__(self, dimensions: int = 64, token_dimensions: int = 16) -> None:
        self._dimensions = dimensions
        self._token_dimensions = token_dimensions

    @property
    def name(self) -> str:
        return f"fake-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def token_dimensions(self) -> int:
        return self._token_dimensions

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        return self._encode(texts)

    def encode_passages(self, texts: Sequence[str]) -> Encoded:
        return self._encode(texts)

    def _encode(self, texts: Sequence[str]) -> Encoded:
        words = [dict.fromkeys(terms(text)) or {text: None} for text in texts]
        vectors = np.zeros((len(texts), self._dimensions), np.float32)
        for row, found in enumerate(words):
            total = np.sum([_direction(w, self._dimensions) for w in found], axis=0)
            vectors[row] = total / max(float(np.linalg.norm(total)), 1e-9)
        if not self._token_dimensions:
            return Encoded(vectors)
        tokens = tuple(
            np.stack([_rounded(w, self._token_dimensions) for w in found]) for found in words
        )
        return Encoded(vectors, tokens)


def open_fake(db: str | Path, *, dimensions: int = 64, **settings: Any) -> Recollect:
    """`recollect.open` with a `FakeEmbedder`: opens in milliseconds, needs no weights."""
    memory = open_memory(db, reranker="none", **settings)
    memory.embedder = FakeEmbedder(dimensions)
    return memory


@asynccontextmanager
async def aopen_fake(
    db: str | Path, *, dimensions: int = 64, **settings: Any
) -> AsyncGenerator[AsyncRecollect]:
    """`recollect.aopen` with a `FakeEmbedder`."""
    async with aopen_memory(db, reranker="none", **settings) as memory:
        memory.sync.embedder = FakeEmbedder(dimensions)
        yield memory


@lru_cache(maxsize=1 << 14)
def _direction(word: str, dimensions: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(abs(term_hash(word))).standard_normal(dimensions)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def _rounded(word: str, dimensions: int) -> NDArray[np.int8]:
    return np.round(_direction(word, dimensions) * 127).astype(np.int8)

"""The same queries asked in many ways: what a model said once is not worked out again.

Leaving out an arm seldom changes what the cross-encoder reads, and never what the query means. So
ablations cost the models' time about once, and not once for every part.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.models.base import Embedder, Encoded, Reranker


class OnceEmbedder:
    """An embedder that keeps what it made of each query."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._held: dict[str, Encoded] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def token_dimensions(self) -> int:
        return self._embedder.token_dimensions

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        for text in texts:
            if text not in self._held:
                self._held[text] = self._embedder.encode_queries([text])
        made = [self._held[text] for text in texts]
        tokens = [one.tokens[0] for one in made if one.tokens]
        vectors = np.concatenate([one.vectors for one in made])
        return Encoded(vectors, tuple(tokens) if len(tokens) == len(made) else None)

    def encode_passages(self, texts: Sequence[str]) -> Encoded:
        return self._embedder.encode_passages(texts)


class OnceReranker:
    """A reranker that keeps the logit of each pair it has read."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._held: dict[tuple[str, str], float] = {}

    @property
    def name(self) -> str:
        return self._reranker.name

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        new = [p for p in dict.fromkeys(passages) if (query, p) not in self._held]
        if new:
            for passage, logit in zip(new, self._reranker.score(query, new), strict=True):
                self._held[query, passage] = float(logit)
        return np.array([self._held[query, p] for p in passages], np.float32)


@contextmanager
def once(memory: Any) -> Generator[None]:
    """While this lasts, `memory` recalls with models that answer the same question once."""
    plain = memory._recalling
    loaded = plain.reranker()
    kept = None if loaded is None else OnceReranker(loaded)
    memory.__dict__["_recalling"] = replace(
        plain, embedder=OnceEmbedder(plain.embedder), reranker=lambda: kept
    )
    try:
        yield
    finally:
        memory.__dict__["_recalling"] = plain

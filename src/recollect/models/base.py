"""What a model is to the rest of recollect: three small protocols and their values."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

AHEAD = 64  # queries read ahead that are kept


@dataclass(frozen=True, slots=True)
class Encoded:
    """The vectors of some texts, in the order of the texts.

    `tokens` holds per text a (t, token_dimensions) matrix of int8 rows: unit vectors scaled by
    127. Rows of queries may be shorter than that, because the model may weigh query tokens.
    Memories keep `recollect.models.late.to_codes` of theirs.
    """

    vectors: NDArray[np.float32]
    tokens: tuple[NDArray[np.int8], ...] | None = None


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how near two texts are."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def token_dimensions(self) -> int:
        """0 when the model makes no token vectors."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> Encoded: ...

    def encode_passages(self, texts: Sequence[str]) -> Encoded: ...


@runtime_checkable
class Expecting(Protocol):
    """An embedder that runs elsewhere, and would have to be asked for its size."""

    def expect(self, dimensions: int) -> bool:
        """Whether its vectors may have this many dimensions. If so, its answers must have them."""
        ...


class WithoutTokens:
    """An embedder whose token vectors are not wanted: less disk, and no late interaction."""

    def __init__(self, embedder: Embedder) -> None:
        self.inner = embedder

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    @property
    def token_dimensions(self) -> int:
        return 0

    def expect(self, dimensions: int) -> bool:
        return isinstance(self.inner, Expecting) and self.inner.expect(dimensions)

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        return Encoded(self.inner.encode_queries(texts).vectors)

    def encode_passages(self, texts: Sequence[str]) -> Encoded:
        return Encoded(self.inner.encode_passages(texts).vectors)


@runtime_checkable
class Skimming(Protocol):
    """An embedder that can read queries in less time, and a little less exactly."""

    def skim_queries(self, texts: Sequence[str]) -> Encoded: ...


class Skimmed(WithoutTokens):
    """An embedder whose queries are skimmed, and may be so before they are asked for."""

    def __init__(self, embedder: Embedder, skims: Skimming) -> None:
        super().__init__(embedder)
        self._skims = skims
        self._ahead: dict[str, Encoded] = {}

    def read_ahead(self, text: str) -> None:
        """Several one after another cost less than each between other work (docs/why.md). Kept when it has
        been asked for, too: what is asked again is answered from a cache, and was not to be read again."""
        if text in self._ahead:
            return
        if len(self._ahead) >= AHEAD:
            self._ahead.clear()
        self._ahead[text] = self._skims.skim_queries([text])

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        held = self._ahead.get(texts[0]) if len(texts) == 1 else None
        return self._skims.skim_queries(texts) if held is None else held


def skimming(embedder: Embedder) -> Embedder:
    """The embedder with its queries skimmed, if it can do that: for searches whose results are
    not reranked."""
    inner = embedder.inner if isinstance(embedder, WithoutTokens) else embedder
    return Skimmed(embedder, inner) if isinstance(inner, Skimming) else embedder


@runtime_checkable
class Reranker(Protocol):
    """Reads query and passage together; a higher logit is a better match."""

    @property
    def name(self) -> str: ...

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]: ...


@runtime_checkable
class Shareable(Protocol):
    """A reranker that can be lent threads, and then gives the same in less time."""

    def score_with(
        self, helpers: Executor, query: str, passages: Sequence[str]
    ) -> NDArray[np.float32]: ...


@dataclass(frozen=True, slots=True)
class ExtractedFact:
    """One self-contained statement that an extractor read out of a text."""

    text: str
    kind: str | None = None  # world, experience, opinion; None = to be found out by rule
    entities: tuple[str, ...] = ()
    occurred_start: datetime | None = None
    occurred_end: datetime | None = None
    caused_by: tuple[int, ...] = ()  # places of its causes in the same answer


class Extractor(Protocol):
    """Reads facts out of a text; without one, retain works by rule."""

    @property
    def name(self) -> str: ...

    def extract(
        self,
        text: str,
        *,
        context: str | None = None,
        speaker: str | None = None,
        said_at: datetime | None = None,
    ) -> list[ExtractedFact]: ...

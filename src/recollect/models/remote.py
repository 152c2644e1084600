"""Models behind a URL.

    tei+http://host:8080                     Text Embeddings Inference: /embed and /rerank
    http://host/v1#model                     OpenAI-compatible: /embeddings
    https://host/v1/rerank#model             Cohere- and Jina-style: the URL itself
    logits+https://host/v1/rerank#model      the same, and its scores are logits
    probabilities+https://host/v1/rerank#model   … are probabilities

The part after `#` names the model. The API key is read from RECOLLECT_MODEL_API_KEY.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ModelError
from recollect.models.base import Encoded
from recollect.models.http import Client, Refused, check_url, key_of

# What Text Embeddings Inference takes at once unless it is configured otherwise.
BATCH = 32
TOO_MANY = frozenset({413, 422})  # the second is Text Embeddings Inference's word for it
# In what words OpenAI, vLLM, llama.cpp, Ollama and others refuse a text that their model cannot read whole.
_TOO_LONG = re.compile(r"\btokens\b|context (length|size|window)|too (long|large)", re.IGNORECASE)
_SHORT = 200  # characters: who refuses these means something else
_TEI = "tei+"
_LOGITS, _PROBABILITIES = "logits+", "probabilities+"
_ROUNDING = 1e-3  # of a probability


def _client(url: str, timeout: float) -> Client:
    check_url(url, "a model service", "use http://host, https://host or tei+http://host")
    return Client(url.rstrip("/"), key_of("RECOLLECT_MODEL_API_KEY"), timeout=timeout)


class RemoteEmbedder:
    """Vectors from a service; it makes no token vectors."""

    def __init__(self, spec: str, timeout: float = 10.0) -> None:
        address, _, self._model = spec.partition("#")
        self._tei = address.startswith(_TEI)
        self._client = _client(address.removeprefix(_TEI), timeout)
        self._dimensions = 0
        self._expected = 0

    @property
    def name(self) -> str:
        return self._model or urlsplit(self._client.url).netloc

    @property
    def dimensions(self) -> int:
        """The service is asked once: only an embedding shows the size."""
        if not self._dimensions:
            self._dimensions = int(self._embed(["size"]).shape[1])
        return self._dimensions

    def expect(self, dimensions: int) -> bool:
        """That vectors have as many, as those of a bank have. Nobody waits for a service only to
        hear its size: whether it has it shows in the first answer. False if it is known not to."""
        self._expected = dimensions
        return self._dimensions in (0, dimensions)

    @property
    def token_dimensions(self) -> int:
        return 0

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        return Encoded(self._encode(texts))

    def encode_passages(self, texts: Sequence[str]) -> Encoded:
        return Encoded(self._encode(texts))

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        vectors = np.concatenate(list(_in_batches(self._embed, texts)))
        norms = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return (vectors / norms).astype(np.float32)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._tei:
            body: dict[str, Any] = {"inputs": list(texts), "truncate": True}
            answer = self._client.post("/embed", body)
        else:
            answer = self._client.post("/embeddings", {"model": self._model, "input": list(texts)})
            answer = _by_index(answer, "data", "embedding", len(texts), self._client.url)
        vectors = _matrix(answer, len(texts), self._client.url)
        before, size = self._dimensions or self._expected, int(vectors.shape[1])
        self._dimensions = self._dimensions or size
        if before and size != before:
            raise ModelError(
                f"{self._client.url} answered with {size} dimensions, before that with {before}",
                hint="the service has changed its model: open the store anew, and make the vectors of its "
                "banks anew: recollect reembed BANK",
            )
        return vectors


class RemoteReranker:
    """Logits from a service that reads query and passages together.

    Cohere and Jina answer with probabilities, llama.cpp under the same protocol with logits. Where the URL
    does not say which, the first score that is no probability does."""

    def __init__(self, spec: str, timeout: float = 10.0) -> None:
        address, _, self._model = spec.partition("#")
        self._tei = address.startswith(_TEI)
        self._logits = self._tei or address.startswith(_LOGITS)
        self._said = self._logits or address.startswith(_PROBABILITIES)
        for prefix in (_TEI, _LOGITS, _PROBABILITIES):
            address = address.removeprefix(prefix)
        self._client = _client(address, timeout)
        self._converted = False  # whether scores were taken for probabilities

    @property
    def name(self) -> str:
        return self._model or urlsplit(self._client.url).netloc

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        answers = list(_in_batches(lambda batch: self._rerank(query, list(batch)), passages))
        scores = np.concatenate(answers) if answers else np.empty(0, dtype=np.float32)
        if not self._logits and (np.abs(scores - 0.5) > 0.5 + _ROUNDING).any():
            self._take_for_logits(scores)
        if self._logits:
            return scores
        self._converted = self._converted or len(scores) > 0
        chances = np.clip(scores, 1e-6, 1 - 1e-6)
        return np.log(chances / (1 - chances)).astype(np.float32)

    def _take_for_logits(self, scores: NDArray[np.float32]) -> None:
        """Scores are read as such from now on; that earlier ones were misread is told once."""
        url, score = self._client.url, float(scores[np.abs(scores - 0.5).argmax()])
        if self._said:
            raise ModelError(
                f"{url} gave the score {score:g}, which is no probability",
                hint=f"it gives logits: reranker='{_LOGITS}{url}'",
            )
        self._logits = True
        if self._converted:
            raise ModelError(
                f"{url} gave the score {score:g}: its scores are logits, but those before were taken for "
                "probabilities",
                hint=f"say so, then none is misread: reranker='{_LOGITS}{url}'",
            )

    def _rerank(self, query: str, passages: list[str]) -> NDArray[np.float32]:
        url, size = self._client.url, len(passages)
        if self._tei:
            body: dict[str, Any] = {
                "query": query,
                "texts": passages,
                "raw_scores": True,
                "truncate": True,
            }
            answer = {"results": self._client.post("/rerank", body)}
            return _column(_by_index(answer, "results", "score", size, url), size, url)
        body = {"model": self._model, "query": query, "documents": passages, "top_n": size}
        answer = self._client.post("", body)
        return _column(_by_index(answer, "results", "relevance_score", size, url), size, url)


def _in_batches(
    ask: Callable[[Sequence[str]], NDArray[np.float32]], texts: Sequence[str]
) -> Iterator[NDArray[np.float32]]:
    """The answer to each batch. A service that takes fewer texts at once says so by refusing a
    batch."""
    begin, size = 0, BATCH
    while begin < len(texts):
        batch = texts[begin : begin + size]
        try:
            yield ask(batch)
        except Refused as error:
            if error.code in TOO_MANY and len(batch) > 1:
                size = len(batch) // 2
                continue
            if not _too_long(error):
                raise
            yield from _in_parts(ask, batch, error)
        begin += size


def _in_parts(
    ask: Callable[[Sequence[str]], NDArray[np.float32]], texts: Sequence[str], error: Refused
) -> Iterator[NDArray[np.float32]]:
    """Whether all texts together are too long for a service or one of them is: by halves. Of a text that is too
    long by itself it is given the beginning, which is what other services take of themselves."""
    if len(texts) > 1:
        middle = len(texts) // 2
        yield from _in_batches(ask, texts[:middle])
        yield from _in_batches(ask, texts[middle:])
    elif len(texts[0]) > _SHORT:
        yield from _in_batches(ask, [texts[0][: len(texts[0]) // 2]])
    else:
        raise error


def _too_long(error: Refused) -> bool:
    return error.code in (400, *TOO_MANY) and _TOO_LONG.search(error.message) is not None


def _by_index(answer: Any, key: str, value: str, size: int, url: str) -> list[Any]:
    """Values in the order of the input: services may answer sorted by score."""
    try:
        entries = cast("list[dict[str, Any]]", answer[key])
        found = {int(entry["index"]): entry[value] for entry in entries}
        return [found[i] for i in range(size)]
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise _unexpected(url, size) from error


def _matrix(values: Any, size: int, url: str) -> NDArray[np.float32]:
    matrix = _numbers(values, size, url)
    if matrix.ndim != 2 or len(matrix) != size or not matrix.shape[1]:
        raise _unexpected(url, size)
    return matrix


def _column(values: Any, size: int, url: str) -> NDArray[np.float32]:
    column = _numbers(values, size, url)
    if column.shape != (size,):
        raise _unexpected(url, size)
    return column


def _numbers(values: Any, size: int, url: str) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):  # what is too large is not finite
            numbers = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise _unexpected(url, size) from error
    if not np.isfinite(numbers).all():
        raise _unexpected(url, size)
    return numbers


def _unexpected(url: str, size: int) -> ModelError:
    return ModelError(
        f"{url} did not answer with one result for each of {size} texts",
        hint="check that the URL and the kind of service belong together",
    )

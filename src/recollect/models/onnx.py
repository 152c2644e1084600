"""Models that run in this process, with onnxruntime and tokenizers only.

Tuned for short texts on few cores: one thread a session and no spinning (spinning threads
cost a busy machine many times the work itself), texts sorted by length into small batches,
so that little is spent on padding. A session is made once per process and path, and may be
used from many threads at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from recollect.config import cores
from recollect.errors import ModelError
from recollect.language.passage import Passage
from recollect.models.base import Encoded
from recollect.models.folder import ModelFolder, read_folder
from recollect.models.runtime import onnxruntime
from recollect.models.words import Words
from recollect.threads import shared

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

# Flat between 4 and 32 texts of 40 tokens in benchmarks/models.py; 16 keeps memory small. What is computed on
# the way should fit a core's cache: 16 texts of 256 tokens at once cost a sixth more than two.
BATCH, BATCH_TOKENS = 16, 512
A_RUN = 11  # tokens: what one more run costs, whatever is in it
SHARED_FROM = 113  # texts: two threads of one core take more CPU for the same work
CORES = min(4, cores())
SKIMMED = 64  # tokens: longer queries than the fewer layers learnt from are read whole
WINDOWS = 8  # of a long text: about a thousand words
# Tokenising is linear in the text, encoding is cut at max_length: no English text has
# tokens of 20 characters on average.
_CHARACTERS_A_TOKEN = 20

Ids = NDArray[np.int64]
_FED = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_NO_TOKENS = np.empty((0, 0), dtype=np.int8)


class Fed(NamedTuple):
    """What a batch was given to the graph as: a row a text, filled up with zeros."""

    ids: Ids
    mask: Ids


class _Graph:
    """A session and its tokenizer, which a graph beside another one shares."""

    def __init__(self, folder: ModelFolder, beside: _Graph | None = None) -> None:
        self.folder = folder
        self._session = _open_session(folder)
        self._tokenizer = _open_tokenizer(folder) if beside is None else beside._tokenizer
        self._feeds = frozenset(str(node.name) for node in self._session.get_inputs())
        if more := sorted(self._feeds - _FED):
            raise ModelError(
                f"{folder.graph} wants to be given {', '.join(more)}",
                hint=f"recollect gives a graph {', '.join(sorted(_FED))}; export the model so that "
                "it needs no more",
            )
        outputs = self._session.get_outputs()
        self.outputs = tuple(str(node.name) for node in outputs)
        self.output_shapes = tuple(tuple(node.shape) for node in outputs)

    @cached_property
    def skimming(self) -> _Graph:
        """The graph of fewer layers that skims queries; itself where there is none."""
        small = self.folder.skimming
        if small is None:
            return self
        return _Graph(replace(self.folder, graph=small), beside=self)

    @cached_property
    def _words(self) -> Words:
        return Words(self._tokenizer)

    def skimmed(self, text: str, prefix: str) -> list[Encoding]:
        """As `windows`, for a text of which only the tokens are needed."""
        tokens = self._words.tokens(prefix + text, SKIMMED)
        return self.windows(text, prefix) if tokens is None else [cast("Encoding", tokens)]

    def pair(self, query: str, passage: str) -> Encoding:
        most = self.folder.max_length * _CHARACTERS_A_TOKEN
        return self._tokenizer.encode(query[:most], passage[:most])

    def windows(self, text: str, prefix: str) -> list[Encoding]:
        """A text in parts that the graph reads at once, so that what stands at its end can be found too; nearly
        all have one. Who spoke and when is read before every part."""
        most = self.folder.max_length * _CHARACTERS_A_TOKEN
        read = self._tokenizer.encode(prefix + text[:most])
        if not read.overflowing:
            return [read]
        end = max(end for _, end in read.offsets) - len(prefix)
        head = text.head if isinstance(text, Passage) and 2 * text.head < end else 0
        front, step = prefix + text[:head], end - head
        rest = range(end, len(text), step)[: WINDOWS - 1]
        return [read, *(self._tokenizer.encode(front + text[at : at + step]) for at in rest)]

    def batches(
        self, texts: Sequence[Encoding], *, padding: int | None = None
    ) -> Iterator[tuple[list[int], list[Encoding]]]:
        """Texts of like length together, with their places in the input. With `padding` a text
        that would have the others filled up by more tokens than that begins another batch."""
        places: list[int] = []
        for i in sorted(range(len(texts)), key=lambda i: (len(texts[i]), i)):
            longer = len(texts[i]) - len(texts[places[-1]]) if places else 0
            padded = padding is not None and len(places) * longer > padding
            full = len(places) == BATCH or (len(places) + 1) * len(texts[i]) > BATCH_TOKENS
            if places and (padded or full):
                yield places, [texts[i] for i in places]
                places = []
            places.append(i)
        if places:
            yield places, [texts[i] for i in places]

    def outputs_of(
        self, texts: Sequence[Encoding]
    ) -> Iterator[tuple[list[int], list[Encoding], list[NDArray[Any]], Fed]]:
        """Batch by batch: places, texts, outputs and what they were made of. Many texts share
        the cores, because whoever embeds that much waits for it; few are not worth the threads."""
        batches = list(self.batches(texts, padding=A_RUN))
        if len(texts) < SHARED_FROM or CORES == 1:
            for places, batch in batches:
                yield places, batch, *self.run(batch)
            return
        with ThreadPoolExecutor(CORES, thread_name_prefix="recollect-encode") as pool:
            runs = pool.map(self.run, [batch for _, batch in batches])
            for (places, batch), (outputs, fed) in zip(batches, runs, strict=True):
                yield places, batch, outputs, fed

    def run(self, batch: Sequence[Encoding]) -> tuple[list[NDArray[Any]], Fed]:
        read = [text.ids for text in batch]  # a copy each time it is asked for
        shape = (len(batch), max(map(len, read)))
        ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, numbers in enumerate(read):
            ids[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in self._feeds:
            types = feeds["token_type_ids"] = np.zeros(shape, np.int64)
            for row, text in enumerate(batch):
                types[row, : len(text)] = text.type_ids
        named = {name: value for name, value in feeds.items() if name in self._feeds}
        return cast("list[NDArray[Any]]", self._session.run(None, named)), Fed(ids, mask)


def _open_session(folder: ModelFolder) -> Any:
    ort = onnxruntime()
    options = ort.SessionOptions()
    if folder.simplified:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return ort.InferenceSession(str(folder.graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises a class per cause
        raise ModelError(
            f"onnxruntime cannot load {folder.graph}: {error}",
            hint="check that the file is a complete ONNX model for onnxruntime "
            f"{ort.__version__} or older",
        ) from error


def _open_tokenizer(folder: ModelFolder) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer: Any = Tokenizer.from_file(str(folder.tokenizer))
    except Exception as error:  # tokenizers raises no narrower class
        raise ModelError(f"cannot read the tokenizer {folder.tokenizer}: {error}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=folder.max_length)
    return cast("Tokenizer", tokenizer)


class OnnxEmbedder:
    """Sentence vectors, and token vectors when the graph makes them."""

    def __init__(self, path: Path) -> None:
        self._graph = _Graph(read_folder(path))
        outputs = self._graph.outputs
        self._sentence = _first_of(outputs, ("sentence", "sentence_embedding"))
        self._hidden = _first_of(outputs, ("last_hidden_state", "token_embeddings"))
        self._tokens = _first_of(outputs, ("tokens",))
        self._weights = _first_of(outputs, ("weights",))
        if self._sentence is None and self._hidden is None:
            raise ModelError(
                f"{path} is no sentence embedder: its outputs are {', '.join(outputs)}",
                hint="an embedder has an output sentence_embedding or last_hidden_state; "
                "pass a cross-encoder as reranker",
            )
        if self._sentence is None:
            _check_pooling(path, self._graph.folder)
        skipped = self._graph.folder.skip_tokens
        self._skipped = np.zeros(max(skipped, default=0) + 2, np.bool_)
        self._skipped[list(skipped)] = True
        stated = None if self._sentence is None else self._graph.output_shapes[self._sentence][-1]
        self._dimensions = (
            stated
            if isinstance(stated, int)
            else int(self._encode(["size"], "", prune=False).vectors.shape[1])
        )

    @property
    def name(self) -> str:
        return self._graph.folder.name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def token_dimensions(self) -> int:
        return 0 if self._tokens is None else int(self._graph.output_shapes[self._tokens][-1])

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        return self._encode(texts, self._graph.folder.query_prefix, prune=False)

    def skim_queries(self, texts: Sequence[str]) -> Encoded:
        """Their sentence vectors alone, by fewer layers where the model has such."""
        return self._encode(texts, self._graph.folder.query_prefix, prune=False, skim=True)

    def encode_passages(self, texts: Sequence[str]) -> Encoded:
        return self._encode(texts, self._graph.folder.passage_prefix, prune=True)

    def _encode(
        self, texts: Sequence[str], prefix: str, *, prune: bool, skim: bool = False
    ) -> Encoded:
        late = None if skim else self._tokens
        if not texts:
            none = np.empty((0, self._dimensions), dtype=np.float32)
            return Encoded(none, () if late is not None else None)
        read = self._graph.skimmed if skim else self._graph.windows
        parts = [read(text, prefix) for text in texts]
        windows = [window for part in parts for window in part]
        whose = [text for text, part in zip(texts, parts, strict=True) for _ in part]
        order: list[int] = []
        pooled: list[NDArray[np.float32]] = []
        tokens: list[NDArray[np.int8]] = [_NO_TOKENS] * len(windows)
        short = skim and max(map(len, windows)) <= SKIMMED
        graph = self._graph.skimming if short else self._graph
        for places, batch, outputs, fed in graph.outputs_of(windows):
            order.extend(places)
            pooled.append(self._pool(outputs, fed.mask))
            if late is None:
                continue
            if prune:
                muted = [
                    _muted(text, whose[i], len(prefix))
                    for text, i in zip(batch, places, strict=True)
                ]
                found = self._kept(outputs[late], fed, muted)
            else:
                found = self._weighed(outputs, [len(text) for text in batch])
            for place, vectors in zip(places, found, strict=True):
                tokens[place] = vectors
        together = np.concatenate(pooled)
        vectors = np.empty_like(together)
        vectors[order] = together
        made = Encoded(vectors, tuple(tokens) if late is not None else None)
        return made if len(windows) == len(texts) else _joined(made, parts)

    def _pool(self, outputs: Sequence[NDArray[Any]], mask: Ids) -> NDArray[np.float32]:
        if self._sentence is not None:
            pooled = outputs[self._sentence].astype(np.float32, copy=False)
        else:
            assert self._hidden is not None
            hidden = outputs[self._hidden].astype(np.float32, copy=False)
            if self._graph.folder.pooling == "cls":
                pooled = hidden[:, 0]
            else:
                weights = mask[:, :, None].astype(np.float32)
                pooled = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        lengths = np.sqrt((pooled * pooled).sum(axis=1, keepdims=True))
        return (pooled / np.maximum(lengths, 1e-9)).astype(np.float32, copy=False)

    def _kept(
        self, tokens: NDArray[np.int8], fed: Fed, muted: Sequence[NDArray[np.bool_] | None]
    ) -> Iterator[NDArray[np.int8]]:
        """Of passages: the tokens that carry meaning."""
        # The last place stands for all tokens after those that are left out.
        kept = (fed.mask != 0) & ~self._skipped.take(fed.ids, mode="clip")
        for row, silent in enumerate(muted):
            mine = kept[row]
            if silent is not None:
                mine[: len(silent)] &= ~silent
            # A text of stop words alone keeps its first token, so that it can be found at all.
            mine[0] |= not mine.any()
            yield tokens[row][mine]

    def _weighed(
        self, outputs: Sequence[NDArray[Any]], lengths: Sequence[int]
    ) -> Iterator[NDArray[np.int8]]:
        """Of queries: all tokens, each as long as it is important."""
        assert self._tokens is not None
        for row, length in enumerate(lengths):
            vectors = cast("NDArray[np.int8]", outputs[self._tokens][row, :length])
            if self._weights is None:
                yield vectors.copy()
            else:
                weights = outputs[self._weights][row, :length, None]
                yield np.round(vectors * weights).astype(np.int8)


def _check_pooling(path: Path, folder: ModelFolder) -> None:
    """Raises unless we can pool token vectors in the way that the model does."""
    other = [] if folder.pooling in ("mean", "cls") else [f"pooling by {folder.pooling}"]
    other += [f"a {step} layer" for step in folder.unread]
    if other:
        raise ModelError(
            f"{path} needs {' and '.join(other)}, and its graph leaves that to its caller",
            hint="recollect pools by mean or by the first token; export the model with its "
            "pooling, so that it has an output sentence_embedding",
        )


def _joined(made: Encoded, parts: Sequence[Sequence[Encoding]]) -> Encoded:
    """Texts of several windows: the mean of their vectors, by length, and the tokens of the first. With
    the tokens of all, long texts would match a little of every question (docs/why.md)."""
    firsts = [0, *accumulate(len(part) for part in parts)][:-1]
    vectors = made.vectors[firsts]
    for i, (first, part) in enumerate(zip(firsts, parts, strict=True)):
        if len(part) > 1:
            lengths = np.array([len(window) for window in part], np.float32)
            total = lengths @ made.vectors[first : first + len(part)]
            vectors[i] = total / max(float(np.linalg.norm(total)), 1e-9)
    tokens = None if made.tokens is None else tuple(made.tokens[first] for first in firsts)
    return Encoded(vectors, tokens)


def _muted(encoding: Encoding, text: str, shift: int) -> NDArray[np.bool_] | None:
    """Which tokens belong to the part of a passage that is only context, if there is one."""
    start, end = text.muted if isinstance(text, Passage) else (0, 0)
    if start == end:
        return None
    spans = np.array(encoding.offsets)
    return (
        (spans[:, 0] >= start + shift) & (spans[:, 1] <= end + shift) & (spans[:, 1] > spans[:, 0])
    )


class OnnxReranker:
    """A cross-encoder: one logit per pair."""

    def __init__(self, path: Path) -> None:
        self._graph = _Graph(read_folder(path))
        if _first_of(self._graph.outputs, ("logits",)) is None:
            raise ModelError(
                f"{path} is no cross-encoder: its outputs are {', '.join(self._graph.outputs)}",
                hint="a reranker has an output logits; pass an embedder as embedder",
            )
        self._logits = self._graph.outputs.index("logits")
        shape = self._graph.output_shapes[self._logits]
        classes = shape[1] if len(shape) > 1 else 1
        if len(shape) > 2 or (isinstance(classes, int) and classes > 2):
            raise ModelError(
                f"{path} is no cross-encoder for reranking: its logits are {list(shape)}",
                hint="a reranker gives one logit a pair, or two: unrelated and related",
            )

    @property
    def name(self) -> str:
        return self._graph.folder.name

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        return self._score(query, passages, None)

    def score_with(
        self, helpers: Executor, query: str, passages: Sequence[str]
    ) -> NDArray[np.float32]:
        return self._score(query, passages, helpers)

    def _score(
        self, query: str, passages: Sequence[str], helpers: Executor | None
    ) -> NDArray[np.float32]:
        pairs = [self._graph.pair(query, passage) for passage in passages]
        scores = np.zeros(len(passages), dtype=np.float32)

        def read(batch: tuple[list[int], list[Encoding]]) -> None:
            places, texts = batch
            outputs, _ = self._graph.run(texts)
            logits = outputs[self._logits].reshape(len(texts), -1)
            # Exports with two classes put the relevant one last: what it has over the other is its log odds.
            scores[places] = logits[:, -1] - (logits[:, 0] if logits.shape[1] > 1 else 0)

        # The same batches, whoever reads them, so the same logits. The longest first: who is left with the
        # last one keeps the others waiting.
        batches = list(self._graph.batches(pairs, padding=A_RUN))[::-1]
        if helpers is None or len(batches) == 1:
            for batch in batches:
                read(batch)
        else:
            shared(read, batches, helpers, CORES)
        return scores


def _first_of(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)


Model = TypeVar("Model")
_loaded: dict[tuple[Callable[[Path], Any], Path], Any] = {}
_lock = threading.Lock()


def _cached(kind: Callable[[Path], Model], path: Path) -> Model:
    key = (kind, path.resolve())
    with _lock:
        if key not in _loaded:
            _loaded[key] = kind(path)
        return cast("Model", _loaded[key])


def onnx_embedder(path: Path) -> OnnxEmbedder:
    return _cached(OnnxEmbedder, path)


def onnx_reranker(path: Path) -> OnnxReranker:
    return _cached(OnnxReranker, path)

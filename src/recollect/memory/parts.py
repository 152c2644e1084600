"""What the verbs are made of: a store, the models, threads and a cache, each when first needed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from recollect.config import Settings, cores
from recollect.errors import ModelError, OtherModel
from recollect.memory.checks import now
from recollect.memory.opening import default_path, open_store
from recollect.models.base import Embedder, Reranker
from recollect.models.loading import Loading
from recollect.models.registry import look_for
from recollect.recall.result import RecallResult
from recollect.storage.base import ModelIdentity, Store

if TYPE_CHECKING:
    from recollect.recall.pipeline import Recalling

NO_CROSS_ENCODER = ("none", "rrf", "late-interaction")  # settings of the reranker
LONGEST_AHEAD = 500  # characters of a query that others wait for


def recalls_at_once(settings: Settings) -> int:
    """Recalls that compute at the same time. More than there are cores only take each other's
    time (docs/why.md); of several processes behind one address each has its share of them."""
    return max(1, max(settings.threads, cores()) // settings.workers)


def cross_encoder(settings: Settings) -> str | None:
    """The one that the settings name; None is the shipped one."""
    named = settings.reranker
    return None if named == "default" else "none" if named in NO_CROSS_ENCODER else named


class Parts:
    """One open store and what reads and writes it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._embedder = Loading(
            "embedder", self._made_embedder, partial(look_for, settings.embedder)
        )
        self._reranker = Loading("reranker", self._made_reranker, partial(look_for, self._reader))
        self._store = open_store(self._where(), settings, self._identity)
        self._configs: dict[str, tuple[int, Mapping[str, Any]]] = {}
        self._fitting: ModelIdentity | None = None  # of the bank checked last

    @property
    def store(self) -> Store:
        """Where it is all kept; also the queue and the keys of a server."""
        return self._store

    def _where(self) -> str:
        path = self.settings.db or str(default_path())
        if path != ":memory:":
            return path
        self._temporary = tempfile.TemporaryDirectory(prefix="recollect-")
        return str(Path(self._temporary.name) / "memory.db")

    @cached_property
    def embedder(self):
        return self._embedder()

    def _made_embedder(self) -> Embedder:
        from recollect.models.base import WithoutTokens
        from recollect.models.registry import load_embedder

        embedder = load_embedder(self.settings.embedder, timeout=self.settings.model_timeout_s)
        return embedder if self.settings.token_vectors else WithoutTokens(embedder)

    @property
    def _reader(self) -> str | None:
        return cross_encoder(self.settings)

    def _made_reranker(self) -> Reranker | None:
        from recollect.models.registry import load_reranker

        return load_reranker(self._reader, timeout=self.settings.model_timeout_s)

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max(4, 4 * self.settings.threads), thread_name_prefix="recollect")

    @cached_property
    def _turns(self):
        from recollect.recall.turns import Turns

        return Turns(recalls_at_once(self.settings), shared=self.settings.workers > 1)

    @cached_property
    def _recalling(self):
        from recollect.models.base import skimming

        skims = self.settings.reranker in ("none", "rrf")
        return self._recalling_with(skimming(self.embedder) if skims else self.embedder)

    def _recalling_with(self, embedder: Embedder) -> Recalling:
        from recollect.recall.pipeline import CROSSED, CROSSED_OWN, Recalling

        # The reranker is loaded by the first recall that uses it.
        shown = CROSSED if self._reader in (None, "none") else CROSSED_OWN
        return Recalling(embedder, self._reranker, shown, self.settings, self._workers, self._turns)

    @cached_property
    def _retaining(self):
        from recollect.models.registry import load_extractor
        from recollect.retain.pipeline import Retaining

        settings = self.settings
        extractor = load_extractor(settings.extractor, timeout=settings.extractor_timeout_s)
        return Retaining(self._store, self.embedder, extractor, settings)

    @cached_property
    def _cache(self):
        from recollect.recall.cache import QueryCache

        return QueryCache[RecallResult](self.settings.cache_entries, self.settings.cache_seconds)

    def warm(self) -> None:
        """Load now rather than in the first call what a recall takes: models and words."""
        self._load_models(reranked=True)
        load_words("ready", now())
        self._recalling.embedder.encode_queries(["ready"])

    def read_ahead(self, query: str) -> None:
        """Embeds the query of a recall that waits for its turn, where that is worth it: by a small model of
        this process. What goes wrong with it will go wrong in the recall, which says so."""
        from recollect.models.base import Skimmed

        embedder = self._recalling.embedder
        if isinstance(embedder, Skimmed) and len(query) <= LONGEST_AHEAD:
            with suppress(Exception):
                embedder.read_ahead(query)

    def _load_models(self, reranked: bool) -> None:
        recalling = self._recalling
        if reranked:
            recalling.reranker()

    def _identity(self) -> ModelIdentity:
        model = self.embedder
        return model.name, model.dimensions, model.token_dimensions

    def _checked(self, bank: str, held: ModelIdentity | None = None) -> None:
        """The bank's vectors must be this process's model's."""
        from recollect.models.base import Expecting

        held = held or self._store.model_of(bank)
        if held == self._fitting:
            return
        model = self.embedder
        if held[0] == model.name and isinstance(model, Expecting) and model.expect(held[1]):
            return
        try:
            mine = self._identity()
        except ModelError:
            if held[0] != self.embedder.name:
                raise
            return  # a service that is down: a recall says so and does without, a retain fails
        if held[:2] != mine[:2]:
            from recollect.models.registry import way_back

            raise OtherModel(
                f"bank {bank!r} was embedded with {held[0]} ({held[1]} dimensions), "
                f"this process uses {mine[0]} ({mine[1]})",
                hint=way_back(held[0], bank),
            )
        self._fitting = held

    def close(self) -> None:
        workers = self.__dict__.pop("_workers", None)
        if workers is not None:
            workers.shutdown(wait=True, cancel_futures=True)
        for model in (self._embedder, self._reranker):
            model.ended()
        self._store.close()
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load_words(query: str, now: datetime) -> None:
    """What understanding a query takes: the grammar of times, and lists of names."""
    from recollect.language.entities import find_entities
    from recollect.language.time import read_query

    read_query(query, now)
    find_entities(query)

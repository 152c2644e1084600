"""The facade: every verb of recollect, thin over the write path, the read path and the store."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

import orjson

from recollect.config import Settings, load_settings
from recollect.errors import ConfigError, InvalidInput, NotFound, StoreError
from recollect.recall.result import RecallResult
from recollect.storage.base import EVERYTHING, BankStats, ModelIdentity, ServedView, Store
from recollect.telemetry import OnEvent, Run
from recollect.types import (
    Bank,
    Chunk,
    Document,
    Entity,
    EntityGraph,
    EntityProfile,
    Evidence,
    Link,
    Memory,
    Operation,
    RetainResult,
    StageEvent,
    State,
)

if TYPE_CHECKING:
    from recollect.recall.due import Due
    from recollect.recall.request import RecallRequest
    from recollect.storage.copy import Copied

P = ParamSpec("P")
T = TypeVar("T")
Progress = Callable[[int, int], None]


class Recollect:
    """Memory banks in one store. Made by `recollect.open()`; safe to use from many threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._model_lock = threading.Lock()
        self._store = self._open_store()
        self._configs: dict[str, tuple[int, Mapping[str, Any]]] = {}

    @property
    def store(self) -> Store:
        """Where it is all kept; also the queue and the keys of a server."""
        return self._store

    # --- parts, each made when first needed --------------------------------------------------

    def _open_store(self) -> Store:
        from recollect.storage.sqlite.store import SqliteStore

        path = self.settings.db or str(default_path())
        if path.startswith(("postgres://", "postgresql://")):
            return open_postgres(path, self.settings, self._identity)
        if path == ":memory:":
            self._temporary = tempfile.TemporaryDirectory(prefix="recollect-")
            path = str(Path(self._temporary.name) / "memory.db")
        return SqliteStore(
            Path(path).expanduser(),
            model=self._identity,
            busy_timeout_ms=self.settings.busy_timeout_ms,
            held_facts=self.settings.held_facts,
        )

    @cached_property
    def embedder(self):
        from recollect.models.registry import load_embedder

        with self._model_lock:
            return load_embedder(self.settings.embedder)

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max(4, 4 * self.settings.threads), thread_name_prefix="recollect")

    @cached_property
    def _recalling(self):
        from recollect.models.registry import load_reranker
        from recollect.recall.pipeline import CROSSED, CROSSED_OWN, Recalling

        named = self.settings.reranker
        own = named not in ("default", "none", "rrf", "late-interaction")
        spec = None if named == "default" else named if own else "none"
        reranker = cache(lambda: load_reranker(spec))  # loaded by the first recall that uses it
        shown = CROSSED_OWN if own else CROSSED
        return Recalling(self.embedder, reranker, shown, self.settings, self._workers)

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
        """Load the models now rather than in the first call."""
        self._load_models(reranked=True)
        self.embedder.encode_queries(["ready"])

    def _load_models(self, reranked: bool) -> None:
        recalling = self._recalling
        if reranked:
            recalling.reranker()

    def _identity(self) -> ModelIdentity:
        kept = self.embedder.token_dimensions if self.settings.token_vectors else 0
        return self.embedder.name, self.embedder.dimensions, kept

    def _checked(self, bank: str, held: ModelIdentity | None = None) -> None:
        """The bank's vectors must be this process's model's."""
        held, mine = held or self._store.model_of(bank), self._identity()
        if held[:2] != mine[:2]:
            raise StoreError(
                f"bank {bank!r} was embedded with {held[0]} ({held[1]} dimensions), "
                f"this process uses {mine[0]} ({mine[1]})",
                hint=f"open it with embedder={held[0]!r}, or make its vectors anew: recollect reembed {bank}",
            )

    def close(self) -> None:
        workers = self.__dict__.pop("_workers", None)
        if workers is not None:
            workers.shutdown(wait=True, cancel_futures=True)
        self._store.close()
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- writing -----------------------------------------------------------------------------

    def retain(
        self, bank: str, content: Any, *, progress: Progress | None = None, **shared: Any
    ) -> RetainResult:
        """Remember. `content` is a text, a dict (content, text or turns, with timestamp, context,
        document_id, tags, metadata, entities …) or a list of these; keyword arguments apply to
        every item. Durable and visible to the next recall when it returns."""
        from recollect.retain.pipeline import retain

        check_bank_name(bank)
        if self._store.bank(bank) is not None:
            self._checked(bank)
        return retain(self._retaining, bank, content, shared, _now(), progress)

    def retain_accepted(self, operation: Operation, token: str) -> RetainResult:
        """Do a retain that was accepted earlier, from where it stopped. Whoever crashes when, each
        part of it takes effect once: it is noted in the transaction that stores it."""
        from recollect.retain.pipeline import Journal, retain

        given = operation.payload
        if given is None:
            raise InvalidInput(
                f"the content of operation {operation.id!r} is gone", hint="retain it again"
            )
        self._checked(operation.bank)
        journal = Journal(operation.id, token, operation.steps, operation.note)
        accepted = datetime.fromisoformat(given["now"])
        return retain(
            self._retaining,
            operation.bank,
            given["content"],
            given["shared"],
            accepted,
            journal=journal,
        )

    def retain_file(
        self, bank: str, path: str | Path, *, progress: Progress | None = None, **shared: Any
    ) -> RetainResult:
        """A Markdown or text file as one document, or JSONL with one item a line."""
        from recollect.retain.files import read_file

        return self.retain(bank, read_file(Path(path)), progress=progress, **shared)

    def update(self, bank: str, memory_id: str, **changes: Any) -> Memory:
        """Correct one memory. The earlier wording stays visible to `as_of` before now."""
        from recollect.retain.edit import update

        with Run(name="update", bank=bank) as run:
            self._checked(bank)
            update(self._store, self.embedder, self.settings, bank, memory_id, changes, _now())
            run.note(memory_id=memory_id)
        return self.load(bank, memory_id)

    def reinforce(self, bank: str, memory_id: str, evidence: Evidence) -> Memory:
        """Move an opinion's confidence by evidence for or against it."""
        from recollect.retain.edit import reinforce

        reinforce(self._store, bank, memory_id, evidence, _now())
        return self.load(bank, memory_id)

    def review(self, bank: str, memory_id: str) -> Memory:
        """Mark as still true: its lifecycle starts anew."""
        return self.update(bank, memory_id, last_reviewed_at=_now())

    def invalidate(self, bank: str, memory_id: str) -> Memory:
        """Withdraw without deleting: recall no longer returns it, `as_of` an earlier time does."""
        from recollect.retain.edit import retire

        retire(self._store, bank, memory_id, State.INVALIDATED, None, _now())
        return self.load(bank, memory_id)

    def supersede(self, bank: str, memory_id: str, by: str) -> Memory:
        """Mark as replaced by another memory."""
        from recollect.retain.edit import retire

        self.load(bank, by)
        retire(self._store, bank, memory_id, State.SUPERSEDED, by, _now())
        return self.load(bank, memory_id)

    def relate(self, bank: str, links: Mapping[str, Mapping[str, float]]) -> None:
        """The authored links of each memory named, by id, with a weight from 0 to 1; they take the
        place of those it had."""
        from recollect.retain.relate import relate

        relate(self._store, bank, links)

    def restore(self, bank: str, memory_id: str) -> Memory:
        """Take a withdrawal or a replacement back."""
        from recollect.retain.edit import restore

        self._checked(bank)
        restore(self._store, self.embedder, self.settings, bank, memory_id, _now())
        return self.load(bank, memory_id)

    def clear(self, bank: str, *, type: str | None = None) -> int:
        """Delete all memories of a bank, or all of one type; the bank stays. Gives how many."""
        from recollect.recall.request import filter_types
        from recollect.retain.edit import clear

        types = filter_types(None if type is None else [type])
        with Run(name="forget", bank=bank) as run:
            gone = clear(self._store, bank, next(iter(types)) if types else None)
            run.note(memories=gone)
        return gone

    def forget(
        self, bank: str, memory_id: str | None = None, *, document_id: str | None = None
    ) -> int:
        """Delete one memory, or one document, with everything derived only from it: text,
        vectors, terms, links. Gives the number of memories that went."""
        from recollect.retain.edit import forget

        if (memory_id is None) == (document_id is None):
            raise InvalidInput("forget what?", hint="give a memory id, or document_id=…, not both")
        with Run(name="forget", bank=bank) as run:
            gone = forget(self._store, bank, memory_id, document_id)
            run.note(memories=gone, **({} if memory_id is None else {"memory_id": memory_id}))
        return gone

    # --- reading -----------------------------------------------------------------------------

    def recall(
        self,
        bank: str,
        query: str,
        *,
        on_event: OnEvent | None = None,
        **options: Any,
    ) -> RecallResult:
        """What matters now, within `max_tokens`.

        Options: budget ("low", "mid", "high"), max_tokens, types, tags, tags_match, tag_groups,
        query_timestamp, temporal_window, include_chunks, max_chunk_tokens, include_entities,
        max_entity_tokens, include_source_facts, max_source_fact_tokens,
        max_tokens_per_observation, prefer_observations, min_score, min_scores (semantic, keyword,
        reranker, final), expand_hops, verbosity, as_of, deadline_ms, trace."""
        from recollect.recall.pipeline import recall

        request = self._request(bank, query, options)
        if "embedder" not in self.__dict__:  # load the models while the bank is read
            reranked = "rerank" not in request.without and request.budget != "low"
            self._workers.submit(self._load_models, reranked)
        view = self._store.recall_view(bank)
        self._checked(bank, view.model if isinstance(view, ServedView) else None)
        request = self._configured(bank, view.seq, request, options)
        clock = "query_timestamp" not in options and "as_of" not in options
        asked = (
            replace(request, now=request.now.replace(second=0, microsecond=0)) if clock else request
        )
        key = (bank, view.seq, asked)
        with (
            closing(view),
            Run(on_event, name="recall", bank=bank, cpu=request.trace) as run,
        ):
            held = None
            if not request.trace and request.deadline_ms is None:
                held = self._cache.get(key)
            if held is not None:
                run.note(cached=True, results=len(held))
                if on_event:
                    on_event(StageEvent("cache.hit", "stop", 0.0, 0.0))
                return replace(held, cached=True)
            result = recall(self._recalling, view, request, run)
            run.note(cached=False, results=len(result))
            if not result.degraded:
                self._cache.put(key, result)
            return result

    def recall_events(
        self, bank: str, query: str, **options: Any
    ) -> Iterator[StageEvent | RecallResult]:
        """Stage events while the recall runs, and the result last."""
        from queue import SimpleQueue

        queue: SimpleQueue[StageEvent | RecallResult | BaseException] = SimpleQueue()

        def work() -> None:
            try:
                queue.put(self.recall(bank, query, on_event=queue.put, **options))
            except BaseException as error:  # noqa: BLE001  handed to the caller below
                queue.put(error)

        # A thread of its own: on a worker it would wait for arms that need the workers.
        threading.Thread(target=work, name="recollect-events", daemon=True).start()
        while True:
            item = queue.get()
            if isinstance(item, BaseException):
                raise item
            yield item
            if isinstance(item, RecallResult):
                return

    def why(self, bank: str, query: str, memory_id: str, **options: Any):
        """Why a memory was, or was not, returned for a query: stage by stage."""
        from recollect.recall.why import why

        request = self._request(bank, query, options)
        self._checked(bank)
        view = self._store.recall_view(bank)
        request = self._configured(bank, view.seq, request, options)
        with Run(name="why", bank=bank) as run:
            return why(self._recalling, view, request, memory_id, run)

    def load(self, bank: str, memory_id: str) -> Memory:
        """One memory whole."""
        view = self._store.view(bank)
        key = view.key_of(memory_id)
        found = None if key is None else view.load([key]).get(key)
        if found is None:
            raise NotFound(
                f"bank {bank!r} has no memory {memory_id!r}",
                hint="ids come from retain, recall and memories",
            )
        return found

    def _request(self, bank: str, query: str, options: Mapping[str, Any]):
        from recollect.recall.fuzzy import asks, resolved
        from recollect.recall.request import recall_request

        known = recall_request.__kwdefaults__ or {}
        names = set(known) | RECALL_OPTIONS
        for name in options:
            if name not in names:
                raise InvalidInput(
                    f"recall has no option {name!r}",
                    hint="options: " + ", ".join(sorted(names - {"now"})),
                )
        groups = options.get("tag_groups")
        if groups and asks(groups):
            known = self._store.tags(bank)
            options = {**options, "tag_groups": [resolved(g, known) for g in groups]}
        return recall_request(query, now=_now(), **options)

    def _configured(
        self, bank: str, seq: int, request: RecallRequest, options: Mapping[str, Any]
    ) -> RecallRequest:
        """With the bank's own settings, read once for every state of the bank."""
        from recollect.recall.request import configured

        held = self._configs.get(bank)
        if held is None or held[0] != seq:
            found = self._store.bank(bank)
            held = self._configs[bank] = (seq, {} if found is None else found.config)
        return configured(request, held[1], options)

    # --- looking around ----------------------------------------------------------------------

    def banks(self) -> list[Bank]:
        return self._store.banks()

    def bank(self, bank: str) -> Bank:
        found = self._store.bank(bank)
        if found is None:
            self._store.model_of(bank)  # raises with the hint
        assert found is not None
        return found

    def arrivals(self) -> list[str]:
        """Banks that an import or a copy has not finished: nobody sees them before it is repeated
        and done; `delete_bank` takes one away."""
        return list(self._store.arrivals())

    def create_bank(self, bank: str, config: Mapping[str, Any] | None = None) -> Bank:
        check_bank_name(bank)
        with Run(name="create_bank", bank=bank):
            return self._store.create_bank(bank, _as_json(config or {}))

    def configure_bank(self, bank: str, config: Mapping[str, Any]) -> Bank:
        return self._store.configure_bank(bank, _as_json(config))

    def delete_bank(self, bank: str) -> None:
        with Run(name="delete_bank", bank=bank):
            if not self._store.delete_bank(bank):
                self.bank(bank)

    def documents(
        self,
        bank: str,
        *,
        limit: int = 100,
        after: str | None = None,
        offset: int = 0,
        **where: Any,
    ) -> list[Document]:
        """By id; page on with after= the last id seen. Filters: contains, tags, tags_match,
        tag_groups, time_field (created_at, updated_at) with since and until."""
        from recollect.recall.browse import documents

        if not where and not offset:
            return self._store.documents(bank, limit, after)
        found = (d for d in documents(self._store, bank, where) if after is None or d.id > after)
        return list(islice(found, offset, offset + limit))

    def count_documents(self, bank: str, **where: Any) -> int:
        from recollect.recall.browse import documents

        if not where:
            return self.bank(bank).documents
        return sum(1 for _ in documents(self._store, bank, where))

    def update_document(self, bank: str, document_id: str, *, tags: Iterable[str]) -> Document:
        """New tags for a document and all its memories."""
        from recollect.retain.edit import retag

        self.document(bank, document_id)
        retag(self._store, bank, document_id, tags)
        for memory in self.memories(bank, document_id=document_id, limit=EVERYTHING):
            if memory.tags != tuple(tags):
                self.update(bank, memory.id, tags=tags)
        return self.document(bank, document_id)

    def document(self, bank: str, document_id: str) -> Document:
        """A document with its text."""
        found = self._store.document(bank, document_id)
        if found is None:
            raise NotFound(
                f"bank {bank!r} has no document {document_id!r}", hint="`documents` lists them"
            )
        text = "\n".join(c.text for c in self._store.document_chunks(bank, document_id))
        return replace(found, text=text)

    def chunks(self, bank: str, document_id: str) -> list[Chunk]:
        return self._store.document_chunks(bank, document_id)

    def memories(
        self,
        bank: str,
        *,
        limit: int = 100,
        after: str | None = None,
        offset: int = 0,
        **where: Any,
    ) -> list[Memory]:
        """Newest first; page on with after= the last id seen. Filters: type, state, document_id,
        contains, entity (an id), tags, tags_match, tag_groups, and time_field (created_at,
        updated_at, mentioned_at, occurred_start, occurred_end), which also orders, with since
        and until."""
        from recollect.recall.browse import listing

        wanted = listing(self._store, bank, where)
        return self._store.memories(bank, wanted, limit, after, offset)

    def count(self, bank: str, **where: Any) -> int:
        """How many memories a listing with these filters has."""
        from recollect.recall.browse import listing

        return self._store.count(bank, listing(self._store, bank, where))

    def tags(self, bank: str) -> Mapping[str, int]:
        """Every tag and how many memories carry it, most used first."""
        return self._store.tags(bank)

    def entities(self, bank: str, *, limit: int = 100) -> list[Entity]:
        return self._store.entities(bank, limit)

    def entity_page(
        self, bank: str, *, limit: int = 100, offset: int = 0, **where: Any
    ) -> tuple[list[EntityProfile], int]:
        """Entities with when they were seen, most mentioned first, and how many there are.
        Filters: tags, tags_match, tag_groups."""
        from recollect.recall.browse import profiles

        return profiles(self._store, bank, where, limit, offset)

    def entity(self, bank: str, entity: int, **where: Any) -> EntityProfile:
        """One entity with what has been observed of it."""
        from recollect.recall.browse import profile

        found = profile(self._store, bank, entity, where)
        if found is None:
            raise NotFound(f"bank {bank!r} has no entity {entity}", hint="`entities` lists them")
        return found

    def entity_graph(
        self, bank: str, *, limit: int = 1000, min_count: int = 1, **where: Any
    ) -> EntityGraph:
        """Who is named together with whom."""
        from recollect.recall.browse import graph

        return graph(self._store, bank, where, limit, min_count)

    def linked(self, bank: str, memories: Sequence[Memory]) -> list[tuple[str, str, bool, float]]:
        """Links among these memories: source, target, whether causal, weight."""
        from recollect.recall.browse import linked

        return linked(self._store.view(bank), memories)

    def due(
        self,
        bank: str,
        *,
        state: str | Iterable[str] | None = None,
        now: datetime | None = None,
        limit: int = 100,
    ) -> list[Due]:
        """Active memories that are aging, stale or expired (or only those of `state`), the most
        overdue first. `review` makes one fresh again."""
        from recollect.lifecycle import Freshness
        from recollect.recall.due import DUE, due

        named = [state] if isinstance(state, str) else list(state or DUE)
        for name in named:
            if name not in DUE:
                raise InvalidInput(f"unknown state {name!r}", hint="use aging, stale or expired")
        wanted = {Freshness(name) for name in named}
        return due(self._store.view(bank), now or _now(), wanted, limit)

    def links(self, bank: str, memory_id: str) -> list[Link]:
        self.load(bank, memory_id)
        return self._store.links(bank, memory_id)

    def revisions(self, bank: str, memory_id: str) -> list[Memory]:
        """Earlier wordings, oldest first."""
        return self._store.revisions(bank, memory_id)

    def stats(self, bank: str) -> BankStats:
        return self._store.stats(bank)

    def reembed(self, bank: str, *, progress: Progress | None = None) -> int:
        """Make the bank's vectors anew with this process's embedder; resumes where it stopped."""
        from recollect.retain.reembed import reembed

        return reembed(self._store, self.embedder, self._identity(), bank, progress)

    # --- moving ------------------------------------------------------------------------------

    def export(self, bank: str) -> Iterator[dict[str, Any]]:
        """The whole bank as JSON objects, one a line; `import_bank` makes it again, exactly."""
        from recollect.storage.transfer import export

        self.bank(bank)
        return export(self._store, bank)

    def import_bank(
        self,
        lines: Iterable[Mapping[str, Any]],
        bank: str | None = None,
        *,
        progress: Progress | None = None,
    ) -> Bank:
        from recollect.storage.transfer import import_bank

        return self.bank(import_bank(self._store, lines, bank, progress))

    def copy(
        self,
        bank: str,
        to: Recollect,
        *,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> Copied:
        """The bank, exactly, in another store. Interrupted, it goes on where it stopped."""
        from recollect.storage.copy import copy_bank

        check_bank_name(name or bank)
        return copy_bank(self._store, to._store, bank, name, progress)


RECALL_OPTIONS = {
    "budget",
    "max_tokens",
    "include_chunks",
    "max_chunk_tokens",
    "include_entities",
    "max_entity_tokens",
    "include_source_facts",
    "max_source_fact_tokens",
    "max_tokens_per_observation",
    "prefer_observations",
    "min_score",
    "expand_hops",
    "verbosity",
    "deadline_ms",
    "trace",
    "without",
}


def open_memory(db: str | Path | None = None, **settings: Any) -> Recollect:
    return Recollect(load_settings(db=None if db is None else str(db), **settings))


def open_postgres(dsn: str, settings: Settings, model: Callable[[], ModelIdentity]) -> Store:
    try:
        from recollect.storage.postgres.store import PostgresStore
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("psycopg", "psycopg_pool", "pgvector"):
            raise
        raise ConfigError(
            f"PostgreSQL needs a package that is not here: {error.name}",
            hint="pip install 'recollect[postgres]'",
        ) from error
    return PostgresStore(
        dsn,
        model=model,
        read_dsn=settings.read_dsn,
        schema=settings.pg_schema,
        pool_size=settings.pool_size,
        busy_timeout_ms=settings.busy_timeout_ms,
    )


def default_path() -> Path:
    from platformdirs import user_data_path

    return user_data_path("recollect", appauthor=False) / "memory.db"


def check_bank_name(bank: str) -> None:
    if not isinstance(bank, str) or not bank.strip() or len(bank) > 200 or "\x00" in bank:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"{bank!r} is no name for a bank", hint="use a text of 1 to 200 characters"
        )


def _as_json(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A bank's settings as they will be read back."""
    try:
        return orjson.loads(orjson.dumps(dict(config)))
    except TypeError as error:
        raise InvalidInput(
            f"these settings cannot be written as JSON: {error}",
            hint="use text, numbers of 64 bits, booleans, lists and dicts with text as keys",
        ) from error


def _now() -> datetime:
    return datetime.now(UTC)

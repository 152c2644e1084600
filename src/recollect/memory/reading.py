"""Verbs that ask: recall, and why."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from recollect.memory.checks import checked, now
from recollect.memory.parts import Parts, load_words
from recollect.models.loading import NotYet
from recollect.models.patience import Overdue
from recollect.recall.result import RecallResult
from recollect.storage.base import GatheringView, View
from recollect.telemetry import OnEvent, Run
from recollect.types import StageEvent

if TYPE_CHECKING:
    from recollect.options import RecallOptions
    from recollect.recall.explain import Why
    from recollect.recall.pipeline import Recalling
    from recollect.recall.request import RecallRequest

LONGEST_WAIT = 1.0  # seconds, for a turn
# Of a deadline: how much of it may be gone before anybody looks, for what a process reads once (code,
# word lists) or waits for; and of what is left, how much the loading of an embedder may take.
GONE, LOADED_WITHIN = 0.5, 0.75


class Reading(Parts):
    @checked
    def recall(
        self,
        bank: str,
        query: str,
        *,
        on_event: OnEvent | None = None,
        **options: Unpack[RecallOptions],
    ) -> RecallResult:
        """What matters now, within `max_tokens`.

        Options: budget ("low", "mid", "high"), max_tokens, types, tags, tags_match, tag_groups,
        query_timestamp, temporal_window, include_chunks, max_chunk_tokens, include_entities,
        max_entity_tokens, include_source_facts, max_source_fact_tokens,
        max_tokens_per_observation, prefer_observations, min_score, min_scores (semantic, keyword,
        reranker, final), expand_hops, verbosity, as_of, deadline_ms, trace."""
        # First of all: threads that only prepare to wait take Python's lock from those that compute.
        with self._turns.taken(_patience(options)) if self._alone else nullcontext(0.0) as waited:
            return self._recall(bank, query, options, on_event, waited)

    def _recall(
        self,
        bank: str,
        query: str,
        options: RecallOptions,
        on_event: OnEvent | None,
        waited: float,
    ) -> RecallResult:
        begun = time.perf_counter() - waited
        from recollect.recall.pipeline import recall
        from recollect.recall.request import check_listener

        check_listener(on_event)
        request = self._request(bank, query, options)
        self._load_meanwhile(query, request)
        # Closed whatever happens: an error that somebody keeps keeps a view, and that a connection.
        with closing(self._store.recall_view(bank)) as view:
            clock = _clock(begun, request.deadline_ms)
            recalling = self._ready(bank, view, clock, request.deadline_ms)
            request = self._configured(bank, view.seq, request, options)
            key = (bank, view.seq, _as_cached(request, options))
            spent = waited if request.deadline_ms is None else time.perf_counter() - clock
            with Run(on_event, name="recall", bank=bank, cpu=request.trace, waited=spent) as run:
                measured = request.trace or request.deadline_ms is not None  # it is about this run
                held = None if measured else self._cache.get(key)
                if held is not None:
                    run.note(cached=True, results=len(held))
                    if on_event:
                        on_event(StageEvent("cache.hit", "stop", 0.0, 0.0))
                    return replace(held, cached=True)
                with self._in_turn(view, options) as more:
                    run.note(turn_wait_ms=round((waited + more) * 1e3, 3))
                    result = recall(recalling, view, request, run)
                run.note(cached=False, results=len(result))
                if not result.degraded:
                    self._cache.put(key, result)
                return result

    @checked
    def recall_events(
        self, bank: str, query: str, **options: Unpack[RecallOptions]
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

    @checked
    def why(self, bank: str, query: str, memory_id: str, **options: Unpack[RecallOptions]) -> Why:
        """Why a memory was, or was not, returned for a query: stage by stage."""
        begun = time.perf_counter()
        from recollect.recall.why import why

        request = self._request(bank, query, options)
        self._load_meanwhile(query, request)
        with closing(self._store.recall_view(bank)) as view:
            clock = _clock(begun, request.deadline_ms)
            recalling = self._ready(bank, view, clock, request.deadline_ms)
            request = self._configured(bank, view.seq, request, options)
            spent = 0.0 if request.deadline_ms is None else time.perf_counter() - clock
            with Run(name="why", bank=bank, waited=spent) as run:
                return why(recalling, view, request, memory_id, run)

    def _load_meanwhile(self, query: str, request: RecallRequest) -> None:
        """Before the first recall: models and words load while the bank is read."""
        if "embedder" not in self.__dict__:
            reranked = "rerank" not in request.without and request.budget != "low"
            if request.deadline_ms is None:
                self._workers.submit(load_words, query, request.now)
            else:  # no arm looks without them, and models that load at once would keep them waiting
                load_words(query, request.now)
            self._workers.submit(self._load_models, reranked)

    def _ready(self, bank: str, view: View, clock: float, deadline_ms: float | None) -> Recalling:
        """What a recall works with. With a deadline nobody waits for an embedder until no time is left:
        the arms that do without it are to look."""
        if deadline_ms is not None and "embedder" not in self.__dict__:
            left = clock + deadline_ms / 1000 - time.perf_counter()
            try:
                self._embedder.within(left * LOADED_WITHIN)
            except Overdue:
                return self._recalling_with(NotYet(*view.model))
        self._checked(bank, view.model)
        return self._recalling

    @cached_property
    def _alone(self) -> bool:
        """Whether store and models are all in this process: what waits for a server needs no turn."""
        settings = self.settings
        return "://" not in f"{settings.db} {settings.embedder} {settings.reranker}"

    @contextmanager
    def _in_turn(self, view: View, options: RecallOptions) -> Generator[float]:
        """For a bank on a server of which this process holds the index: that is computed here. Who is
        alone has taken a turn before anything else."""
        models = f"{self.settings.embedder} {self.settings.reranker}"
        if self._alone or isinstance(view, GatheringView) or "://" in models:
            yield 0.0
            return
        with self._turns.taken(_patience(options)) as waited:
            yield waited

    def _request(self, bank: str, query: str, options: Mapping[str, Any]) -> RecallRequest:
        from recollect.recall.fuzzy import spelled
        from recollect.recall.request import check_options, recall_request

        check_options(options)
        groups = options.get("tag_groups")
        if groups is not None:
            options = {**options, "tag_groups": spelled(groups, lambda: self._store.tags(bank))}
        return recall_request(query, now=now(), **options)

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


def _patience(options: RecallOptions) -> float:
    """How long a recall waits for its turn: seconds, and no more than a quarter of what time it has."""
    given: Any = options.get("deadline_ms")
    if isinstance(given, int | float) and 0 < given < math.inf:  # what cannot be is refused later
        return min(given, 4000 * LONGEST_WAIT) / 4000
    return LONGEST_WAIT


def _clock(begun: float, deadline_ms: float | None) -> float:
    """When the clock of a recall began: with the call, or later where too little time would be left."""
    if deadline_ms is None:
        return begun
    return max(begun, time.perf_counter() - GONE * deadline_ms / 1000)


def _as_cached(request: RecallRequest, options: Mapping[str, Any]) -> RecallRequest:
    """Who names no time asks about the present, and that is the same for a minute."""
    if options.get("query_timestamp") is not None or options.get("as_of") is not None:
        return request
    from recollect.recall.request import change

    return change(request, now=request.now.replace(second=0, microsecond=0))

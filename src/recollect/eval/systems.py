"""What is measured: recollect, or anything that can index units and rank them for a query."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from recollect.errors import InvalidInput, NotFound
from recollect.eval.data import Bank, Query, Unit, successors
from recollect.eval.metrics import Ranked
from recollect.eval.once import once
from recollect.eval.trouble import DatasetError
from recollect.language.tokens import count_tokens, truncate
from recollect.models.registry import DEFAULT_RERANKER
from recollect.recall.request import MAX_QUERY_CHARACTERS, MAX_QUERY_TOKENS, recall_request
from recollect.types import StageTrace

BATCH = 100
EVERYTHING = 10_000_000  # tokens: nothing that was considered is left out
ARMS = ("semantic", "keyword", "graph", "temporal")
LATER = ("rerank", "boost")


Progress = Callable[[str, int, int], None]
"""What is being done, how much of it is done, and how much there is."""


def tell(progress: Progress | None, what: str, done: int, total: int) -> None:
    if progress is not None:
        progress(what, done, total)


class System(Protocol):
    """A memory under test. Ids that come back are the ids `gold_key` speaks of."""

    name: str

    def index(self, bank: Bank) -> None:
        """Take in the bank's units, durable and searchable when it returns."""
        ...

    def search(self, bank: Bank, query: Query) -> Ranked:
        """The best results first."""
        ...

    def gold_key(self, bank: Bank, unit_id: str) -> str:
        """The id under which a unit comes back (two units may have become one memory)."""
        ...


@dataclass(frozen=True, slots=True)
class RecallOptions:
    budget: str = "mid"
    max_tokens: int = 8192
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """What no recall takes is refused here, before a file of thousands is retained for it."""
        asked: dict[str, Any] = {
            "budget": self.budget,
            "max_tokens": self.max_tokens,
            "without": self.without,
        }
        recall_request("?", now=datetime.now(UTC), **asked)


class Recollect:
    """recollect itself, through its public verbs and with its shipped defaults."""

    def __init__(
        self,
        memory: Any,
        options: RecallOptions | None = None,
        name: str = "recollect",
        progress: Progress | None = None,
        given: Callable[[Unit, Collection[str]], dict[str, Any]] | None = None,
    ):
        """`given` is how units are given to retain: as facts with a speaker, unless that is what is measured."""
        self.name = name
        self._given = given or item
        self._memory = memory
        self._options = options or RecallOptions()
        self._progress = progress
        self._keys: dict[tuple[str, str], str] = {}  # (bank, memory id) → unit id
        self._gold: dict[tuple[str, str], str] = {}  # (bank, unit id) → unit id it is known by
        self._memories: dict[tuple[str, str], str] = {}  # (bank, unit id) → memory id
        self._shortened: set[tuple[str, str]] = set()  # (bank, query id)

    def variant(self, name: str, without: tuple[str, ...]) -> Recollect:
        """The same banks, asked with parts of the pipeline switched off."""
        options = RecallOptions(self._options.budget, self._options.max_tokens, without)
        twin = Recollect(self._memory, options, name)
        twin._keys, twin._gold = self._keys, self._gold
        return twin

    @property
    def settings(self) -> dict[str, Any]:
        """What the figures depend on besides the data."""
        reranker = self._memory.settings.reranker
        models = {
            "embedder": self._memory.embedder.name,
            "reranker": DEFAULT_RERANKER if reranker == "default" else reranker,
            "token_vectors": self._memory.embedder.token_dimensions > 0,
        }
        return {"budget": self._options.budget, "max_tokens": self._options.max_tokens, **models}

    def asked_again(self) -> AbstractContextManager[None]:
        """For asking the same queries in many ways. What it takes is then no longer what it costs."""
        return once(self._memory)

    def index(self, bank: Bank) -> None:
        begun: set[str] = set()
        done = 0
        tell(self._progress, f"retain {bank.id}", done, len(bank.units))
        for batch in batches(bank.units):
            with _telling_of(batch):
                outcome = self._memory.retain(bank.id, [self._given(u, begun) for u in batch])
            begun |= {document for unit in batch if (document := _document(unit))}
            for unit, made in zip(batch, outcome.items, strict=True):
                self._remember(bank.id, unit.id, made.memory_ids)
            done += len(batch)
            tell(self._progress, f"retain {bank.id}", done, len(bank.units))
        self._supersede(bank)

    def _supersede(self, bank: Bank) -> None:
        """Supersede as the file says, which knows better what holds than retain could read from
        the texts."""
        ids = {unit.id: self._memories[bank.id, unit.id] for unit in bank.units}
        after = {unit.id: unit.superseded_by for unit in bank.units if unit.superseded_by}
        for by in dict.fromkeys(ids[unit] for unit in after.values()):
            if self._memory.load(bank.id, by).superseded_by is not None:
                self._memory.restore(bank.id, by)
        for unit, by in after.items():
            # What was said again later is one memory with it, and holds again.
            if ids[unit] not in (ids[later] for later in successors(unit, after)):
                self._memory.supersede(bank.id, ids[unit], ids[by])

    def expect(self, bank: Bank) -> None:
        """Of a bank that is there already, gold and forbidden ids are memories: one that is not
        there would silently count as never found."""
        if not any(held.id == bank.id for held in self._memory.banks()):
            raise DatasetError(
                f"the store holds no bank {bank.id!r}",
                hint="the file holds no units; name the bank that its queries are for: --db, --bank",
            )
        for query in bank.queries:
            for id in (*query.gold, *query.forbidden):
                try:
                    self._memory.load(bank.id, id)
                except NotFound as cause:
                    raise DatasetError(
                        f"query {query.id!r}: {cause.message}",
                        hint="without units in the file, gold and forbidden are ids of memories",
                    ) from cause

    def _remember(self, bank: str, unit: str, memory_ids: Sequence[str]) -> None:
        if not memory_ids:
            raise DatasetError(f"retain made no memory of unit {unit!r} in bank {bank!r}")
        self._memories[bank, unit] = memory_ids[0]
        known = [self._keys.setdefault((bank, id), unit) for id in memory_ids]
        self._gold[bank, unit] = unit if unit in known else known[0]

    @property
    def merged(self) -> int:
        """Units that were recognised as already known."""
        return sum(unit != key for (_, unit), key in self._gold.items())

    @property
    def shortened(self) -> int:
        """Queries that are longer than a recall takes, and were asked in part."""
        return len(self._shortened)

    def gold_key(self, bank: Bank, unit_id: str) -> str:
        return self._gold.get((bank.id, unit_id), unit_id)

    def search(self, bank: Bank, query: Query) -> Ranked:
        wall, cpu = time.perf_counter(), time.process_time()
        result = self._recall(bank, query, **self._arguments(query), trace=True)
        spent = (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3
        return Ranked(
            *self._ranking(bank, result.results),
            nothing_known=bool(result.nothing_known),
            wall_ms=spent[0],
            cpu_ms=spent[1],
            stages=tuple((s.stage, s.took_ms, s.cpu_ms) for s in result.trace.stages),
            degraded=_lost(result),
            left_out=sum(map(_left_out, result.trace.stages)),
        )

    def arms(self, bank: Bank, query: Query) -> dict[str, Ranked]:
        """What each arm alone would have answered: its own order, before anything is fused."""
        given = self._arguments(query) | {"max_tokens": EVERYTHING}
        result = self._recall(bank, query, **given)
        found: dict[str, Ranked] = {}
        for arm in ARMS:
            ranks = [(hit.arms[arm].rank, hit) for hit in result.results if arm in hit.arms]
            best = [hit for _, hit in sorted(ranks, key=lambda pair: pair[0])]
            ranking = self._ranking(bank, best)
            found[arm] = Ranked(*ranking, nothing_known=not best, degraded=_lost(result))
        return found

    def _recall(self, bank: Bank, query: Query, **given: Any) -> Any:
        # recall refuses longer queries; a set that has one should still be measured
        asked = truncate(query.text[:MAX_QUERY_CHARACTERS], MAX_QUERY_TOKENS)
        if asked != query.text:
            self._shortened.add((bank.id, query.id))
        return self._memory.recall(bank.id, asked, **given)

    def _ranking(self, bank: Bank, hits: Iterable[Any]) -> tuple[tuple[str, ...], tuple[int, ...]]:
        best: dict[str, int] = {}
        for hit in hits:
            key = self._keys.get((bank.id, str(hit.id)), str(hit.id))
            best.setdefault(key, hit.memory.tokens or count_tokens(hit.text))
        return tuple(best), tuple(best.values())

    def _arguments(self, query: Query) -> dict[str, Any]:
        given: dict[str, Any] = {
            "budget": self._options.budget,
            "max_tokens": self._options.max_tokens,
        }
        if query.time:
            given["query_timestamp"] = query.time
        if query.as_of:
            given["as_of"] = query.as_of
        if query.tags or query.tags_match == "exact":  # which asks for what has no tags
            given |= {"tags": list(query.tags), "tags_match": query.tags_match}
        if self._options.without:
            given["without"] = self._options.without
        return given


@contextmanager
def _telling_of(batch: Sequence[Unit]) -> Generator[None]:
    """What retain says of an item, counted from 0, is of no use without where it counts from."""
    try:
        yield
    except InvalidInput as cause:
        raise DatasetError(
            f"of the units from {batch[0].id!r} on, {cause.message}", hint=cause.hint
        ) from cause


def _lost(result: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(d.part for d in result.degraded))


def _left_out(stage: StageTrace) -> int:
    told = stage.detail
    return int(told.get("considered", 0)) - int(told.get("packed", 0))


def batches(units: Sequence[Unit]) -> Iterable[list[Unit]]:
    """About BATCH units at a time, a conversation not cut where that can be helped."""
    batch: list[Unit] = []
    for unit in units:
        document = _document(unit)
        if len(batch) >= BATCH and (document is None or document != _document(batch[-1])):
            yield batch
            batch = []
        batch.append(unit)
    if batch:
        yield batch


def _document(unit: Unit) -> str | None:
    """Its session, or what the unit calls its document itself, in the word that retain has."""
    named = unit.fields.get("document_id", unit.session)
    return named if isinstance(named, str) else None  # whatever else it is, retain refuses


def item(unit: Unit, begun: Collection[str] = ()) -> dict[str, Any]:
    """A unit as retain takes a ready-made fact; a document already begun is added to."""
    optional = {
        "context": unit.context,
        "speaker": unit.speaker,
        "timestamp": unit.time,
        "document_id": unit.session,
        "tags": list(unit.tags),
        "update_mode": "append" if _document(unit) in begun else None,
    }
    given = {key: value for key, value in optional.items() if value}
    return {"text": unit.text, **given, "metadata": {"unit": unit.id}, **unit.fields}


def ablations() -> Iterable[tuple[str, tuple[str, ...]]]:
    """Fusion alone, fusion with one later stage, and each part left out."""
    yield "only fusion", LATER
    yield "fusion + rerank", ("boost",)
    yield "fusion + boost", ("rerank",)
    for part in (*ARMS, "cross-encoder", "bridge"):
        yield f"without {part}", (part,)

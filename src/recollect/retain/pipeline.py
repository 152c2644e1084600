"""The write path: chunk → extract → ground → embed → deduplicate → link → commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.config import Settings
from recollect.models.base import Embedder, Extractor
from recollect.retain.extract import Source, sources
from recollect.retain.items import items
from recollect.retain.plan import Outcome, Planner
from recollect.retain.prepare import Prepared, prepare
from recollect.storage.base import Batch, Store, Writing
from recollect.telemetry import Run
from recollect.types import ItemOutcome, RetainResult

Progress = Callable[[int, int], None]  # facts done, facts in all
GROUP = 256  # facts in one transaction; a document is never split over two


@dataclass(frozen=True, slots=True)
class Retaining:
    store: Store
    embedder: Embedder
    extractor: Extractor | None
    settings: Settings


def retain(
    with_: Retaining,
    bank: str,
    content: Any,
    shared: Mapping[str, Any],
    now: datetime,
    progress: Progress | None = None,
) -> RetainResult:
    run = Run()
    with run.stage("read"):
        given = items(content, shared, now)
    with run.stage("extract"):
        found = list(sources(given, with_.extractor))
    if with_.store.bank(bank) is None:
        with_.store.create_bank(bank)
    total = sum(len(s.facts) for s in found)
    told = _Tally(len(given))
    done = 0
    for group in _groups(found):
        outcome = _retain_group(with_, bank, group, now, run)
        told.add(group, outcome)
        done += sum(len(s.facts) for s in group)
        if progress:
            progress(done, total)
    return told.result(bank, run)


def _retain_group(
    with_: Retaining, bank: str, group: list[Source], now: datetime, run: Run
) -> Outcome:
    with run.stage("prepare"):
        ready = _prepare(with_, bank, group)
    decided: list[Outcome] = []

    def plan(view: Writing) -> Batch:
        batch, outcome = Planner(view, group, ready, now).plan()
        decided.append(outcome)
        return batch

    with run.stage("commit"):
        with_.store.commit(bank, plan)
    return decided[-1]


def _prepare(with_: Retaining, bank: str, group: list[Source]) -> list[list[Prepared]]:
    """All facts of the group in one pass of the model, then dealt out to their sources."""
    facts = [f for s in group for f in s.facts]
    resolver = with_.store.view(bank).resolver
    flat = iter(prepare(facts, with_.embedder, resolver, with_.settings.agent_names))
    return [[next(flat) for _ in s.facts] for s in group]


def _groups(found: Iterable[Source]) -> Iterator[list[Source]]:
    """Whole documents, and loose facts cut as needed, up to GROUP facts a transaction."""
    group: list[Source] = []
    size = 0
    for source in _cut(found):
        if group and size + len(source.facts) > GROUP:
            yield group
            group, size = [], 0
        group.append(source)
        size += len(source.facts)
    if group:
        yield group


def _cut(found: Iterable[Source]) -> Iterator[Source]:
    for source in found:
        if source.document_id is not None or len(source.facts) <= GROUP:
            yield source
            continue
        for at in range(0, len(source.facts), GROUP):
            part = source.facts[at : at + GROUP]
            yield Source(None, part, (), source.shared, source.append, source.hash)


class _Tally:
    """Outcomes per item, added up over the groups."""

    def __init__(self, count: int) -> None:
        self._ids: list[list[str]] = [[] for _ in range(count)]
        self._new: list[int] = [0] * count
        self._documents: list[str | None] = [None] * count
        self._made: dict[str, None] = {}
        self._known: dict[str, None] = {}
        self._superseded: dict[str, None] = {}
        self._replaced = 0

    def add(self, group: list[Source], outcome: Outcome) -> None:
        facts = [(s, f) for s in group for f in s.facts]
        for (source, fact), memory_id, new in zip(
            facts, outcome.memory_ids, outcome.new, strict=True
        ):
            self._ids[fact.item].append(memory_id)
            self._new[fact.item] += new
            self._documents[fact.item] = source.document_id
            (self._made if new else self._known)[memory_id] = None
        self._superseded.update(dict.fromkeys(outcome.superseded))
        self._replaced += outcome.replaced

    def result(self, bank: str, run: Run) -> RetainResult:
        return RetainResult(
            bank,
            tuple(
                ItemOutcome(tuple(ids), document, new, len(ids) - new)
                for ids, document, new in zip(self._ids, self._documents, self._new, strict=True)
            ),
            tuple(self._made),
            tuple(self._known),
            tuple(self._superseded),
            self._replaced,
            run.timings(),
        )

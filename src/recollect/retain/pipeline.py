"""The write path: chunk → extract → ground → embed → deduplicate → link → commit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from recollect.config import Settings
from recollect.errors import InvalidInput
from recollect.models.base import Embedder, Extractor
from recollect.retain.decided import own_source, unknown_source
from recollect.retain.extract import Source, sources
from recollect.retain.items import Fact, Item, items
from recollect.retain.plan import Outcome, Planner
from recollect.retain.prepare import Prepared, prepare, statement_hash
from recollect.retain.reading import Reader
from recollect.retain.turns import in_turn
from recollect.storage.base import Batch, Listing, Step, Store, View, Writing
from recollect.storage.refusals import lease_lost
from recollect.telemetry import Run
from recollect.types import ItemOutcome, Memory, RetainResult

Progress = Callable[[int, int], None]  # facts done, facts in all
EVERY = 1_000_000  # memories of one document: all of them
GROUP = 256  # facts in one transaction; a document is never split over two


@dataclass(frozen=True, slots=True)
class Retaining:
    store: Store
    embedder: Embedder
    extractor: Extractor | None
    settings: Settings


@dataclass(frozen=True, slots=True)
class Journal:
    """For a retain that may be interrupted and taken up again: under which claim it runs, and what
    it had done before. Each group is noted in the transaction that stores it."""

    operation: str
    token: str
    done: int = 0  # groups
    note: Mapping[str, Any] | None = None  # what came of them
    lost: Callable[[], bool] = lambda: False  # whether the claim is known to be gone

    def check(self) -> None:
        if self.lost():
            raise lease_lost(self.operation)


def retain(
    with_: Retaining,
    bank: str,
    content: Any,
    shared: Mapping[str, Any],
    now: datetime,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> RetainResult:
    with Run(name="retain", bank=bank) as run:
        with run.stage("read"):
            given = items(content, shared, now)
        with run.stage("extract"):
            found = _sources(with_, bank, given, run, journal)
        _check_names(with_.store, bank, found)
        if with_.store.bank(bank) is None:
            with_.store.create_bank(bank)
        told = _Tally(len(given), None if journal is None else journal.note)
        total, done = sum(len(s.facts) for s in found), 0
        # What an LLM reads out of a text differs from time to time: then only a whole is a part.
        whole = journal is not None and with_.extractor is not None
        for number, group in enumerate([found] if whole else _groups(found), 1):
            if journal is None or number > journal.done:
                part = None if journal is None else _Part(journal, number)
                _retain_changed(with_, bank, group, now, run, told, part)
            done += sum(len(s.facts) for s in group)
            if progress:
                progress(done, total)
        result = told.result(bank, run)
        run.note(memories=len(result.new) + len(result.known), new=len(result.new))
        return result


def _sources(
    with_: Retaining, bank: str, given: Sequence[Item], run: Run, journal: Journal | None
) -> list[Source]:
    """What was given as facts and documents, read by the LLM if there is one."""
    if with_.extractor is None:
        return list(sources(given))

    def held(document_id: str) -> tuple[bytes, Sequence[Memory]] | None:
        if with_.store.bank(bank) is None:
            return None
        with closing(with_.store.view(bank)) as view:
            digest = view.document_hash(document_id)
        if digest is None:
            return None
        of_it = Listing(document_id=document_id, axis="created_at")
        return digest, with_.store.memories(bank, of_it, EVERY)[::-1]

    required = with_.settings.extractor_required
    check = None if journal is None else journal.check
    with Reader(with_.extractor, held, required=required, check=check) as reader:
        found = list(sources(given, reader))
        for reason in dict.fromkeys(reader.failures):
            run.degrade("extract", f"read by rule: {reason}")
    return found


def _check_names(store: Store, bank: str, found: Sequence[Source]) -> None:
    """Every memory that a fact refers to must be there, before anything is stored."""
    facts = [f for s in found for f in s.facts]
    view = store.view(bank) if store.bank(bank) is not None else None
    ours = {f.id for f in facts}
    places = {(f.item, f.position) for f in facts} | {(f.item, None) for f in facts}
    for fact in facts:
        for relation in fact.relations:
            target = relation.target
            if isinstance(target, int):
                there = (target, None) if fact.position is None else (fact.item, target)
                known = there in places
            else:
                known = target in ours or (view is not None and view.key_of(target) is not None)
            if not known:
                raise InvalidInput(
                    f"item {fact.item}: causal relation to unknown {target!r}",
                    hint="target is a memory id, or the position of a fact in the same list",
                )
        for source in fact.source_ids:
            if source == fact.id:
                raise own_source(source, f"item {fact.item}: ")
            if source not in ours and (view is None or view.key_of(source) is None):
                raise unknown_source(fact, source, bank)


def _unchanged(view: View, source: Source, told: _Tally) -> bool:
    """A document given again, exactly: nothing to do, and nothing corrected since is undone.
    A long retain that was interrupted goes on where it stopped."""
    if source.document_id is None or view.document_hash(source.document_id) != source.hash:
        return False
    if source.append and not all(f.dated for f in source.facts):
        return False  # the same words may well have been said again
    hashes = [statement_hash(f, source.document_id) for f in source.facts]
    held = view.same_statement(hashes)
    memories = view.load([k for keys in held.values() for k in keys])
    for fact, statement in zip(source.facts, hashes, strict=True):
        found = [memories[k] for k in held.get(statement, ()) if k in memories]
        here = [m for m in found if m.document_id == source.document_id] or found
        told.seen(source, fact, here[0].id if here else None)
    return True


@dataclass(frozen=True, slots=True)
class _Part:
    journal: Journal
    number: int

    def step(self, told: _Tally) -> Step:
        return Step(self.journal.operation, self.journal.token, self.number, told.note())


def _retain_changed(
    with_: Retaining,
    bank: str,
    group: list[Source],
    now: datetime,
    run: Run,
    told: _Tally,
    part: _Part | None,
) -> None:
    """Everything of the group that the bank does not hold already, in one transaction."""
    with closing(with_.store.view(bank)) as view:
        changed = [s for s in group if not _unchanged(view, s, told)]
    if not changed:
        return
    with run.stage("prepare"):
        ready = _prepare(with_, bank, changed)
    decided: list[Outcome] = []

    def plan(view: Writing) -> Batch:
        batch, outcome = Planner(view, changed, ready, now).plan()
        decided.append(outcome)
        return (
            batch if part is None else replace(batch, step=part.step(told.plus(changed, outcome)))
        )

    with run.stage("commit"):
        with_.store.commit(bank, plan)
    told.add(changed, decided[-1])


def _prepare(with_: Retaining, bank: str, group: list[Source]) -> list[list[Prepared]]:
    """All facts of the group in one pass of the model, then dealt out to their sources."""
    with closing(with_.store.view(bank)) as view:
        facts = in_turn(group, view.newest(), view.resolver)
        flat = iter(prepare(facts, with_.embedder, view.resolver, with_.settings.agent_names))
        return [[next(flat) for _ in s.facts] for s in group]


def _groups(found: Iterable[Source]) -> Iterator[list[Source]]:
    """Whole documents, and loose facts cut as needed, up to GROUP facts a transaction. Facts
    that refer to each other stay together."""
    found = list(found)
    ours = {f.id for s in found for f in s.facts if f.id is not None}
    if any(_reaches_out(s, f, ours) for s in found for f in s.facts):
        yield found
        return
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


def _reaches_out(source: Source, fact: Fact, ours: Collection[str]) -> bool:
    """To another item, by its number or by the id it was given; places within a document stay
    in it."""
    by_place = any(isinstance(r.target, int) for r in fact.relations)
    if by_place and (fact.position is None or source.document_id is None):
        return True
    named = [*fact.source_ids, *fact.related, *(r.target for r in fact.relations)]
    return any(name in ours for name in named)


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

    def __init__(self, count: int, note: Mapping[str, Any] | None = None) -> None:
        before = note or {}
        self._ids: list[list[str]] = before.get("ids") or [[] for _ in range(count)]
        self._new: list[int] = before.get("new") or [0] * count
        self._documents: list[str | None] = before.get("documents") or [None] * count
        self._made = dict.fromkeys(cast("list[str]", before.get("made", ())))
        self._known = dict.fromkeys(cast("list[str]", before.get("known", ())))
        self._superseded = dict.fromkeys(cast("list[str]", before.get("superseded", ())))
        self._replaced: int = before.get("replaced", 0)

    def note(self) -> dict[str, Any]:
        """As JSON, to go on from."""
        return {
            "ids": self._ids,
            "new": self._new,
            "documents": self._documents,
            "made": list(self._made),
            "known": list(self._known),
            "superseded": list(self._superseded),
            "replaced": self._replaced,
        }

    def plus(self, group: list[Source], outcome: Outcome) -> _Tally:
        """Another one, with the group added: a plan may be made more than once."""
        out = deepcopy(self)
        out.add(group, outcome)
        return out

    def add(self, group: list[Source], outcome: Outcome) -> None:
        facts = [(s, f) for s in group for f in s.facts]
        for (source, fact), memory_id, new in zip(
            facts, outcome.memory_ids, outcome.new, strict=True
        ):
            self._new[fact.item] += new
            self._told(source, fact, memory_id)
            if new:
                self._made[memory_id] = None
            elif memory_id not in self._made:
                self._known[memory_id] = None
        self._superseded.update(dict.fromkeys(outcome.superseded))
        self._replaced += outcome.replaced

    def seen(self, source: Source, fact: Fact, memory_id: str | None) -> None:
        """Given again, unchanged; corrected or withdrawn meanwhile when it has no memory."""
        self._documents[fact.item] = source.document_id
        if memory_id is not None:
            self._told(source, fact, memory_id)
            self._known[memory_id] = None

    def _told(self, source: Source, fact: Fact, memory_id: str) -> None:
        self._ids[fact.item].append(memory_id)
        self._documents[fact.item] = source.document_id

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
            run.degraded,
        )

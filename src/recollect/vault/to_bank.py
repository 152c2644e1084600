"""Towards the bank: what notes say becomes memories, retires them or has them hold again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from recollect.errors import InvalidInput
from recollect.options import Progress
from recollect.storage.base import EVERYTHING
from recollect.types import Memory, State
from recollect.vault import fields as mapping
from recollect.vault.decide import Step
from recollect.vault.fields import INVALIDATED, PATH, metadata_of
from recollect.vault.ledger import let_go
from recollect.vault.merge import metadata
from recollect.vault.work import Work, once

Resolve = Callable[[str], str | None]
Made = tuple[str, ...] | None  # ids of memories; None for what was refused
PART = 128  # notes that are retained in one call
_SENT = (
    "title", "summary", "topic_path", "recall_when", "kind", "scope", "type", "tags", "context", "speaker",
    "valid_until", "last_reviewed_at", "occurred_start", "occurred_end", "confidence",
)  # fmt: skip


class _Counted:
    """Progress told by several threads."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._lock = threading.Lock()
        self._done = 0
        self._total = total
        self._progress = progress

    def more(self, count: int) -> None:
        with self._lock:
            self._done += count
            if self._progress is not None:
                self._progress(self._done, self._total)


class ToBank:
    def __init__(self, work: Work, resolve: Resolve) -> None:
        self._work = work
        self._resolve = resolve
        self.retained: list[Step] = []  # to be noted down once the bank has been read again
        self.superseded: set[str] = set()  # memories that a new note's statement replaced

    def retain(self, steps: list[Step], progress: Progress | None) -> None:
        """In parts, two at a time: while one is embedded, another is understood and stored."""
        parts = [steps[at : at + PART] for at in range(0, len(steps), PART)]
        done = _Counted(len(steps), progress)

        def retain(part: list[Step]) -> list[Made]:
            return self._retain(part, done)

        with ThreadPoolExecutor(max(1, self._work.memory.settings.threads)) as pool:
            for part, made in zip(parts, pool.map(retain, parts), strict=True):
                for step, memory_ids in zip(part, made, strict=True):
                    if memory_ids is not None:
                        self._retained(step, memory_ids)

    def _retain(self, steps: list[Step], done: _Counted) -> list[Made]:
        """The memories made of each; one that is refused is told apart from the others."""
        items = [self._item(step) for step in steps]
        try:
            result = self._work.memory.retain(self._work.bank, items)
        except InvalidInput:
            return [self._retain_one(s, i) for s, i in zip(steps, items, strict=True)]
        done.more(len(steps))
        self.superseded.update(result.superseded)
        return [outcome.memory_ids for outcome in result.items]

    def _retain_one(self, step: Step, item: dict[str, Any]) -> Made:
        made: list[tuple[str, ...]] = []

        def retain() -> None:
            made.append(self._work.memory.retain(self._work.bank, item).items[0].memory_ids)

        return made[0] if self._work.guard(step, retain) else None

    def _retained(self, step: Step, memory_ids: tuple[str, ...]) -> None:
        self._withdraw_again(step, memory_ids)
        known = step.pair.unit is not None
        (self._work.report.updated if known else self._work.report.retained).append(step.path)
        self.retained.append(step)

    def _item(self, step: Step) -> dict[str, Any]:
        file = step.pair.file
        assert file is not None
        found, own = file.fields, step.pair.id
        out: dict[str, Any] = {key: found[key] for key in _SENT if key in found}
        out["metadata"] = {**metadata_of(found), PATH: step.path}
        told, changed = mapping.told_at(file.note), mapping.changed_at(file.note)
        out |= {"timestamp": told} if told else {}
        out |= {"updated_at": changed} if changed else {}
        if step.form == "memory":
            return {**out, "text": found["text"], "id": own}
        out.pop("summary", None)  # it is the document's, not that of every statement
        text = (file.note.is_daily and file.note.entries) or found["text"]
        return {**out, "content": text, "document_id": own}

    def _withdraw_again(self, step: Step, made: Iterable[str]) -> None:
        """A statement that was withdrawn stays so when its document is read again."""
        unit = step.pair.unit
        if unit is None:
            return
        if unit.form == "memory":
            self._grown(step, unit.id)
            return
        if step.pair.entry is None and not unit.active:
            return  # withdrawn with its note, which is back
        gone = {m.text for m in unit.memories if m.state is State.INVALIDATED}
        for memory_id in made if gone else ():
            if self._work.memory.load(self._work.bank, memory_id).text in gone:
                self._work.memory.invalidate(self._work.bank, memory_id)

    def _grown(self, step: Step, own: str) -> None:
        """It has grown into a document, which has the id of the memory that it was. What it said from
        the start was known from that; read again, it is the document's own."""
        memory, bank = self._work.memory, self._work.bank
        told = own in memory.told_by(bank, own)
        memory.invalidate(bank, own)
        if told:
            memory.unread(bank, [own])
            memory.retain(bank, self._item(step))

    def update(self, step: Step, heirs: Collection[str]) -> None:
        """Fields of the note that changed, to its memory."""
        changes, unit = step.merge.to_bank, step.pair.unit
        assert unit is not None
        held = unit.memories[0]
        sent: dict[str, Any] = {k: changes[k] for k in (*_SENT, "text") if k in changes}
        sent |= {k: [] for k in ("tags", "recall_when") if k in sent and sent[k] is None}
        if sent.get("type", held.type.value) != "opinion":
            sent.pop("confidence", None)  # only opinions have one
        meta = metadata(held.metadata, changes)
        if meta is not None:
            sent["metadata"] = {**meta, **({PATH: step.path} if PATH in meta else {})}
        if "text" in sent:
            self._leave(unit.id, heirs)
        if sent:
            self._work.memory.update(self._work.bank, unit.id, **sent)
            self._work.report.updated.append(step.path)

    def rename(self, step: Step) -> None:
        """A memory knows its file, for the day on which the state is lost."""
        unit = step.pair.unit
        for memory in () if unit is None else unit.memories:
            if memory.metadata.get(PATH, step.path) != step.path:
                held = self._work.memory.load(self._work.bank, memory.id).metadata
                self._work.memory.update(
                    self._work.bank, memory.id, metadata={**held, PATH: step.path}
                )

    def retire(self, step: Step, heirs: Collection[str]) -> None:
        """As the note says: replaced, withdrawn, or in force again. What other notes say as well is
        theirs then."""
        file, unit = step.pair.file, step.pair.unit
        wanted = None if file is None else file.fields.get("retired")
        if wanted == INVALIDATED and step.form == "document":
            self._work.memory.withdraw_document(self._work.bank, step.pair.id, heirs)
            once(self._work.report.withdrawn, step.path)
            return
        held = {} if unit is None else {m.id: m for m in unit.memories}
        for memory_id in self._members(step):
            memory = held.get(memory_id) or self._work.memory.load(self._work.bank, memory_id)
            self._retire_one(step, memory, wanted, heirs)

    def _members(self, step: Step) -> list[str]:
        if step.form == "memory":
            return [step.pair.id]
        found = self._work.memory.memories(
            self._work.bank, document_id=step.pair.id, limit=EVERYTHING
        )
        return [m.id for m in found]

    def _retire_one(
        self, step: Step, memory: Memory, wanted: str | None, heirs: Collection[str]
    ) -> None:
        if wanted is None:
            if memory.state is not State.ACTIVE:
                self._work.memory.restore(self._work.bank, memory.id)
                once(self._work.report.restored, step.path)
            return
        by = None if wanted == INVALIDATED else self._resolve(wanted)
        if by is not None and by != memory.id:
            if memory.superseded_by != by:
                self._work.memory.supersede(self._work.bank, memory.id, by)
                once(self._work.report.withdrawn, step.path)
            return
        if memory.state is State.ACTIVE:
            self._leave(memory.id, heirs)
            self._work.memory.invalidate(self._work.bank, memory.id)
            once(self._work.report.withdrawn, step.path)
        if wanted != INVALIDATED:
            raise InvalidInput(
                f"superseded_by names {wanted!r}, which is no note here; withdrawn",
                hint="name the successor by its id",
            )

    def withdraw(self, step: Step, heirs: Collection[str], *, forget: bool) -> None:
        """The note was deleted. What other notes say as well is theirs then."""
        unit = step.pair.unit
        assert unit is not None
        if unit.form == "memory":
            self._leave(unit.id, heirs)
        if forget:
            named = {"document_id": unit.id} if unit.form == "document" else {"memory_id": unit.id}
            self._work.memory.forget(self._work.bank, **named)
            self._work.report.forgotten.append(step.path)
        else:
            if unit.form == "document":
                self._work.memory.withdraw_document(self._work.bank, unit.id, heirs)
            else:
                self._work.memory.invalidate(self._work.bank, unit.id)
            self._work.report.withdrawn.append(step.path)
        let_go(self._work, step)

    def _leave(self, memory_id: str, heirs: Collection[str]) -> None:
        """A memory bears the id of its note, and goes or changes with it: documents that said the same
        are read again by the next pass, and have one of their own."""
        told = self._work.memory.told_by(self._work.bank, memory_id)
        telling = [document for document in told if document in heirs]
        self._work.read_again(telling)
        self._work.memory.unread(self._work.bank, telling)

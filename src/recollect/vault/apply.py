"""Carrying out what was decided, in an order in which being killed at any point loses nothing:
the other side of a conflict is on disk before the bank is changed, the bank is changed before a
note is, and what both sides agree on is noted last."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput, NotFound, RecollectError
from recollect.memory import Recollect
from recollect.types import LinkKind, Memory, State
from recollect.vault import fields as mapping
from recollect.vault import files, frontmatter, render
from recollect.vault import note as notes
from recollect.vault.bank import Unit
from recollect.vault.decide import Do, Step, metadata_of
from recollect.vault.fields import INVALIDATED, META, PATH, Fields, digests
from recollect.vault.files import PRIVATE, Problem
from recollect.vault.links import sources
from recollect.vault.look import File, file_of
from recollect.vault.merge import metadata
from recollect.vault.note import Note
from recollect.vault.report import Report
from recollect.vault.state import Entry
from recollect.vault.state import State as SyncState

Progress = Callable[[int, int], None]
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


class Applying:
    def __init__(
        self,
        memory: Recollect,
        bank: str,
        root: Path,
        state: SyncState,
        report: Report,
        resolve: Resolve,
    ) -> None:
        self._memory = memory
        self._bank = bank
        self._root = root
        self._state = state
        self._report = report
        self._resolve = resolve
        self.retained: list[Step] = []  # to be noted down once the bank has been read again
        self.superseded: set[str] = set()  # memories that a new note's statement replaced
        self.failed = False

    # --- towards the bank --------------------------------------------------------------------

    def retain(self, steps: list[Step], progress: Progress | None) -> None:
        """In parts, two at a time: while one is embedded, another is understood and stored."""
        steps = [s for s in steps if self.guard(s, lambda s=s: self.keep_other_side(s))]
        parts = [steps[at : at + PART] for at in range(0, len(steps), PART)]
        done = _Counted(len(steps), progress)

        def retain(part: list[Step]) -> list[Made]:
            return self._retain(part, done)

        with ThreadPoolExecutor(max(1, self._memory.settings.threads)) as pool:
            for part, made in zip(parts, pool.map(retain, parts), strict=True):
                for step, memory_ids in zip(part, made, strict=True):
                    if memory_ids is not None:
                        self._retained(step, memory_ids)

    def _retain(self, steps: list[Step], done: _Counted) -> list[Made]:
        """The memories made of each; one that is refused is told apart from the others."""
        items = [self._item(step) for step in steps]
        try:
            result = self._memory.retain(self._bank, items)
        except InvalidInput:
            return [self._retain_one(s, i) for s, i in zip(steps, items, strict=True)]
        done.more(len(steps))
        self.superseded.update(result.superseded)
        return [outcome.memory_ids for outcome in result.items]

    def _retain_one(self, step: Step, item: dict[str, Any]) -> Made:
        made: list[tuple[str, ...]] = []

        def retain() -> None:
            made.append(self._memory.retain(self._bank, item).items[0].memory_ids)

        return made[0] if self.guard(step, retain) else None

    def _retained(self, step: Step, memory_ids: tuple[str, ...]) -> None:
        self._withdraw_again(step, memory_ids)
        known = step.pair.unit is not None
        (self._report.updated if known else self._report.retained).append(step.path)
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
        return {**out, "content": found["text"], "document_id": own}

    def _withdraw_again(self, step: Step, made: Iterable[str]) -> None:
        """A statement that was withdrawn stays so when its document is read again."""
        unit = step.pair.unit
        if unit is None:
            return
        if unit.form == "memory":  # it has grown into a document
            self._memory.invalidate(self._bank, unit.id)
            return
        gone = {m.text for m in unit.memories if m.state is State.INVALIDATED}
        for memory_id in made if gone else ():
            if self._memory.load(self._bank, memory_id).text in gone:
                self._memory.invalidate(self._bank, memory_id)

    def update(self, step: Step) -> None:
        """Fields of the note that changed, to its memory."""
        changes, unit = step.merge.to_bank, step.pair.unit
        assert unit is not None
        held = unit.memories[0]
        sent: dict[str, Any] = {k: changes[k] for k in (*_SENT, "text") if k in changes}
        sent |= {k: [] for k in ("tags", "recall_when") if k in sent and sent[k] is None}
        if "confidence" in sent and "opinion" not in (sent.get("type"), held.type.value):
            del sent["confidence"]  # only opinions have one
        meta = metadata(held.metadata, changes)
        if meta is not None:
            sent["metadata"] = {**meta, **({PATH: step.path} if PATH in meta else {})}
        if sent:
            self._memory.update(self._bank, unit.id, **sent)
            self._report.updated.append(step.path)

    def rename(self, step: Step) -> None:
        """A memory knows its file, for the day on which the state is lost."""
        unit = step.pair.unit
        for memory in () if unit is None else unit.memories:
            if memory.metadata.get(PATH, step.path) != step.path:
                held = self._memory.load(self._bank, memory.id).metadata
                self._memory.update(self._bank, memory.id, metadata={**held, PATH: step.path})

    def retire(self, step: Step) -> None:
        """As the note says: replaced, withdrawn, or in force again."""
        file, unit = step.pair.file, step.pair.unit
        wanted = None if file is None else file.fields.get("retired")
        held = {} if unit is None else {m.id: m for m in unit.memories}
        for memory_id in self._members(step):
            memory = held.get(memory_id) or self._memory.load(self._bank, memory_id)
            self._retire_one(step, memory, wanted)

    def _members(self, step: Step) -> list[str]:
        if step.form == "memory":
            return [step.pair.id]
        found = self._memory.memories(self._bank, document_id=step.pair.id, limit=10_000)
        return [m.id for m in found]

    def _retire_one(self, step: Step, memory: Memory, wanted: str | None) -> None:
        if wanted is None:
            if memory.state is not State.ACTIVE:
                self._memory.reinstate(self._bank, memory.id)
                _once(self._report.reinstated, step.path)
            return
        by = None if wanted == INVALIDATED else self._resolve(wanted)
        if by is not None and by != memory.id:
            if memory.superseded_by != by:
                self._memory.supersede(self._bank, memory.id, by)
                _once(self._report.withdrawn, step.path)
            return
        if memory.state is State.ACTIVE:
            self._memory.invalidate(self._bank, memory.id)
            _once(self._report.withdrawn, step.path)
        if wanted != INVALIDATED:
            raise InvalidInput(
                f"superseded_by names {wanted!r}, which is no note here; withdrawn",
                hint="name the successor by its id",
            )

    def withdraw(self, step: Step, *, forget: bool) -> None:
        unit = step.pair.unit
        assert unit is not None
        if forget:
            named = {"document_id": unit.id} if unit.form == "document" else {"memory_id": unit.id}
            self._memory.forget(self._bank, **named)
            self._report.forgotten.append(step.path)
        else:
            for memory in unit.memories:
                if memory.state is not State.INVALIDATED:
                    self._memory.invalidate(self._bank, memory.id)
            self._report.withdrawn.append(step.path)
        self.let_go(step)

    # --- towards the folder ------------------------------------------------------------------

    def keep_other_side(self, step: Step) -> None:
        """The bank's version of a clash, in a note of its own beside the other."""
        unit = step.pair.unit
        if not step.conflict or unit is None:
            return
        found = self._as_note(unit)
        self._beside(step, found, mapping.of_new_note(found, unit.id, unit.told))
        for memory in unit.memories if unit.form == "document" else ():
            if self._reworded(memory, str(found["text"])):
                self._aside(step, memory)

    def _reworded(self, memory: Memory, text: str) -> bool:
        """A statement that was corrected in the bank: the document's own text does not have it."""
        if _flat(memory.text) in _flat(text) or memory.state is State.INVALIDATED:
            return False
        return any(m.text != memory.text for m in self._memory.revisions(self._bank, memory.id))

    def _beside(self, step: Step, found: Fields, head: Mapping[str, Any]) -> None:
        path = render.conflict_path(step.path, found)
        if not (self._root / path).exists():
            text = render.conflict_note(head, str(found["text"]), step.pair.id)
            files.write_text(self._root, path, text, None)
        _once(self._report.conflicts, path)

    def _as_note(self, unit: Unit) -> Fields:
        if unit.form == "memory":
            return unit.fields()
        document = self._memory.document(self._bank, unit.id)
        first = unit.memories[0]
        shared = {
            k: v for k, v in mapping.of_memory(first).items() if k in ("title", "kind", "scope")
        }
        meta = {META + k: v for k, v in document.metadata.items() if k not in mapping.KNOWN}
        out: Fields = {**shared, **meta, "text": mapping.plain(document.text or "")}
        return out | ({"tags": sorted(document.tags)} if document.tags else {})

    def edit(self, step: Step) -> None:
        """Fields of the memory that changed, to its note; everything else in it stays."""
        file = step.pair.file
        assert file is not None
        text = edited(file.note, step.merge.to_file)
        self._put(step, file, text)

    def _put(self, step: Step, file: File, text: str) -> None:
        if text == file.note.raw:
            return
        files.write_text(self._root, step.path, text, file.digest)
        step.before = file.fields
        step.pair.file = self._again(step.path)
        self._report.edited.append(step.path)

    def _again(self, path: str) -> File:
        text, digest = files.read_text(self._root, path)
        return file_of(files.seen(self._root, path), text, digest)

    def rewrite(self, step: Step) -> None:
        file, unit = step.pair.file, step.pair.unit
        assert file is not None and unit is not None
        self._put(step, file, notes.with_text(file.note, str(self._as_note(unit)["text"])))

    def reword(self, step: Step) -> None:
        """A corrected statement takes the place of its old wording in the note. Where that is not
        found, it is kept in a note of its own."""
        file, unit = step.pair.file, step.pair.unit
        assert file is not None and unit is not None
        text = file.note.text
        for memory in unit.memories:
            if _flat(memory.text) in _flat(text) or memory.state is not State.ACTIVE:
                continue
            before = [m.text for m in self._memory.revisions(self._bank, memory.id)]
            old = next((t for t in reversed(before) if text.count(t) == 1), None)
            if old is None:
                self._aside(step, memory)
            else:
                text = text.replace(old, memory.text)
        if text != file.note.text:
            self._put(step, file, notes.with_text(file.note, text))

    def _aside(self, step: Step, memory: Memory) -> None:
        found = mapping.of_memory(memory)
        self._beside(step, found, mapping.of_new_note(found, memory.id, memory.mentioned_at))

    def write(self, step: Step, taken: set[str], folder: str) -> None:
        """A memory that has no note gets one."""
        unit = step.pair.unit
        assert unit is not None
        found = self._as_note(unit)
        head = mapping.of_new_note(found, unit.id, unit.told)
        related = self._related(unit)
        if related:
            head["related"] = related
        was = step.pair.was
        free = was is not None and not (self._root / was).exists()
        path = was if was and free else files.free_name(taken, folder, render.file_stem(found))
        files.write_text(self._root, path, render.new_note(head, str(found["text"])), None)
        step.pair.path, step.pair.file = path, self._again(path)
        self._report.written.append(path)

    def _related(self, unit: Unit) -> list[str]:
        found = self._memory.links(self._bank, unit.memories[0].id)
        own = unit.memories[0].id
        return [k.target for k in found if k.kind is LinkKind.RELATED and k.source == own]

    def set_aside(self, step: Step) -> None:
        """The note of a forgotten memory goes where nothing reads it; it can be moved back."""
        target = f"{PRIVATE}/forgotten/{step.path}"
        number = 2
        while (self._root / target).exists():
            target = f"{PRIVATE}/forgotten/{step.path.removesuffix('.md')} {number}.md"
            number += 1
        files.move(self._root, step.path, target)
        self._report.set_aside.append(step.path)
        self.let_go(step)

    # --- noting it down ----------------------------------------------------------------------

    def note_down(self, step: Step, unit: Unit | None, *, unsent: bool = False) -> None:
        """What both sides look like now. Of the bank's fields, those that were sent are as it
        holds them now; the others as they were when they were compared: what somebody else
        changed meanwhile is found by the next sync."""
        pair, file = step.pair, step.pair.file
        if file is None or unit is None:
            return
        if pair.was is not None and pair.was != pair.path:
            self.let_go(step)
            if pair.path is not None:
                _once(self._report.renamed, pair.path)
        before = pair.entry
        held = _bank_digests(step, unit)
        if unsent and before is not None:  # for the day on which notes may be written again
            held = {k: v for k, v in held.items() if k not in step.merge.to_file}
            held |= {k: v for k, v in before.bank.items() if k in step.merge.to_file}
        on_file = digests(file.fields)
        if step.do is Do.REWORD and before is not None:
            on_file = dict(before.file)  # read again by the next pass, as any edit
        elif step.before is not None:
            on_file = _file_digests(step, on_file)
        self._state.entries[step.path] = Entry(
            pair.id,
            unit.form,
            file.digest,
            file.seen.stamp,
            on_file,
            held,
            file.note.names,
            file.note.links,
            unit.memories[0].id if unit.memories else None,
            sources(file.note, unit.memories) if unit.form == "document" else {},
            before.linked if before is not None else "",
        )

    def note_superseded(self) -> None:
        """A statement of one note that replaces that of another is found out by the bank, at every
        sync of these notes. That is no change to be written into anybody's file."""
        for path, entry in list(self._state.entries.items()):
            if entry.id in self.superseded and entry.form == "memory":
                held = digests(mapping.of_memory(self._memory.load(self._bank, entry.id)))
                known = {**entry.bank, **{k: v for k, v in held.items() if k == "retired"}}
                self._state.entries[path] = replace(entry, bank=known)

    def let_go(self, step: Step) -> None:
        """The note is no longer where it was; another one may be there by now."""
        was = step.pair.was or ""
        if was in self._state.entries and self._state.entries[was].id == step.pair.id:
            del self._state.entries[was]

    def guard(self, step: Step, action: Callable[[], None]) -> bool:
        """One note that cannot be synced does not keep the others from it."""
        try:
            action()
        except NotFound:
            return False  # forgotten by somebody else since it was looked at: the next sync knows
        except RecollectError as error:
            if not isinstance(error, InvalidInput):
                raise
            cause = error.message.removeprefix(step.path).lstrip(":, ")
            self._report.problems.append(Problem(step.path, cause, error.hint))
            self.failed = True
            return False
        return True


def edited(note: Note, changes: Mapping[str, Any]) -> str:
    """A note's text with these fields changed."""
    if changes.get("text") is not None:
        note = _retold(note, str(changes["text"]))
    head = mapping.as_frontmatter(note, changes)
    return frontmatter.with_values(note.front, head, note.path) if head else note.raw


def _retold(note: Note, text: str) -> Note:
    again = notes.read(note.path, notes.with_text(note, text))
    if again.text != text and note.front.span is None:
        # Its first lines would be taken for frontmatter: give it one of its own.
        at = 1 if note.raw.startswith("\ufeff") else 0
        fence = f"---{note.front.newline}" * 2
        fenced = notes.read(note.path, note.raw[:at] + fence + note.raw[at:])
        again = notes.read(note.path, notes.with_text(fenced, text))
    if again.text != text or again.front.values != note.front.values:
        raise InvalidInput(
            f"{note.path}: the memory's new text cannot be put into the note",
            hint="change the note by hand; the memory is as it should be",
        )
    return again


def _bank_digests(step: Step, unit: Unit) -> dict[str, str]:
    now = digests(unit.fields())
    if step.do is not Do.MERGE or step.pair.unit is None:
        return now
    seen = digests(step.pair.unit.fields())
    for key in step.merge.to_bank:
        seen.pop(key, None)
        if key in now:
            seen[key] = now[key]
    return seen


def _file_digests(step: Step, now: dict[str, str]) -> dict[str, str]:
    """An edit of one field may change another: a new text has another heading or #tag. That is a
    change of the note like any other, which the next pass finds."""
    before = digests(step.before or {})
    meant = {"text"} if step.do is Do.REWRITE else step.merge.to_file.keys()
    out = {key: mark for key, mark in before.items() if key not in meant}
    return out | {key: mark for key, mark in now.items() if key in meant}


def _flat(text: str) -> str:
    return " ".join(text.split())


def _once(paths: list[str], path: str) -> None:
    if path not in paths:
        paths.append(path)

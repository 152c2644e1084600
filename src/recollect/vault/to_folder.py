"""Towards the folder: memories become notes, and their changes are written into notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.errors import InvalidInput
from recollect.types import LinkKind, Memory
from recollect.vault import fields as mapping
from recollect.vault import files, frontmatter, render
from recollect.vault import note as notes
from recollect.vault.bank import Unit
from recollect.vault.decide import Step
from recollect.vault.fields import META, Fields, flat
from recollect.vault.files import PRIVATE
from recollect.vault.ledger import let_go
from recollect.vault.look import File, file_of
from recollect.vault.note import Note
from recollect.vault.work import Work, once


class ToFolder:
    def __init__(self, work: Work) -> None:
        self._work = work

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
        if flat(memory.text) in flat(text):
            return False
        return any(
            m.text != memory.text for m in self._work.memory.revisions(self._work.bank, memory.id)
        )

    def _beside(self, step: Step, found: Fields, head: Mapping[str, Any]) -> None:
        path = render.conflict_path(step.path, found)
        if not (self._work.root / path).exists():
            text = render.conflict_note(head, str(found["text"]), step.pair.id)
            files.write_text(self._work.root, path, text, None)
        once(self._work.report.conflicts, path)

    def _as_note(self, unit: Unit) -> Fields:
        if unit.form == "memory":
            return unit.fields()
        document = self._work.memory.document(self._work.bank, unit.id)
        first = unit.memories[0] if unit.memories else None
        held = {} if first is None else mapping.of_memory(first)
        shared = {k: v for k, v in held.items() if k in ("title", "kind", "scope")}
        meta = {META + k: v for k, v in document.metadata.items() if k not in mapping.KNOWN}
        out: Fields = {**shared, **meta, "text": notes.plain(document.text or "")}
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
        files.write_text(self._work.root, step.path, text, file.digest)
        step.before = file.fields
        step.pair.file = self._again(step.path)
        self._work.report.edited.append(step.path)

    def _again(self, path: str) -> File:
        text, digest = files.read_text(self._work.root, path)
        return file_of(files.seen(self._work.root, path), text, digest)

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
            if not self._reworded(memory, text):
                continue
            before = [m.text for m in self._work.memory.revisions(self._work.bank, memory.id)]
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
        free = was is not None and not (self._work.root / was).exists()
        path = was if was and free else files.free_name(taken, folder, render.file_stem(found))
        files.write_text(self._work.root, path, render.new_note(head, str(found["text"])), None)
        step.pair.path, step.pair.file = path, self._again(path)
        self._work.report.written.append(path)

    def _related(self, unit: Unit) -> list[str]:
        found = self._work.memory.links(self._work.bank, unit.memories[0].id)
        own = unit.memories[0].id
        return [k.target for k in found if k.kind is LinkKind.RELATED and k.source == own]

    def set_aside(self, step: Step) -> None:
        """The note of a forgotten memory goes where nothing reads it; it can be moved back."""
        target = f"{PRIVATE}/forgotten/{step.path}"
        number = 2
        while (self._work.root / target).exists():
            target = f"{PRIVATE}/forgotten/{step.path.removesuffix('.md')} {number}.md"
            number += 1
        files.move(self._work.root, step.path, target)
        self._work.report.set_aside.append(step.path)
        let_go(self._work, step)


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

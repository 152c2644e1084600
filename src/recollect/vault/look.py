"""Both sides side by side: which file belongs to which memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from recollect.errors import InvalidInput, NotFound
from recollect.ids import new_id
from recollect.memory import Recollect
from recollect.storage.base import EVERYTHING
from recollect.vault import bank as banks
from recollect.vault import note as notes
from recollect.vault.bank import Unit
from recollect.vault.fields import Fields, digests, flat, mark, of_note
from recollect.vault.files import Problem, Scan, Seen, read_text, scan, seen
from recollect.vault.note import Note, plain
from recollect.vault.state import GRAIN_NS, Entry, State


@dataclass(frozen=True, slots=True)
class File:
    """A note as it is on disk now."""

    seen: Seen
    note: Note
    digest: str
    fields: Fields
    wrong: tuple[str, ...] = ()  # what of it could not be read


def file_of(seen: Seen, text: str, digest: str) -> File:
    note = notes.read(seen.path, text)
    found, wrong = of_note(note)
    return File(seen, note, digest, found, tuple(wrong))


@dataclass
class Pair:
    """One note and one memory, or the half of it that is there. `was` is where the note was when
    the sides last agreed."""

    id: str
    path: str | None = None
    file: File | None = None
    entry: Entry | None = None
    was: str | None = None
    unit: Unit | None = None


@dataclass
class Sides:
    pairs: list[Pair]
    scan: Scan
    problems: list[Problem]
    conflicts: list[str]  # notes that hold the other side of an earlier conflict
    listed: bool  # whether the bank was looked through
    kept: dict[str, Entry]  # in step, not looked at
    doubted: bool  # files had to be read that turned out to be as they were


class _Free:
    """Memories that no note is known to stand for. With the state lost, the bank remembers which
    file a memory came from, and else what it says."""

    def __init__(
        self, units: Mapping[str, Unit], taken: set[str], told: Callable[[Unit], Unit]
    ) -> None:
        self._told = told
        self._documents = [u for u in units.values() if u.document and u.id not in taken]
        self._known = {*units, *taken}
        self._by_path: dict[str, str] = {}
        self._by_text: dict[str, list[str]] = {}
        for unit in (u for u in units.values() if u.id not in taken):
            if unit.path is not None:
                self._by_path[unit.path] = unit.id
            elif unit.form == "memory":
                self._by_text.setdefault(plain(unit.memories[0].text), []).append(unit.id)

    def same(self, path: str, text: str, pairs: Mapping[str, Pair]) -> str | None:
        held = self._by_path.get(path)
        if held is not None and held not in pairs:
            return held
        alike = [own for own in self._by_text.get(text, ()) if own not in pairs]
        if not alike and self._documents:
            alike = [own for own in self._by_document.get(flat(text), ()) if own not in pairs]
        return alike[0] if len(alike) == 1 else None

    @cached_property
    def _by_document(self) -> dict[str, list[str]]:
        out: dict[str, list[str]] = {}
        for unit in map(self._told, self._documents):
            text = unit.document.text if unit.document is not None else None
            out.setdefault(flat(text or ""), []).append(unit.id)
        return out

    def new(self, path: str, pairs: Mapping[str, Pair]) -> str:
        own = f"note-{blake2b(path.encode(), digest_size=8).hexdigest()}"
        return new_id() if own in self._known or own in pairs else own


class Looking:
    def __init__(self, memory: Recollect, bank: str, root: Path, state: State) -> None:
        self._memory = memory
        self._bank = bank
        self._root = root
        self._state = state
        self._problems: list[Problem] = []
        self._conflicts: list[str] = []
        self._files: dict[str, File] = {}
        self._resting: dict[str, Entry] = {}  # unchanged as far as the file goes
        self._doubted = False

    def look(self, *, bank_changed: bool, no_bank: bool = False) -> Sides:
        found = scan(self._root)
        self._read(found)
        fresh = [p for p in self._files if p not in self._state.entries]
        listed = bank_changed or bool(fresh)
        units: dict[str, Unit] | None = {} if no_bank else None
        if listed and not no_bank:
            units = banks.units(self._memory, self._bank, self._state.entries)
        pairs = self._matched(units)
        kept = dict(self._resting)
        for pair in pairs:
            if pair.was is not None:
                kept.pop(pair.was, None)
        problems = [*found.problems, *self._problems]
        return Sides(pairs, found, problems, self._conflicts, listed, kept, self._doubted)

    # --- the folder ------------------------------------------------------------------------

    def _read(self, found: Scan) -> None:
        for path, entry in self._state.entries.items():
            if found.hidden(path):  # its folder cannot be looked into: it is not gone
                self._resting[path] = entry
        for path, now in found.files.items():
            entry = self._state.entries.get(path)
            if entry is not None and self._state.unchanged(path, now.stamp):
                self._resting[path] = entry
                continue
            try:
                text, digest = read_text(self._root, path)
                if entry is not None and entry.digest == digest:
                    self._resting[path] = entry
                    self._doubted = True
                    continue
                self._take(file_of(now, text, digest))
            except InvalidInput as error:
                self._leave(path, error)

    def _leave(self, path: str, error: InvalidInput) -> None:
        """A file that cannot be read is not gone: neither side is changed."""
        cause = error.message.removeprefix(path).lstrip(":, ")
        self._problems.append(Problem(path, cause, error.hint))
        if path in self._state.entries:
            self._resting[path] = self._state.entries[path]

    def _take(self, file: File) -> None:
        note, path = file.note, file.note.path
        if note.word("conflict_of") is not None:
            self._conflicts.append(path)
            if path in self._state.entries:
                self._resting[path] = self._state.entries[path]
        elif not note.text and not note.word("summary") and not note.word("title"):
            self._emptied(file)
        else:
            self._files[path] = file
            self._problems += [Problem(path, wrong, partly=True) for wrong in file.wrong]

    def _emptied(self, file: File) -> None:
        """Editors empty a file before they fill it, so one that was touched just now is not
        reported."""
        path = file.note.path
        if path not in self._state.entries:
            return
        if time.time_ns() - file.seen.mtime_ns < GRAIN_NS:
            self._resting[path] = self._state.entries[path]
            return
        hint = "delete the file to withdraw its memory"
        self._leave(path, InvalidInput("is empty now", hint=hint))

    def file(self, path: str) -> File | None:
        """Read a file that did not have to be read until now."""
        try:
            text, digest = read_text(self._root, path)
            return file_of(seen(self._root, path), text, digest)
        except (InvalidInput, OSError):
            return None

    # --- which belongs to which --------------------------------------------------------------

    def _matched(self, units: dict[str, Unit] | None) -> list[Pair]:
        pairs: dict[str, Pair] = {}
        state = self._state.entries
        by_id = {entry.id: path for path, entry in state.items()}
        self._by_own_id(pairs, by_id)
        loose = [p for p, f in sorted(self._files.items()) if f.note.word("id") is None]
        here = {*self._resting, *loose}
        gone = {p: e for p, e in state.items() if p not in here and e.id not in pairs}
        free = _Free(units or {}, {e.id for e in state.values()}, self._told)
        for path in loose:
            self._by_place(pairs, path, gone, free)
        for path, entry in gone.items():
            if entry.id not in pairs:
                pairs[entry.id] = Pair(entry.id, None, None, entry, path)
        self._with_units(pairs, units)
        return list(pairs.values())

    def _by_own_id(self, pairs: dict[str, Pair], by_id: Mapping[str, str]) -> None:
        resting = {entry.id: path for path, entry in self._resting.items()}

        def first(item: tuple[str, File]) -> tuple[bool, str]:
            own = item[1].note.word("id") or ""
            return by_id.get(own) != item[0], item[0]

        for path, file in sorted(self._files.items(), key=first):
            own = file.note.word("id")
            if own is None:
                continue
            other = resting.get(own) or (pairs[own].path if own in pairs else None)
            if other is not None and other != path:
                hint = "give it an id of its own"
                self._leave(path, InvalidInput(f"has the id {own!r} of {other}", hint=hint))
                continue
            was = by_id.get(own)
            entry = None if was is None else self._state.entries[was]
            pairs[own] = Pair(own, path, file, entry, was)

    def _by_place(
        self, pairs: dict[str, Pair], path: str, gone: Mapping[str, Entry], free: _Free
    ) -> None:
        """A note without an id: by its path, else by what it says, else it is new."""
        file = self._files[path]
        entry = self._state.entries.get(path)
        if entry is not None and entry.id not in pairs:
            pairs[entry.id] = Pair(entry.id, path, file, entry, path)
            return
        said = mark(file.fields.get("text"))
        moved = [p for p, e in gone.items() if e.id not in pairs and e.file.get("text") == said]
        if moved:
            was = min(moved, key=lambda p: (PurePosixPath(p).name != PurePosixPath(path).name, p))
            pairs[gone[was].id] = Pair(gone[was].id, path, file, gone[was], was)
            return
        own = free.same(path, str(file.fields.get("text")), pairs) or free.new(path, pairs)
        pairs[own] = Pair(own, path, file)

    def _with_units(self, pairs: dict[str, Pair], units: dict[str, Unit] | None) -> None:
        if units is None:
            for pair in pairs.values():
                pair.unit = self._one_unit(pair)
            return
        for path, entry in self._resting.items():
            unit = units.get(entry.id)
            if entry.id in pairs or (unit is not None and _as_noted(unit, entry)):
                continue
            pairs[entry.id] = Pair(entry.id, path, self.file(path), entry, path)
        resting = {entry.id for entry in self._resting.values()}
        for own, unit in units.items():
            if own in pairs:
                pairs[own].unit = self._told(unit) if pairs[own].entry is None else unit
            elif own not in resting:
                pairs[own] = Pair(own, unit=unit)

    def _told(self, unit: Unit) -> Unit:
        """With the text of its document, which is compared when nothing else is known."""
        if unit.document is None:
            return unit
        return replace(unit, document=self._memory.document(self._bank, unit.id))

    def _one_unit(self, pair: Pair) -> Unit | None:
        if pair.entry is None:
            return None
        try:
            if pair.entry.form == "document":
                document = self._memory.document(self._bank, pair.id)
                held = self._memory.memories(
                    self._bank, document_id=pair.id, limit=EVERYTHING, time_field="created_at"
                )
                return Unit(pair.id, "document", tuple(reversed(held)), document)
            return Unit(pair.id, "memory", (self._memory.load(self._bank, pair.id),))
        except NotFound:
            return None


def _as_noted(unit: Unit, entry: Entry) -> bool:
    """The bank's side is what it was when both last agreed."""
    if entry.stamps and entry.stamps == unit.stamps():
        return True
    return digests(unit.fields()) == entry.bank

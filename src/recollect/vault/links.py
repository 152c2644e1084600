"""Names of notes, and the links between them as the bank keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from recollect.types import Memory
from recollect.vault.fields import mark
from recollect.vault.note import Note
from recollect.vault.state import Entry, State


class Names:
    """What a link may say to mean a note: its id, its path, its file name, its title or an alias.
    Of several notes of one name the one nearest to the top is meant."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries
        self._exact: dict[str, str] = {}
        self._loose: dict[str, str] = {}
        for path in sorted(entries, key=lambda p: (p.count("/"), p)):
            entry, at = entries[path], PurePosixPath(path)
            self._exact.setdefault(entry.id, path)
            for name in (path, str(at.with_suffix("")), at.name, at.stem):
                self._loose.setdefault(name.casefold(), path)
        for path in sorted(entries):
            for name in entries[path].names:
                self._loose.setdefault(name.casefold(), path)

    def path(self, name: str, source: str = "") -> str | None:
        """The note that is meant, seen from the note that says it."""
        if name in self._exact:
            return self._exact[name]
        given = name.strip().removeprefix("./")
        folder = PurePosixPath(source).parent
        near = _normal(folder / given)
        for form in (near, f"{near}.md", given, f"{given}.md"):
            if form in self._entries:
                return form
        return self._loose.get(given.casefold()) or self._loose.get(
            PurePosixPath(given).name.casefold() if "/" in given else ""
        )

    def id(self, name: str) -> str | None:
        """The memory that a name leads to."""
        path = self.path(name)
        entry = None if path is None else self._entries[path]
        return None if entry is None else entry.anchor or entry.id


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def changed_links(state: State) -> dict[str, dict[str, float]]:
    """By memory, the links of every note whose links are not what the bank was told last; the
    notes are marked as told."""
    names = Names(state.entries)
    out: dict[str, dict[str, float]] = {}
    for path, entry in list(state.entries.items()):
        found = _resolved(path, entry, state, names)
        told = mark(found) if any(found.values()) else ""
        if told != entry.linked:
            out |= found
            state.entries[path] = replace(entry, linked=told)
    return out


def links_may_differ(before: Mapping[str, Entry], now: Mapping[str, Entry]) -> bool:
    """Whether any note came, went, or changed its names or links."""
    if before.keys() != now.keys():
        return True
    return any(
        entry is not before[path] and _linking(entry) != _linking(before[path])
        for path, entry in now.items()
    )


def _linking(entry: Entry) -> tuple[object, ...]:
    return entry.id, entry.anchor, entry.names, entry.links, entry.sources, entry.linked


def _resolved(path: str, entry: Entry, state: State, names: Names) -> dict[str, dict[str, float]]:
    """The memories of a note that may have links, with those they have. A link of a document is
    one of the statement it stands in."""
    first = entry.anchor or entry.id
    found: dict[str, dict[str, float]] = {first: {}}
    for name, weight in entry.links.items():
        target = names.path(name, path)
        if target is None or target == path:
            continue
        other = state.entries[target]
        own = other.anchor or other.id
        held = found.setdefault(entry.sources.get(name, first), {})
        held[own] = max(weight, held.get(own, 0.0))
    return found


def sources(note: Note, statements: Iterable[Memory]) -> dict[str, str]:
    """Which statement of a document holds which link."""
    said = [(m.id, m.text) for m in statements]
    out: dict[str, str] = {}
    for name in note.links:
        forms = (f"[[{name}", f"]({name}")
        for memory_id, text in said:
            if any(form in text for form in forms):
                out.setdefault(name, memory_id)
    return out


def groups(links: Mapping[str, Mapping[str, float]], size: int) -> Iterable[dict[str, Any]]:
    """So many memories at a time, each group for one transaction."""
    items = list(links.items())
    for at in range(0, len(items), size):
        yield dict(items[at : at + size])

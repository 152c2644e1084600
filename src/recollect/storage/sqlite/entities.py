"""A bank's entities in memory: names by id, and the resolver that retain and recall share.

A bank of a hundred thousand memories names tens of thousands of things, and a resolver takes
a second to learn them all. A question is about a few. So entities are loaded asleep, under the
words of their names, and learnt when such a word comes up.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import orjson

from recollect.language.entities import EntityResolver, KnownEntity
from recollect.language.entities.gazetteer import nicknames, spellings
from recollect.language.entities.matcher import NameMatcher, Word
from recollect.language.entities.names import acronyms_of, key_of
from recollect.language.entities.resolve import Resolution
from recollect.types import Entity

EntityRow = tuple[int, str, str, str, int]
_PART = re.compile(r"[a-z0-9]+")
_PART_OR_LINE = re.compile(r"[a-z0-9]+|\n")


class EntityCache:
    def __init__(self) -> None:
        self.seq = -1
        self.names: dict[int, str] = {}
        self.resolver = SharedResolver()

    def catch_up(self, rows: Iterable[EntityRow]) -> bool:
        """Learn what changed; whether any entity has another name now than memories show."""
        if not self.names:
            first = list(rows)
            self.names = {row[0]: row[1] for row in first}
            self.resolver.lay_down(first)
            return False
        renamed = False
        for row in rows:
            renamed = renamed or self.names.get(row[0], row[1]) != row[1]
            self.names[row[0]] = row[1]
            self.resolver.add(_known(row))
        return renamed


class SharedResolver(EntityResolver):
    """One writer may add names while others look names up: sets are replaced, not changed."""

    def __init__(self) -> None:
        super().__init__()
        self._matcher = _WakingMatcher(self._wake)
        self._asleep: dict[int, EntityRow] = {}
        self._under: dict[str, list[int]] = defaultdict(list)  # part of a name → whom to wake
        self._lock = threading.RLock()

    def lay_down(self, rows: Sequence[EntityRow]) -> None:
        """Note who is to be woken by which word; in one pass, for this is on the way to the
        first answer."""
        plain = [row for row in rows if row[1].isascii() and row[3].isascii()]
        self._asleep = {row[0]: row for row in plain}
        lines = "\n".join(f"{row[1]} {row[3]}".replace("\n", " ") for row in plain).lower()
        line = 0
        for part in _PART_OR_LINE.findall(lines):
            if part == "\n":
                line += 1
            else:
                self._under[part].append(plain[line][0])
        usual = spellings()
        for row in plain:
            if "." in row[1] or len(row[3]) > 2 or row[1].count(" ") > 1 or row[1].lower() in usual:
                for part in _other_parts(row):
                    self._under[part].append(row[0])
        for row in rows:  # other scripts have other words; there are few in most banks
            if row[0] not in self._asleep:
                self.add(_known(row))

    def add(self, entity: KnownEntity) -> None:
        with self._lock:
            self._asleep.pop(entity.id, None)
            before = self._entities.get(entity.id)
            if before is not None and replace(before, mentions=entity.mentions) == entity:
                self._entities[entity.id] = entity  # mentioned once more: nothing to index anew
                return
            for index, key in [*(self._entries(before) if before else ()), *self._entries(entity)]:
                index[key] = set(index[key])
            super().add(entity)

    def resolve(self, name: str, kind: str, context: Collection[int] = ()) -> Resolution:
        if self._asleep:
            key = key_of(name)
            others = [n for word in key for n in nicknames().get(word, ())]
            self._wake(" ".join([name, name.replace(".", ""), *key, *others, *acronyms_of(key)]))
        return super().resolve(name, kind, context)

    def __len__(self) -> int:
        return super().__len__() + len(self._asleep)

    def _wake(self, text: str) -> None:
        """Learn every entity that shares a part of a name with `text`. Under a lock: who asks
        for the same word meanwhile must wait for all of them."""
        if not self._asleep:
            return
        with self._lock:
            for part in _PART.findall(text.lower()):
                for number in self._under.pop(part, ()):
                    row = self._asleep.get(number)
                    if row is not None:
                        self.add(_known(row))


class _WakingMatcher(NameMatcher):
    def __init__(self, wake: Callable[[str], None]) -> None:
        super().__init__()
        self._wake = wake

    def at(self, text: str, words: Sequence[Word], index: int) -> tuple[int, str] | None:
        self._wake(words[index].folded)
        return super().at(text, words, index)


def _other_parts(row: EntityRow) -> Iterator[str]:
    """What else its names may be asked for by: another spelling, no dots, the initials."""
    for name in (row[1], *orjson.loads(row[3])):
        yield from _PART.findall(spellings().get(name.strip().lower(), "").lower())
        yield from _PART.findall(name.replace(".", "").lower())
        yield from acronyms_of(key_of(name))


def _known(row: EntityRow) -> KnownEntity:
    return KnownEntity(row[0], row[1], row[2], frozenset(orjson.loads(row[3])), row[4])


def entity_from_row(row: tuple[Any, ...]) -> Entity:
    return Entity(row[0], row[1], row[2], tuple(orjson.loads(row[3])), row[4])

"""A bank's entities in memory: names by id, and the resolver that retain and recall share.

A bank of a hundred thousand memories names tens of thousands of things, and a resolver takes
a second to learn them all. A question is about a few. So entities are loaded asleep, under the
words of their names, and learnt when such a word comes up.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate
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
_BLANKS = {c: " " for c in range(128) if not chr(c).isalnum()}
_SCANS = 200  # words looked for in the text of all names before a table of them pays


class EntityCache:
    def __init__(self) -> None:
        self.seq = -1
        self.lock = threading.RLock()
        self.names: dict[int, str] = {}
        self.resolver = SharedResolver()

    def catch_up(self, rows: Iterable[EntityRow]) -> bool:
        """Learn what changed. True when an entity has a new name, so that decoded memories show
        an old one."""
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
        self._asleep: dict[int, EntityRow] = {}
        self._matcher = _WakingMatcher(self._wake, lambda: len(self._asleep))
        self._numbers: list[int] = []
        self._starts: list[int] = [0]  # where the names of each begin in the text of all
        self._names_text = ""
        self._asked: set[str] = set()  # parts of names
        self._called: set[str] = set()  # whole names
        self._under: dict[str, list[int]] = defaultdict(list)  # part of a name → whom to wake
        self._lock = threading.RLock()

    def lay_down(self, rows: Sequence[EntityRow]) -> None:
        """Keep the names as one text to search in, which is quick to make: the first answer
        waits for it."""
        plain = [row for row in rows if row[1].isascii() and row[3].isascii()]
        self._asleep = {row[0]: row for row in plain}
        self._numbers = [row[0] for row in plain]
        lines = [f" {row[1]} {row[3]} {_other_parts(row)} " for row in plain]
        self._starts = [0, *accumulate(len(line) for line in lines)]
        self._names_text = "".join(lines).lower().translate(_BLANKS)
        for row in rows:  # other scripts have other words; there are few in most banks
            if row[0] not in self._asleep:
                self.add(_known(row))

    def add(self, entity: KnownEntity) -> None:
        with self._lock:
            self._asleep.pop(entity.id, None)
            before = self._entities.get(entity.id)
            if before is not None and _same_but_mentions(before, entity):
                self._entities[entity.id] = entity  # mentioned once more: nothing to index anew
                return
            for index, key in [*(self._entries(before) if before else ()), *self._entries(entity)]:
                index[key] = set(index[key])
            super().add(entity)

    def resolve(self, name: str, kind: str, context: Collection[int] = ()) -> Resolution:
        if self._asleep and name not in self._called:
            self._called.add(name)
            key = key_of(name)
            others = [n for word in key for n in nicknames().get(word, ())]
            self._wake(" ".join([name, name.replace(".", ""), *key, *others, *acronyms_of(key)]))
        return super().resolve(name, kind, context)

    def __len__(self) -> int:
        return super().__len__() + len(self._asleep)

    def _wake(self, text: str) -> None:
        """Learn every entity that shares a part of a name with `text`. Under a lock, because
        another thread that asks for the same word must wait until all of them are known."""
        if not self._asleep:
            return
        with self._lock:
            for part in _PART.findall(text.lower()):
                if part in self._asked:
                    continue
                self._asked.add(part)
                for number in self._named(part):
                    row = self._asleep.get(number)
                    if row is not None:
                        self.add(_known(row))

    def _named(self, part: str) -> list[int]:
        if len(self._asked) > _SCANS:  # somebody is writing: worth a table of all words
            if not self._under:
                for number, start, end in zip(
                    self._numbers, self._starts, self._starts[1:], strict=False
                ):
                    for word in self._names_text[start:end].split():
                        self._under[word].append(number)
            return self._under.get(part, [])
        wanted, found, at = f" {part} ", list[int](), -1
        while (at := self._names_text.find(wanted, at + 1)) >= 0:
            found.append(self._numbers[bisect_right(self._starts, at) - 1])
        return found


class _WakingMatcher(NameMatcher):
    def __init__(self, wake: Callable[[str], None], asleep: Callable[[], int]) -> None:
        super().__init__()
        self._wake = wake
        self._asleep = asleep

    def __len__(self) -> int:
        return super().__len__() + self._asleep()

    def runs(self, text: str, words: Sequence[Word]) -> Iterator[tuple[int, int, str]]:
        self._wake(" ".join(word.folded for word in words))
        return super().runs(text, words)


def _other_parts(row: EntityRow) -> str:
    """Other words that its names may be looked up by: another spelling, no dots, the initials."""
    if "." not in row[1] and row[3] == "[]" and row[1].count(" ") < 2:
        return spellings().get(row[1].lower(), "")
    out: list[str] = []
    for name in (row[1], *orjson.loads(row[3])):
        out += [spellings().get(name.strip().lower(), ""), name.replace(".", "")]
        if "." in name or name.count(" ") > 1:
            out += acronyms_of(key_of(name))
    return " ".join(out)


def _same_but_mentions(one: KnownEntity, other: KnownEntity) -> bool:
    return (one.name, one.kind, one.aliases) == (other.name, other.kind, other.aliases)


def _known(row: EntityRow) -> KnownEntity:
    return KnownEntity(row[0], row[1], row[2], frozenset(orjson.loads(row[3])), row[4])


def entity_from_row(row: tuple[Any, ...]) -> Entity:
    return Entity(row[0], row[1], row[2], tuple(orjson.loads(row[3])), row[4])

"""Which known thing a name names.

The rules only ever join names that say the same: equal up to case, accents, articles and legal
form; a short form, an initial or a nickname of one person; an acronym and its long form. There
is no fuzzy matching, because names that are one letter or one digit apart are mostly two things
(Room 101 and Room 102, Tigran and Iran). What fits two known things is left open, unless the
context holds exactly one of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from recollect.language.entities.gazetteer import nicknames, spellings
from recollect.language.entities.matcher import NameMatcher
from recollect.language.entities.names import (
    Key,
    acronyms_of,
    core_of,
    is_given_name,
    key_of,
    kinds_agree,
    person_key,
    same_person,
)

__all__ = ["EntityResolver", "KnownEntity", "Resolution"]


@dataclass(frozen=True, slots=True)
class KnownEntity:
    id: int
    name: str
    kind: str
    aliases: frozenset[str]
    mentions: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """``entity`` is None for something new. ``new_name`` is the canonical name to keep from now
    on (a fuller one may replace the old), ``new_aliases`` are the names to add to it."""

    entity: KnownEntity | None
    new_name: str
    new_aliases: frozenset[str]


class EntityResolver:
    """The names of a bank, indexed by their words; every step is a dictionary look-up."""

    def __init__(self, known: Iterable[KnownEntity] = ()) -> None:
        self._entities: dict[int, KnownEntity] = {}
        self._names: dict[Key, set[int]] = defaultdict(set)
        self._aliases: dict[Key, set[int]] = defaultdict(set)
        self._cores: dict[Key, set[int]] = defaultdict(set)
        self._acronyms: dict[str, set[int]] = defaultdict(set)
        self._firsts: dict[str, set[int]] = defaultdict(set)
        self._lasts: dict[str, set[int]] = defaultdict(set)
        self._matcher = NameMatcher()
        for entity in known:
            self.add(entity)

    def __len__(self) -> int:
        return len(self._entities)

    def known(self, id: int) -> KnownEntity:
        return self._entities[id]

    def matcher(self) -> NameMatcher:
        """For ``find_entities(known=…)``; it follows later calls of ``add``."""
        return self._matcher

    def add(self, entity: KnownEntity) -> None:
        """Learn an entity, or what changed of one that is already known."""
        before = self._entities.get(entity.id)
        if before is not None:
            for index, key in self._entries(before):
                index[key].discard(entity.id)
        self._entities[entity.id] = entity
        for index, key in self._entries(entity):
            index[key].add(entity.id)
        for name in (entity.name, *sorted(entity.aliases)):
            self._matcher.add(name, entity.kind)

    def resolve(self, name: str, kind: str, context: Collection[int] = ()) -> Resolution:
        """The known entity that ``name`` names, or what to create."""
        key = key_of(name)
        if not key:
            return Resolution(None, name, frozenset())
        entity = self._find(name, key, kind, context)
        if entity is None:
            return _new(name, key, kind)
        return _merged(entity, name)

    def _entries(self, entity: KnownEntity) -> Iterator[tuple[dict[object, set[int]], object]]:
        """Every place in the indexes where this entity stands."""
        name = key_of(entity.name)
        indexes: list[tuple[object, object]] = [(self._names, name)]
        for key in {name, *(key_of(alias) for alias in entity.aliases)}:
            if not key:
                continue
            indexes.append((self._aliases, key))
            if entity.kind != "person":
                indexes.append((self._cores, core_of(key)))
                indexes.extend((self._acronyms, short) for short in acronyms_of(key))
            if entity.kind in ("person", "other") and not _composed(entity.name):
                words, _ = person_key(key)
                indexes.append((self._firsts, words[0]))
                if len(words) > 1:
                    indexes.append((self._lasts, words[-1]))
        yield from indexes  # type: ignore[misc]

    def _find(self, name: str, key: Key, kind: str, context: Collection[int]) -> KnownEntity | None:
        named = self._agreeing(self._names.get(key, ()), kind)
        if named:
            return self._most_mentioned(_in_context(named, context) or named)
        if kind in ("person", "other") and not _composed(name):
            person = self._find_person(key, kind, context)
            if person is not None or kind == "person":
                return person
        for ids in self._other_forms(key, name.isupper()):
            found = self._agreeing(ids, kind, impersonal=True)
            if found:
                return self._only(found, context)
        return None

    def _other_forms(self, key: Key, capitals: bool) -> Iterator[Collection[int]]:
        """Ids by an alias, by the name without its legal form, and by acronym."""
        yield self._aliases.get(key, ())
        core = core_of(key)
        yield self._cores.get(core, ())
        if len(core) == 1 and 2 < len(core[0]) < 7 and capitals:
            yield self._acronyms.get(core[0], ())
        for short in sorted(acronyms_of(key)):
            yield [id_ for id_ in self._names.get((short,), ()) if self._unexplained(id_)]

    def _unexplained(self, id_: int) -> bool:
        """Whether an entity is named by an acronym whose long form nobody has given yet."""
        entity = self._entities[id_]
        return entity.name.isupper() and all(len(key_of(alias)) < 2 for alias in entity.aliases)

    def _find_person(self, key: Key, kind: str, context: Collection[int]) -> KnownEntity | None:
        words, titled = person_key(key)
        word = words[0]
        if len(words) > 1:
            return self._find_full_name(words, kind, context)
        if not titled and kind == "other" and not is_given_name(word):
            return None
        return self._find_short_name(word, kind, titled, context)

    def _find_full_name(
        self, words: Key, kind: str, context: Collection[int]
    ) -> KnownEntity | None:
        same = [
            entity
            for entity in self._people(self._lasts.get(words[-1], ()), kind)
            if any(same_person(words, key) for key in _keys(entity))
        ]
        if same:
            return self._only(same, context)
        # A first name alone in the bank grows to the full name, if it can be only this one.
        sharing = self._people(self._firsts.get(words[0], ()), kind)
        bare = [entity for entity in sharing if all(len(key) == 1 for key in _keys(entity))]
        if len(bare) == 1 and (len(sharing) == 1 or bare[0].id in context):
            return bare[0]
        return None

    def _find_short_name(
        self, word: str, kind: str, titled: bool, context: Collection[int]
    ) -> KnownEntity | None:
        if titled:
            found = self._people(self._lasts.get(word, ()), kind)
            return self._only(found, context) if found else None
        # "Photo" does not begin a person's name, whatever "Photo Backup" is.
        if kind == "person" and not is_given_name(word):
            found = [
                e for e in self._people(self._firsts.get(word, ()), kind) if _is_person(e, word)
            ]
        else:
            found = self._people(self._firsts.get(word, ()), kind)
        if found:
            return self._only(found, context)
        others = {id_ for other in nicknames().get(word, ()) for id_ in self._firsts.get(other, ())}
        found = self._people(others, kind)
        if found:
            return self._only(found, context)
        surnames = self._people(self._lasts.get(word, ()), "other")
        return self._only(surnames, context) if _in_context(surnames, context) else None

    def _agreeing(
        self, ids: Collection[int], kind: str, *, impersonal: bool = False
    ) -> list[KnownEntity]:
        found = (self._entities[id_] for id_ in ids)
        return [
            entity
            for entity in found
            if kinds_agree(entity.kind, kind) and not (impersonal and entity.kind == "person")
        ]

    def _people(self, ids: Collection[int], kind: str) -> list[KnownEntity]:
        """Those that can be a person; one side at least must be known to be one."""
        wanted = ("person", "other") if kind == "person" else ("person",)
        return [self._entities[id_] for id_ in ids if self._entities[id_].kind in wanted]

    def _only(self, found: list[KnownEntity], context: Collection[int]) -> KnownEntity | None:
        if len(found) == 1:
            return found[0]
        inside = _in_context(found, context)
        return inside[0] if len(inside) == 1 else None

    def _most_mentioned(self, found: list[KnownEntity]) -> KnownEntity:
        return min(found, key=lambda entity: (-entity.mentions, entity.id))


def _is_person(entity: KnownEntity, word: str) -> bool:
    return entity.kind == "person" or key_of(entity.name) == (word,)


def _composed(name: str) -> bool:
    """Whether a name is made of others: "Pete's Mom", "Monica, Ross Geller", "Tom & Jerry"."""
    return "'s " in name or "’s " in name or "," in name or "&" in name or " and " in name


def _in_context(found: list[KnownEntity], context: Collection[int]) -> list[KnownEntity]:
    return [entity for entity in found if entity.id in context] if context else []


def _keys(entity: KnownEntity) -> tuple[Key, ...]:
    return _person_keys(entity.name, entity.aliases)


@lru_cache(maxsize=1 << 14)
def _person_keys(name: str, aliases: frozenset[str]) -> tuple[Key, ...]:
    return tuple(person_key(key_of(one))[0] for one in (name, *aliases))


def _new(name: str, key: Key, kind: str) -> Resolution:
    usual = spellings().get(name.lower())
    if usual:
        return Resolution(None, usual, frozenset({name}))
    if kind == "person":
        words, titled = person_key(key)
        if titled and len(words) > 1:
            name = " ".join(name.split()[-len(words) :])
        if name == name.lower():
            return Resolution(None, name.title(), frozenset())
    return Resolution(None, name, frozenset())


def _merged(entity: KnownEntity, name: str) -> Resolution:
    if name == entity.name:
        return Resolution(entity, name, frozenset())
    known = {entity.name, *entity.aliases}
    better = _fuller(entity.name, name, entity.kind)
    aliases = frozenset({name, entity.name}) - {better} - entity.aliases
    if name in known and better == entity.name:
        aliases = frozenset[str]()
    return Resolution(entity, better, aliases)


def _fuller(old: str, new: str, kind: str) -> str:
    """The better canonical name: a person's fullest, otherwise the first one seen."""
    if old == old.lower() and new != new.lower() and key_of(old) == key_of(new):
        return new
    if kind not in ("person", "other"):
        return old
    before: list[str] = [*person_key(key_of(old))[0]]
    after: list[str] = [*person_key(key_of(new))[0]]
    if len(before) > 1 and before[0] not in (after[0], after[0][0]):
        return old
    if len(before) > 1 and before[-1] != after[-1]:
        return old
    spelled_out = sum(len(word) > 1 for word in after)
    if spelled_out > sum(len(word) > 1 for word in before) and before[0][0] == after[0][0]:
        return " ".join(new.split()[-len(after) :])
    return old

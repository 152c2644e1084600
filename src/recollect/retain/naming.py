"""Whom and what a fact names, as entities of the bank: known ones found, new ones numbered."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.language.entities import KnownEntity
from recollect.retain.prepare import ROLES, Prepared
from recollect.storage.base import Writing
from recollect.types import Entity


class Naming:
    """Resolves names for one plan. `entities` holds every one that was named, to be written."""

    def __init__(self, view: Writing) -> None:
        self._resolver = view.resolver
        self._next = view.next_entity
        self.entities: dict[int, Entity] = {}

    def numbers(self, prepared: Prepared, *, given_alone: bool = False) -> tuple[int, ...]:
        """Of what the caller names, and what stands in the text; or of the former alone."""
        fact = prepared.fact
        named: list[tuple[str, str]] = [(name, "other") for name in fact.entities]
        if not given_alone:
            if fact.speaker and fact.speaker.casefold() not in ROLES:
                named.append((fact.speaker, "person"))
            named += [(m.text, m.kind) for m in prepared.mentions]
        found: list[int] = []
        for name, kind in named:
            entity = self._resolve(name, kind, found)
            if entity not in found:
                found.append(entity)
        for entity in found:
            held = self.entities[entity]
            self.entities[entity] = Entity(
                held.id, held.name, held.kind, held.aliases, held.mentions + 1
            )
        return tuple(found)

    def name(self, number: int) -> str:
        return self.entities[number].name

    def _resolve(self, name: str, kind: str, context: Sequence[int]) -> int:
        found = self._resolver.resolve(name, kind, context)
        known = found.entity
        if known is not None and found.new_name in ("", known.name) and not found.new_aliases:
            held = self.entities.get(known.id)
            if held is not None and held.mentions == known.mentions:
                return known.id  # most names: nothing to learn
        if found.entity is None:
            number, self._next = self._next, self._next + 1
            entity = Entity(number, found.new_name, kind, tuple(sorted(found.new_aliases)), 0)
        else:
            number = found.entity.id
            held = self.entities.get(number)
            mentions = held.mentions if held else found.entity.mentions
            name = found.new_name or found.entity.name
            aliases = tuple(sorted(found.entity.aliases | found.new_aliases))
            entity = Entity(number, name, found.entity.kind, aliases, mentions)
        self.entities[number] = entity
        self._resolver.add(
            KnownEntity(
                number, entity.name, entity.kind, frozenset(entity.aliases), entity.mentions
            )
        )
        return number

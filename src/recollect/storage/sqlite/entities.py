"""A bank's entities in memory: names by id, and the resolver that retain and recall share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import orjson

from recollect.language.entities import EntityResolver, KnownEntity
from recollect.types import Entity


class _SharedResolver(EntityResolver):
    """One writer may add names while others look names up: sets are replaced, not changed."""

    def add(self, entity: KnownEntity) -> None:
        before = self._entities.get(entity.id)
        if before is not None and replace(before, mentions=entity.mentions) == entity:
            self._entities[entity.id] = entity  # mentioned once more: nothing to index anew
            return
        entries = [*(self._entries(before) if before else ()), *self._entries(entity)]
        for index, key in entries:
            index[key] = set(index[key])
        super().add(entity)


class EntityCache:
    def __init__(self) -> None:
        self.seq = -1
        self.names: dict[int, str] = {}
        self.resolver: EntityResolver = _SharedResolver()

    def catch_up(self, rows: Iterable[tuple[int, str, str, str, int]]) -> bool:
        """Learn what changed; whether any entity has another name now than memories show."""
        renamed = False
        for number, name, kind, aliases, mentions in rows:
            renamed = renamed or self.names.get(number, name) != name
            self.names[number] = name
            self.resolver.add(
                KnownEntity(number, name, kind, frozenset(orjson.loads(aliases)), mentions)
            )
        return renamed


def entity_from_row(row: tuple[Any, ...]) -> Entity:
    return Entity(row[0], row[1], row[2], tuple(orjson.loads(row[3])), row[4])

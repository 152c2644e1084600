"""A bank's entities in memory: names by id, and the resolver that retain and recall share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from recollect.language.entities import EntityResolver, KnownEntity
from recollect.types import Entity


class _SharedResolver(EntityResolver):
    """One writer may add names while others look names up: sets are replaced, not changed."""

    def add(self, entity: KnownEntity) -> None:
        before = self._entities.get(entity.id)
        entries = [*(self._entries(before) if before else ()), *self._entries(entity)]
        for index, key in entries:
            index[key] = set(index[key])
        super().add(entity)


class EntityCache:
    def __init__(self) -> None:
        self.seq = -1
        self.names: dict[int, str] = {}
        self.resolver: EntityResolver = _SharedResolver()

    def catch_up(self, rows: Iterable[tuple[int, str, str, str, int]]) -> None:
        for number, name, kind, aliases, mentions in rows:
            self.names[number] = name
            self.resolver.add(
                KnownEntity(number, name, kind, frozenset(orjson.loads(aliases)), mentions)
            )


def entity_from_row(row: tuple[Any, ...]) -> Entity:
    return Entity(row[0], row[1], row[2], tuple(orjson.loads(row[3])), row[4])

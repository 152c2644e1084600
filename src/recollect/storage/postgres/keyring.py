"""API keys: who they are and a digest of their secret, never the secret."""

from __future__ import annotations

from typing import Any

from recollect.storage.key_row import digest_of, key_of, key_values
from recollect.storage.postgres.connection import Connections
from recollect.storage.postgres.queries import query
from recollect.storage.refusals import unknown_key
from recollect.types import ApiKey


class PostgresKeyRing:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def _fetch(self, name: str, **given: Any) -> list[tuple[Any, ...]]:
        return self._connections.attempt(lambda db: db.execute(query(name), given).fetchall())

    def add(self, key: ApiKey, digest: bytes) -> None:
        given = key_values(key, digest)
        self._connections.attempt(lambda db: db.execute(query("add_key"), given))

    def find(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        rows = self._fetch("find_key", id=key_id)
        return (key_of(rows[0]), digest_of(rows[0])) if rows else None

    def all(self) -> list[ApiKey]:
        return [key_of(row) for row in self._fetch("all_keys")]

    def revoke(self, key_id: str, at: int) -> ApiKey:
        given = {"id": key_id, "at": at}
        self._connections.attempt(lambda db: db.execute(query("revoke_key"), given))
        found = self.find(key_id)
        if found is None:
            raise unknown_key(key_id)
        return found[0]

"""API keys: who they are and a digest of their secret, never the secret."""

from __future__ import annotations

from recollect.storage.key_row import digest_of, key_of, key_values
from recollect.storage.postgres.connection import Connections
from recollect.storage.postgres.queries import query
from recollect.storage.refusals import unknown_key
from recollect.types import ApiKey


class PostgresKeyRing:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def add(self, key: ApiKey, digest: bytes) -> None:
        self._connections.run(query("add_key"), key_values(key, digest))

    def find(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        rows = self._connections.fetch(query("find_key"), {"id": key_id})
        return (key_of(rows[0]), digest_of(rows[0])) if rows else None

    def all(self) -> list[ApiKey]:
        return [key_of(row) for row in self._connections.fetch(query("all_keys"), {})]

    def revoke(self, key_id: str, at: int) -> ApiKey:
        self._connections.run(query("revoke_key"), {"id": key_id, "at": at})
        found = self.find(key_id)
        if found is None:
            raise unknown_key(key_id)
        return found[0]

"""API keys: who they are and a digest of their secret, never the secret."""

from __future__ import annotations

from typing import Any

import orjson

from recollect.storage.postgres.connection import Connections
from recollect.storage.postgres.queries import query
from recollect.storage.refusals import unknown_key
from recollect.storage.sqlite.keyring import key_from_row
from recollect.storage.sqlite.rows import micros
from recollect.types import ApiKey


class PostgresKeyRing:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def _fetch(self, name: str, **given: Any) -> list[tuple[Any, ...]]:
        return self._connections.attempt(lambda db: db.execute(query(name), given).fetchall())

    def add(self, key: ApiKey, digest: bytes) -> None:
        given = {
            "id": key.id,
            "digest": digest,
            "name": key.name,
            "scopes": orjson.dumps(key.scopes).decode(),
            "banks": None if key.banks is None else orjson.dumps(key.banks).decode(),
            "created_at": micros(key.created_at),
            "expires_at": micros(key.expires_at),
            "revoked_at": micros(key.revoked_at),
        }
        self._connections.attempt(lambda db: db.execute(query("add_key"), given))

    def find(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        rows = self._fetch("find_key", id=key_id)
        return (key_from_row(rows[0]), bytes(rows[0][7])) if rows else None

    def all(self) -> list[ApiKey]:
        return [key_from_row(row) for row in self._fetch("all_keys")]

    def revoke(self, key_id: str, at: int) -> ApiKey:
        given = {"id": key_id, "at": at}
        self._connections.attempt(lambda db: db.execute(query("revoke_key"), given))
        found = self.find(key_id)
        if found is None:
            raise unknown_key(key_id)
        return found[0]

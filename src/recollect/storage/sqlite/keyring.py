"""API keys in the file: who they are and a digest of their secret, never the secret."""

from __future__ import annotations

from typing import Any

import orjson

from recollect.language.dates import from_micros
from recollect.storage.refusals import unknown_key
from recollect.storage.sqlite.queue import Execute, Transaction
from recollect.storage.sqlite.rows import micros
from recollect.types import ApiKey, Scope

_COLUMNS = "id, name, scopes, banks, created_at, expires_at, revoked_at, digest"


class SqliteKeyRing:
    def __init__(self, execute: Execute, transaction: Transaction) -> None:
        self._execute = execute
        self._transaction = transaction

    def add(self, key: ApiKey, digest: bytes) -> None:
        with self._transaction() as db:
            db.execute(
                f"INSERT INTO keys ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?)",
                (
                    key.id,
                    key.name,
                    orjson.dumps(key.scopes).decode(),
                    None if key.banks is None else orjson.dumps(key.banks).decode(),
                    micros(key.created_at),
                    micros(key.expires_at),
                    micros(key.revoked_at),
                    digest,
                ),
            )

    def find(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        rows = self._execute(f"SELECT {_COLUMNS} FROM keys WHERE id = ?", (key_id,))
        return (key_from_row(rows[0]), rows[0][7]) if rows else None

    def all(self) -> list[ApiKey]:
        rows = self._execute(f"SELECT {_COLUMNS} FROM keys ORDER BY created_at, id", ())
        return [key_from_row(row) for row in rows]

    def revoke(self, key_id: str, at: int) -> ApiKey:
        with self._transaction() as db:
            db.execute(
                "UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (at, key_id)
            )
        found = self.find(key_id)
        if found is None:
            raise unknown_key(key_id)
        return found[0]


def key_from_row(row: Any) -> ApiKey:
    key_id, name, scopes, banks, created_at, expires_at, revoked_at, _ = row
    return ApiKey(
        id=key_id,
        name=name,
        scopes=tuple(Scope(s) for s in orjson.loads(scopes)),
        banks=None if banks is None else tuple(orjson.loads(banks)),
        created_at=from_micros(created_at),
        expires_at=None if expires_at is None else from_micros(expires_at),
        revoked_at=None if revoked_at is None else from_micros(revoked_at),
    )

"""API keys in the file: who they are and a digest of their secret, never the secret."""

from __future__ import annotations

from recollect.storage.key_row import KEY_COLUMNS, digest_of, key_of, key_values
from recollect.storage.refusals import unknown_key
from recollect.storage.sqlite.connection import Execute, Transaction
from recollect.types import ApiKey

_COLUMNS = ", ".join((*KEY_COLUMNS, "digest"))
_VALUES = ", ".join(f":{name}" for name in (*KEY_COLUMNS, "digest"))


class SqliteKeyRing:
    def __init__(self, execute: Execute, transaction: Transaction) -> None:
        self._execute = execute
        self._transaction = transaction

    def add(self, key: ApiKey, digest: bytes) -> None:
        with self._transaction() as db:
            db.execute(f"INSERT INTO keys ({_COLUMNS}) VALUES ({_VALUES})", key_values(key, digest))

    def find(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        rows = self._execute(f"SELECT {_COLUMNS} FROM keys WHERE id = ?", (key_id,))
        return (key_of(rows[0]), digest_of(rows[0])) if rows else None

    def all(self) -> list[ApiKey]:
        rows = self._execute(f"SELECT {_COLUMNS} FROM keys ORDER BY created_at, id", ())
        return [key_of(row) for row in rows]

    def revoke(self, key_id: str, at: int) -> ApiKey:
        with self._transaction() as db:
            db.execute(
                "UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (at, key_id)
            )
        found = self.find(key_id)
        if found is None:
            raise unknown_key(key_id)
        return found[0]

"""The view inside a write transaction: what a plan may ask before it decides."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from recollect.storage.index.decoded import Decoded
from recollect.storage.index.record import KEY_BITS, KEY_MASK
from recollect.storage.sqlite.read import SqliteView


class WritingView(SqliteView):
    """The view inside the write transaction: rows are read on the writing connection."""

    def __init__(self, view: SqliteView, db: sqlite3.Connection) -> None:
        super().__init__(
            view.bank,
            view.number,
            view.model,
            view.snapshot,
            lambda sql, arguments: db.execute(sql, arguments).fetchall(),
            Decoded(),
            view.entity_cache,
        )
        row = db.execute(
            "SELECT next_key, next_entity FROM banks WHERE bank = ?", (view.number,)
        ).fetchone()
        self.next_key: int = row[0]
        self.next_entity: int = row[1]

    def holders(self, entity: int) -> list[int]:
        """Keys of all memories that name it, oldest first, earlier wordings included."""
        rows, _ = self.snapshot.entities.get(entity)
        return self.snapshot.keys[np.sort(rows[self.snapshot.alive[rows]])].tolist()

    def mentioned(self, key: int, at: int, document_id: str | None) -> bool:
        """Whether this memory was told at this very moment by this document before."""
        rows = self._execute(
            """SELECT 1 FROM evidence WHERE bank = ?1 AND key = ?2 AND at = ?3 AND document_id IS ?4
            UNION ALL SELECT 1 FROM memories WHERE n = (?1 << ?5 | ?2) AND mentioned_at = ?3
              AND document_id IS ?4""",
            (self.number, key, at, document_id, KEY_BITS),
        )
        return bool(rows)

    def document_keys(self, document_id: str) -> Sequence[int]:
        rows = self._execute(
            "SELECT n & ? FROM memories WHERE bank = ? AND document_id = ? AND state <> 'revised' ORDER BY n",
            (KEY_MASK, self.number, document_id),
        )
        return [k for (k,) in rows]

    def document_chunk_count(self, document_id: str) -> int:
        return self._execute(
            "SELECT coalesce(max(position) + 1, 0) FROM chunks WHERE bank = ? AND document_id = ?",
            (self.number, document_id),
        )[0][0]

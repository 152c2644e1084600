"""Conversations of several processes that serve one address: a call may reach any of them, so what
was given is noted in a file that they share."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from recollect.mcp.conversation import GIVEN_S, version
from recollect.types import Memory

_TABLE = """
CREATE TABLE IF NOT EXISTS given (
    conversation BLOB NOT NULL,
    memory       TEXT NOT NULL,
    bank         TEXT NOT NULL,
    version      BLOB NOT NULL,
    at           REAL NOT NULL,
    PRIMARY KEY (conversation, memory)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS given_at ON given (at);
"""


class SharedConversations:
    """As `Conversations`, in a file; it ends with the processes, so nothing is made durable."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        self._lock = threading.Lock()
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.executescript(_TABLE)

    def of(self, key: tuple[bytes, str]) -> SharedConversation:
        who, name = key
        return SharedConversation(self, blake2b(who + name.encode(), digest_size=16).digest())

    def ask(self, statement: str, *given: object) -> list[tuple[object, ...]]:
        with self._lock:
            return self._db.execute(statement, given).fetchall()

    def note(self, rows: list[tuple[object, ...]]) -> None:
        """Also deletes what was given too long ago to count."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM given WHERE at < ?", (time.time() - GIVEN_S,))
            self._db.executemany("INSERT OR REPLACE INTO given VALUES (?, ?, ?, ?, ?)", rows)
            self._db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()


class SharedConversation:
    def __init__(self, held: SharedConversations, key: bytes) -> None:
        self._held = held
        self._key = key

    def has(self, memory: Memory) -> bool:
        found = self._held.ask(
            "SELECT bank, version FROM given WHERE conversation = ? AND memory = ? AND at > ?",
            *(self._key, memory.id, time.time() - GIVEN_S),
        )
        return found == [(memory.bank, _hash(memory))]

    def bank_of(self, memory_id: str) -> str | None:
        found = self._held.ask(
            "SELECT bank FROM given WHERE conversation = ? AND memory = ?", self._key, memory_id
        )
        return str(found[0][0]) if found else None

    def give(self, memories: Iterable[Memory]) -> None:
        now = time.time()
        self._held.note([(self._key, m.id, m.bank, _hash(m), now) for m in memories])

    def start_over(self) -> None:
        self._held.ask("DELETE FROM given WHERE conversation = ?", self._key)


def _hash(memory: Memory) -> bytes:
    return blake2b(repr(version(memory)).encode("utf-8", "surrogatepass"), digest_size=16).digest()

"""The rows of a bank: where they are, and one memory's inside a write transaction, read whole and
written back together."""

from __future__ import annotations

import sqlite3

import numpy as np

from recollect.storage.index.record import KEY_BITS, RECORD, Unseen, record
from recollect.storage.memory_row import MEMORY_COLUMNS, extra_of, memory_from_row, micros
from recollect.types import Memory, State


def row_span(bank: int) -> tuple[int, int]:
    """The numbers that a bank's rows may have: from the one, up to and without the other."""
    return bank << KEY_BITS, (bank + 1) << KEY_BITS


class BankRows:
    """A bank's rows, at the change sequence that this transaction will have."""

    def __init__(self, db: sqlite3.Connection, bank: str, number: int, seq: int) -> None:
        self.db = db
        self.bank = bank
        self.number = number
        self.seq = seq

    def n(self, key: int) -> int:
        return self.number << KEY_BITS | key

    def load(self, key: int) -> Memory:
        row = self.db.execute(
            f"SELECT {MEMORY_COLUMNS} FROM memories m WHERE n = ?", (self.n(key),)
        ).fetchone()
        return memory_from_row(self.bank, row, ())

    def unseen(self, key: int) -> Unseen:
        packed, known_from, known_until = self.db.execute(
            """SELECT f.record, m.known_from, m.known_until FROM features f JOIN memories m ON m.n = f.n
            WHERE f.n = ?""",
            (self.n(key),),
        ).fetchone()
        held = np.frombuffer(packed, RECORD)[0]
        return Unseen(
            int(held["statement"]), int(held["slot"]), int(held["before"]), known_from, known_until
        )

    def rewrite(self, key: int, memory: Memory, known_until: int | None = None) -> None:
        """Everything but the wording, which other rows and caches hold terms and vectors of."""
        unseen = self.unseen(key)
        if memory.state is State.ACTIVE:
            unseen = unseen._replace(known_until=None)
        elif known_until is not None:
            unseen = unseen._replace(known_until=known_until)
        self.db.execute(
            """UPDATE memories SET state=?, last_mentioned_at=?, updated_at=?, known_until=?,
            superseded_by=?, proof_count=?, confidence=?, document_id=?, chunk_id=?, extra=? WHERE n=?""",
            (
                memory.state.value,
                micros(memory.last_mentioned_at),
                micros(memory.updated_at),
                unseen.known_until,
                memory.superseded_by,
                memory.proof_count,
                memory.confidence,
                memory.document_id,
                memory.chunk_id,
                extra_of(memory),
                self.n(key),
            ),
        )
        self.db.execute(
            "UPDATE features SET seq=?, record=? WHERE n=?",
            (self.seq, record(memory, unseen), self.n(key)),
        )

"""The rows of a bank: where they are, and how they change inside a write transaction. What a deletion
takes along is `storage.forget`'s to say."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
import orjson

from recollect.storage.forget import Said
from recollect.storage.index.record import KEY_BITS, KEY_MASK, RECORD, Unseen, postings, record
from recollect.storage.memory_row import MEMORY_COLUMNS, extra_of, memory_from_row, micros
from recollect.types import Memory

Holders = Callable[[int], Sequence[int]]  # entity → keys of the memories that name it


def row_span(bank: int) -> tuple[int, int]:
    """The numbers that a bank's rows may have: from the one, up to and without the other."""
    return bank << KEY_BITS, (bank + 1) << KEY_BITS


class BankRows:
    """A bank's rows, at the change sequence that this transaction will have."""

    def __init__(
        self, db: sqlite3.Connection, bank: str, number: int, seq: int, holders: Holders
    ) -> None:
        self.db = db
        self.bank = bank
        self.number = number
        self.seq = seq
        self._holders = holders

    def n(self, key: int) -> int:
        """The number of a memory's row."""
        return self.number << KEY_BITS | key

    def expect(self, keys: Sequence[int]) -> None:
        """A statement costs microseconds here: nothing to prepare."""

    def read(self, keys: Iterable[int]) -> None:
        """Nor here."""

    def flush(self) -> None:
        """What is gone is gone at once."""

    # --- memories ----------------------------------------------------------------------------

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

    def entities(self, key: int) -> Iterable[int]:
        (blob,) = self.db.execute(
            "SELECT entities FROM features WHERE n=?", (self.n(key),)
        ).fetchone()
        return np.frombuffer(blob, "<i8").tolist() if blob else ()

    def rewrite(self, key: int, memory: Memory, known_until: int | None = None) -> None:
        """Everything but the wording, which other rows and caches hold terms and vectors of."""
        unseen = self.unseen(key).closed(memory.state, known_until)
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

    def tell(self, key: int, at: int | None) -> None:
        self.db.execute("UPDATE memories SET mentioned_at=? WHERE n=?", (at, self.n(key)))

    def reword(self, key: int, new: int, memory: Memory) -> None:
        db, bank = self.db, self.number
        at, to = self.n(key), self.n(new)
        db.execute(
            "UPDATE memories SET n=?, text=?, tokens=? WHERE n=?",
            (to, memory.text, memory.tokens, at),
        )
        db.execute("UPDATE tokens SET n=? WHERE n=?", (to, at))
        db.execute(
            "UPDATE features SET n=?, seq=?, terms=? WHERE n=?",
            (to, self.seq, postings(memory), at),
        )
        for table, column in (
            ("links", "source"), ("links", "target"), ("evidence", "key"), ("sources", "key"),
            ("sources", "source"),
        ):  # fmt: skip
            db.execute(
                f"UPDATE {table} SET {column}=? WHERE bank=? AND {column}=?", (new, bank, key)
            )
        self._tombstone(key)

    def drop(self, key: int) -> Iterable[int]:
        db, bank, n = self.db, self.number, self.n(key)
        named = self.entities(key)
        for table in ("memories", "features", "tokens", "staged"):
            db.execute(f"DELETE FROM {table} WHERE n=?", (n,))
        db.execute("DELETE FROM links WHERE bank=? AND source=?", (bank, key))
        db.execute("DELETE FROM links WHERE bank=? AND target=?", (bank, key))
        db.execute("DELETE FROM evidence WHERE bank=? AND key=?", (bank, key))
        db.execute("DELETE FROM sources WHERE bank=? AND key=?", (bank, key))
        self._tombstone(key)
        return named

    def _tombstone(self, key: int) -> None:
        self.db.execute(
            "INSERT OR IGNORE INTO tombstones VALUES (?,?,?)", (self.number, self.seq, key)
        )

    def revisions(self, memory_id: str) -> list[int]:
        return self._keys("id=? AND state='revised'", memory_id)

    def superseded_by(self, memory_id: str) -> list[int]:
        return self._keys("superseded_by=? AND state IN ('superseded', 'revised')", memory_id)

    def _keys(self, where: str, value: str) -> list[int]:
        rows = self.db.execute(
            f"SELECT n FROM memories WHERE bank=? AND {where}", (self.number, value)
        ).fetchall()
        return [n & KEY_MASK for (n,) in rows]

    def take_observations(self, source: int) -> list[int]:
        rows = self.db.execute(
            "SELECT key FROM sources WHERE bank=? AND source=?", (self.number, source)
        ).fetchall()
        self.db.execute("DELETE FROM sources WHERE bank=? AND source=?", (self.number, source))
        return [key for (key,) in rows]

    # --- mentions ----------------------------------------------------------------------------

    def mentions(self, key: int) -> list[Said]:
        rows = self.db.execute(
            "SELECT document_id, chunk_id, text, at FROM evidence WHERE bank=? AND key=?",
            (self.number, key),
        ).fetchall()
        return [Said(*row) for row in rows]

    def last_mention(self, key: int) -> int | None:
        return self.db.execute(
            "SELECT max(at) FROM evidence WHERE bank=? AND key=?", (self.number, key)
        ).fetchone()[0]

    def take_first_mention(self, key: int, among: Collection[str] | None = None) -> Said | None:
        rows = self.db.execute(
            """SELECT rowid, document_id, chunk_id, text, at FROM evidence WHERE bank=? AND key=?
            ORDER BY rowid""",
            (self.number, key),
        )
        row = next((row for row in rows if among is None or row[1] in among), None)
        if row is None:
            return None
        self.db.execute("DELETE FROM evidence WHERE rowid=?", (row[0],))
        return Said(*row[1:])

    def take_mentions_in(self, document_id: str) -> dict[int, int]:
        db, bank = self.db, self.number
        rows = db.execute(
            "SELECT key, count(*) FROM evidence WHERE bank=? AND document_id=? GROUP BY key",
            (bank, document_id),
        ).fetchall()
        db.execute("DELETE FROM evidence WHERE bank=? AND document_id=?", (bank, document_id))
        return dict(rows)

    # --- documents ---------------------------------------------------------------------------

    def document_keys(self, document_id: str) -> Sequence[int]:
        return self._keys("document_id=? AND state <> 'revised'", document_id)

    def drop_document(self, document_id: str, *, replaced: bool) -> None:
        db, bank = self.db, self.number
        db.execute("DELETE FROM chunks WHERE bank=? AND document_id=?", (bank, document_id))
        if not replaced:
            db.execute("DELETE FROM documents WHERE bank=? AND id=?", (bank, document_id))

    def unread(self, document_id: str) -> None:
        self.db.execute(
            "UPDATE documents SET hash=x'' WHERE bank=? AND id=?", (self.number, document_id)
        )

    def chunk(self, chunk_id: str) -> str | None:
        row = self.db.execute(
            "SELECT text FROM chunks WHERE bank=? AND id=?", (self.number, chunk_id)
        ).fetchone()
        return None if row is None else row[0]

    def other_texts(self, document_id: str, chunk_id: str, text: str) -> list[str]:
        rows = self.db.execute(
            "SELECT text FROM memories WHERE bank=? AND document_id=? AND chunk_id=? AND text<>? ORDER BY n",
            (self.number, document_id, chunk_id, text),
        ).fetchall()
        return [t for (t,) in rows]

    def cut_chunk(self, document_id: str, chunk_id: str, text: str) -> None:
        db, bank = self.db, self.number
        db.execute("UPDATE chunks SET text=? WHERE bank=? AND id=?", (text, bank, chunk_id))
        self.unread(document_id)

    # --- entities ----------------------------------------------------------------------------

    def holders(self, entity: int) -> Sequence[int]:
        return self._holders(entity)

    def names(self, entity: int) -> list[str] | None:
        row = self.db.execute(
            "SELECT name, aliases FROM entities WHERE bank=? AND id=?", (self.number, entity)
        ).fetchone()
        return None if row is None else [row[0], *orjson.loads(row[1])]

    def rename(self, entity: int, names: Sequence[str], mentions: int) -> None:
        self.db.execute(
            "UPDATE entities SET name=?, aliases=?, mentions=?, seq=? WHERE bank=? AND id=?",
            (
                names[0],
                orjson.dumps(names[1:]).decode(),
                mentions,
                self.seq,
                self.number,
                entity,
            ),
        )

    def drop_entity(self, entity: int) -> None:
        self.db.execute("DELETE FROM entities WHERE bank=? AND id=?", (self.number, entity))

    def texts(self, keys: Sequence[int]) -> Iterable[str]:
        marks = ",".join("?" * len(keys))
        for said in self.db.execute(
            f"SELECT text, speaker, context FROM memories WHERE n IN ({marks})",
            [self.n(k) for k in keys],
        ):
            yield "\n".join(part for part in said if part)

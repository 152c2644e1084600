"""The rows that a deletion changes, in the file; the rules are `storage.forget`'s."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import orjson

from recollect.storage import forget
from recollect.storage.forget import Said
from recollect.storage.index.record import KEY_MASK, Unseen, postings
from recollect.storage.sqlite.rows import BankRows
from recollect.types import Memory

Holders = Callable[[int], Sequence[int]]  # entity → keys of the memories that name it


class Forgetting(forget.Forgetting):
    def __init__(self, rows: BankRows, holders: Holders, next_key: int) -> None:
        super().__init__(_Rows(rows, holders), next_key)


class _Rows:
    def __init__(self, rows: BankRows, holders: Holders) -> None:
        self._rows = rows
        self._db = rows.db
        self._number = rows.number
        self._holders = holders

    def expect(self, keys: Sequence[int]) -> None:
        """A statement costs microseconds here: nothing to prepare."""

    # --- memories ----------------------------------------------------------------------------

    def load(self, key: int) -> Memory:
        return self._rows.load(key)

    def unseen(self, key: int) -> Unseen:
        return self._rows.unseen(key)

    def rewrite(self, key: int, memory: Memory, known_until: int | None = None) -> None:
        self._rows.rewrite(key, memory, known_until)

    def tell(self, key: int, at: int | None) -> None:
        self._db.execute("UPDATE memories SET mentioned_at=? WHERE n=?", (at, self._rows.n(key)))

    def reword(self, key: int, new: int, memory: Memory) -> None:
        db, bank = self._db, self._number
        at, to = self._rows.n(key), self._rows.n(new)
        db.execute(
            "UPDATE memories SET n=?, text=?, tokens=? WHERE n=?",
            (to, memory.text, memory.tokens, at),
        )
        db.execute("UPDATE tokens SET n=? WHERE n=?", (to, at))
        db.execute(
            "UPDATE features SET n=?, seq=?, terms=? WHERE n=?",
            (to, self._rows.seq, postings(memory), at),
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
        db, bank, n = self._db, self._number, self._rows.n(key)
        (blob,) = db.execute("SELECT entities FROM features WHERE n=?", (n,)).fetchone()
        for table in ("memories", "features", "tokens", "staged"):
            db.execute(f"DELETE FROM {table} WHERE n=?", (n,))
        db.execute("DELETE FROM links WHERE bank=? AND source=?", (bank, key))
        db.execute("DELETE FROM links WHERE bank=? AND target=?", (bank, key))
        db.execute("DELETE FROM evidence WHERE bank=? AND key=?", (bank, key))
        db.execute("DELETE FROM sources WHERE bank=? AND key=?", (bank, key))
        self._tombstone(key)
        return np.frombuffer(blob, "<i8").tolist() if blob else ()

    def _tombstone(self, key: int) -> None:
        self._db.execute(
            "INSERT OR IGNORE INTO tombstones VALUES (?,?,?)", (self._number, self._rows.seq, key)
        )

    def revisions(self, memory_id: str) -> list[int]:
        return self._keys("id=? AND state='revised'", memory_id)

    def superseded_by(self, memory_id: str) -> list[int]:
        return self._keys("superseded_by=? AND state='superseded'", memory_id)

    def _keys(self, where: str, value: str) -> list[int]:
        rows = self._db.execute(
            f"SELECT n FROM memories WHERE bank=? AND {where}", (self._number, value)
        ).fetchall()
        return [n & KEY_MASK for (n,) in rows]

    def take_observations(self, source: int) -> list[int]:
        rows = self._db.execute(
            "SELECT key FROM sources WHERE bank=? AND source=?", (self._number, source)
        ).fetchall()
        self._db.execute("DELETE FROM sources WHERE bank=? AND source=?", (self._number, source))
        return [key for (key,) in rows]

    # --- mentions ----------------------------------------------------------------------------

    def mentions(self, key: int) -> list[Said]:
        rows = self._db.execute(
            "SELECT document_id, chunk_id, text, at FROM evidence WHERE bank=? AND key=?",
            (self._number, key),
        ).fetchall()
        return [Said(*row) for row in rows]

    def last_mention(self, key: int) -> int | None:
        return self._db.execute(
            "SELECT max(at) FROM evidence WHERE bank=? AND key=?", (self._number, key)
        ).fetchone()[0]

    def take_first_mention(self, key: int) -> Said | None:
        row = self._db.execute(
            """SELECT rowid, document_id, chunk_id, text, at FROM evidence WHERE bank=? AND key=?
            ORDER BY rowid LIMIT 1""",
            (self._number, key),
        ).fetchone()
        if row is None:
            return None
        self._db.execute("DELETE FROM evidence WHERE rowid=?", (row[0],))
        return Said(*row[1:])

    def take_mentions_in(self, document_id: str) -> dict[int, int]:
        db, bank = self._db, self._number
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
        db, bank = self._db, self._number
        db.execute("DELETE FROM chunks WHERE bank=? AND document_id=?", (bank, document_id))
        if not replaced:
            db.execute("DELETE FROM documents WHERE bank=? AND id=?", (bank, document_id))

    def chunk(self, chunk_id: str) -> str | None:
        row = self._db.execute(
            "SELECT text FROM chunks WHERE bank=? AND id=?", (self._number, chunk_id)
        ).fetchone()
        return None if row is None else row[0]

    def other_texts(self, document_id: str, chunk_id: str, text: str) -> list[str]:
        rows = self._db.execute(
            "SELECT text FROM memories WHERE bank=? AND document_id=? AND chunk_id=? AND text<>? ORDER BY n",
            (self._number, document_id, chunk_id, text),
        ).fetchall()
        return [t for (t,) in rows]

    def cut_chunk(self, document_id: str, chunk_id: str, text: str) -> None:
        db, bank = self._db, self._number
        db.execute("UPDATE chunks SET text=? WHERE bank=? AND id=?", (text, bank, chunk_id))
        db.execute("UPDATE documents SET hash=x'' WHERE bank=? AND id=?", (bank, document_id))

    # --- entities ----------------------------------------------------------------------------

    def holders(self, entity: int) -> Sequence[int]:
        return self._holders(entity)

    def names(self, entity: int) -> list[str] | None:
        row = self._db.execute(
            "SELECT name, aliases FROM entities WHERE bank=? AND id=?", (self._number, entity)
        ).fetchone()
        return None if row is None else [row[0], *orjson.loads(row[1])]

    def rename(self, entity: int, names: Sequence[str], mentions: int) -> None:
        self._db.execute(
            "UPDATE entities SET name=?, aliases=?, mentions=?, seq=? WHERE bank=? AND id=?",
            (
                names[0],
                orjson.dumps(names[1:]).decode(),
                mentions,
                self._rows.seq,
                self._number,
                entity,
            ),
        )

    def drop_entity(self, entity: int) -> None:
        self._db.execute("DELETE FROM entities WHERE bank=? AND id=?", (self._number, entity))

    def texts(self, keys: Sequence[int]) -> Iterable[str]:
        marks = ",".join("?" * len(keys))
        for said in self._db.execute(
            f"SELECT text, speaker, context FROM memories WHERE n IN ({marks})",
            [self._rows.n(k) for k in keys],
        ):
            yield "\n".join(part for part in said if part)

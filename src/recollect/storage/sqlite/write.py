"""The rows of one `Batch`, in the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from recollect.storage.base import Batch, KeyLink, NewDocument, NewEvidence, NewMemory
from recollect.storage.forget import Forgetting
from recollect.storage.index.record import KEY_BITS, KEY_MASK, features_row
from recollect.storage.memory_row import extra_of, told, weighed
from recollect.storage.sqlite.rows import BankRows
from recollect.storage.write import BatchWriter
from recollect.types import Entity, LinkKind, State


class Writer(BatchWriter[BankRows]):
    def __init__(self, rows: BankRows, forgetting: Forgetting, now: int) -> None:
        super().__init__(rows, forgetting, now)
        self._db = rows.db
        self._number = rows.number

    def _documents(self, documents: Sequence[NewDocument]) -> None:
        for document in documents:
            self._document(document)

    def _document(self, document: NewDocument) -> None:
        self._db.execute(
            """INSERT INTO documents VALUES (?,?,?,?,?,?,?,?)
            ON CONFLICT (bank, id) DO UPDATE SET hash = excluded.hash, context = excluded.context,
              tags = excluded.tags, metadata = excluded.metadata, updated_at = excluded.updated_at""",
            (
                self._number,
                document.id,
                document.hash,
                document.context,
                orjson.dumps(document.tags).decode(),
                orjson.dumps(document.metadata).decode(),
                self._now if document.created_at is None else document.created_at,
                self._now if document.updated_at is None else document.updated_at,
            ),
        )
        self._db.executemany(
            "INSERT OR REPLACE INTO chunks VALUES (?,?,?,?,?)",
            [(self._number, document.id, c.position, c.id, c.text) for c in document.chunks],
        )

    def _memories(self, memories: Sequence[NewMemory]) -> None:
        n = [self._rows.n(new.key) for new in memories]
        self._db.executemany(
            f"INSERT INTO memories VALUES ({','.join('?' * 24)})",
            [_memory_row(self._number, at, new) for at, new in zip(n, memories, strict=True)],
        )
        self._db.executemany(
            "INSERT INTO features VALUES (?,?,?,?,?,?,?,?)",
            [
                features_row(self._number, at, self._rows.seq, new)
                for at, new in zip(n, memories, strict=True)
            ],
        )
        self._db.executemany(
            "INSERT INTO tokens VALUES (?,?)",
            [
                (at, new.tokens.tobytes())
                for at, new in zip(n, memories, strict=True)
                if new.tokens is not None
            ],
        )
        for new in memories:
            if new.replaces is not None:
                self._inherit(new, new.replaces)
        self._db.executemany(
            "INSERT INTO sources VALUES (?,?,?)",
            [(self._number, new.key, s) for new in memories for s in self._present(new.sources)],
        )

    def _inherit(self, new: NewMemory, old: int) -> None:
        db, bank = self._db, self._number
        over = new.memory.state is State.REVISED
        wording = "" if new.vector is None else "AND l.kind <> 'semantic'"
        standing = "" if over else "AND m.state <> 'revised'"
        for mine, other in (("source", "target"), ("target", "source")):
            db.execute(
                f"""INSERT OR IGNORE INTO links (bank, {mine}, {other}, kind, weight)
                SELECT l.bank, ?1, l.{other}, l.kind, l.weight FROM links l
                  JOIN memories m ON m.n = (?2 << {KEY_BITS} | l.{other}) {standing}
                WHERE l.bank = ?2 AND l.{mine} = ?3 {wording}""",
                (new.key, bank, old),
            )
        if not over:
            db.execute("DELETE FROM sources WHERE bank=? AND key=?", (bank, old))
            for table, column in (("evidence", "key"), ("sources", "source")):
                db.execute(
                    f"UPDATE {table} SET {column}=? WHERE bank=? AND {column}=?",
                    (new.key, bank, old),
                )
        if new.vector is None:
            at, to = self._rows.n(old), self._rows.n(new.key)
            db.execute(
                "UPDATE features SET vector = (SELECT vector FROM features WHERE n=?) WHERE n=?",
                (at, to),
            )
            db.execute("INSERT INTO tokens SELECT ?, data FROM tokens WHERE n=?", (to, at))

    def _links_among(self, keys: Sequence[int]) -> Sequence[KeyLink]:
        rows = self._db.execute(
            """WITH asked AS (SELECT value AS key FROM json_each(?2))
            SELECT source, target, kind, weight FROM links
            WHERE bank = ?1 AND source IN (SELECT key FROM asked) AND target IN (SELECT key FROM asked)""",
            (self._number, orjson.dumps(keys).decode()),
        )
        return [KeyLink(s, t, LinkKind(kind), weight) for s, t, kind, weight in rows]

    def _mentions(self, mentions: Sequence[NewEvidence]) -> None:
        self._db.executemany(
            "INSERT INTO evidence VALUES (?,?,?,?,?,?)",
            [(self._number, m.key, m.at, m.document_id, m.chunk_id, m.text) for m in mentions],
        )

    def _links(self, batch: Batch) -> None:
        self._db.executemany(
            "DELETE FROM links WHERE bank=? AND source=? AND kind='related'",
            [(self._number, key) for key in self._present(batch.unlink)],
        )
        self._db.executemany(
            """INSERT INTO links VALUES (?,?,?,?,?) ON CONFLICT (bank, source, target, kind)
            DO UPDATE SET weight = max(weight, excluded.weight)""",
            [
                (self._number, source, target, k.kind.value, k.weight)
                for k in batch.links
                if (source := self._forgetting.key(k.source)) is not None
                and (target := self._forgetting.key(k.target)) is not None
            ],
        )

    def _entities(self, entities: Sequence[Entity]) -> None:
        self._db.executemany(
            """INSERT INTO entities VALUES (?,?,?,?,?,?,?) ON CONFLICT (bank, id) DO UPDATE SET
              seq = excluded.seq, name = excluded.name, kind = excluded.kind,
              aliases = excluded.aliases, mentions = excluded.mentions""",
            [
                (
                    self._number,
                    e.id,
                    self._rows.seq,
                    e.name,
                    e.kind,
                    orjson.dumps(e.aliases).decode(),
                    e.mentions,
                )
                for e in entities
            ],
        )

    def _put_sources(self, key: int, ids: Sequence[str]) -> None:
        self._db.execute("DELETE FROM sources WHERE bank=? AND key=?", (self._number, key))
        self._db.executemany(
            """INSERT INTO sources SELECT ?, ?, n & ? FROM memories
            WHERE bank = ? AND id = ? AND state <> 'revised'""",
            [(self._number, key, KEY_MASK, self._number, i) for i in ids],
        )


def _memory_row(bank: int, n: int, new: NewMemory) -> tuple[Any, ...]:
    known = new.known_from, new.known_until
    return n, bank, *told(new.memory), *known, *weighed(new.memory), extra_of(new.memory)

"""Applying one `Batch` inside the caller's transaction, and what a deletion takes along."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson

from recollect.language.dates import from_micros, to_micros
from recollect.storage.base import Batch, NewDocument, NewEvidence, NewMemory, Retire
from recollect.storage.sqlite.index import KEY_BITS, KEY_MASK
from recollect.storage.sqlite.read import MEMORY_COLUMNS, extra_of, memory_from_row
from recollect.storage.sqlite.record import RECORD, Unseen, features_row, record
from recollect.types import Memory, State


class Writer:
    """One transaction on one bank, at one new change sequence."""

    def __init__(self, connection: sqlite3.Connection, bank: str, number: int, seq: int, now: int) -> None:
        self._db = connection
        self._bank = bank
        self._number = number
        self._seq = seq
        self._now = now

    def apply(self, batch: Batch) -> None:
        for document_id, kept in batch.drop_documents.items():
            self.drop_document(document_id, kept)
        self.drop_memories(batch.drop_memories)
        for document in batch.documents:
            self._document(document)
        # Retired before added: a new version takes over its predecessor's id.
        for retire in batch.retire:
            self._retire(retire)
        self._memories(batch.memories)
        for key, changes in batch.updates.items():
            self._update(key, changes)
        for evidence in batch.evidence:
            self._evidence(evidence)
        self._mentions(batch.mentions)
        self._links(batch)
        self._entities(batch)

    # --- additions -----------------------------------------------------------------------

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
                self._now,
                self._now,
            ),
        )
        self._db.executemany(
            "INSERT OR REPLACE INTO chunks VALUES (?,?,?,?,?)",
            [(self._number, document.id, c.position, c.id, c.text) for c in document.chunks],
        )

    def _memories(self, memories: Sequence[NewMemory]) -> None:
        n = [self._number << KEY_BITS | new.key for new in memories]
        self._db.executemany(
            f"INSERT INTO memories VALUES ({','.join('?' * 24)})",
            [_memory_row(self._number, at, new) for at, new in zip(n, memories, strict=True)],
        )
        self._db.executemany(
            "INSERT INTO features VALUES (?,?,?,?,?,?,?,?)",
            [features_row(self._number, at, self._seq, new) for at, new in zip(n, memories, strict=True)],
        )
        self._db.executemany(
            "INSERT INTO tokens VALUES (?,?)",
            [(at, new.tokens.tobytes()) for at, new in zip(n, memories, strict=True) if new.tokens is not None],
        )
        self._db.executemany(
            "INSERT INTO sources VALUES (?,?,?)",
            [(self._number, new.key, s) for new in memories for s in dict.fromkeys(new.sources)],
        )

        for new in memories:
            if new.replaces is not None:
                self._inherit(new.key, new.replaces)

    def _inherit(self, new: int, old: int) -> None:
        """A new version keeps its predecessor's evidence and every link but the semantic ones,
        which belong to the wording."""
        db, bank = self._db, self._number
        db.execute("DELETE FROM links WHERE bank=? AND kind='semantic' AND ? IN (source, target)", (bank, old))
        for table, column in (
            ("links", "source"), ("links", "target"), ("evidence", "key"), ("sources", "key"), ("sources", "source"),
        ):  # fmt: skip
            db.execute(f"UPDATE {table} SET {column}=? WHERE bank=? AND {column}=?", (new, bank, old))

    def _mentions(self, mentions: Sequence[NewEvidence]) -> None:
        self._db.executemany(
            "INSERT INTO evidence VALUES (?,?,?,?,?,?)",
            [(self._number, m.key, m.at, m.document_id, m.chunk_id, m.text) for m in mentions],
        )

    def _links(self, batch: Batch) -> None:
        self._db.executemany(
            """INSERT INTO links VALUES (?,?,?,?,?) ON CONFLICT (bank, source, target, kind)
            DO UPDATE SET weight = max(weight, excluded.weight)""",
            [(self._number, k.source, k.target, k.kind.value, k.weight) for k in batch.links],
        )

    def _entities(self, batch: Batch) -> None:
        self._db.executemany(
            """INSERT INTO entities VALUES (?,?,?,?,?,?,?) ON CONFLICT (bank, id) DO UPDATE SET
              seq = excluded.seq, name = excluded.name, kind = excluded.kind,
              aliases = excluded.aliases, mentions = excluded.mentions""",
            [
                (self._number, e.id, self._seq, e.name, e.kind, orjson.dumps(e.aliases).decode(), e.mentions)
                for e in batch.entities
            ],
        )

    # --- changes of one memory -------------------------------------------------------------

    def _evidence(self, new: NewEvidence) -> None:
        self._mentions([new])
        memory = self._load(new.key)
        at = None if new.at is None else from_micros(new.at)
        last = memory.last_mentioned_at
        self._rewrite(
            new.key,
            replace(
                memory,
                proof_count=memory.proof_count + 1,
                last_mentioned_at=max((t for t in (at, last) if t is not None), default=None),
                confidence=memory.confidence if new.confidence is None else new.confidence,
                weakened=memory.weakened or new.weakened,
            ),
        )

    def _retire(self, retire: Retire) -> None:
        changed = replace(self._load(retire.key), state=retire.state, superseded_by=retire.by)
        self._rewrite(retire.key, changed, known_until=retire.at)

    def _update(self, key: int, changes: Mapping[str, Any]) -> None:
        """Fields that search does not index; anything else is a new version of the memory."""
        self._rewrite(key, replace(self._load(key), **changes))

    def _load(self, key: int) -> Memory:
        row = self._db.execute(
            f"SELECT {MEMORY_COLUMNS} FROM memories WHERE n = ?", (self._number << KEY_BITS | key,)
        ).fetchone()
        return memory_from_row(self._bank, row, ())

    def _rewrite(self, key: int, memory: Memory, known_until: int | None = None) -> None:
        n = self._number << KEY_BITS | key
        (old,) = self._db.execute("SELECT record FROM features WHERE n = ?", (n,)).fetchone()
        (closed, from_) = self._db.execute(
            "SELECT known_until, known_from FROM memories WHERE n = ?", (n,)
        ).fetchone()
        closed = known_until if known_until is not None else closed
        if memory.state is State.ACTIVE:
            closed = None
        self._db.execute(
            """UPDATE memories SET state=?, last_mentioned_at=?, updated_at=?, known_until=?,
            superseded_by=?, proof_count=?, confidence=?, document_id=?, chunk_id=?, extra=? WHERE n=?""",
            (
                memory.state.value,
                _micros(memory.last_mentioned_at),
                _micros(memory.updated_at),
                closed,
                memory.superseded_by,
                memory.proof_count,
                memory.confidence,
                memory.document_id,
                memory.chunk_id,
                extra_of(memory),
                n,
            ),
        )
        held = np.frombuffer(old, RECORD)[0]
        unseen = (int(held[name]) for name in ("statement", "slot", "before"))
        packed = record(memory, Unseen(*unseen, from_, closed))
        self._db.execute("UPDATE features SET seq=?, record=? WHERE n=?", (self._seq, packed, n))

    # --- deletion --------------------------------------------------------------------------

    def drop_document(self, document_id: str, kept: frozenset[int] = frozenset()) -> None:
        """The document, its chunks, and every memory that nothing else speaks for. A memory
        with evidence from elsewhere stays and is ascribed to that."""
        db, bank = self._db, self._number
        db.execute("DELETE FROM evidence WHERE bank=? AND document_id=?", (bank, document_id))
        rows = db.execute(
            "SELECT n FROM memories WHERE bank=? AND document_id=?", (bank, document_id)
        ).fetchall()
        gone: list[int] = []
        for (n,) in rows:
            key = n & KEY_MASK
            if key in kept:
                continue
            other = db.execute(
                "SELECT rowid, document_id, chunk_id FROM evidence WHERE bank=? AND key=? ORDER BY rowid LIMIT 1",
                (bank, key),
            ).fetchone()
            if other is None:
                gone.append(key)
                continue
            db.execute("DELETE FROM evidence WHERE rowid=?", (other[0],))
            self._rewrite(key, replace(self._load(key), document_id=other[1], chunk_id=other[2]))
        self._recount_proof()
        self.drop_memories(gone)
        db.execute("DELETE FROM chunks WHERE bank=? AND document_id=?", (bank, document_id))
        db.execute("DELETE FROM documents WHERE bank=? AND id=?", (bank, document_id))

    def _recount_proof(self) -> None:
        """Facts count their mentions: one, and one for each row of evidence."""
        rows = self._db.execute(
            """SELECT n FROM memories WHERE bank=? AND type <> 'observation' AND proof_count > 1
            AND proof_count <> 1 + (SELECT count(*) FROM evidence e
              WHERE e.bank = memories.bank AND e.key = (memories.n & ?))""",
            (self._number, KEY_MASK),
        ).fetchall()
        for (n,) in rows:
            key = n & KEY_MASK
            (count,) = self._db.execute(
                "SELECT count(*) FROM evidence WHERE bank=? AND key=?", (self._number, key)
            ).fetchone()
            self._rewrite(key, replace(self._load(key), proof_count=1 + count))

    def drop_memories(self, keys: Iterable[int]) -> None:
        pending = list(dict.fromkeys(keys))
        done: set[int] = set()
        while pending:
            key = pending.pop()
            if key in done:
                continue
            done.add(key)
            pending.extend(self._orphaned_observations(key))
            self._drop_memory(key)
        if done:
            self._sweep_entities()

    def _orphaned_observations(self, key: int) -> list[int]:
        """Observations made from `key`: those with nothing left go too, the others count anew."""
        db, bank = self._db, self._number
        rows = db.execute("SELECT key FROM sources WHERE bank=? AND source=?", (bank, key)).fetchall()
        db.execute("DELETE FROM sources WHERE bank=? AND source=?", (bank, key))
        orphans: list[int] = []
        for (observation,) in rows:
            left = db.execute(
                """SELECT m.id FROM sources s JOIN memories m ON m.n = (? | s.source)
                WHERE s.bank=? AND s.key=?""",
                (bank << KEY_BITS, bank, observation),
            ).fetchall()
            if not left:
                orphans.append(observation)
            else:
                ids = tuple(i for (i,) in left)
                memory = replace(self._load(observation), source_ids=ids, proof_count=len(ids))
                self._rewrite(observation, memory)
        return orphans

    def _drop_memory(self, key: int) -> None:
        db, bank, n = self._db, self._number, self._number << KEY_BITS | key
        row = db.execute("SELECT id, state FROM memories WHERE n=?", (n,)).fetchone()
        if row is None:
            return
        if row[1] != State.REVISED.value:  # earlier wordings go with the memory
            revised = db.execute(
                "SELECT n FROM memories WHERE bank=? AND id=? AND state='revised'", (bank, row[0])
            ).fetchall()
            for (old,) in revised:
                self._drop_memory(old & KEY_MASK)
        for table in ("memories", "features", "tokens"):
            db.execute(f"DELETE FROM {table} WHERE n=?", (n,))
        db.execute("DELETE FROM links WHERE bank=? AND source=?", (bank, key))
        db.execute("DELETE FROM links WHERE bank=? AND target=?", (bank, key))
        db.execute("DELETE FROM evidence WHERE bank=? AND key=?", (bank, key))
        db.execute("DELETE FROM sources WHERE bank=? AND key=?", (bank, key))
        db.execute("INSERT OR IGNORE INTO tombstones VALUES (?,?,?)", (bank, self._seq, key))

    def _sweep_entities(self) -> None:
        """Entities that no memory names any more."""
        blobs = self._db.execute(
            "SELECT entities FROM features WHERE n >= ? AND n < ? AND entities IS NOT NULL",
            (self._number << KEY_BITS, (self._number + 1) << KEY_BITS),
        )
        joined = b"".join(b for (b,) in blobs)
        used = set(np.unique(np.frombuffer(joined, "<i8")).tolist())
        rows = self._db.execute("SELECT id FROM entities WHERE bank=?", (self._number,)).fetchall()
        self._db.executemany(
            "DELETE FROM entities WHERE bank=? AND id=?",
            [(self._number, i) for (i,) in rows if i not in used],
        )


def _memory_row(bank: int, n: int, new: NewMemory) -> tuple[Any, ...]:
    m = new.memory
    return (
        n,
        bank,
        m.id,
        m.type.value,
        m.state.value,
        m.text,
        m.context,
        m.speaker,
        m.document_id,
        m.chunk_id,
        _micros(m.occurred_start),
        _micros(m.occurred_end),
        m.occurred_grain,
        _micros(m.mentioned_at),
        _micros(m.last_mentioned_at),
        _micros(m.created_at),
        _micros(m.updated_at),
        new.known_from,
        new.known_until,
        m.superseded_by,
        m.proof_count,
        m.confidence,
        m.tokens,
        extra_of(m),
    )


def _micros(when: Any) -> int | None:
    return None if when is None else to_micros(when)

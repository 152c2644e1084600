"""The embedded store: one SQLite file, and a derived index of each bank in use."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from recollect.errors import StoreError
from recollect.language.dates import now_micros
from recollect.storage.bank_row import bank_from_row, settings_after
from recollect.storage.base import (
    Batch,
    Dump,
    ModelIdentity,
    Plan,
    StagedVector,
    View,
)
from recollect.storage.forget import Forgetting
from recollect.storage.refusals import bank_exists, unknown_bank
from recollect.storage.sqlite.arrival import begin, bring
from recollect.storage.sqlite.connection import connect, prepare, readable, translated
from recollect.storage.sqlite.dump import dump
from recollect.storage.sqlite.holding import Holding
from recollect.storage.sqlite.keyring import SqliteKeyRing
from recollect.storage.sqlite.lists import Lists
from recollect.storage.sqlite.queue import SqliteQueue, drop_ended_payloads, take_step
from recollect.storage.sqlite.read import SqliteView
from recollect.storage.sqlite.reembed import stage, switch, unstaged, unstaged_count
from recollect.storage.sqlite.rows import BankRows, row_span
from recollect.storage.sqlite.write import Writer
from recollect.storage.sqlite.writing import WritingView
from recollect.types import Bank, Memory

_SCRUB_WAIT_MS = 100  # for readers to finish


class SqliteStore(Lists):
    def __init__(
        self,
        path: str | Path,
        *,
        model: Callable[[], ModelIdentity],
        busy_timeout_ms: int = 30_000,
        held_facts: int = 2_000_000,
    ) -> None:
        self.path = Path(path)
        self._model = model
        self._busy_timeout_ms = busy_timeout_ms
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._holding = Holding(held_facts)
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._closed = False
        self._unscrubbed = False  # somebody was reading when something was deleted
        self.queue = SqliteQueue(self._execute, self._transaction)
        self.keys = SqliteKeyRing(self._execute, self._transaction)
        prepare(self.path, busy_timeout_ms)

    # --- connections -------------------------------------------------------------------------

    def _connection(self) -> sqlite3.Connection:
        """One connection a thread."""
        if self._closed:
            raise StoreError(f"{self.path} is closed", hint="open it again with recollect.open()")
        found = getattr(self._local, "connection", None)
        if found is None:
            found = self._local.connection = connect(self.path, self._busy_timeout_ms)
            with self._lock:
                self._connections.append(found)
        return found

    def _execute(self, sql: str, arguments: Sequence[Any] = ()) -> list[Any]:
        with translated(self.path):
            return self._connection().execute(sql, arguments).fetchall()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._holding.clear()

    # --- banks -------------------------------------------------------------------------------

    def banks(self) -> list[Bank]:
        return [bank_from_row(row) for row in self._bank_rows("1 ORDER BY id", ())]

    def bank(self, bank: str) -> Bank | None:
        rows = self._bank_rows("id = ?", (bank,))
        return bank_from_row(rows[0]) if rows else None

    def _bank_rows(self, where: str, arguments: Sequence[Any]) -> list[Any]:
        return self._execute(
            f"""SELECT id, created_at, updated_at, memories, documents, embedder, dimensions, config
            FROM banks WHERE arriving IS NULL AND {where}""",
            arguments,
        )

    def create_bank(
        self, bank: str, config: Mapping[str, Any] | None = None, model: ModelIdentity | None = None
    ) -> Bank:
        now = now_micros()
        with self._transaction() as db:
            db.execute(
                """INSERT INTO banks (id, embedder, dimensions, token_dimensions, config, created_at, updated_at)
                VALUES (?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING""",
                (bank, *(model or self._model()), orjson.dumps(config or {}).decode(), now, now),
            )
            # Caches know a bank by name and sequence: one deleted and made anew is another.
            db.execute("UPDATE banks SET seq = bank << 32 WHERE id = ? AND seq = 0", (bank,))
        found = self.bank(bank)
        if found is None:
            raise bank_exists(bank)
        return found

    def begin(self, bank: str, config: Mapping[str, Any], model: ModelIdentity, note: str) -> None:
        with self._transaction() as db:
            begin(db, bank, config, model, note, now_micros())

    def arriving(self, bank: str) -> str | None:
        rows = self._execute("SELECT arriving FROM banks WHERE id = ?", (bank,))
        return rows[0][0] if rows else None

    def arrivals(self) -> Sequence[str]:
        rows = self._execute("SELECT id FROM banks WHERE arriving IS NOT NULL ORDER BY id")
        return [bank for (bank,) in rows]

    def bring(self, bank: str, batch: Batch, was: str, note: str | None) -> None:
        with self._transaction() as db:
            bring(db, bank, batch, was, note, now_micros())

    def configure_bank(self, bank: str, config: Mapping[str, Any], *, merge: bool = False) -> Bank:
        with self._transaction() as db:
            for (held,) in db.execute(
                "SELECT config FROM banks WHERE id = ? AND arriving IS NULL", (bank,)
            ).fetchall():
                wanted = settings_after(held, config, merge=merge)
                db.execute(
                    "UPDATE banks SET config = ?, seq = seq + 1, updated_at = ? WHERE id = ?",
                    (orjson.dumps(wanted).decode(), now_micros(), bank),
                )
        found = self.bank(bank)
        if found is None:
            raise unknown_bank(bank)
        return found

    def delete_bank(self, bank: str) -> bool:
        with self._transaction() as db:
            row = db.execute("SELECT bank FROM banks WHERE id = ?", (bank,)).fetchone()
            if row is None:
                return False
            (number,) = row
            for table in ("memories", "features", "tokens", "staged"):
                db.execute(f"DELETE FROM {table} WHERE n >= ? AND n < ?", row_span(number))
            for table in (
                "documents", "chunks", "entities", "links", "evidence", "sources", "tombstones",
                "operations", "banks",
            ):  # fmt: skip
                db.execute(f"DELETE FROM {table} WHERE bank = ?", (number,))
        self._holding.drop(bank)
        self._scrub()
        return True

    # --- the view, caught up -----------------------------------------------------------------

    def view(self, bank: str) -> View:
        if self._unscrubbed:
            self._scrub(0)
        return self._held(bank)

    def recall_view(self, bank: str) -> View:
        return self.view(bank)

    def _held(self, bank: str) -> SqliteView:
        with translated(self.path):
            db = self._connection()
            row = db.execute(
                """SELECT bank, seq, generation, embedder, dimensions, token_dimensions FROM banks
                WHERE id = ? AND arriving IS NULL""",
                (bank,),
            ).fetchone()
            if row is None:
                raise unknown_bank(bank)
            number, seq, generation, *model = row
            held = self._holding.of(bank, number, generation, model[1])
            with held.lock, readable(self.path):
                held.catch_up(seq, db)
                return SqliteView(
                    bank,
                    number,
                    (model[0], model[1], model[2]),
                    held.index.snapshot(),
                    self._execute,
                    held.decoded,
                    held.entities,
                )

    def model_of(self, bank: str) -> ModelIdentity:
        rows = self._execute(
            """SELECT embedder, dimensions, token_dimensions FROM banks
            WHERE id = ? AND arriving IS NULL""",
            (bank,),
        )
        if not rows:
            raise unknown_bank(bank)
        return rows[0]

    # --- commits -----------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        """One writer at a time, in this process by our lock and among processes by SQLite's."""
        with self._write_lock, translated(self.path):
            db = self._connection()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def commit(self, bank: str, plan: Plan) -> int:
        try:
            with self._transaction() as db:
                view = WritingView(self._held(bank), db)
                gone, dropped = self._write(db, view, plan)
        except BaseException:
            self._holding.unlearn(bank)
            raise
        if dropped:
            self._scrub()
        elif self._unscrubbed:
            self._scrub(0)
        return gone

    def _write(self, db: sqlite3.Connection, view: WritingView, plan: Plan) -> tuple[int, bool]:
        batch = plan(view)
        seq, now = view.seq + 1, now_micros()
        if batch.step is not None:
            take_step(db, view.number, batch.step, now)
        rows = BankRows(db, view.bank, view.number, seq, view.holders)
        forgetting = Forgetting(rows, max(view.next_key, batch.free_key))
        Writer(rows, forgetting, now).apply(batch)
        db.execute(
            """UPDATE banks SET seq = ?, next_key = ?, next_entity = max(next_entity, ?),
            updated_at = ? WHERE bank = ?""",
            (seq, forgetting.next_key, batch.free_entity, now, view.number),
        )
        if batch.forgets:
            drop_ended_payloads(db, view.number)
        return forgetting.count, batch.takes_away

    def _scrub(self, wait_ms: int = _SCRUB_WAIT_MS) -> None:
        """Deleted bytes are zeroed in the file by secure_delete; this empties the log as well.
        Whoever is reading (an export, another process) still needs it: then it is tried again
        by whatever comes next, and the last to close the file empties it in any case."""
        with self._write_lock:
            self._execute(f"PRAGMA busy_timeout = {wait_ms}")
            try:
                ((busy, _, _),) = self._execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                self._execute(f"PRAGMA busy_timeout = {self._busy_timeout_ms}")
            self._unscrubbed = bool(busy)

    # --- another model -----------------------------------------------------------------------

    def unstaged(
        self, bank: str, embedder: str, limit: int, after: int = 0
    ) -> Mapping[int, Memory]:
        return unstaged(self._execute, bank, self._number(bank), embedder, limit, after)

    def unstaged_count(self, bank: str, embedder: str) -> int:
        return unstaged_count(self._execute, self._number(bank), embedder)

    def stage(self, bank: str, embedder: str, vectors: Sequence[StagedVector]) -> None:
        number = self._number(bank)
        with self._transaction() as db:
            stage(db, number, embedder, vectors)

    def switch_model(self, bank: str, model: ModelIdentity) -> bool:
        number = self._number(bank)
        with self._transaction() as db:
            return switch(db, number, model, now_micros())

    def dump(self, bank: str) -> Dump:
        """Read on a connection of its own, in one transaction that ends with the last reader."""
        with translated(self.path):
            db = connect(self.path, self._busy_timeout_ms)
            db.execute("BEGIN")

        def execute(sql: str, arguments: Sequence[Any] = ()) -> list[Any]:
            with translated(self.path):
                return db.execute(sql, arguments).fetchall()

        weakref.finalize(execute, db.close)
        rows = execute("SELECT bank FROM banks WHERE id = ?", (bank,))
        if not rows:
            raise unknown_bank(bank)
        return dump(bank, rows[0][0], execute)

"""One transaction on one connection: what a view reads through, and a commit writes through."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import psycopg

from recollect.errors import StoreError, StoreUnavailable
from recollect.storage.base import ModelIdentity, Usage
from recollect.storage.postgres.connection import Connections, Db, translated, unanswered
from recollect.storage.postgres.queries import query

T = TypeVar("T")
READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITE = b"BEGIN ISOLATION LEVEL READ COMMITTED"


class Head(NamedTuple):
    """A bank's own row."""

    seq: int
    forgot_seq: int
    next_key: int
    next_entity: int
    next_evidence: int
    embedder: str
    dimensions: int
    token_dimensions: int
    size: int
    field_length: list[int]
    field_count: list[int]
    indexed_key: int
    commits: list[UUID]  # the last ones, to tell whether one that was cut off got through
    arriving: str | None
    changes_since: int
    withdrawn: list[int] | None  # keys that nobody may see any more; None: many, or not known

    @property
    def model(self) -> ModelIdentity:
        return self.embedder, self.dimensions, self.token_dimensions


class LocalSettings(NamedTuple):
    """Statements around another one, in the same transaction: what it needs set, and reset."""

    before: Sequence[bytes] = ()
    after: Sequence[bytes] = ()


NO_SETTINGS = LocalSettings()


class Session:
    """Statements of one transaction, one at a time, whichever thread asks."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self._lock = threading.RLock()
        self._connection: Db | None = None
        self.usage = Usage()

    def _begin(self, bank: str, begin: bytes, head: str) -> Head | None:
        """Take a connection, open the transaction and read the bank's row, in one round trip."""
        connection, waited = self.connections.acquire()
        self._connection = connection
        held = self.usage
        self.usage = replace(
            held,
            connections=held.connections + 1,
            max_wait_ms=max(held.max_wait_ms, waited * 1e3),
            round_trips=held.round_trips + 1,
        )
        with translated(self.connections.place), connection.pipeline():
            connection.execute(begin)
            cursor = connection.execute(query(head), {"bank": bank}, binary=True)
            row = cursor.fetchone()
        return None if row is None else Head(*row)

    def fetch(
        self,
        sql: bytes,
        arguments: Mapping[str, Any],
        *,
        prepare: bool | None = None,
        settings: LocalSettings = NO_SETTINGS,
    ) -> list[tuple[Any, ...]]:
        """Rows, in binary form; `settings` hold for this statement, in the same round trip."""
        with self._lock:
            connection = self._connected()
            self.usage = replace(self.usage, round_trips=self.usage.round_trips + 1)
            with translated(self.connections.place):
                if not settings.before:
                    cursor = connection.execute(sql, arguments, prepare=prepare, binary=True)
                    return cursor.fetchall()
                with connection.pipeline():
                    for setting in settings.before:
                        connection.execute(setting)
                    cursor = connection.execute(sql, arguments, prepare=prepare, binary=True)
                    for setting in settings.after:
                        connection.execute(setting)
                return cursor.fetchall()

    def _connected(self) -> Db:
        if self._connection is None:
            raise StoreError("this transaction has ended", hint="ask the store for a new view")
        return self._connection

    def close(self) -> None:
        """End the transaction, and give the connection back. A statement that still runs is of
        an arm that nobody waits for any more: it is told to stop."""
        if not self._lock.acquire(blocking=False):
            running = self._connection
            if running is not None:
                running.cancel_safe(timeout=2.0)
            self._lock.acquire()
        try:
            connection, self._connection = self._connection, None
            if connection is not None:
                try:
                    if not connection.closed:
                        self._end(connection)
                except psycopg.Error:
                    connection.close()  # it is gone already: nothing to end
                finally:
                    self.connections.release(connection)
        finally:
            self._lock.release()

    def _end(self, connection: Db) -> None:
        """Without a trace."""
        connection.rollback()


class ReadSession(Session):
    """One state of the database, however many statements. When the connection is lost on the
    way, another one goes on if the bank has not changed meanwhile: then it is the same state.
    `otherwise` is another server to ask when nobody answers any more; `told` hears of it."""

    def __init__(
        self,
        connections: Connections,
        bank: str,
        otherwise: Connections | None = None,
        told: Callable[[Exception], None] | None = None,
    ) -> None:
        super().__init__(connections)
        self._bank = bank
        self._otherwise = otherwise
        self._told = told
        self._seq: int | None = None

    def open(self) -> Head | None:
        head = self._persist(self._open)
        if head is None:
            self.close()
        else:
            self._seq = head.seq
        return head

    def _open(self) -> Head | None:
        try:
            return self._begin(self._bank, READ, "head")
        except BaseException:
            self.close()
            raise

    def fetch(
        self,
        sql: bytes,
        arguments: Mapping[str, Any],
        *,
        prepare: bool | None = None,
        settings: LocalSettings = NO_SETTINGS,
    ) -> list[tuple[Any, ...]]:
        def once() -> list[tuple[Any, ...]]:
            if self._connection is None:
                self._resume()
            try:
                return super(ReadSession, self).fetch(
                    sql, arguments, prepare=prepare, settings=settings
                )
            except BaseException:
                self.close()
                raise

        with self._lock:
            return self._persist(once)

    def _end(self, connection: Db) -> None:
        """Nothing was changed, so either way is the same; but whoever rolls back has the driver
        forget which statements are prepared, and every recall would have all of them planned anew."""
        connection.commit()

    def _persist(self, work: Callable[[], T]) -> T:
        try:
            return self.connections.persist(work)
        except StoreUnavailable as error:
            if self._otherwise is None or not unanswered(error):
                raise
            if self._told is not None:
                self._told(error)
            self.connections, self._otherwise = self._otherwise, None
            return self.connections.persist(work)

    def _resume(self) -> None:
        head = self._open()
        if head is None or head.seq != self._seq:
            self.close()
            raise StoreUnavailable(
                f"the connection was lost, and bank {self._bank!r} has changed meanwhile",
                hint="ask again: a recall answers from one state of the bank",
            )


class WriteSession(Session):
    """Under the bank's row lock: until it ends, nobody else changes the bank."""

    def lock(self, bank: str) -> Head | None:
        return self._begin(bank, WRITE, "head_locked")

    def run(self, sql: bytes, arguments: Mapping[str, Any] | None = None) -> int:
        """A statement without an answer; gives how many rows it changed."""
        with translated(self.connections.place):
            return self._connected().execute(sql, arguments).rowcount

    def run_many(self, sql: bytes, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            with translated(self.connections.place):
                self._connected().cursor().executemany(sql, rows)

    def copy(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        """Bulk insert; `columns` are names with their types."""
        if not rows:
            return
        names = ", ".join(columns)
        with (
            translated(self.connections.place),
            self._connected().cursor() as cursor,
            cursor.copy(f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)".encode()) as copy,
        ):
            copy.set_types(list(columns.values()))
            for row in rows:
                copy.write_row(row)

    def commit(self) -> None:
        with translated(self.connections.place):
            self._connected().execute("COMMIT")

"""Connections: a bounded pool, taken with patience, and what each failure means."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from struct import pack
from typing import Any, TypeVar

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg.halfvec import HalfVectorBinaryDumper
from psycopg import Connection, errors
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Format
from psycopg.types import TypeInfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from recollect.errors import (
    InvalidInput,
    NotAStore,
    RecollectError,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
)
from recollect.storage.base import Floats
from recollect.telemetry import waited

log = logging.getLogger("recollect.postgres")
T = TypeVar("T")
Db = Connection[tuple[Any, ...]]

POOL = "recollect"
FIRST_WAIT = 0.5  # seconds; doubled with every further try
RECONNECTING = 5.0  # seconds that the pool tries to connect by itself
SLOW = 0.05  # seconds: taking a connection longer than this is worth a line in the log
_LOST = {"57P01", "57P02", "57P03", "25P03", "40001", "40P01"}  # shutdown, start-up, give way


class Lost(Exception):
    """The connection was lost, or the server asked to retry. Either nothing took effect, or
    whoever tries again can find out whether it did."""


class _Quiet(logging.Filter):
    """Keeps the driver from logging every attempt to connect; we log what happens to our pools,
    once."""

    def filter(self, record: logging.LogRecord) -> bool:
        ours = isinstance(record.args, tuple) and record.args[:1] == (POOL,)
        if ours:
            log.debug(record.getMessage())
        return not ours


logging.getLogger("psycopg.pool").addFilter(_Quiet())


class Holders:
    """Which threads hold connections of a store, and how many; shared by its pools."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count: Counter[int] = Counter()

    def holds(self, thread: int) -> bool:
        return self._count[thread] > 0

    def add(self, thread: int, change: int) -> None:
        with self._lock:
            self._count[thread] += change
            if not self._count[thread]:
                del self._count[thread]


class HalfVectors:
    """Rows of a matrix, as one array of vectors."""

    __slots__ = ("rows",)

    def __init__(self, rows: Floats) -> None:
        self.rows = rows


class _ArrayDumper(Dumper):
    """In the server's binary form: hundreds of vectors written as text would cost more than the
    search for their neighbours."""

    format = Format.BINARY
    element = 0

    def dump(self, obj: HalfVectors) -> bytes:
        count, length = obj.rows.shape
        head = [("size", ">i4"), ("length", ">i2"), ("unused", ">i2")]
        sent = np.zeros(count, [*head, ("numbers", ">f2", (length,))])
        sent["size"], sent["length"] = 4 + 2 * length, length
        sent["numbers"] = obj.rows
        dimensions, nulls, first = 1, 0, 1
        return pack(">5i", dimensions, nulls, self.element, count, first) + sent.tobytes()


class Connections:
    """At most `size` connections to one server, and half as many more for whoever holds one
    already: were there one pool for both, enough callers that each hold a view and need another
    connection would wait for each other."""

    def __init__(
        self,
        dsn: str,
        schema: str,
        size: int,
        holders: Holders,
        *,
        patience: float,
        lock_ms: int,
    ) -> None:
        self.place = place(dsn)
        self._holders = holders
        self._schema = schema
        self._lock_ms = lock_ms
        self._patience = patience
        self._info: TypeInfo | None = None
        self._lock = threading.Lock()
        self._taken: dict[int, tuple[Db, ConnectionPool[Db], int]] = {}  # from where, by whom
        self._first = self._pool(dsn, 1, size)
        self._further = self._pool(dsn, 0, max(2, size // 2))

    def _pool(self, dsn: str, least: int, most: int) -> ConnectionPool[Db]:
        return ConnectionPool(
            dsn,
            min_size=least,
            max_size=most,
            open=False,
            configure=self._configure,
            num_workers=1,
            name=POOL,
            timeout=self._patience,
            # Tried anew by whoever waits. The pool's own pauses grow to minutes, and would last
            # on when the server is long back.
            reconnect_timeout=RECONNECTING,
            kwargs={"autocommit": True, "connect_timeout": 10, **_keepalive(dsn)},
        )

    def open(self, within: float | None = None, *, wait: bool = True) -> None:
        within = within or self._patience
        try:
            self._first.open(wait=wait, timeout=within)
        except PoolTimeout as error:
            self._first.close(timeout=0)
            raise StoreUnavailable(
                f"{self.place} cannot be reached within {within:g} s",
                hint="check its address (db, read_dsn), and that the server is up",
            ) from error
        self._further.open()

    def close(self) -> None:
        with self._lock:
            out = [connection for connection, _, _ in self._taken.values()]
        for connection in out:  # of views that somebody still holds
            connection.close()
        for pool in (self._first, self._further):
            pool.close(timeout=2.0)

    def _configure(self, connection: Db) -> None:
        prepare_session(connection, self._schema, self._lock_ms)
        if self._info is None:
            self._info = TypeInfo.fetch(connection, "halfvec")
        if self._info is not None:
            self._info.register(connection)
            # Vectors go out as the server takes them; they come back as the bytes it sends.
            kind = type("HalfVectors", (HalfVectorBinaryDumper,), {"oid": self._info.oid})
            connection.adapters.register_dumper(HalfVector, kind)
            of = {"oid": self._info.array_oid, "element": self._info.oid}
            connection.adapters.register_dumper(HalfVectors, type("ArrayOf", (_ArrayDumper,), of))

    # --- taking one --------------------------------------------------------------------------

    def acquire(self) -> tuple[Db, float]:
        """A connection and the seconds it took to get it. Tried again and again, each time with
        more patience: under pressure a call gets slower, not wrong."""
        began, wait, me = time.perf_counter(), FIRST_WAIT, threading.get_ident()
        pool = self._further if self._holders.holds(me) else self._first
        while True:
            left = self._patience - (time.perf_counter() - began)
            try:
                connection = pool.getconn(timeout=max(0.01, min(wait, left)))
                break
            except PoolClosed as error:
                raise StoreError(
                    f"{self.place} is closed", hint="open it again with recollect.open()"
                ) from error
            except (PoolTimeout, TooManyRequests) as error:
                if left <= wait:
                    raise self._exhausted(pool) from error
                gc.collect()  # views in cycles, of tracebacks mostly, give theirs back only then
                wait *= 2
        self._holders.add(me, +1)
        with self._lock:
            self._taken[id(connection)] = (connection, pool, me)
        took = time.perf_counter() - began
        waited("connection", took)
        if took > SLOW:
            log.warning("waited %.0f ms for a connection: %s", took * 1e3, _state(pool))
        return connection, took

    def release(self, connection: Db) -> None:
        """May be called from any thread: a view may be closed on another one than it was opened
        on."""
        with self._lock:
            _, pool, owner = self._taken.pop(id(connection))
        self._holders.add(owner, -1)
        pool.putconn(connection)

    def _exhausted(self, pool: ConnectionPool[Db]) -> StoreUnavailable:
        return StoreUnavailable(
            f"no connection to {self.place} within {self._patience:g} s ({_state(pool)})",
            hint="is the server up? under load, raise pool_size or run fewer callers at once",
        )

    # --- using one ---------------------------------------------------------------------------

    def fetch(self, sql: bytes, given: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self.attempt(lambda db: db.execute(sql, given).fetchall())

    def run(self, sql: bytes, given: Mapping[str, Any]) -> int:
        """A statement without an answer; gives how many rows it changed."""
        return self.attempt(lambda db: db.execute(sql, given).rowcount)

    def attempt(self, work: Callable[[Db], T]) -> T:
        """Run `work` on a connection, and again on another if that one is lost. For work that
        may be done twice."""
        return self.persist(lambda: self._once(work))

    def _once(self, work: Callable[[Db], T]) -> T:
        connection, _ = self.acquire()
        try:
            with translated(self.place):
                return work(connection)
        finally:
            self.release(connection)

    def persist(self, work: Callable[[], T]) -> T:
        """Run `work` until it does not raise `Lost`: first at once, then after longer and longer
        pauses."""
        began, wait, tries = time.perf_counter(), FIRST_WAIT, 0
        while True:
            try:
                return work()
            except Lost as lost:
                tries += 1
                if time.perf_counter() - began + wait > self._patience:
                    raise StoreUnavailable(
                        f"{self.place} does not answer: {lost}",
                        hint="what was acknowledged is safe; try again when the server is back",
                    ) from lost
                if lost.__cause__ is not None:  # its frames hold the view, and that a connection
                    lost.__cause__.__traceback__ = None
                log.warning("lost a connection to %s (%s), trying again", self.place, lost)
                for pool in (self._first, self._further):
                    pool.check()  # others may have gone the same way
                if tries > 1:
                    time.sleep(wait)
                    wait *= 2


def _state(pool: ConnectionPool[Db]) -> str:
    held = pool.get_stats()
    return (
        f"{held.get('pool_size', 0)} of {pool.max_size} in the pool,"
        f" {held.get('pool_available', 0)} idle, {held.get('requests_waiting', 0)} waiting"
    )


def prepare_session(connection: Db, schema: str, lock_ms: int) -> None:
    """Put our schema first in the search path, before the role's own (pgvector may be anywhere).
    Turn off parallel workers and JIT: starting them costs more than our statements."""
    connection.execute(
        """SELECT set_config('search_path', quote_ident(%s) || ', ' || current_setting('search_path'), false),
          set_config('lock_timeout', %s, false), set_config('jit', 'off', false),
          set_config('max_parallel_workers_per_gather', '0', false)""",
        (schema, str(lock_ms)),
    )


def place(dsn: str) -> str:
    """Server and database in a form that may be shown, without a password."""
    try:
        told = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as error:
        raise StoreError(
            f"this is no PostgreSQL address: {error}".strip(),
            hint="postgresql://user@host:5432/database",
        ) from error
    host = told.get("host") or told.get("hostaddr") or "localhost"
    return f"postgresql://{host}/{told.get('dbname') or told.get('user') or ''}"


def _keepalive(dsn: str) -> dict[str, Any]:
    """A peer that vanished without a word is noticed in a minute, unless the DSN says otherwise."""
    given = conninfo_to_dict(dsn)
    wanted: dict[str, Any] = {
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "application_name": "recollect",
    }
    return {name: value for name, value in wanted.items() if name not in given}


class translated:
    """psycopg's errors in our words; a lost connection as `Lost`."""

    __slots__ = ("_place",)

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, psycopg.Error):
            if is_lost(error):
                raise Lost(first_line(error)) from error
            raise explained(error, self._place) from error


def unanswered(error: StoreUnavailable) -> bool:
    """Whether no server answered, as opposed to a statement being stopped: then another server
    may."""
    return isinstance(error.__cause__, Lost | PoolTimeout | TooManyRequests)


def is_lost(error: psycopg.Error) -> bool:
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError)
    return state in _LOST or state.startswith("08")


def first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[0]


def explained(error: psycopg.Error, place: str) -> RecollectError:
    text, state = first_line(error), error.sqlstate or ""
    if isinstance(error, errors.LockNotAvailable):
        return StoreLocked(
            f"{place}: somebody else is writing to this bank and did not finish in time",
            hint="wait for it, or raise busy_timeout_ms",
        )
    if isinstance(error, errors.QueryCanceled):
        return StoreUnavailable(
            f"{place}: {text}", hint="raise the role's statement_timeout, or ask for less at once"
        )
    if state.startswith("53") or isinstance(error, errors.IoError):
        return StoreFull(
            f"{place}: {text}; nothing of this call was stored",
            hint="free room on the server and retry: everything acknowledged before is safe",
        )
    if isinstance(error, psycopg.DataError):
        return InvalidInput(
            f"PostgreSQL cannot hold this: {text}", hint="leave out NUL characters, in ids as well"
        )
    if isinstance(error, errors.ReadOnlySqlTransaction | errors.InsufficientPrivilege):
        return StoreReadOnly(
            f"{place}: {text}", hint="write to the primary, as a role that may: docs/postgres.md"
        )
    if isinstance(error, errors.UndefinedTable | errors.UndefinedColumn | errors.UndefinedFunction):
        return NotAStore(
            f"{place}: {text}", hint="the tables are not recollect's; give another database"
        )
    return StoreError(f"{place}: {text}", hint="this should not happen; please report it")

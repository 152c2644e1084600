"""Where recalls read when there is a replica: there, while it answers and knows what this
process has written; otherwise on the primary."""

from __future__ import annotations

import threading
from collections import OrderedDict

import psycopg
from psycopg import sql

from recollect.errors import NotAStore, StoreError, StoreUnavailable
from recollect.storage.postgres.connection import Connections, first_line, log, place, translated
from recollect.storage.postgres.session import Head, ReadSession

PATIENCE = 2.0  # seconds for a replica: there is another server to ask
CONNECTING = 2  # seconds
PAUSE = 5.0  # seconds between two looks whether one that was lost is back
REMEMBERED = 4096  # banks whose last change by this process is known
_STANDING = """SELECT pg_is_in_recovery(), to_regclass(%s) IS NOT NULL,
  pg_size_pretty(nullif(pg_last_wal_receive_lsn() - pg_last_wal_replay_lsn(), 0))"""


class Replica:
    def __init__(self, dsn: str, connections: Connections, primary: Connections) -> None:
        self.connections = connections
        self._dsn = dsn
        self._primary = primary
        self._lock = threading.Lock()
        self._written: OrderedDict[str, int] = OrderedDict()
        self._closed = threading.Event()
        self._up = True

    def start(self, within: float) -> None:
        """A replica that is down must not keep a store from being opened: the primary answers."""
        try:
            psycopg.connect(self._dsn, connect_timeout=CONNECTING).close()
        except psycopg.Error as error:
            self.connections.open(wait=False)
            self._lost(error)
        else:
            self.connections.open(within)

    def wrote(self, bank: str, seq: int) -> None:
        """This process has brought the bank to `seq`: no recall of it may read an earlier state."""
        with self._lock:
            self._written[bank] = seq
            self._written.move_to_end(bank)
            while len(self._written) > REMEMBERED:
                self._written.popitem(last=False)

    def open(self, bank: str) -> tuple[ReadSession, Head | None]:
        """A session on the newest state of the bank that is available, and the bank's row."""
        if self._up:
            session = ReadSession(self.connections, bank, self._primary, self._lost)
            try:
                head = session.open()
            except NotAStore:  # so far behind that it has not even the tables
                head = None
            if session.connections is self._primary or self._knows(bank, head):
                return session, head
            session.close()
        session = ReadSession(self._primary, bank)
        return session, session.open()

    def _knows(self, bank: str, head: Head | None) -> bool:
        return (
            head is not None
            and head.arriving is None
            and head.seq >= self._written.get(bank, head.seq)
        )

    # --- gone, and back ------------------------------------------------------------------------

    def _lost(self, error: Exception) -> None:
        with self._lock:
            if not self._up or self._closed.is_set():
                return
            self._up = False
        log.warning(
            "the replica %s is gone (%s): recalls read from the primary until it is back",
            self.connections.place,
            first_line(error),
        )
        threading.Thread(target=self._watch, name="recollect-replica", daemon=True).start()

    def _watch(self) -> None:
        """On a thread of its own, so that no recall pays for finding out. The first look is at
        once: a pool that was only full counts as back."""
        while not self._closed.is_set():
            try:
                psycopg.connect(self._dsn, connect_timeout=CONNECTING).close()
            except psycopg.Error:
                self._closed.wait(PAUSE)
                continue
            self._up = True
            log.warning("%s answers again: recalls read there", self.connections.place)
            return

    def close(self) -> None:
        self._closed.set()
        self.connections.close()


def described(dsn: str, schema: str) -> str:
    """The state of the replica in a line, for its administrators."""
    where = place(dsn)
    try:
        db = psycopg.connect(dsn, autocommit=True, connect_timeout=CONNECTING)
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"{where} cannot be reached: {first_line(error)}",
            hint="recalls read from the primary meanwhile; check read_dsn, and that the server is up",
        ) from error
    table = sql.Identifier(schema, "banks").as_string(db)
    with db, translated(where):
        follows, there, behind = db.execute(_STANDING, (table,)).fetchone() or (False, False, None)
    if not follows or not there:
        raise StoreError(
            f"{where} " + ("holds no recollect store" if follows else "follows no other server"),
            hint="read_dsn is for a streaming replica of db",
        )
    return f"{where}: follows the primary, {behind or 'nothing'} of its log not replayed yet"

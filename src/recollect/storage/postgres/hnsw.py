"""HNSW indexes: one for each large bank by itself, over its vectors up to a key.

A graph over all banks would be searched through other banks' memories; and inserting into a graph
costs as much as ten retains. So an index is made of what is there, beside the traffic, and what
comes later is searched exactly until so much has come that another one pays. While many memories
come in nobody needs one yet: it is made when the bank is left alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from hashlib import blake2b

from psycopg import sql

from recollect.errors import RecollectError
from recollect.storage.postgres.connection import Connections, Db, log
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.search import LOOKED_AT
from recollect.storage.postgres.session import Head

WORTH_IT = LOOKED_AT  # memories: below, looking at each is as fast
GROWN = 0.25  # of the bank: so much may be searched exactly before the index is made anew
QUIET = 5.0  # seconds that nobody has written to the bank
LONGEST = 1800.0  # seconds that one waits for that
PAUSE = 600.0  # seconds until one that could not be made is tried again
M, EF_CONSTRUCTION = 16, 100
MEMORY = "512MB"  # for making one


def is_due(head: Head) -> bool:
    unindexed = head.next_key - 1 - head.indexed_key
    return head.size >= WORTH_IT and unindexed >= max(WORTH_IT, GROWN * head.size)


class Indexing:
    """Indexes made beside the traffic, on a thread of their own; one at a time for each bank."""

    def __init__(self, connections: Connections, *, by_itself: bool) -> None:
        self._connections = connections
        self._by_itself = by_itself
        self._lock = threading.Lock()
        self._due: set[str] = set()  # banks that have outgrown their index
        self._failed: dict[str, float] = {}  # when making one failed last
        self._written: dict[str, float] = {}  # when this process wrote to it last
        self._running: dict[str, threading.Thread] = {}
        self._closed = threading.Event()

    def look_at(self, bank: str, head: Head, *, written: bool = False) -> None:
        if self._by_itself and is_due(head):
            self._due.add(bank)
            if written:
                self._written[bank] = time.monotonic()

    def make_if_due(self, bank: str) -> None:
        if bank not in self._due or time.monotonic() < self._failed.get(bank, -PAUSE) + PAUSE:
            return
        with self._lock:
            running = self._running.get(bank)
            if running is not None and running.is_alive():
                return
            self._due.discard(bank)
            name = f"recollect-index-{bank}"
            thread = threading.Thread(target=self._make, args=(bank,), name=name, daemon=True)
            self._running[bank] = thread
        thread.start()

    def _make(self, bank: str) -> None:
        if not self._left_alone(bank):
            return
        try:
            build(self._connections, bank, if_due=True)
        except RecollectError as error:  # searches stay exact; after a while it is tried again
            self._failed[bank] = time.monotonic()
            log.warning("bank %r could not be indexed: %s", bank, error.message)

    def _left_alone(self, bank: str) -> bool:
        """Wait until nobody writes to the bank. False when the store was closed meanwhile."""
        begun = time.monotonic()
        while True:
            until = min(max(self._written.get(bank, 0), begun) + QUIET, begun + LONGEST)
            left = until - time.monotonic()
            if left <= 0:
                self._written.pop(bank, None)
                return True
            if self._closed.wait(left):
                return False

    def close(self) -> None:
        self._closed.set()

    def wait(self, bank: str, timeout: float | None = None) -> None:
        """Wait until the index that is being built for the bank is there, or has failed."""
        running = self._running.get(bank)
        if running is not None:
            running.join(timeout)


def prefix(bank: str) -> str:
    """What the names of a bank's indexes begin with."""
    return f"features_hnsw_{blake2b(bank.encode(), digest_size=8).hexdigest()}_"


def build(connections: Connections, bank: str, *, if_due: bool = False) -> int:
    """Build a bank's index over everything it holds now. Returns the key it reaches, 0 when
    another process is already building it. Writers need not wait for it."""

    def work(db: Db) -> int:
        lock = prefix(bank)
        (ours,) = db.execute("SELECT pg_try_advisory_lock(hashtext(%s))", (lock,)).fetchone() or (
            False,
        )
        if not ours:
            return 0
        try:
            return _build(db, bank, if_due=if_due)
        finally:
            db.execute("SELECT pg_advisory_unlock(hashtext(%s))", (lock,))

    return connections.attempt(work)


def _build(db: Db, bank: str, *, if_due: bool) -> int:
    row = db.execute(query("head"), {"bank": bank}).fetchone()
    if row is None:
        return 0
    head = Head(*row)
    upto = head.next_key - 1
    drop(db, bank, keep=head.indexed_key)  # what a builder that died left behind
    nothing_new = not head.size or upto == head.indexed_key
    if nothing_new or (if_due and not is_due(head)):  # another process may have made one
        return head.indexed_key
    name = f"{prefix(bank)}{upto}"
    log.info("indexing bank %r up to memory %d", bank, upto)
    with _set(db, {"maintenance_work_mem": MEMORY, "lock_timeout": "0", "statement_timeout": "0"}):
        db.execute(
            sql.SQL(
                "CREATE INDEX CONCURRENTLY {name} ON features USING hnsw ((vector::halfvec({n})) halfvec_ip_ops)"
                " WITH (m = {m}, ef_construction = {ef}) WHERE bank_id = {bank} AND key <= {upto}"
            ).format(
                name=sql.Identifier(name),
                n=sql.Literal(head.dimensions),
                m=sql.Literal(M),
                ef=sql.Literal(EF_CONSTRUCTION),
                bank=sql.Literal(bank),
                upto=sql.Literal(upto),
            )
        )
    given = {"bank": bank, "key": upto, "dimensions": head.dimensions}
    db.execute(query("set_indexed"), given)
    drop(db, bank, keep=upto)
    return upto


def drop(db: Db, bank: str, *, keep: int = 0) -> None:
    """Drop a bank's indexes, except the one that reaches `keep`."""
    rows = db.execute(
        """SELECT i.relname FROM pg_class i JOIN pg_index x ON x.indexrelid = i.oid
        WHERE x.indrelid = 'features'::regclass AND starts_with(i.relname, %s)""",
        (prefix(bank),),
    ).fetchall()
    for (name,) in rows:
        if name != f"{prefix(bank)}{keep}":
            db.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))


@contextmanager
def _set(db: Db, wanted: Mapping[str, str]) -> Generator[None]:
    """Settings of the session for as long as this lasts."""
    change = "SELECT set_config(%s, %s, false)"
    held = {
        name: (db.execute("SELECT current_setting(%s)", (name,)).fetchone() or ("",))[0]
        for name in wanted
    }
    for pair in wanted.items():
        db.execute(change, pair)
    try:
        yield
    finally:
        if not db.closed:
            for pair in held.items():
                db.execute(change, pair)

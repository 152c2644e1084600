"""HNSW indexes: one for each large bank by itself, over its vectors up to a key.

A graph over all banks would be searched through other banks' memories; and inserting into a graph
costs as much as ten retains. So an index is made of what is there, beside the traffic, and what
comes later is searched exactly until so much has come that another one pays.
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
PAUSE = 600.0  # seconds until one that could not be made is tried again
M, EF_CONSTRUCTION = 16, 100


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
        self._running: dict[str, threading.Thread] = {}

    def look_at(self, bank: str, head: Head) -> None:
        if self._by_itself and is_due(head):
            self._due.add(bank)

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
        try:
            build(self._connections, bank)
        except RecollectError as error:  # searches stay exact; after a while it is tried again
            self._failed[bank] = time.monotonic()
            log.warning("bank %r could not be indexed: %s", bank, error.message)

    def wait(self, bank: str, timeout: float | None = None) -> None:
        """Until the index that is being made of the bank is there, or could not be made."""
        running = self._running.get(bank)
        if running is not None:
            running.join(timeout)


def prefix(bank: str) -> str:
    """Of the names of a bank's indexes."""
    return f"features_hnsw_{blake2b(bank.encode(), digest_size=8).hexdigest()}_"


def build(connections: Connections, bank: str, *, memory: str = "512MB") -> int:
    """Make a bank's index of everything it holds now; gives the key it reaches. Nobody waits for
    it, and one process at a time makes it: 0 when another one is at it."""

    def work(db: Db) -> int:
        lock = prefix(bank)
        (ours,) = db.execute("SELECT pg_try_advisory_lock(hashtext(%s))", (lock,)).fetchone() or (
            False,
        )
        if not ours:
            return 0
        try:
            return _build(db, bank, memory)
        finally:
            db.execute("SELECT pg_advisory_unlock(hashtext(%s))", (lock,))

    return connections.attempt(work)


def _build(db: Db, bank: str, memory: str) -> int:
    row = db.execute(query("head"), {"bank": bank}).fetchone()
    if row is None:
        return 0
    head = Head(*row)
    upto = head.next_key - 1
    drop(db, bank, keep=head.indexed_key)  # what a builder that died left behind
    if not head.size or upto == head.indexed_key:
        return head.indexed_key
    name = f"{prefix(bank)}{upto}"
    log.info("indexing bank %r up to memory %d", bank, upto)
    with _set(db, {"maintenance_work_mem": memory, "lock_timeout": "0", "statement_timeout": "0"}):
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
    """A bank's indexes, but for the one that reaches `keep`."""
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
    """Settings of the session for a while: it may well take minutes."""
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

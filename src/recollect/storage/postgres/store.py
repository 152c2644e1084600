"""The store on PostgreSQL: everything in the database; in the process the names it knows, and the
indexes of banks that it searches often."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID, uuid4

import orjson
from pgvector import HalfVector

from recollect.errors import NotFound, StoreUnavailable
from recollect.language.dates import now_micros
from recollect.storage.bank_row import settings_after
from recollect.storage.base import (
    Batch,
    Dump,
    ModelIdentity,
    Plan,
    StagedVector,
    View,
    Writing,
)
from recollect.storage.memory_row import memory_from_row
from recollect.storage.postgres import hnsw
from recollect.storage.postgres.connection import Connections, Holders, place
from recollect.storage.postgres.dump import dump
from recollect.storage.postgres.held_view import HeldView
from recollect.storage.postgres.holding import Holding
from recollect.storage.postgres.keyring import PostgresKeyRing
from recollect.storage.postgres.lists import Lists
from recollect.storage.postgres.names import Names
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.queue import PostgresQueue
from recollect.storage.postgres.replica import PATIENCE as REPLICA_PATIENCE
from recollect.storage.postgres.replica import Replica
from recollect.storage.postgres.schema import TABLES, prepare
from recollect.storage.postgres.session import Head, ReadSession, WriteSession
from recollect.storage.postgres.view import PostgresView
from recollect.storage.postgres.write import REMEMBERED, write
from recollect.storage.postgres.writing import HeldWritingView, WritingView
from recollect.storage.refusals import bank_exists, unknown_bank, went_on_elsewhere
from recollect.types import Bank, Memory

T = TypeVar("T")
PATIENCE = 30.0  # seconds


class PostgresStore(Lists):
    def __init__(
        self,
        dsn: str,
        *,
        model: Callable[[], ModelIdentity],
        read_dsn: str | None = None,
        schema: str = "recollect",
        pool_size: int = 8,
        busy_timeout_ms: int = 30_000,
        held_facts: int = 2_000_000,
        patience: float = PATIENCE,
        auto_index: bool = True,
    ) -> None:
        self.place = place(dsn)
        self._model = model
        self._holding = Holding(held_facts)
        self._names = Names(changed=self._holding.rename)
        prepare(dsn, schema)

        holders = Holders()

        def pool(to: str, size: int, patience: float = patience) -> Connections:
            return Connections(
                to, schema, size, holders, patience=patience, lock_ms=busy_timeout_ms
            )

        # A view holds its connection while it lives, and whoever holds a view may commit: were
        # both from one pool, enough callers at once would wait for each other.
        self._writing = pool(dsn, max(2, pool_size // 2))
        self._reading = pool(dsn, pool_size)
        self._replica: Replica | None = None
        if read_dsn is not None:
            there = pool(read_dsn, pool_size, min(patience, REPLICA_PATIENCE))
            self._replica = Replica(read_dsn, there, self._reading)
        self._writing.open()
        self._reading.open()
        if self._replica is not None:
            self._replica.start(patience)
        self._indexing = hnsw.Indexing(self._writing, by_itself=auto_index)
        self.queue = PostgresQueue(self._writing)
        self.keys = PostgresKeyRing(self._writing)

    def close(self) -> None:
        self._indexing.close()
        if self._replica is not None:
            self._replica.close()
        self._writing.close()
        self._reading.close()

    # --- banks -------------------------------------------------------------------------------

    def create_bank(
        self, bank: str, config: Mapping[str, Any] | None = None, model: ModelIdentity | None = None
    ) -> Bank:
        self._insert_bank(bank, config or {}, model or self._model(), None)
        found = self.bank(bank)
        if found is None:
            raise bank_exists(bank)
        return found

    def _insert_bank(
        self, bank: str, config: Mapping[str, Any], model: ModelIdentity, arriving: str | None
    ) -> int:
        given = {
            "bank": bank,
            "embedder": model[0],
            "dimensions": model[1],
            "token_dimensions": model[2],
            "config": orjson.dumps(config).decode(),
            "arriving": arriving,
            "now": now_micros(),
        }
        return self._writing.run(query("insert_bank"), given)

    def configure_bank(self, bank: str, config: Mapping[str, Any], *, merge: bool = False) -> Bank:
        def work(session: WriteSession, head: Head) -> None:
            if head.arriving is not None:
                raise unknown_bank(bank)
            ((held,),) = session.fetch(query("config"), {"bank": bank})
            wanted = orjson.dumps(settings_after(held, config, merge=merge)).decode()
            given = {"bank": bank, "config": wanted, "now": now_micros()}
            session.run(query("configure_bank"), given)
            self._wrote(bank, head.seq + 1)

        self._transaction(bank, work)
        return self._there(bank)

    def delete_bank(self, bank: str) -> bool:
        def work(session: WriteSession, head: Head) -> None:
            for table in reversed(TABLES):  # the bank's own row last
                session.run(
                    f"DELETE FROM {table} t WHERE t.bank_id = %(bank)s".encode(), {"bank": bank}
                )
            self._wrote(bank, head.seq + 1)  # a replica that still has it is behind

        try:
            self._transaction(bank, work)
        except NotFound:
            return False
        finally:
            self._names.drop(bank)
            self._holding.drop(bank)
        self._writing.attempt(lambda db: hnsw.drop(db, bank))
        return True

    def model_of(self, bank: str) -> ModelIdentity:
        rows = self._fetch("model", bank=bank)
        if not rows:
            raise unknown_bank(bank)
        name, dimensions, token_dimensions = rows[0]
        return name, dimensions, token_dimensions

    # --- a bank in the making ------------------------------------------------------------------

    def begin(self, bank: str, config: Mapping[str, Any], model: ModelIdentity, note: str) -> None:
        if not self._insert_bank(bank, config, model, note) and self.arriving(bank) != note:
            raise bank_exists(bank)

    def arriving(self, bank: str) -> str | None:
        rows = self._fetch("arriving", bank=bank)
        return rows[0][0] if rows else None

    def arrivals(self) -> Sequence[str]:
        return [bank for (bank,) in self._fetch("arrivals")]

    def bring(self, bank: str, batch: Batch, was: str, note: str | None) -> None:
        """No view and no plan: there is nothing to decide about rows that were decided elsewhere."""

        def work(session: WriteSession, head: Head, commit: UUID) -> int:
            if head.arriving != was:
                raise went_on_elsewhere(bank)
            seq, _ = self._write(session, bank, head, batch, commit)
            session.run(query("note_arrival"), {"bank": bank, "note": note})
            return seq

        self._commit(bank, work)

    # --- views -------------------------------------------------------------------------------

    def view(self, bank: str) -> View:
        return self._view(self._reading, bank)

    def recall_view(self, bank: str) -> View:
        """From the replica where there is one, which may be a moment behind other processes."""
        view = self._seen(bank, *self._for_recall(bank))
        if not isinstance(view, HeldView) and self._holding.pays(bank, view.head):
            self._holding.take_aside(bank, self.hold)
        self._indexing.look_at(bank, view.head)
        self._indexing.make_if_due(bank)
        return view

    def hold(self, bank: str) -> bool:
        """Read what search needs of a bank into this process, now; False when that is more than
        may be held."""
        session, head = self._for_recall(bank)
        try:
            if head is None:
                raise unknown_bank(bank)
            return self._holding.take(bank, head, session) is not None
        finally:
            session.close()

    def _for_recall(self, bank: str) -> tuple[ReadSession, Head | None]:
        if self._replica is not None:
            return self._replica.open(bank)
        session = ReadSession(self._reading, bank)
        return session, session.open()

    def _view(
        self, connections: Connections, bank: str, *, arriving: bool = False
    ) -> PostgresView | HeldView:
        session = ReadSession(connections, bank)
        return self._seen(bank, session, session.open(), arriving=arriving)

    def _seen(
        self, bank: str, session: ReadSession, head: Head | None, *, arriving: bool = False
    ) -> PostgresView | HeldView:
        if head is None or (head.arriving is not None and not arriving):
            session.close()
            raise unknown_bank(bank)
        try:
            names = self._names.of(bank, head, session)
            held = self._holding.of(bank, head, session)
            if held is None:
                view = PostgresView(bank, head, session, names)
            else:
                view = HeldView(bank, head, session, names, held)
            weakref.finalize(view, session.close)
            return view
        except BaseException:
            session.close()
            raise

    # --- commits -----------------------------------------------------------------------------

    def commit(self, bank: str, plan: Plan) -> int:
        gone = 0  # kept here: who finds the transaction committed does not write it again

        def work(session: WriteSession, head: Head, commit: UUID) -> int:
            nonlocal gone
            if head.arriving is not None:
                raise unknown_bank(bank)
            batch = plan(self._writing_view(bank, head, session))
            seq, gone = self._write(session, bank, head, batch, commit)
            return seq

        try:
            self._commit(bank, work)
        except BaseException:
            # A plan teaches the resolver names as it goes; when nothing was written, none are known.
            self._names.drop(bank)
            raise
        self._indexing.make_if_due(bank)
        return gone

    def _writing_view(self, bank: str, head: Head, session: WriteSession) -> Writing:
        names = self._names.of(bank, head, session)
        held = self._holding.of(bank, head, session)
        if held is not None:
            return HeldWritingView(bank, head, session, names, held)
        return WritingView(bank, head, session, names, self._holding)

    def _commit(self, bank: str, work: Callable[[WriteSession, Head, UUID], int]) -> int:
        """One durable transaction. When the connection is lost, even while it was being
        committed, the bank's row tells whether it got through; if not, it is done again."""
        commit, first = uuid4(), list[int]()

        def once(session: WriteSession, head: Head) -> int:
            if commit in head.commits:
                return head.seq
            if first and head.seq - first[0] >= REMEMBERED:
                raise StoreUnavailable(
                    f"the connection was lost while bank {bank!r} was written, and so much has "
                    "been written since that nobody can tell whether this was",
                    hint="look whether it is there; retaining a dated fact again changes nothing",
                )
            first.append(head.seq)
            return work(session, head, commit)

        seq = self._transaction(bank, once)
        self._wrote(bank, seq)
        return seq

    def _wrote(self, bank: str, seq: int) -> None:
        if self._replica is not None:
            self._replica.wrote(bank, seq)

    def _transaction(
        self,
        bank: str,
        work: Callable[[WriteSession, Head], T],
    ) -> T:
        """`work` under the bank's lock, again when the connection was lost on the way."""

        def once() -> T:
            session = WriteSession(self._writing)
            try:
                head = session.lock(bank)
                if head is None:
                    raise unknown_bank(bank)
                result = work(session, head)
                session.commit()
                return result
            finally:
                session.close()

        return self._writing.persist(once)

    def _write(
        self, session: WriteSession, bank: str, head: Head, batch: Batch, commit: UUID
    ) -> tuple[int, int]:
        after, gone = write(session, bank, head, batch, commit)
        self._indexing.look_at(bank, after, written=True)
        return after.seq, gone

    def dump(self, bank: str) -> Dump:
        return dump(self._view(self._reading, bank, arriving=True))

    # --- another model -----------------------------------------------------------------------

    def unstaged(
        self, bank: str, embedder: str, limit: int, after: int = 0
    ) -> Mapping[int, Memory]:
        self._there(bank)
        rows = self._fetch("unstaged", bank=bank, embedder=embedder, limit=limit, after=after)
        return {row[0]: memory_from_row(bank, row, ()) for row in rows}

    def unstaged_count(self, bank: str, embedder: str) -> int:
        self._there(bank)
        return self._fetch("unstaged_count", bank=bank, embedder=embedder)[0][0]

    def stage(self, bank: str, embedder: str, vectors: Sequence[StagedVector]) -> None:
        """A memory deleted meanwhile is passed over."""
        rows = [
            {
                "bank": bank,
                "key": v.key,
                "embedder": embedder,
                "vector": HalfVector(v.vector),
                "tokens": None if v.tokens is None else v.tokens.tobytes(),
            }
            for v in vectors
        ]

        def work(session: WriteSession, _: Head) -> None:
            session.run_many(query("stage"), rows)

        self._transaction(bank, work)

    def switch_model(self, bank: str, model: ModelIdentity) -> bool:
        """Make the staged vectors the bank's; False when some memory has none yet."""
        sizes = {"dimensions": model[1], "token_dimensions": model[2]}
        given = {"bank": bank, "embedder": model[0], **sizes}

        def work(session: WriteSession, head: Head) -> bool:
            # Under one name a service may have another model by the time that making them goes on; and
            # token vectors may be wanted by then.
            session.run(query("drop_misfits"), given)
            if session.fetch(query("missing_staged"), given)[0][0]:
                return False
            for name in ("switch_vectors", "switch_tokens", "clear_staged"):
                session.run(query(name), given)
            session.run(query("switch_bank"), given | {"now": now_micros()})
            self._wrote(bank, head.seq + 1)
            return True

        self._unindex(bank)  # its index holds vectors of the old length, and would refuse others
        return self._transaction(bank, work)

    # --- the index of a large bank -------------------------------------------------------------

    def index(self, bank: str) -> int:
        """Make a bank's vector index now; gives the key it reaches."""
        self._there(bank)
        return hnsw.build(self._writing, bank)

    def _unindex(self, bank: str) -> None:
        head = self._transaction(bank, lambda session, head: self._no_index(session, bank, head))
        if head.indexed_key:
            self._writing.attempt(lambda db: hnsw.drop(db, bank))

    def _no_index(self, session: WriteSession, bank: str, head: Head) -> Head:
        given = {"bank": bank, "key": 0, "dimensions": head.dimensions}
        session.run(query("set_indexed"), given)
        return head

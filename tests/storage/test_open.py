"""Opening a file: versions, migrations, and a clear error for everything that can be wrong."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import recollect
from recollect.errors import (
    ConfigError,
    InvalidInput,
    NewerStore,
    NotAStore,
    NotFound,
    RecollectError,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
)
from recollect.storage.sqlite import connection as opening
from recollect.testing import open_fake

FIRST = Path(__file__).parent / "data" / "format-1.db"


def test_a_store_closed_and_opened_again_holds_what_it_held(db: Path) -> None:
    with open_fake(db) as memory:
        memory.retain("b", "Bob runs.")
    with open_fake(db) as memory:
        assert [h.text for h in memory.recall("b", "Who runs?")] == ["Bob runs."]


def test_the_folder_is_made_when_it_is_missing(tmp_path: Path) -> None:
    with open_fake(tmp_path / "new" / "deep" / "m.db") as memory:
        memory.retain("b", "Bob runs.")


def test_an_in_memory_store_leaves_nothing_behind(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with open_fake(":memory:") as memory:
        memory.retain("b", "Bob runs.")
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_a_closed_store_says_so(memory: recollect.Recollect) -> None:
    memory.retain("b", "Bob runs.")
    memory.close()
    with pytest.raises(StoreError, match="closed"):
        memory.recall("b", "x")


# --- versions ----------------------------------------------------------------------------------


def test_a_store_of_the_first_format_opens_and_answers(tmp_path: Path) -> None:
    copy = tmp_path / "old.db"
    copy.write_bytes(FIRST.read_bytes())
    with open_fake(copy) as memory:
        assert [h.text for h in memory.recall("old", "Who sails?")] == ["Cara sails at night."]
        assert memory.document("old", "note").text == "Bob runs. Dan swims."
        (opinion,) = memory.memories("old", type="opinion")
        assert opinion.confidence == 0.6
        memory.retain("old", "Eve climbs.")
        assert memory.recall("old", "Who climbs?").results[0].text == "Eve climbs."


def test_token_vectors_of_an_older_format_are_made_anew_by_reembedding(tmp_path: Path) -> None:
    copy = tmp_path / "old.db"
    copy.write_bytes(FIRST.read_bytes())
    with open_fake(copy) as memory:
        vectors = "SELECT count(*) FROM tokens"
        raw = sqlite3.connect(copy)
        assert raw.execute(vectors).fetchone() == (0,)
        assert memory.recall("old", "Who sails?").results[0].text == "Cara sails at night."
        made = memory.reembed("old")
        assert raw.execute(vectors).fetchone() == (made,) != (0,)
        raw.close()


def test_a_newer_file_is_refused_with_the_way_out(db: Path) -> None:
    open_fake(db).close()
    raw = sqlite3.connect(db)
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    with pytest.raises(NewerStore, match="format 99") as raised:
        open_fake(db)
    assert "upgrade" in (raised.value.hint or "")


@pytest.fixture
def one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release with one more migration than this one."""
    known = opening.migrations()
    more = (
        "CREATE TABLE extra (x INTEGER) STRICT;\nINSERT INTO extra SELECT count(*) FROM memories;\n"
    )
    monkeypatch.setattr(opening, "migrations", lambda: [*known, (known[-1][0] + 1, more)])


def test_an_older_file_is_brought_up_to_date_with_its_content(
    db: Path, request: pytest.FixtureRequest
) -> None:
    with open_fake(db) as memory:
        memory.retain("b", "Bob runs.")
    request.getfixturevalue("one_more")
    with open_fake(db) as memory:
        assert memory.recall("b", "Who runs?").results[0].text == "Bob runs."
    raw = sqlite3.connect(db)
    assert raw.execute("SELECT x FROM extra").fetchall() == [(1,)]
    assert raw.execute("PRAGMA user_version").fetchone() == (opening.migrations()[-1][0],)
    raw.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_fake(db) as memory:
        memory.retain("b", "Bob runs.")
    known = opening.migrations()
    with monkeypatch.context() as patch:
        broken = "CREATE TABLE extra (x);\nINSERT INTO nowhere VALUES (1);\n"
        patch.setattr(opening, "migrations", lambda: [*known, (known[-1][0] + 1, broken)])
        with pytest.raises(RecollectError):
            open_fake(db)
    with open_fake(db) as memory:
        assert memory.recall("b", "Who runs?").results[0].text == "Bob runs."


# --- what can be wrong -------------------------------------------------------------------------


def test_a_text_file_is_not_a_store(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, this is long enough to be no database header at all.\n" * 40)
    before = path.read_bytes()
    with pytest.raises(NotAStore) as raised:
        open_fake(path)
    assert raised.value.hint
    assert path.read_bytes() == before


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE things (x)")
    raw.commit()
    raw.close()
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="not one of recollect's"):
        open_fake(path)
    assert path.read_bytes() == before


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        open_fake(tmp_path)


def test_a_number_is_not_a_store() -> None:
    with pytest.raises(ConfigError, match="no path of a file"):
        recollect.open(5)  # type: ignore[arg-type]


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="a part of the path is a file"):
        open_fake(tmp_path / "file" / "m.db")


def test_a_folder_that_cannot_be_written_is_named() -> None:
    """In a process without root's rights, which reach everywhere."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        said = subprocess.run(
            [sys.executable, "-c", _OPEN_AS_NOBODY, str(Path(folder) / "m.db")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        Path(folder).chmod(0o755)
    name, hint = said.splitlines()
    assert name == "StoreReadOnly"
    assert hint


_OPEN_AS_NOBODY = """
import os, sys
from recollect.testing import open_fake
open_fake(":memory:").close()  # everything is imported while it can be read
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    open_fake(sys.argv[1])
except Exception as error:
    print(type(error).__name__)
    print(error.hint)
"""


def test_a_file_opened_without_the_right_to_write_is_named(
    memory: recollect.Recollect,
) -> None:
    memory.retain("b", "Bob runs.")
    memory._store._connection().execute("PRAGMA query_only = ON")
    with pytest.raises(StoreReadOnly) as raised:
        memory.retain("b", "Cara sails.")
    assert raised.value.hint
    assert memory.recall("b", "Who runs?").results[0].text == "Bob runs."


def test_a_full_disk_stores_nothing_of_the_call_and_keeps_the_rest(
    memory: recollect.Recollect,
) -> None:
    memory.retain("b", "Bob runs.")
    connection = memory._store._connection()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreFull) as raised:
        memory.retain("b", [{"text": f"Long fact {n}: " + "word " * 200} for n in range(100)])
    assert raised.value.hint
    connection.execute("PRAGMA max_page_count = 1000000")
    assert [m.text for m in memory.memories("b")] == ["Bob runs."]
    memory.retain("b", "Cara sails.")
    assert len(memory.memories("b")) == 2


def test_a_full_file_system_says_so(tmp_path: Path) -> None:
    if os.geteuid() != 0 or os.system(f"mount -t tmpfs -o size=1500k none {tmp_path} 2>/dev/null"):
        pytest.skip("mounting a small file system needs root")
    try:
        with open_fake(tmp_path / "m.db") as memory:
            with pytest.raises(StoreFull):
                for n in range(50):
                    memory.retain(
                        "b", [{"text": f"Fact {n} {k} " + "word " * 90} for k in range(9)]
                    )
            assert memory.memories("b")
    finally:
        os.system(f"umount {tmp_path}")


_LIMITED = """
import resource, sys
from recollect.errors import StoreFull
from recollect.testing import open_fake

with open_fake(sys.argv[1]) as memory:
    memory.retain("b", "Bob runs.")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
    try:
        for n in range(50):
            memory.retain("b", [{"text": f"Fact {n} {k} " + "word " * 90} for k in range(9)])
    except StoreFull as error:
        print(error.hint)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="such limits are POSIX's")
def test_a_limit_on_files_is_no_damage(db: Path) -> None:
    command = [sys.executable, "-c", _LIMITED, str(db)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "quotas" in done.stdout


def test_a_lock_held_too_long_is_named(db: Path) -> None:
    with open_fake(db, busy_timeout_ms=50) as memory:
        memory.retain("b", "Bob runs.")
        holder = sqlite3.connect(db, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked) as raised:
            memory.retain("b", "Cara sails.")
        assert "busy_timeout_ms" in (raised.value.hint or "")
        assert memory.recall("b", "Who runs?").results[0].text == "Bob runs."
        holder.execute("ROLLBACK")
        holder.close()
        memory.retain("b", "Cara sails.")
        assert len(memory.memories("b")) == 2


def test_damage_anywhere_is_an_error_of_ours_or_goes_unread(tmp_path: Path) -> None:
    """Whatever bytes are overwritten, nothing but a RecollectError ever comes out."""
    whole = tmp_path / "whole.db"
    with open_fake(whole) as memory:
        memory.retain("b", [{"text": f"Fact {n} is about {n * n}"} for n in range(200)])
    content = whole.read_bytes()
    random_ = random.Random(5)
    damaged = 0
    for number in range(25):
        at = random_.randrange(0, len(content) - 8192)
        broken = content[:at] + random_.randbytes(8192) + content[at + 8192 :]
        path = tmp_path / f"{number}.db"
        path.write_bytes(broken)
        try:
            with open_fake(path) as memory:
                memory.recall("b", "fact about 49")
                memory.memories("b", limit=1000)
                list(memory.export("b"))
        except (StoreDamaged, NotAStore, NewerStore) as error:
            assert error.hint
            damaged += 1
        except NotFound:
            damaged += 1
    assert damaged > 5


def test_a_truncated_file_is_damaged(tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    with open_fake(whole) as memory:
        memory.retain("b", [{"text": f"Fact {n} is about {n * n}"} for n in range(200)])
    path = tmp_path / "cut.db"
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(StoreDamaged), open_fake(path) as memory:
        memory.recall("b", "fact about 49")
        memory.memories("b", limit=1000)


def test_another_model_than_the_banks_is_refused_with_the_way_out(db: Path) -> None:
    with open_fake(db) as memory:
        memory.retain("b", "Bob runs.")
    with open_fake(db, dimensions=32) as memory:
        with pytest.raises(StoreError, match="fake-64"):
            memory.recall("b", "Who runs?")
        with pytest.raises(StoreError, match="fake-64"):
            memory.retain("b", "Cara sails.")


def test_a_server_address_needs_the_server_store() -> None:
    with pytest.raises((InvalidInput, StoreError)):
        recollect.open("postgresql://localhost/nothing-there")


def test_a_new_file_that_another_process_is_writing_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself would not wait: it would say at once that the file is locked."""
    db, tried = tmp_path / "memory.db", threading.Event()
    sleep = time.sleep

    def asleep(seconds: float) -> None:
        tried.set()
        sleep(seconds)

    monkeypatch.setattr(opening.time, "sleep", asleep)
    other = sqlite3.connect(db, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        prepared = pool.submit(opening.prepare, db, 60_000)
        assert tried.wait(60)
        other.execute("ROLLBACK")
        prepared.result()
    other.close()
    with sqlite3.connect(db) as made:
        assert made.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    made.close()

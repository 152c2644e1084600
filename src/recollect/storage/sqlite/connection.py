"""Opening the file: identity, version, migrations, and what each failure means."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from recollect.errors import (
    NewerStore,
    NotAStore,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
)
from recollect.storage.migrating import scripts_of
from recollect.storage.smalls import translate

APPLICATION_ID = 0x7265636F  # "reco": how a file says that it is ours
Execute = Callable[[str, Sequence[Any]], list[Any]]  # a statement, and all that it gives
Transaction = Callable[[], AbstractContextManager[sqlite3.Connection]]
_AGAIN_S = 0.005
PAGE_SIZE = 8192  # three memories' token vectors fill a page with little left over


def migrations() -> list[tuple[int, str]]:
    return scripts_of("recollect.storage.sqlite")


def connect(path: Path, busy_timeout_ms: int) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=busy_timeout_ms / 1000, isolation_level=None, check_same_thread=False
    )
    connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
    connection.execute("PRAGMA synchronous = FULL")  # an acknowledged retain survives power loss
    connection.execute("PRAGMA secure_delete = ON")  # what is forgotten leaves no bytes behind
    connection.execute("PRAGMA cache_size = -16000")
    connection.create_function("translate", 3, translate, deterministic=True)
    return connection


def prepare(path: Path, busy_timeout_ms: int) -> None:
    """Make the file a store of the current version, or say why it cannot be one."""
    with translated(path):
        if path.is_dir():
            raise StoreError(f"{path} is a folder", hint=f"name a file in it: {path / 'memory.db'}")
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = connect(path, busy_timeout_ms)
        try:
            _identify(connection, path)
            if connection.execute("PRAGMA user_version").fetchone()[0] < migrations()[-1][0]:
                _log_ahead(connection, busy_timeout_ms / 1000)
                _migrate(connection)
        finally:
            connection.close()


def _identify(connection: sqlite3.Connection, path: Path) -> None:
    # In one transaction: another process may be making the file this very moment.
    connection.execute("BEGIN")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.execute("COMMIT")
    if tables and application != APPLICATION_ID:
        raise NotAStore(
            f"{path} is a SQLite database, but not one of recollect's",
            hint="give another path; recollect makes the file itself",
        )
    newest = migrations()[-1][0]
    if version > newest:
        raise NewerStore(
            f"{path} was written by a newer recollect (format {version}, this one knows {newest})",
            hint="upgrade: pip install --upgrade recollect",
        )


def _log_ahead(connection: sqlite3.Connection, seconds: float) -> None:
    """Write ahead to a log beside the file. SQLite does not wait for locks when it changes to
    that mode, so we do: another process may be opening the new file at the same moment."""
    connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    until = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "BUSY" not in error.sqlite_errorname or time.monotonic() > until:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


def _migrate(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while we waited for the lock.
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        for number, sql in migrations():
            if number > version:
                for statement in split(sql):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def split(sql: str) -> list[str]:
    """Statements of a script. (`executescript` would commit between them.)"""
    out: list[str] = []
    pending = ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            out.append(pending)
            pending = ""
    return out


@contextmanager
def translated(path: Path) -> Generator[None]:
    """SQLite's errors in our words."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explained(error, path) from error
    except PermissionError as error:
        raise StoreReadOnly(
            f"{path} cannot be written: {error.strerror}",
            hint="choose a folder you may write to, with --db or RECOLLECT_DB",
        ) from error
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreError(
            f"{path} cannot be created: a part of the path is a file",
            hint="choose another path with --db or RECOLLECT_DB",
        ) from error
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {error}", hint="check the path") from error


@contextmanager
def readable(path: Path) -> Generator[None]:
    """Errors from rows that SQLite can read but that hold what nobody wrote."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, text: str) -> StoreDamaged:
    return StoreDamaged(
        f"{path} is damaged or cannot be read: {text}",
        hint="restore a copy, or try `sqlite3 FILE .recover`; `recollect doctor` shows what is readable",
    )


# A quota, a limit on files or no room for the shared index: SQLite says FULL of a full disk only.
_UNWRITTEN = ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")


def _explained(error: sqlite3.Error, path: Path) -> StoreError:
    name = getattr(error, "sqlite_errorname", None) or ""
    text = str(error)
    if "NOTADB" in name or "not a database" in text:
        return NotAStore(
            f"{path} is not a recollect file",
            hint="give another path; recollect makes the file itself",
        )
    if "BUSY" in name or "LOCKED" in name:
        return StoreLocked(
            f"{path} is locked by another process that did not let go in time",
            hint="wait for it to finish, or raise busy_timeout_ms",
        )
    if "FULL" in name or name in _UNWRITTEN:
        return StoreFull(
            f"no room left to write {path} ({text}); nothing of this call was stored",
            hint="free some space, or check quotas and the disk, and retry: everything "
            "acknowledged before is safe",
        )
    if "READONLY" in name or "CANTOPEN" in name or "PERM" in name:
        return StoreReadOnly(
            f"{path} cannot be opened for writing",
            hint="check that the folder exists and that you may write to it",
        )
    if "CORRUPT" in name or "IOERR" in name or "Could not decode to UTF-8" in text:
        return _damaged(path, text)
    return StoreError(f"{path}: {text}", hint="this should not happen; please report it")

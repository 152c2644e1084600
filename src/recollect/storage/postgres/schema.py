"""The schema: made and brought up to date when a store is opened, by one server at a time."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from recollect.errors import NewerStore, StoreError, StoreUnavailable
from recollect.storage.migrating import scripts_of
from recollect.storage.postgres.connection import (
    Db,
    first_line,
    place,
    prepare_session,
    translated,
)

# Every table of a bank, the bank's own row first: the order in which they are distributed.
TABLES = (
    "banks", "documents", "chunks", "memories", "features", "mentions", "postings", "tokens",
    "entities", "links", "evidence", "sources", "changes", "staged", "operations",
)  # fmt: skip
OLDEST = 150_000  # PostgreSQL 15
OLDEST_VECTOR = (0, 8)  # the first to go on searching until a filter is satisfied
_MIGRATING = 0x7265636F  # "reco": the advisory lock of whoever migrates
_IS_DISTRIBUTED = "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = %s::regclass"
_DISTRIBUTE = "SELECT create_distributed_table(%s::regclass, 'bank_id', colocate_with => %s)"


def migrations() -> list[tuple[int, str]]:
    return scripts_of("recollect.storage.postgres")


def prepare(dsn: str, schema: str, *, steps: list[tuple[int, str]] | None = None) -> None:
    """Make the database a store of the current version, or say why it cannot be one."""
    steps = steps or migrations()
    where = place(dsn)
    try:
        connection = psycopg.connect(dsn, autocommit=True, connect_timeout=10)
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"{where} cannot be reached: {first_line(error)}",
            hint="check host, port, role and password, and that the server is up",
        ) from error
    with connection, translated(where):
        prepare_session(connection, schema, 60_000)
        held = _version(connection, schema)
        if held < steps[-1][0]:
            _check_server(connection, where)
            _migrate(connection, schema, steps)
        elif held > steps[-1][0]:
            raise NewerStore(
                f"{where} was written by a newer recollect (format {held}, this one knows {steps[-1][0]})",
                hint="upgrade: pip install --upgrade recollect",
            )


def _version(connection: Db, schema: str) -> int:
    """0 when there is nothing of ours yet."""
    table = sql.Identifier(schema, "format").as_string(connection)
    (there,) = _one(connection, "SELECT to_regclass(%s) IS NOT NULL", (table,))
    if not there:
        return 0
    query = sql.SQL("SELECT max(version) FROM {}").format(sql.Identifier(schema, "format"))
    (version,) = _one(connection, query, ())
    return int(version or 0)


def _check_server(connection: Db, where: str) -> None:
    if connection.info.server_version < OLDEST:
        raise StoreError(
            f"{where} is PostgreSQL {connection.info.server_version // 10_000}",
            hint="recollect needs PostgreSQL 15 or newer",
        )
    # Looked up before it is made: CREATE EXTENSION asks every node, and fails when one is down.
    held = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    row = held.fetchone()
    if row is not None:
        if tuple(map(int, row[0].split(".")[:2])) < OLDEST_VECTOR:
            raise StoreError(
                f"{where} has pgvector {row[0]}",
                hint="recollect needs 0.8 or newer: install it and run ALTER EXTENSION vector UPDATE",
            )
        return
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.errors.UniqueViolation:  # another server made it this very moment
        return
    except psycopg.Error as error:
        raise StoreError(
            f"{where} has no pgvector: {first_line(error)}",
            hint="install pgvector 0.8 or newer on the server and run, as its owner: CREATE EXTENSION vector",
        ) from error


def _migrate(connection: Db, schema: str, steps: list[tuple[int, str]]) -> None:
    # Waited for outside the transaction: one that begins afterwards knows what others made.
    connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATING,))
    try:
        _apply(connection, schema, steps)
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATING,))


def _apply(connection: Db, schema: str, steps: list[tuple[int, str]]) -> None:
    with connection.transaction():
        version = _version(connection, schema)  # another may have done it while we waited
        if version == 0:
            connection.execute(
                sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema))
            )
            connection.execute(
                sql.SQL("CREATE TABLE {} (version integer NOT NULL)").format(
                    sql.Identifier(schema, "format")
                )
            )
        for number, script in steps:
            if number > version:
                connection.execute(script.encode())  # several statements, in this transaction
                connection.execute(
                    sql.SQL("INSERT INTO {} VALUES (%s)").format(sql.Identifier(schema, "format")),
                    (number,),
                )


def _one(connection: Db, query: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    row = connection.execute(query, arguments).fetchone()
    assert row is not None
    return row


def described(dsn: str, schema: str) -> str:
    """The server and its settings in a line, for its administrators."""
    prepare(dsn, schema)
    with psycopg.connect(dsn, autocommit=True) as connection, translated(place(dsn)):
        (server, vector, buffers) = _one(
            connection,
            """SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension
              WHERE extname = 'vector'), current_setting('shared_buffers')""",
            (),
        )
        version = _version(connection, schema)
    return (
        f"{place(dsn)}: PostgreSQL {server}, pgvector {vector}, shared_buffers {buffers};"
        f" schema {schema}, format {version}"
    )


# --- beyond one machine --------------------------------------------------------------------------


def distribute(dsn: str, schema: str) -> list[str]:
    """Spread the tables over the nodes of a Citus cluster, each bank on one of them; gives the
    tables that were not distributed before. May be called again: then it does what is missing."""
    prepare(dsn, schema)
    where = place(dsn)
    with psycopg.connect(dsn, autocommit=True) as connection, translated(where):
        prepare_session(connection, schema, 60_000)
        (there,) = _one(connection, "SELECT count(*) FROM pg_extension WHERE extname = 'citus'", ())
        if not there:
            raise StoreError(
                f"{where} has no Citus extension",
                hint="distribution needs Citus (CREATE EXTENSION citus, on every node); one server needs none of it",
            )
        done: list[str] = []
        for table in TABLES:  # parents first, all where the banks are
            name = sql.Identifier(schema, table).as_string(connection)
            if not _one(connection, _IS_DISTRIBUTED, (name,))[0]:
                first = sql.Identifier(schema, TABLES[0]).as_string(connection)
                with_ = "default" if table == TABLES[0] else first
                connection.execute(_DISTRIBUTE, (name, with_))
                done.append(table)
        return done

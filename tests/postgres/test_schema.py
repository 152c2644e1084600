"""The schema and the queries: made once, upgraded, and fit to be distributed by bank."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from recollect import Recollect
from recollect.errors import NewerStore, StoreError, StoreUnavailable
from recollect.storage.postgres.queries import queries
from recollect.storage.postgres.schema import (
    TABLES,
    distribute,
    migrations,
    prepare,
)
from recollect.testing import open_fake

from .conftest import MakeStore

SCRIPT = "\n".join(script for _, script in migrations())
BARE = re.sub(r"--[^\n]*", "", SCRIPT)
STORE_WIDE = {"keys"}  # belongs to the store, not to a bank
# Asked of all banks at once, seldom, and by those who keep the store.
OF_ALL_BANKS = {"all_banks", "arrivals", "all_waiting", "all_due", "all_abandon", "all_workers", "all_counts", "all_purge", "all_keys"}  # fmt: skip
_REFERENCE = re.compile(
    r"\b(?:FROM|JOIN|UPDATE)\s+(" + "|".join(TABLES) + r")\s+(?!SET\b|WHERE\b)(\w+)", re.IGNORECASE
)
_ANY_TABLE = re.compile(r"\b(?:FROM|JOIN|UPDATE)\s+(" + "|".join(TABLES) + r")\b", re.IGNORECASE)


# --- opening --------------------------------------------------------------------------------------


def test_many_servers_that_start_at_once_make_one_schema(
    postgres: str, schema: str, admin: psycopg.Connection[Any]
) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: prepare(postgres, schema), range(8)))
    versions = admin.execute("SELECT version FROM format ORDER BY version").fetchall()
    assert versions == [(number,) for number, _ in migrations()]


def test_a_migration_that_comes_later_is_applied_once(
    postgres: str, schema: str, admin: psycopg.Connection[Any]
) -> None:
    prepare(postgres, schema)
    newer = [*migrations(), (99, "ALTER TABLE banks ADD COLUMN later text;")]
    for _ in range(2):
        prepare(postgres, schema, steps=newer)
    assert admin.execute("SELECT max(version) FROM format").fetchone() == (99,)
    assert admin.execute("SELECT count(later) FROM banks").fetchone() == (0,)


def test_a_migration_that_fails_leaves_nothing_behind(
    postgres: str, schema: str, admin: psycopg.Connection[Any]
) -> None:
    prepare(postgres, schema)
    with pytest.raises(StoreError):
        prepare(
            postgres, schema, steps=[*migrations(), (99, "ALTER TABLE banks ADD x text; nonsense;")]
        )
    assert admin.execute("SELECT max(version) FROM format").fetchone() == (migrations()[-1][0],)
    with pytest.raises(psycopg.errors.UndefinedColumn):
        admin.execute("SELECT x FROM banks")


def test_a_store_of_the_first_format_is_brought_up_to_date_with_what_it_holds(
    postgres: str, schema: str, served: Recollect, admin: psycopg.Connection[Any]
) -> None:
    served.retain("b", ["Alice plays the violin.", "Bob plays it because Alice does."])
    old = f"{schema}_old"
    admin.execute(f"CREATE SCHEMA {old}".encode())
    try:
        prepare(postgres, old, steps=migrations()[:1])
        for table in TABLES:  # in the columns that the first format had
            columns = ", ".join(_columns(admin, old, table))
            if not columns:
                continue  # a table that came later
            moved = f"INSERT INTO {old}.{table} ({columns}) SELECT {columns} FROM {schema}.{table}"
            admin.execute(moved.encode())
        with open_fake(postgres, pg_schema=old) as again:
            now = {"query_timestamp": "2026-01-01"}
            assert [(h.id, h.score) for h in again.recall("b", "violin", **now)] == [
                (h.id, h.score) for h in served.recall("b", "violin", **now)
            ]
            again.retain("b", "Carol sings.")
        assert admin.execute(f"SELECT max(version) FROM {old}.format".encode()).fetchone() == (
            migrations()[-1][0],
        )
    finally:
        admin.execute(f"DROP SCHEMA {old} CASCADE".encode())


def _columns(admin: psycopg.Connection[Any], schema: str, table: str) -> list[str]:
    rows = admin.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s",
        (schema, table),
    )
    return [name for (name,) in rows.fetchall()]


def test_a_store_of_a_newer_recollect_is_refused(
    postgres: str, schema: str, make_store: MakeStore, admin: psycopg.Connection[Any]
) -> None:
    prepare(postgres, schema)
    admin.execute("INSERT INTO format VALUES (1000)")
    with pytest.raises(NewerStore, match="upgrade"):
        make_store()


def test_a_server_that_is_not_there_is_named_without_its_password(schema: str) -> None:
    with pytest.raises(StoreUnavailable) as raised:
        prepare("postgresql://ann:secret@127.0.0.1:1/memory", schema)
    assert "127.0.0.1" in str(raised.value)
    assert "secret" not in str(raised.value)


# --- what a distributed PostgreSQL needs --------------------------------------------------------


def test_every_table_and_every_key_holds_the_bank() -> None:
    tables = dict(re.findall(r"CREATE TABLE (\w+) \((.*?)\n\)", BARE, re.DOTALL))
    assert set(tables) == {*TABLES, *STORE_WIDE}
    for name, body in tables.items():
        if name not in STORE_WIDE:
            assert re.search(r'bank_id +text COLLATE "C" NOT NULL', body), name
            assert re.search(r"PRIMARY KEY \(bank_id|bank_id [^\n]*PRIMARY KEY", body), name
    for unique in re.findall(r"CREATE UNIQUE INDEX \w+ ON (\w+) \(([^)]*)\)", BARE):
        assert unique[1].startswith("bank_id"), unique


def test_the_schema_uses_nothing_that_cannot_be_distributed() -> None:
    for word in ("TRIGGER", "SERIAL", "SEQUENCE", "INHERITS", "UNLOGGED", "SET NULL", "SET DEFAULT", "IDENTITY"):  # fmt: skip
        assert word not in BARE.upper(), word


@pytest.mark.parametrize("name", sorted({*queries()} - OF_ALL_BANKS))
def test_a_query_names_the_bank_at_every_table(name: str) -> None:
    text = re.sub(r"--[^\n]*", "", queries()[name])
    if re.search(r"\b(FROM|INTO|UPDATE) keys\b", text):  # belong to the store
        return
    references = _REFERENCE.findall(text)
    assert len(references) == len(_ANY_TABLE.findall(text)), "every table has a name of its own"
    for table, alias in references:
        assert f"{alias}.bank_id = %(bank)s" in text, (table, alias)
    for table, columns in re.findall(r"INSERT INTO (\w+) \((.*?)\)", text, re.DOTALL):
        assert columns.split(",")[0].strip() == "bank_id", table
    assert references or "INSERT INTO" in text


@pytest.mark.parametrize("name", sorted(queries()))
def test_a_query_changes_rows_by_immutable_expressions_only(name: str) -> None:
    text = queries()[name].lower()
    for volatile in ("now()", "random()", "gen_random_uuid", "clock_timestamp", "nextval"):
        assert volatile not in text


def test_distributing_says_what_is_missing(postgres: str, schema: str) -> None:
    with pytest.raises(StoreError, match="Citus"):
        distribute(postgres, schema)

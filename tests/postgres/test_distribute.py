"""Beyond one machine, as far as one server can show: what `admin distribute` does, on a stand-in
for Citus that keeps account, and that no statement of a day's work leaves its bank."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

from recollect import Recollect
from recollect.cli import main
from recollect.storage.postgres.queries import queries
from recollect.storage.postgres.schema import TABLES, distribute, prepare
from recollect.testing import open_fake

from .test_schema import OF_ALL_BANKS, STORE_WIDE

Db = psycopg.Connection[Any]

# The parts of Citus that are asked: found before the catalogue's own, because the DSN says so.
STAND_IN = """
CREATE VIEW {0}.pg_extension AS SELECT e.extname, e.extversion FROM pg_catalog.pg_extension e
  UNION ALL SELECT 'citus', '13.2';
CREATE TABLE {0}.pg_dist_partition
  (place integer GENERATED ALWAYS AS IDENTITY, logicalrelid regclass, by text, beside text);
CREATE FUNCTION {0}.create_distributed_table(t regclass, c text, colocate_with text) RETURNS void
  LANGUAGE sql AS $$ INSERT INTO {0}.pg_dist_partition (logicalrelid, by, beside)
  VALUES (t, c, colocate_with) $$;
"""


@pytest.fixture
def cluster(postgres: str, schema: str, admin: Db) -> Iterator[str]:
    """The address of a server that says it has Citus."""
    name = f"{schema}_citus"
    admin.execute(f"CREATE SCHEMA {name};{STAND_IN.format(name)}".encode())
    options = quote(f"-csearch_path={name},pg_catalog,public")
    yield f"{postgres}{'&' if '?' in postgres else '?'}options={options}"
    admin.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def distributed(admin: Db, schema: str) -> list[tuple[str, str, str]]:
    rows = admin.execute(
        f"SELECT logicalrelid::text, by, beside FROM {schema}_citus.pg_dist_partition ORDER BY place".encode()
    )
    return [(t.rpartition(".")[2], by, beside) for t, by, beside in rows.fetchall()]


def test_every_table_of_a_bank_is_distributed_by_bank_beside_the_banks(
    cluster: str, schema: str, admin: Db
) -> None:
    assert distribute(cluster, schema) == list(TABLES)
    first, *others = distributed(admin, schema)
    assert first == ("banks", "bank_id", "default")
    assert others == [(t, "bank_id", f'"{schema}"."banks"') for t in TABLES[1:]]


def test_no_table_is_forgotten(cluster: str, schema: str, admin: Db) -> None:
    distribute(cluster, schema)
    rows = admin.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,))
    there = {name for (name,) in rows.fetchall()}
    assert there - {t for t, _, _ in distributed(admin, schema)} == {"format", *STORE_WIDE}


def test_distributing_again_does_what_is_missing(cluster: str, schema: str, admin: Db) -> None:
    prepare(cluster, schema)
    admin.execute(
        f"SELECT {schema}_citus.create_distributed_table('{schema}.banks', 'bank_id', 'default')".encode()
    )
    assert distribute(cluster, schema) == list(TABLES[1:])
    assert distribute(cluster, schema) == []


def test_the_command_says_what_it_distributed(
    cluster: str, schema: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECOLLECT_PG_SCHEMA", schema)
    monkeypatch.delenv("RECOLLECT_DB", raising=False)
    assert main(["--db", cluster, "--json", "admin", "distribute", "--yes"]) == 0
    assert json.loads(capsys.readouterr().out)["distributed"] == list(TABLES)


# --- no statement leaves its bank ----------------------------------------------------------------

NAMED = "|".join(TABLES)
READS = re.compile(rf"\b(?:FROM|JOIN|UPDATE)\s+({NAMED})\s+(?:AS\s+)?(?!SET\b|WHERE\b)(\w+)", re.I)
MENTIONS = re.compile(rf"\b(?:FROM|JOIN|UPDATE|INTO|COPY)\s+({NAMED})\b", re.I)
WRITES = re.compile(rf"\b(?:INSERT INTO|COPY)\s+({NAMED})\s*\(\s*bank_id\b", re.I)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that is sent to the server from now on."""
    sent: list[str] = []

    def kept(name: str) -> None:
        real = getattr(psycopg.Cursor, name)

        def method(self: Any, query: Any, *rest: Any, **more: Any) -> Any:
            text = query.as_string(self) if isinstance(query, sql.Composable) else query
            sent.append(text.decode() if isinstance(text, bytes) else text)
            return real(self, query, *rest, **more)

        monkeypatch.setattr(psycopg.Cursor, name, method)

    for name in ("execute", "executemany", "copy"):
        kept(name)
    return sent


def test_no_statement_of_a_days_work_leaves_its_bank(
    postgres: str, schema: str, statements: list[str]
) -> None:
    with open_fake(postgres, pg_schema=schema) as memory:
        statements.clear()  # of the schema: an upgrade is no day's work
        a_day(memory)
    for_all = {queries()[name] for name in OF_ALL_BANKS}
    asked = [text for text in dict.fromkeys(statements) if text not in for_all]
    touching = [text for text in asked if MENTIONS.search(text)]
    assert len(touching) > 40  # a day has that many kinds
    for text in touching:
        references = READS.findall(text)
        assert len(references) + len(WRITES.findall(text)) == len(MENTIONS.findall(text)), text
        for _, alias in references:
            assert re.search(rf"\b{alias}\.bank_id = %\(bank\)s", text), text


def a_day(memory: Recollect) -> None:
    facts = [f"Room {n} was cold because the boiler{n} failed." for n in range(20)]
    memory.retain("b", facts)
    memory.retain("b", "Alice works at Acme. She likes it.", document_id="d", tags=["x"])
    memory.retain("b", "Alice works at Globex now.", document_id="e")
    memory.retain("b", {"text": "Alice works at Acme.", "timestamp": "2026-01-05"})
    for budget in ("low", "mid", "high"):
        memory.recall("b", "Why was room 7 cold last month?", budget=budget, tags=["x"])
    hit = memory.recall("b", "Where does Alice work?", as_of="2100-01-01", expand_hops=1).results[0]
    memory.why("b", "Where does Alice work?", hit.id)
    memory.update("b", hit.id, text="Alice worked at Acme.")
    memory.links("b", hit.id)
    memory.store.index("b")
    memory.recall("b", "Where does Alice work?")
    memory.forget("b", memory_id=memory.recall("b", "boiler3").results[0].id)
    memory.forget("b", document_id="d")
    memory.stats("b")
    memory.delete_bank("b")

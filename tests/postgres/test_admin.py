"""The command line on a server: `recollect admin`, and what else is told about one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.cli import main
from recollect.storage.postgres.schema import migrations
from recollect.testing import open_fake


@pytest.fixture(autouse=True)
def _schema(schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_PG_SCHEMA", schema)
    monkeypatch.delenv("RECOLLECT_DB", raising=False)


def test_migrate_makes_the_schema_and_says_its_format(
    postgres: str, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    latest, _ = migrations()[-1]
    for _ in range(2):
        assert main(["--db", postgres, "--json", "admin", "migrate"]) == 0
        assert json.loads(capsys.readouterr().out) == {"schema": schema, "format": latest}


def test_index_makes_a_banks_index_now(
    served: Recollect, postgres: str, capsys: pytest.CaptureFixture[str]
) -> None:
    served.retain("b", ["Alice plays chess.", "Bob runs.", "Carol sings."])
    assert main(["--db", postgres, "--json", "admin", "index", "b"]) == 0
    assert json.loads(capsys.readouterr().out) == {"bank": "b", "indexed_key": 3}
    assert main(["--db", postgres, "admin", "index", "nobody"]) != 0
    assert "there is no bank" in capsys.readouterr().err


def test_distribute_says_that_it_needs_citus(
    postgres: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--db", postgres, "admin", "distribute", "--yes"]) == 1
    assert "Citus" in capsys.readouterr().err


def test_a_file_is_no_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", str(tmp_path / "m.db"), "admin", "migrate"]) != 0
    assert "PostgreSQL" in capsys.readouterr().err


def test_doctor_tells_of_the_server_but_not_the_password(
    postgres: str, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = f"{postgres}{'&' if '?' in postgres else '?'}password=s3cret"
    assert main(["--db", secret, "doctor"]) == 0
    out = capsys.readouterr().out
    assert "pgvector" in out and schema in out
    assert "s3cret" not in out


def test_the_setting_names_the_schema(postgres: str, schema: str) -> None:
    with open_fake(postgres) as memory:
        memory.retain("b", "Alice runs.")
        assert memory.settings.pg_schema == schema
        assert memory.stats("b").memories == 1

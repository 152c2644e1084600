"""A server's settings: from a file, the environment and flags, and what is in force."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from recollect.cli import main
from recollect.config import Settings, load_settings, mistyped, without_password
from recollect.errors import ConfigError
from recollect.server.app import create_app
from recollect.testing import open_fake


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "recollect.toml"
    file.write_text('host = "10.0.0.1"\nport = 1\nrate_limit = 5\ncors_origins = ["https://a"]\n')
    environ = {"RECOLLECT_PORT": "2", "RECOLLECT_HOST": "10.0.0.2", "RECOLLECT_METRICS": "no"}
    found = load_settings(file=file, environ=environ, host="10.0.0.3", no_auth=None)
    assert (found.host, found.port, found.rate_limit) == ("10.0.0.3", 2, 5.0)
    assert (found.cors_origins, found.metrics, found.no_auth) == (("https://a",), False, False)
    assert found.origin["host"] == "argument"
    assert found.origin["port"] == "$RECOLLECT_PORT"
    assert found.origin["rate_limit"] == str(file)
    assert "no_auth" not in found.origin


def test_options_before_serve_are_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Settings] = []
    monkeypatch.setattr(
        "recollect.server.serve.serve", lambda settings, ready: served.append(settings)
    )
    read = "postgresql://replica/memory"
    assert main(["--db", "m.db", "--read-dsn", read, "serve", "--port", "0"]) == 0
    ((db, read_dsn, port),) = [(s.db, s.read_dsn, s.port) for s in served]
    assert (db, read_dsn, port) == ("m.db", read, 0)


def test_config_shows_what_is_in_force_and_where_it_came_from(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_AUDIT_LOG", "-")
    assert main(["config", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["audit_log"] == {"value": "-", "origin": "$RECOLLECT_AUDIT_LOG"}
    assert shown["body_limit"]["origin"] == "default"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://me:s3cr3t@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql://host/db?user=me&password=s3cr3t&x=1", "postgresql://host/db?user=me&password=***&x=1"),
        ("postgresql://me:s3:cr3t@[::1]/db", "postgresql://me:***@[::1]/db"),
        ("postgresql://me@host:5432/db", "postgresql://me@host:5432/db"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("https://host:8080/v1#model", "https://host:8080/v1#model"),
        ("memory.db", "memory.db"),
        (7, 7),
    ],
)  # fmt: skip
def test_a_password_is_not_shown(given: object, shown: object) -> None:
    assert without_password(given) == shown


def test_config_shows_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    for more in ([], ["--json"]):
        assert main(["config", "--db", "postgresql://me:s3cr3t@host/db", *more]) == 0
        assert "s3cr3t" not in capsys.readouterr().out


def test_a_value_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="RECOLLECT_PORT"):
        load_settings(environ={"RECOLLECT_PORT": "http"})


def test_a_mistyped_variable_is_pointed_out() -> None:
    given = {"RECOLLECT_RATE_LIMT": "5", "RECOLLECT_PORT": "1", "RECOLLECT_HOOKS": "on", "PORT": ""}
    assert mistyped(given) == {"RECOLLECT_RATE_LIMT": "RECOLLECT_RATE_LIMIT"}


def test_who_reads_a_bank_learns_nothing_of_where_it_is_kept(db: Path) -> None:
    secret = "postgresql://me:s3cr3t@host/db"
    memory = open_fake(db, read_dsn=secret, audit_log=str(db.with_suffix(".audit")))
    with TestClient(create_app(memory)) as client:
        client.put("/v1/default/banks/alice", json={"mission": "remember"})
        told = client.get("/v1/default/banks/alice/config").text
    assert "remember" in told
    assert "s3cr3t" not in told and str(db.parent) not in told

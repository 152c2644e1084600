"""A server's settings: from a file, the environment and flags, and what is in force."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.cli import main
from recollect.config import load_settings, mistyped
from recollect.errors import ConfigError


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


def test_config_shows_what_is_in_force_and_where_it_came_from(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_AUDIT_LOG", "-")
    assert main(["config", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["audit_log"] == {"value": "-", "origin": "$RECOLLECT_AUDIT_LOG"}
    assert shown["body_limit"]["origin"] == "default"


def test_a_value_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="RECOLLECT_PORT"):
        load_settings(environ={"RECOLLECT_PORT": "http"})


def test_a_mistyped_variable_is_pointed_out() -> None:
    given = {"RECOLLECT_RATE_LIMT": "5", "RECOLLECT_PORT": "1", "RECOLLECT_HOOKS": "on", "PORT": ""}
    assert mistyped(given) == {"RECOLLECT_RATE_LIMT": "RECOLLECT_RATE_LIMIT"}

"""Putting recollect into clients' settings: shown, asked, and undone exactly."""

from __future__ import annotations

import io
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from recollect.cli import main
from recollect.mcp import jsonc
from recollect.mcp.clients import CLIENTS

ZED = """\
// Zed settings
{
  "theme": "One Dark", // dark
  "context_servers": {
    /* mine */ "other": {"source": "custom", "command": "o", "args": []},
  },
}
"""
CODEX = """\
# my Codex
model = "o9" # the good one

[mcp_servers.other]
command = "o"
args = [
  "a", # first
]

# projects I trust
[projects."/srv/a"]
trust_level = "trusted"
"""
WITH_COMMENTS = {"zed": ZED, "codex": CODEX}


def run(*arguments: str) -> int:
    return main(["mcp", *arguments])


def entry_of(client: str, path: Path) -> Any:
    text = path.read_text("utf-8")
    held = tomllib.loads(text) if CLIENTS[client].form == "toml" else jsonc.parse(text)
    return held[CLIENTS[client].under]["recollect"]


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_gets_this_installations_command(folder: Path, client: str) -> None:
    assert run("install", client, "--yes", "--bank", "web") == 0
    entry = entry_of(client, CLIENTS[client].file("user"))
    words = entry["command"] if client == "opencode" else [entry["command"], *entry.get("args", [])]
    assert Path(words[0]).is_absolute() and Path(words[0]).exists()
    assert words[-3:] == ["mcp", "--bank", "web"]


@pytest.mark.parametrize("client", CLIENTS)
def test_uninstall_leaves_no_file_where_there_was_none(folder: Path, client: str) -> None:
    run("install", client, "--yes")
    run("uninstall", client, "--yes")
    assert [p for p in folder.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("client", ["zed", "codex"])
def test_everything_else_in_the_file_is_kept(folder: Path, client: str) -> None:
    path = CLIENTS[client].file("user")
    path.parent.mkdir(parents=True)
    path.write_text(WITH_COMMENTS[client], "utf-8")
    run("install", client, "--yes")
    now = path.read_text("utf-8").splitlines()
    assert [line for line in WITH_COMMENTS[client].splitlines() if line not in now] == []
    assert entry_of(client, path)["command"]


@pytest.mark.parametrize("client", ["zed", "codex"])
def test_uninstall_gives_the_very_same_bytes_back(folder: Path, client: str) -> None:
    path = CLIENTS[client].file("user")
    path.parent.mkdir(parents=True)
    path.write_text(WITH_COMMENTS[client], "utf-8")
    run("install", client, "--yes")
    run("install", client, "--yes", "--bank", "changed")
    run("uninstall", client, "--yes")
    assert path.read_text("utf-8") == WITH_COMMENTS[client]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("client", ["zed", "codex"])
def test_uninstall_keeps_what_was_edited_since(folder: Path, client: str) -> None:
    path = CLIENTS[client].file("user")
    path.parent.mkdir(parents=True)
    path.write_text(WITH_COMMENTS[client], "utf-8")
    run("install", client, "--yes")
    path.write_text(
        path.read_text("utf-8").replace("One Dark", "Light").replace("good", "better"), "utf-8"
    )
    run("uninstall", client, "--yes")
    expected = WITH_COMMENTS[client].replace("One Dark", "Light").replace("good", "better")
    read = tomllib.loads if client == "codex" else jsonc.parse
    assert read(path.read_text("utf-8")) == read(expected)
    assert all(word in path.read_text("utf-8") for word in ("//", "dark") if word in expected)


def test_installing_twice_changes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("install", "cursor", "--yes")
    before = CLIENTS["cursor"].file("user").read_bytes()
    capsys.readouterr()
    assert run("install", "cursor", "--yes") == 0
    assert "nothing to change" in capsys.readouterr().err
    assert CLIENTS["cursor"].file("user").read_bytes() == before


def test_a_project_has_its_own_file(folder: Path) -> None:
    run("install", "claude-code", "--yes", "--scope", "project", "--db", "here.db")
    entry = entry_of("claude-code", folder / "project" / ".mcp.json")
    assert entry["type"] == "stdio"
    assert entry["args"][-2:] == ["--db", str(folder / "project" / "here.db")]


def test_a_client_without_project_settings_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("install", "claude-desktop", "--yes", "--scope", "project") == 2
    assert "hint: scopes: user" in capsys.readouterr().err


def test_nothing_is_written_without_a_yes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert run("install", "cursor") == 2
    said = capsys.readouterr()
    assert '+    "recollect": {' in said.out and "add --yes" in said.err
    assert not CLIENTS["cursor"].file("user").exists()


def test_a_dry_run_only_shows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("install", "cursor", "--dry-run") == 0
    assert '+    "recollect": {' in capsys.readouterr().out
    assert not CLIENTS["cursor"].file("user").exists()


def test_json_tells_what_was_done(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("install", "cursor", "--yes", "--json") == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["changed"] and told["file"] == str(CLIENTS["cursor"].file("user"))


@pytest.mark.parametrize(
    ("client", "text"),
    [("cursor", "{ broken"), ("cursor", '{"mcpServers": []}'), ("codex", "a = "), ("cursor", "[]")],
)
def test_a_file_that_cannot_be_changed_safely_is_left_alone(
    folder: Path, client: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = CLIENTS[client].file("user")
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    assert run("install", client, "--yes") == 2
    assert "hint:" in capsys.readouterr().err
    assert path.read_text("utf-8") == text


def test_an_inline_table_is_refused_with_what_to_paste(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = CLIENTS["codex"].file("user")
    path.parent.mkdir(parents=True)
    path.write_text('mcp_servers = { other = { command = "o" } }\n', "utf-8")
    assert run("install", "codex", "--yes") == 2
    assert "[mcp_servers.recollect]" in capsys.readouterr().err


def test_a_linked_file_stays_linked_and_keeps_its_mode(folder: Path) -> None:
    real = folder / "dotfiles.json"
    real.write_text("{}", "utf-8")
    real.chmod(0o640)
    link = CLIENTS["cursor"].file("user")
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    run("install", "cursor", "--yes")
    assert link.is_symlink() and "recollect" in real.read_text("utf-8")
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_broken_copy_does_not_hinder_taking_out(folder: Path) -> None:
    path = CLIENTS["cursor"].file("user")
    path.parent.mkdir(parents=True)
    path.write_text('{"mcpServers": {}}', "utf-8")
    run("install", "cursor", "--yes")
    path.with_name("mcp.json.before-recollect").write_text("{ broken", "utf-8")
    assert run("uninstall", "cursor", "--yes") == 0
    assert jsonc.parse(path.read_text("utf-8")) == {"mcpServers": {}}


def test_what_is_not_there_needs_no_taking_out(folder: Path) -> None:
    path = CLIENTS["cursor"].file("user")
    assert run("uninstall", "cursor", "--yes") == 0 and not path.exists()
    path.parent.mkdir(parents=True)
    path.write_text('{"mcpServers": []}', "utf-8")
    assert run("uninstall", "cursor", "--yes") == 0
    assert path.read_text("utf-8") == '{"mcpServers": []}'


def test_claude_codes_settings_are_where_it_was_told_to_keep_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder / "claude"))
    run("install", "claude-code", "--yes")
    main(["hooks", "install", "claude-code", "--yes"])
    assert {p.name for p in (folder / "claude").iterdir()} == {".claude.json", "settings.json"}


def test_status_tells_which_clients_know_recollect(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("install", "codex", "--yes", "--name", "memory")
    run("install", "opencode", "--yes")
    CLIENTS["cursor"].file("user").parent.mkdir()
    CLIENTS["cursor"].file("user").write_text('{"mcpServers": {"other": {"command": "o"}}}')
    capsys.readouterr()
    assert run("status", "--json") == 0
    told = {t["client"]: t["servers"] for t in json.loads(capsys.readouterr().out)}
    assert told == {"codex": ["memory"], "opencode": ["recollect"], "cursor": []}


def test_a_client_is_not_told_of_a_server_that_cannot_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("recollect.cli.mcp.find_spec", lambda name: None)
    assert run("install", "cursor", "--yes") == 2
    assert "pip install 'recollect[mcp]'" in capsys.readouterr().err
    assert not CLIENTS["cursor"].file("user").exists()

"""Hooks of a coding agent: the documented JSON on stdin, and an answer or nothing, but never a
failure and never a wait."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.cli import main
from recollect.mcp import places
from recollect.mcp.claude_hooks import settings_file
from recollect.mcp.hook import LIMIT

FACT = "Migrations go to staging first, because in March the users table was locked for an hour."
PATIENCE_S = 120
PROMPT = "Should migrations go to staging first? The users table was locked once."


@dataclass(frozen=True)
class Hooks:
    """The hooks of one store, in a home of their own."""

    db: Path

    @property
    def options(self) -> list[str]:
        return ["--db", str(self.db)]

    def run(self, event: str, given: Any, **environment: str) -> subprocess.CompletedProcess[str]:
        raw = given if isinstance(given, str) else json.dumps(given)
        return subprocess.run(
            [sys.executable, "-P", "-m", "recollect.mcp.hook", event, *self.options],
            input=raw,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
            env={**os.environ, **environment},
        )

    def prompt(self, prompt: str = PROMPT, session: str = "s1") -> str | None:
        """What is put before the prompt."""
        ran = self.run("prompt", _input("UserPromptSubmit", session, prompt=prompt))
        assert (ran.returncode, ran.stderr) == (0, "")
        if not ran.stdout:
            return None
        answer = json.loads(ran.stdout)["hookSpecificOutput"]
        assert answer["hookEventName"] == "UserPromptSubmit"
        return answer["additionalContext"]

    @contextmanager
    def helper(self) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-P", "-m", "recollect.mcp.resident", *self.options]
        with subprocess.Popen(command) as process:
            try:
                self.wait_for(process)
                yield process
            finally:
                self.ask({"do": "end"})

    def wait_for(self, process: subprocess.Popen[bytes] | None = None) -> None:
        """Until the helper answers."""
        until = time.monotonic() + PATIENCE_S
        while self.ask({"do": "start", "session": "", "bank": "default"}) is None:
            assert process is None or process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)

    def ask(self, request: dict[str, Any]) -> Any:
        with closing(socket.socket(socket.AF_UNIX)) as line:
            try:
                line.connect(str(places.socket_path(self.options)))
                line.sendall(json.dumps(request).encode() + b"\n")
                return json.loads(line.makefile("rb").readline())
            except (OSError, ValueError):
                return None


def _input(event: str, session: str = "s1", **fields: Any) -> dict[str, Any]:
    """As the agent's documentation has it."""
    return {
        "session_id": session,
        "transcript_path": "/nowhere/transcript.jsonl",
        "cwd": "/srv/shop",
        "permission_mode": "default",
        "hook_event_name": event,
        **fields,
    }


@pytest.fixture
def hooks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    """With all the time in the world: the machine may be busy, and how long it takes is
    benchmarks/hooks.py."""
    monkeypatch.setenv(LIMIT, "60000")
    return Hooks(folder / "memory.db")


@pytest.fixture
def filled_hooks(hooks: Hooks) -> Hooks:
    with recollect.open(hooks.db) as memory:
        memory.retain("default", FACT)
        memory.retain("default", "Lunch is at noon in the blue room.")
    return hooks


def test_a_prompt_is_answered_with_strong_hits_once_a_session(filled_hooks: Hooks) -> None:
    with filled_hooks.helper():
        context = filled_hooks.prompt()
        assert context is not None and FACT in context and "Lunch" not in context
        assert "[strong" in context and "[maybe" not in context
        assert filled_hooks.prompt() is None
        assert filled_hooks.prompt(session="s2") == context
        filled_hooks.run("start", _input("SessionStart", source="compact"))
        assert filled_hooks.prompt() == context
        assert filled_hooks.prompt("What is the wifi password of the guest house?") is None
        assert filled_hooks.prompt("/review " + PROMPT, "s3") is None
        assert FACT in (filled_hooks.prompt("/var/log/app says: " + PROMPT, "s3") or "")


def test_what_a_hook_did_not_wait_for_may_be_told_next_time(filled_hooks: Hooks) -> None:
    asked = {"do": "recall", "query": PROMPT, "bank": "default", "session": "s1"}
    with filled_hooks.helper():
        with closing(socket.socket(socket.AF_UNIX)) as line:
            line.connect(str(places.socket_path(filled_hooks.options)))
            line.sendall(json.dumps({**asked, "deadline_ms": 60_000}).encode() + b"\n")
        assert FACT in (filled_hooks.prompt() or "")


def test_a_bank_that_is_not_there_is_no_answer(hooks: Hooks) -> None:
    with hooks.helper():
        assert hooks.prompt() is None
    assert not places.log_path().exists()


def test_without_a_helper_there_is_no_answer_yet_and_one_starts(filled_hooks: Hooks) -> None:
    assert filled_hooks.prompt() is None
    filled_hooks.wait_for()
    assert FACT in (filled_hooks.prompt() or "")
    filled_hooks.ask({"do": "end"})


def test_a_stop_is_retained(hooks: Hooks, folder: Path) -> None:
    transcript = folder / "t.jsonl"
    said = {"role": "assistant", "content": [{"type": "text", "text": "The cookie was Strict."}]}
    asked = {"role": "user", "content": "Why does the login fail on Safari?"}
    lines = [{"message": asked, "uuid": "u1"}, {"message": said, "uuid": "a1"}]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    given = _input("Stop", stop_hook_active=False) | {"transcript_path": str(transcript)}
    with hooks.helper() as helper:
        ran = hooks.run("stop", given)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
        hooks.ask({"do": "end"})
        helper.wait(PATIENCE_S)  # it ends when everything noted is stored
    with recollect.open(hooks.db) as memory:
        kept = {m.text: m for m in memory.memories("default")}
    assert set(kept) == {"Why does the login fail on Safari?", "The cookie was Strict."}
    assert kept["The cookie was Strict."].tags == ("claude-code", "shop")


def test_a_helper_ends_by_itself_and_leaves_no_socket(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_RESIDENT_IDLE_S", "0.3")
    command = [sys.executable, "-m", "recollect.mcp.resident", *hooks.options]
    assert subprocess.run(command, timeout=PATIENCE_S, check=True).returncode == 0
    assert [p.suffix for p in places.run_folder().iterdir()] == [".lock"]


def test_there_is_one_helper_for_a_store(hooks: Hooks) -> None:
    with hooks.helper():
        second = subprocess.run(
            [sys.executable, "-m", "recollect.mcp.resident", *hooks.options],
            timeout=PATIENCE_S,
            check=True,
        )
        assert second.returncode == 0 and hooks.ask({"do": "retain"}) == {}


# --- failing open ----------------------------------------------------------------------------


@pytest.mark.parametrize("event", ["prompt", "stop", "start"])
@pytest.mark.parametrize("given", ["", "no json", "[]", '{"prompt": 7}', "\x00\xff"])
def test_whatever_is_on_stdin_the_exit_code_is_zero(hooks: Hooks, event: str, given: str) -> None:
    ran = hooks.run(event, given, RECOLLECT_RESIDENT_IDLE_S="0.1")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_an_event_nobody_knows_is_logged(hooks: Hooks) -> None:
    ran = hooks.run("dance", {})
    assert (ran.returncode, ran.stdout) == (0, "") and "dance" in places.log_path().read_text()


def test_a_helper_that_does_not_answer_is_not_waited_for(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LIMIT)
    with closing(socket.socket(socket.AF_UNIX)) as silent:
        silent.bind(str(places.socket_path(hooks.options)))
        silent.listen()
        for _ in range(20):  # on a busy machine the end may come before the log is written
            assert hooks.prompt() is None
            if places.log_path().exists():
                break
    assert "prompt:" in places.log_path().read_text()


def test_a_client_that_never_closes_stdin_is_not_waited_for(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LIMIT)
    command = [sys.executable, "-m", "recollect.mcp.hook", "prompt", *hooks.options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.wait(PATIENCE_S) == 0
        assert process.stdout is not None and process.stdout.read() == b""


def test_a_helper_that_cannot_open_the_store_says_so_in_the_log(hooks: Hooks) -> None:
    hooks.db.write_text("this is a letter, not a store" * 100, "utf-8")
    command = [sys.executable, "-m", "recollect.mcp.resident", *hooks.options]
    assert subprocess.run(command, timeout=PATIENCE_S, check=False).returncode == 1
    assert "NotAStore" in places.log_path().read_text()


def test_a_home_that_cannot_be_written_is_no_failure(hooks: Hooks, folder: Path) -> None:
    not_a_folder = folder / "file"
    not_a_folder.write_text("", "utf-8")
    ran = hooks.run("stop", _input("Stop"), HOME=str(not_a_folder))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_hooks_can_be_switched_off(filled_hooks: Hooks) -> None:
    with filled_hooks.helper():
        given = _input("UserPromptSubmit", prompt=PROMPT)
        assert filled_hooks.run("prompt", given, RECOLLECT_HOOKS="off").stdout == ""


# --- settings --------------------------------------------------------------------------------

SETTINGS = """\
{
  // mine
  "model": "opus",
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]} // ding
    ]
  }
}
"""


def test_hooks_are_added_beside_others_and_taken_out_exactly(folder: Path) -> None:
    path = settings_file("user")
    path.parent.mkdir()
    path.write_text(SETTINGS, "utf-8")
    assert main(["hooks", "install", "claude-code", "--yes", "--bank", "my shop"]) == 0
    text = path.read_text("utf-8")
    assert "say done" in text and "// ding" in text and "// mine" in text
    assert text.count("recollect.mcp.hook") == 3 and "--bank 'my shop'" in text
    assert main(["hooks", "install", "claude-code", "--yes"]) == 0
    assert path.read_text("utf-8").count("recollect.mcp.hook") == 3
    assert main(["hooks", "uninstall", "claude-code", "--yes"]) == 0
    assert path.read_text("utf-8") == SETTINGS


def test_hooks_are_taken_out_of_settings_that_were_edited_since(folder: Path) -> None:
    path = settings_file("user")
    path.parent.mkdir()
    path.write_text(SETTINGS, "utf-8")
    main(["hooks", "install", "claude-code", "--yes"])
    path.write_text(path.read_text("utf-8").replace("opus", "haiku"), "utf-8")
    main(["hooks", "uninstall", "claude-code", "--yes"])
    left = path.read_text("utf-8")
    assert "recollect" not in left and "haiku" in left and "// ding" in left


def test_only_one_part_may_be_wanted(folder: Path) -> None:
    assert main(["hooks", "install", "claude-code", "--yes", "--only", "recall"]) == 0
    text = settings_file("user").read_text("utf-8")
    assert "hook prompt" in text and "hook stop" not in text


def test_a_projects_hooks_stay_out_of_its_repository(folder: Path) -> None:
    main(["hooks", "install", "claude-code", "--yes", "--scope", "project"])
    assert (folder / "project" / ".claude" / "settings.local.json").exists()


def test_a_written_hook_is_a_command_that_runs(filled_hooks: Hooks, folder: Path) -> None:
    main(["hooks", "install", "claude-code", "--yes", "--db", str(filled_hooks.db)])
    settings = json.loads(settings_file("user").read_text("utf-8"))
    command = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]
    given = json.dumps(_input("UserPromptSubmit", prompt=PROMPT))
    with filled_hooks.helper():
        ran = subprocess.run(
            ["sh", "-c", command], input=given, capture_output=True, text=True, check=True
        )
    assert FACT in json.loads(ran.stdout)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("text", ["{", '{"hooks": []}', '{"hooks": {"Stop": 7}}', "[]"])
def test_settings_that_cannot_be_changed_safely_are_left_alone(folder: Path, text: str) -> None:
    path = settings_file("user")
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    assert main(["hooks", "install", "claude-code", "--yes"]) == 2
    assert path.read_text("utf-8") == text


def test_the_socket_of_a_deep_home_is_still_short_enough(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / ("deep" * 30)))
    assert len(os.fsencode(places.socket_path([]))) <= places.SOCKET_BYTES


def test_only_its_owner_may_enter_the_sockets_folder(folder: Path) -> None:
    places.run_folder().chmod(0o755)
    assert places.run_folder().stat().st_mode & 0o777 == 0o700


def test_status_tells_what_is_set_and_what_runs(
    filled_hooks: Hooks, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["hooks", "install", "claude-code", "--yes", "--db", str(filled_hooks.db)])
    filled_hooks.run("dance", {})
    with filled_hooks.helper():
        capsys.readouterr()
        assert main(["hooks", "status", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["hooks"] == [str(settings_file("user"))] and told["helpers"] == 1
    assert told["waiting"] == 0 and "dance" in told["last"][-1]


def test_a_bank_may_be_named_after_the_project(folder: Path) -> None:
    (folder / "shop" / ".git").mkdir(parents=True)
    assert places.bank_for("notes", folder / "shop") == "notes"
    assert places.bank_for("{project}", folder / "shop" / "src" / "web") == "shop"
    assert places.bank_for("{project}", folder / "loose") == "loose"
    assert places.bank_for("{project}", Path("/")) == "default"

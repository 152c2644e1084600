"""The real process: exit codes, pipes, signals, a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import recollect

RECOLLECT = [sys.executable, "-m", "recollect"]
PATIENCE_S = 120


def _in_a_terminal(*arguments: str, **environment: str) -> str:
    """What a person sees: stdout and stderr on one 100-column terminal."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment}
    process = subprocess.Popen(
        [*RECOLLECT, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=env
    )
    os.close(theirs)
    seen = b""
    while select.select([ours], [], [], PATIENCE_S)[0]:
        try:
            read = os.read(ours, 65536)
        except OSError:  # Linux's way of saying that the other side has closed
            break
        if not read:
            break
        seen += read
    os.close(ours)
    assert process.wait(PATIENCE_S) == 0
    return seen.decode()


def test_a_terminal_gets_the_ranks_drawn(store: Path) -> None:
    seen = _in_a_terminal("--db", str(store), "recall", "alice", "Where does Alice work?")
    assert "semantic  keyword  graph  temporal" in seen
    assert "█1" in seen and "\x1b[" in seen


def test_no_color_leaves_the_drawing_without_escape_sequences(store: Path) -> None:
    seen = _in_a_terminal(
        "--db", str(store), "recall", "alice", "Where does Alice work?", NO_COLOR="1"
    )
    assert "█1" in seen and "\x1b[" not in seen


def test_a_text_without_spaces_is_drawn_whole(tmp_path: Path) -> None:
    db, text = str(tmp_path / "m.db"), "我们在北京召开了一次关于定价策略的重要会议，" * 5
    with recollect.open(db) as memory:
        memory.retain("b", text)
    seen = _in_a_terminal("--db", db, "recall", "b", "北京的会议", NO_COLOR="1")
    assert text in "".join(seen.split())


def test_of_a_long_text_the_part_that_was_asked_about_is_drawn(tmp_path: Path) -> None:
    db, filler = str(tmp_path / "m.db"), "The orchard was quiet that day and nobody came. " * 15
    with recollect.open(db) as memory:
        memory.retain("b", {"text": f"{filler}The kiln cost 900 euros. {filler}"})
    seen = _in_a_terminal("--db", db, "recall", "b", "What did the kiln cost?", NO_COLOR="1")
    assert "The kiln cost 900 euros." in " ".join(seen.split()) and seen.count("orchard") < 10


def test_a_person_is_shown_the_first_ids_of_many(tmp_path: Path) -> None:
    lines = [f"Ann bought {n} red chairs for room {n + 40}." for n in range(25)]
    (tmp_path / "chairs.md").write_text("".join(f"- {line}\n" for line in lines))
    db, file = str(tmp_path / "m.db"), str(tmp_path / "chairs.md")
    seen = _in_a_terminal("--db", db, "retain", "b", file)
    assert seen.count("\tnew") == 20 and "… and 5 more: recollect memories b" in seen


def test_escape_sequences_in_a_context_do_not_reach_the_terminal(store: Path) -> None:
    seen = _in_a_terminal("--db", str(store), "recall", "alice", "deploy script", "--as-context")
    assert "script prints" in seen and "\x1b" not in seen


@pytest.mark.parametrize(
    "command", [("recall", "b", "Who pays?"), ("load", "b", "pay\u202e\x1b[31m")]
)
def test_no_character_of_a_memory_turns_the_terminals_line_around(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    db, marks = tmp_path / "m.db", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    with recollect.open(db) as memory:
        item = {"id": "pay\u202e\x1b[31m", "text": f"Ann pays {marks}Bob.", "tags": ["x\u202ey"]}
        memory.retain("b", item)
    seen = _in_a_terminal("--db", str(db), *command, NO_COLOR="1")
    assert "Ann pays" in seen and not {*marks, "\x1b"} & {*seen}


def test_names_of_an_evaluated_file_are_not_obeyed_by_the_terminal(tmp_path: Path) -> None:
    file, bank = tmp_path / "f.jsonl", "b\x1b]0;title\x07\nc"
    lines = ({"unit": "1", "text": "Ann likes tea.", "bank": bank}, {"query": "tea", "bank": bank})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    seen = _in_a_terminal("eval", str(file))
    assert "retain b�]0;title�" in seen and "\x1b]" not in seen


def test_a_closed_pipe_is_no_traceback(store: Path) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    ran = subprocess.run(
        [*RECOLLECT, "--db", str(store), "export", "alice"],
        stdout=writes,
        stderr=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=False,
    )
    os.close(writes)
    assert (ran.returncode, ran.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("closed", "query", "code"), [("<&-", "-", 2), (">&-", "Alice", 0), ("2>&-", "Alice", 0)]
)
def test_a_stream_that_is_closed_from_the_start_is_no_traceback(
    store: Path, closed: str, query: str, code: int
) -> None:
    line = shlex.join([*RECOLLECT, "--db", str(store), "recall", "alice", query, "--trace"])
    ran = subprocess.run(["sh", "-c", f"{line} {closed}"], capture_output=True, text=True)
    assert (ran.returncode, "Traceback" in ran.stderr) == (code, False)
    assert bool(ran.stdout) == (closed == "2>&-")


def test_ctrl_c_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    command = [*RECOLLECT, "--db", str(tmp_path / "m.db"), "retain", "b", "--file", str(pipe)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with pipe.open("w"):  # opens once the command reads from it, and gives it nothing to read
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130 and said.startswith("error: interrupted")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_locale_that_is_not_utf8_ends_no_command_and_json_stays_utf8(
    tmp_path: Path, encoding: str
) -> None:
    path = tmp_path / "m.db"
    text = "Ana moved to 東京 – and likes 🍣."
    with recollect.open(path) as memory:
        memory.retain("ana", {"text": text})

    def out(*arguments: str) -> bytes:
        env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        command = [*RECOLLECT, "--db", str(path), *arguments]
        return subprocess.run(
            command, env=env, capture_output=True, timeout=PATIENCE_S, check=True
        ).stdout

    assert b"Ana moved to \\u6771\\u4eac" in out("memories", "ana")
    assert b"score = " in out("recall", "ana", "Ana", "--explain")
    assert json.loads(out("memories", "ana", "--json"))[0]["text"] == text
    lines = [json.loads(line) for line in out("export", "ana").splitlines()]
    assert text in [line["memory"]["text"] for line in lines if "memory" in line]


def test_version() -> None:
    ran = subprocess.run(
        [*RECOLLECT, "--version"], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert ran.stdout.startswith("recollect ")


def test_help_needs_nothing_heavy_of_the_command_line() -> None:
    """What the `cli` package itself brings in; the speed of --help is benchmarks/cli_start.py."""
    code = (
        "import sys, recollect; before = set(sys.modules)\n"
        "from recollect.cli import main; main(['--help'])\n"
        "heavy = {'numpy', 'onnxruntime', 'rich', 'sqlite3', 'tokenizers'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=PATIENCE_S, check=True
    )
    assert ran.stderr == b"[]\n"


def test_the_shell_completes_the_names_of_banks(store: Path) -> None:
    typed = f"recollect --db {store} recall al"
    env = {"_RECOLLECT_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": "4"}
    env["RECOLLECT_DB"] = str(store.with_name("another.db"))  # what is typed wins
    ran = subprocess.run(
        RECOLLECT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.stdout.split() == ["alice"]

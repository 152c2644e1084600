"""Every request that cannot be used: what happened, then a hint, exit code 2, nothing lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

UNUSABLE = {
    "unknown bank": ("recall", "nobody", "Where?"),
    "empty query": ("recall", "alice", "  "),
    "query too long": ("recall", "alice", "word " * 600),
    "bad budget": ("recall", "alice", "Where?", "--budget", "huge"),
    "no tokens": ("recall", "alice", "Where?", "--max-tokens", "0"),
    "negative tokens": ("recall", "alice", "Where?", "--max-tokens", "-5"),
    "tokens not a number": ("recall", "alice", "Where?", "--max-tokens", "many"),
    "unknown tag mode": ("recall", "alice", "Where?", "--tags", "a", "--tags-match", "some"),
    "tags that are none": ("recall", "alice", "Where?", "--tags", ""),
    "types that are none": ("recall", "alice", "Where?", "--types", ","),
    "listed by tags that are none": ("memories", "alice", "--tags", " "),
    "a key with no scope": ("keys", "create", "ci", "--scope", ""),
    "unknown type": ("recall", "alice", "Where?", "--types", "dream"),
    "malformed date": ("recall", "alice", "Where?", "--at", "yesterday-ish"),
    "malformed as-of": ("recall", "alice", "Where?", "--as-of", "2026-13-40"),
    "window that ends first": ("recall", "alice", "Where?", "--from", "2026-05-01", "--to", "2026-04-01"),
    "tag groups not JSON": ("recall", "alice", "Where?", "--tag-groups", "{"),
    "score out of range": ("recall", "alice", "Where?", "--min-score", "7"),
    "floors that are none": ("recall", "alice", "Where?", "--min-scores", ""),
    "a floor with no number": ("recall", "alice", "Where?", "--min-scores", "semantic"),
    "a floor that is no number": ("recall", "alice", "Where?", "--min-scores", "semantic=high"),
    "a floor that nothing reaches": ("recall", "alice", "Where?", "--min-scores", "final=inf"),
    "a floor under zero": ("recall", "alice", "Where?", "--min-scores", "final=-1"),
    "a floor at no stage": ("why", "alice", "Where?", "some-id", "--min-scores", "graph=1"),
    "negative k": ("recall", "alice", "Where?", "-k", "-1"),
    "unknown verbosity": ("recall", "alice", "Where?", "--verbosity", "loud"),
    "unknown memory": ("load", "alice", "no-such-id"),
    "why of an unknown memory": ("why", "alice", "Where?", "no-such-id"),
    "unknown document": ("documents", "alice", "no-such-document"),
    "unknown state": ("memories", "alice", "--state", "asleep"),
    "limit of none": ("memories", "alice", "--limit", "0"),
    "nothing to retain": ("retain", "alice"),
    "empty text": ("retain", "alice", " "),
    "missing file": ("retain", "alice", "--file", "no/such/note.md"),
    "missing file as argument": ("retain", "alice", "no-such-note.md"),
    "retain with a bad date": ("retain", "alice", "Hello.", "--timestamp", "soon"),
    "retain with an unknown type": ("retain", "alice", "Hello.", "--type", "dream"),
    "metadata without a value": ("retain", "alice", "Hello.", "--metadata", "source"),
    "stdin that is not text": ("retain", "alice", "-"),
    "forget what": ("forget", "alice"),
    "forget two things": ("forget", "alice", "x", "--all"),
    "import of no export": ("import", "-"),
    "import of no file": ("import", "no/such/export.jsonl"),
    "when of nothing": ("when", " "),
    "when at no date": ("when", "last spring", "--at", "then"),
    "unknown command": ("recal", "alice", "Where?"),
    "unknown option": ("recall", "alice", "Where?", "--budgt", "low"),
    "missing argument": ("recall", "alice"),
    "missing value": ("recall", "alice", "Where?", "--budget"),
    "missing settings file": ("--config", "no/such/settings.toml", "recall", "alice", "Where?"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable_requests_say_what_happened_and_what_to_do(ask: Any, name: str) -> None:
    ran = ask(*UNUSABLE[name], stdin=b"\xff\xfe\xfa")
    assert (ran.code, ran.out) == (2, "")
    first, blank, hint = ran.err.strip().split("\n")
    assert first.startswith("error: ") and blank == "" and hint.startswith("hint: ")


def test_nothing_was_lost_by_all_of_them(ask: Any) -> None:
    for arguments in UNUSABLE.values():
        if arguments[0] in ("retain", "forget", "import"):
            ask(*arguments, stdin=b"\xff\xfe\xfa")
    assert ask("stats", "alice", "--json").json["memories"] == 6


def test_an_error_is_json_on_stderr_with_json(ask: Any) -> None:
    ran = ask("recall", "nobody", "Where?", "--json")
    error = json.loads(ran.err)["error"]
    assert (ran.out, error["type"]) == ("", "NotFound") and error["hint"]


def test_a_mistyped_command_is_guessed(run: Any) -> None:
    assert "did you mean 'recall'" in run("recal").err


def test_a_mistyped_option_is_guessed(run: Any) -> None:
    assert "--budget" in run("recall", "alice", "Where?", "--budgt", "low").err


def test_reading_from_a_mistyped_path_makes_no_file(run: Any, tmp_path: Path) -> None:
    ran = run("--db", tmp_path / "typo.db", "recall", "alice", "Where?")
    assert (ran.code, list(tmp_path.iterdir())) == (2, [])


def test_a_file_that_is_no_store_fails_with_1(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "letter.db"
    path.write_text("Dear Alice, " * 500, "utf-8")
    ran = run("--db", path, "banks")
    assert ran.code == 1 and "hint:" in ran.err
    assert path.read_text("utf-8") == "Dear Alice, " * 500


@pytest.mark.parametrize(
    "arguments",
    [
        ("recall", "alice", "\udcff"),
        ("keys", "create", "\udcff"),
        ("memories", "alice", "--limit", "0"),
        ("memories", "alice", "--limit", str(2**70)),
        ("operations", "list", "alice", "--limit", str(2**70)),
        ("export", "alice", "-o", "/"),
        ("export", "alice", "-o", ""),
        ("relate", "alice", "m1", "m2=heavy"),
        ("configure", "alice", "novalue"),
        ("entities", "alice", "nobody"),
        ("memories", "alice", "--entity", "nobody"),
        ("memories", "alice", "--time-field", "when", "--since", "2026-01-01"),
        ("memories", "alice", "--tag-groups", "[" * 100_000),
        ("recall", "alice", "who?", "--without", "luck"),
        ("recall", "alice", "who?", "--from", ""),
    ],
)
def test_what_cannot_be_used_is_said_with_the_way_out(ask: Any, arguments: tuple[str, ...]) -> None:
    done = ask(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "hint:" in done.err


def test_a_path_that_cannot_be_is_said(run: Any) -> None:
    done = run("copy", "x" * 5000, "y.db")
    assert done.code == 1 and "too long" in done.err


def test_what_moves_everything_asks_also_when_it_answers_in_json(run: Any) -> None:
    said = run("--db", "postgresql://127.0.0.1:1/none", "admin", "distribute", "--json")
    assert said.code == 2
    assert "--yes" in said.err


def test_a_copy_from_nowhere_speaks_of_the_source(run: Any, tmp_path: Path) -> None:
    said = run("copy", tmp_path / "none.db", tmp_path / "target.db")
    assert said.code == 2
    assert "--db" not in said.err
    assert list(tmp_path.iterdir()) == []

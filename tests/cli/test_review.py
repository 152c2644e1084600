"""review: what has grown old is listed, and renewed, edited or retired."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect

NOW = datetime.now(UTC)
ITEMS = [
    {"id": "fresh", "text": "Deploy with the blue script.", "kind": "lesson"},
    {"id": "aging", "text": "The cache holds a day.", "kind": "project-fact", "updated_at": NOW - timedelta(days=70)},
    {"id": "stale", "text": "The index is rebuilt at night.", "kind": "project-fact", "updated_at": NOW - timedelta(days=100)},
    {"id": "expired", "text": "Ask Dana for a key.", "kind": "workflow", "updated_at": NOW - timedelta(days=400), "title": "Keys"},
    {"id": "over", "text": "The freeze holds.", "valid_until": NOW - timedelta(days=3)},
    {"id": "undated", "text": "The lamp hums.", "timestamp": "unset", "kind": "project-fact", "updated_at": NOW - timedelta(days=200)},
    {"id": "ageless", "text": "Tea is at four.", "kind": "recipe", "updated_at": NOW - timedelta(days=4000)},
]  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("review") / "filled.db"
    with recollect.open(path) as memory:
        memory.retain("b", ITEMS)
        memory.retain("other", {"id": "x", "text": "Old news.", "valid_until": "2020-01-01"})
    return path


@pytest.fixture
def store(tmp_path: Path, filled: Path) -> Path:
    return Path(shutil.copy(filled, tmp_path / "own.db"))


@pytest.fixture
def own(run: Any, store: Path) -> Any:
    return lambda *arguments: run("--db", store, *arguments)


def ids(ran: Any) -> set[str]:
    return {d["id"] for d in ran.json}


def test_it_lists_what_is_due_the_most_overdue_first(own: Any) -> None:
    found = own("review", "b", "--json").json
    assert [d["id"] for d in found] == ["expired", "undated", "stale", "over", "aging"]


def test_it_says_how_long_and_by_which_window(own: Any) -> None:
    found = {d["id"]: d for d in own("review", "b", "--json").json}
    stale = found["stale"]
    assert (stale["freshness"], stale["factor"], stale["window_days"]) == ("stale", 0.5, 90.0)
    assert stale["age_days"] == pytest.approx(100, abs=0.1)
    assert stale["overdue_days"] == pytest.approx(10, abs=0.1)
    assert found["aging"]["overdue_days"] == pytest.approx(-20, abs=0.1)
    assert found["over"]["overdue_days"] == pytest.approx(3, abs=0.1)


@pytest.mark.parametrize(
    ("state", "expected"),
    [("aging", {"aging"}), ("stale", {"stale"}), ("expired,stale", {"expired", "undated", "over", "stale"})],
)  # fmt: skip
def test_a_state_narrows_it(own: Any, state: str, expected: set[str]) -> None:
    assert ids(own("review", "b", "--state", state, "--json")) == expected


def test_without_a_bank_all_are_looked_at(own: Any) -> None:
    assert {d["bank"] for d in own("review", "--json").json} == {"b", "other"}


def test_the_bank_may_be_an_option(own: Any) -> None:
    assert ids(own("review", "--bank", "other", "--json")) == {"x"}


def test_in_a_pipe_it_is_a_list(own: Any) -> None:
    lines = own("review", "b").out.splitlines()
    assert lines[0].split("\t") == [
        "expired",
        "220 d ago",
        "workflow",
        "180 d",
        "0.2",
        "expired",
        "Keys",
    ]


def test_renewed_it_is_fresh(own: Any) -> None:
    assert own("review", "b", "--renew", "stale", "--renew", "aging").code == 0
    assert ids(own("review", "b", "--json")) == {"expired", "undated", "over"}


def test_an_id_renews(own: Any) -> None:
    assert own("review", "b", "expired", "--json").json["renewed"][0]["last_reviewed_at"]
    assert "expired" not in ids(own("review", "b", "--json"))


def test_retired_it_is_no_longer_recalled(own: Any) -> None:
    own("review", "b", "--retire", "expired")
    assert own("load", "b", "expired", "--json").json["state"] == "invalidated"
    assert "expired" not in ids(own("review", "b", "--json"))


def test_all_means_what_would_be_listed(own: Any) -> None:
    own("review", "b", "--state", "expired", "--retire", "all")
    assert ids(own("review", "b", "--json")) == {"stale", "aging"}


def test_all_means_every_bank_though_their_ids_be_the_same(own: Any, store: Path) -> None:
    with recollect.open(store) as memory:
        memory.import_bank(memory.export("b"), "copy")
    retired = own("review", "--state", "stale", "--retire", "all", "--json").json["retired"]
    assert {(m["bank"], m["id"]) for m in retired} == {("b", "stale"), ("copy", "stale")}
    assert ids(own("review", "--state", "stale", "--json")) == set()


def test_a_new_end_can_be_set(own: Any) -> None:
    own("review", "b", "over", "--set-valid-until", "2099-01-01")
    assert own("load", "b", "over", "--json").json["valid_until"].startswith("2099-01-01")
    own("review", "b", "over", "--set-valid-until", "never")
    assert "valid_until" not in own("load", "b", "over", "--json").json


@pytest.mark.parametrize(
    "arguments",
    [
        ("--state", "old"),
        ("--renew", "nobody"),
        ("--renew", "stale", "--retire", "stale"),
        ("--set-valid-until", "2099-01-01"),
        ("stale", "--set-valid-until", "soon"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    own: Any, arguments: tuple[str, ...]
) -> None:
    before = own("review", "b", "--json").json
    ran = own("review", "b", *arguments)
    assert ran.code == 2 and "hint:" in ran.err
    assert [d["id"] for d in own("review", "b", "--json").json] == [d["id"] for d in before]


def test_a_date_that_is_none_is_named_as_it_was_given(own: Any) -> None:
    ran = own("review", "b", "stale", "--set-valid-until", "soon")
    assert "valid_until 'soon' is not a date" in ran.err and "item 0" not in ran.err


def test_an_id_without_its_bank_is_refused(own: Any) -> None:
    ran = own("review", "--renew", "stale")
    assert ran.code == 2 and "of which bank" in ran.err


def test_nothing_due_is_said(own: Any) -> None:
    own("review", "b", "--renew", "all")
    own("review", "b", "over", "--set-valid-until", "never")
    assert "nothing is due" in own("review", "b").err


# --- in a terminal -------------------------------------------------------------------------


def _typed(store: Path, keys: str, tmp_path: Path) -> str:
    """The command in a real terminal, answered with these lines."""
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\nimport sys\nopen(sys.argv[1], 'w').write('The index is rebuilt hourly.')\n"
    )
    editor.chmod(0o755)
    main, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect.cli", "--db", str(store), "review", "b"],
        stdin=other, stdout=other, stderr=other, close_fds=True, env={**os.environ, "EDITOR": str(editor)},
    )  # fmt: skip
    os.close(other)
    os.write(main, keys.encode())
    said, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([main], [], [], 0.2)[0]:
            try:
                said += os.read(main, 65536)
            except OSError:  # the other end is closed
                break
        elif process.poll() is not None:
            break
    process.kill()
    process.wait()
    os.close(main)
    return said.decode("utf-8", "replace")


def test_in_a_terminal_it_asks_one_by_one(store: Path, tmp_path: Path) -> None:
    said = _typed(store, "t\nr\ne\ns\nq\n", tmp_path)
    assert "1 of 5" in said and "expired (×0.2)" in said and "workflow of 180 days" in said
    assert "1 retired, 1 renewed, 1 edited, 1 skipped" in said
    with recollect.open(store) as memory:
        assert memory.load("b", "expired").state.value == "invalidated"
        assert memory.load("b", "stale").text == "The index is rebuilt hourly."
        assert [d.memory.id for d in memory.due("b")] == ["over", "aging"]


def test_ending_the_questions_early_says_what_was_done(store: Path, tmp_path: Path) -> None:
    said = _typed(store, "t\nr\n\x04", tmp_path)  # Ctrl-D
    assert "1 retired, 1 renewed" in said
    assert "error" not in said

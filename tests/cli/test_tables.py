"""Tables in a terminal: nothing is cut that somebody wants to copy."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from recollect.cli import output, tables

ID = "01a1e091-0419-7fcf-8860-2a6c5e392f39"
TEXT = "Let us offer them a cap, so that their bill cannot grow by more than ten percent a year."


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def show(width: int) -> list[str]:
        monkeypatch.setattr(tables, "terminal", lambda: True)
        monkeypatch.setenv("COLUMNS", str(width))
        tables.show_table(("id", "count", "text"), [(ID, 7, TEXT), (ID, 12, "短")])
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return show


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_ids_are_whole_at_any_width(shown, width: int) -> None:
    assert sum(line.startswith(ID) for line in shown(width)) == 2


def test_a_text_stands_beside_where_there_is_room(shown) -> None:
    lines = shown(120)
    assert lines[1].startswith(f"{ID}      7  Let us offer them")


def test_and_below_where_there_is_none(shown) -> None:
    lines = shown(70)
    assert lines[1] == f"{ID}      7"
    assert lines[2].startswith("    Let us offer them a cap")
    assert " ".join(" ".join(lines[2:4]).split()) == TEXT


def test_a_table_without_lines_is_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    tables.show_table(("id", "text"), [], none="alice has no such memory")
    assert capsys.readouterr() == ("", "alice has no such memory\n")


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_said_is_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stderr", _Terminal())
    assert output.fitting(f"error: {TEXT}").splitlines() == [
        "error: Let us offer them a cap, so that",
        "their bill cannot grow by more than ten",
        "percent a year.",
    ]


def test_what_is_said_to_a_pipe_stays_one_line() -> None:
    assert output.fitting(3 * TEXT) == 3 * TEXT

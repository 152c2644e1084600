"""docs/cli.md says what the commands are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from recollect.cli.app import SECTIONS, app
from recollect.cli.reference import written

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
ROOT: Any = typer.main.get_command(app)


def test_the_reference_is_what_the_commands_say() -> None:
    page = PAGE.read_text("utf-8")
    assert page == written(page), "run: python -m recollect.cli.reference docs/cli.md"


def test_every_command_is_under_a_heading() -> None:
    assert sorted(n for names in SECTIONS.values() for n in names) == sorted(ROOT.commands)


def test_every_command_and_option_is_documented() -> None:
    page = PAGE.read_text("utf-8")
    for name, command in ROOT.commands.items():
        assert f"`recollect {name}" in page
        section = page.split(f"#### `recollect {name}", 1)[1].split("####", 1)[0]
        own = [p for p in command.params if p.name not in ("db", "config", "as_json", "help")]
        for option in (o for p in own if p.param_type_name == "option" for o in p.opts):
            assert f"`{option}" in section, f"{name} {option}"


def test_help_names_arguments_as_they_stand_on_the_command_line(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = run("retain", "--help").out
    assert shown.startswith("Usage: recollect retain [OPTIONS] BANK [TEXT|FILE|-]...\n")
    assert "\n  [TEXT|FILE|-]...  Words" in shown


@pytest.mark.parametrize("name", sorted(ROOT.commands))
def test_help_shows_no_types_of_python(run: Any, name: str) -> None:
    assert not re.search(r"<[a-z]+[\[ >]", run(name, "--help").out)


def test_every_option_says_what_it_is_for() -> None:
    for name, command in ROOT.commands.items():
        assert command.help, name
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name}"

"""One table of verbs: the library, its awaited form and both clients have the same ones, which take
the same arguments by the same names with the same defaults."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import recollect

LIBRARY = recollect.Recollect
OTHERS = (recollect.AsyncRecollect, recollect.Client, recollect.AsyncClient)
# What verbs are made of, and what a server or a vault needs of the library.
PARTS = {
    "store",
    "embedder",
    "settings",
    "retain_accepted",
    "reembedding",
    "told_by",
    "unread",
    "read_ahead",
    "withdraw_document",
    "sync",
    "drive",
    "place",
    "lines",
}
QUEUE = {"submit", "operation", "operations", "cancel"}  # a server works when nobody waits
# What an awaited verb may be given as well: another awaited memory, lines that are awaited.
AWAITED = {"to", "lines"}


def verbs(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")} - PARTS


VERBS = sorted(verbs(LIBRARY) - {"close"})


def arguments(verb: Callable[..., Any]) -> list[tuple[Any, ...]]:
    """Names, kinds, defaults and types, without self and what is typed by who is asked."""
    given = inspect.signature(verb).parameters.values()
    return [
        (p.name, p.kind, p.default, None if p.name in AWAITED else p.annotation)
        for p in given
        if p.name != "self"
    ]


def gives(verb: Callable[..., Any]) -> str:
    """The type of its answer, whoever waits for it."""
    said = str(inspect.signature(verb).return_annotation)
    return re.sub(r"^(?:Steps|Async)(?:\[(.*)\]|(.*))$", r"\1\2", said)


@pytest.mark.parametrize("other", OTHERS)
def test_every_verb_is_everywhere(other: type) -> None:
    assert verbs(other) - QUEUE == verbs(LIBRARY)


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_the_same(verb: str, other: type) -> None:
    assert arguments(getattr(other, verb)) == arguments(getattr(LIBRARY, verb))


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_gives_the_same(verb: str, other: type) -> None:
    mine, theirs = gives(getattr(LIBRARY, verb)), gives(getattr(other, verb))
    assert theirs == mine


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_what_it_does(verb: str) -> None:
    for kind in (LIBRARY, *OTHERS):
        assert inspect.getdoc(getattr(kind, verb)), f"{kind.__name__}.{verb}"


# --- the page that says what verbs are called elsewhere -----------------------------------------

PAGE = (Path(__file__).parents[2] / "docs/verbs.md").read_text("utf-8")
ROWS = {
    cells[0][0]: cells[1:]  # operations, commands, tools
    for line in PAGE.splitlines()
    if line.startswith("| `")
    for cells in [[re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]]]
}


def test_the_page_has_every_verb() -> None:
    assert set(ROWS) == set(VERBS)


def test_the_page_has_every_operation_that_is_served() -> None:
    described = json.loads((Path(__file__).parents[2] / "docs/openapi.json").read_text("utf-8"))
    served = {
        operation["operationId"]
        for methods in described["paths"].values()
        for operation in methods.values()
        if "501" not in operation["responses"]
    }
    other = {"get_index", "get_health", "get_liveness", "get_version", "get_metrics"}
    assert set(re.findall(r"`([a-z]+_[a-z_]+)`", PAGE)) >= served - other
    named = {operation for cells in ROWS.values() for operation in cells[0]}
    assert named <= served


def test_the_page_names_commands_and_tools_that_there_are() -> None:
    from recollect.cli.app import SECTIONS
    from recollect.mcp.tools import TOOLS

    commands = {command.split()[0] for cells in ROWS.values() for command in cells[1]}
    tools = {tool for cells in ROWS.values() for tool in cells[2]}
    assert commands <= {name for names in SECTIONS.values() for name in names}
    assert tools == {tool.name for tool in TOOLS}

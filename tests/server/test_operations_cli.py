"""`recollect operations`: list, retry, cancel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.cli import main
from recollect.server.operations import Operations
from recollect.testing import open_fake


@pytest.fixture
def waiting(db: Path) -> tuple[str, str]:
    """One that failed, and one behind it that is pending."""
    with open_fake(db) as memory:
        operations = Operations(memory)
        unknown = {"text": "It rained.", "causal_relations": [{"target": "nobody"}]}
        failed = operations.submit_retain("alice", [unknown])
        operations.work_off()
        return failed.id, operations.submit_retain("alice", [{"content": "Bob runs."}]).id


@pytest.fixture
def run(db: Path, capsys: pytest.CaptureFixture[str]):
    def call(*arguments: str):
        code = main(["--db", str(db), "operations", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_operations_are_listed_with_what_went_wrong(run, waiting) -> None:
    failed, pending = waiting
    lines = [line.split("\t") for line in run("list", "alice")[1].splitlines()]
    assert [(line[0], line[3]) for line in lines] == [(pending, "pending"), (failed, "failed")]
    assert "nobody" in lines[1][6]
    shown = json.loads(run("list", "alice", "--state", "failed", "--json")[1])
    assert [o["id"] for o in shown] == [failed]


def test_what_failed_is_retried_and_what_waits_cancelled(run, waiting) -> None:
    failed, pending = waiting
    assert run("retry", "alice", failed)[0] == 0
    assert run("cancel", "alice", pending)[0] == 0
    shown = json.loads(run("list", "alice", "--json")[1])
    assert [o["state"] for o in shown] == ["cancelled", "pending"]


def test_what_cannot_be_is_said_with_the_way_out(run, waiting) -> None:
    failed, _ = waiting
    for arguments in (("cancel", "alice", failed), ("retry", "alice", "nope"), ("list", "nobody"), ("list", "alice", "--state", "odd")):  # fmt: skip
        code, _, told = run(*arguments)
        assert code != 0 and "hint:" in told

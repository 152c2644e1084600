"""A bank as JSONL and back, exactly."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import given, settings

import recollect
from recollect.errors import InvalidInput
from recollect.testing import open_fake

from .histories import BANK, LIFE, answers, live


def exported(memory: recollect.Recollect, bank: str = BANK) -> list[bytes]:
    return [orjson.dumps(line) for line in memory.export(bank)]


def imported(memory: recollect.Recollect, lines: list[bytes], bank: str | None = None) -> None:
    memory.import_bank((orjson.loads(line) for line in lines), bank)


@settings(max_examples=30, deadline=None)
@given(LIFE)
def test_export_then_import_is_lossless(steps) -> None:
    with (
        TemporaryDirectory() as folder,
        open_fake(Path(folder) / "one.db") as one,
        open_fake(Path(folder) / "two.db") as two,
    ):
        live(one, steps)
        lines = exported(one)
        imported(two, lines)
        assert exported(two) == lines
        assert answers(two) == answers(one)
        assert two.bank(BANK).memories == one.bank(BANK).memories


def test_what_was_imported_goes_on_as_before(tmp_path: Path) -> None:
    with open_fake(tmp_path / "one.db") as one, open_fake(tmp_path / "two.db") as two:
        one.retain(BANK, {"text": "Alice works at Google", "timestamp": "2024-01-01"})
        imported(two, exported(one), "copy")
        again = two.retain("copy", {"text": "Alice works at Google", "timestamp": "2024-02-01"})
        assert again.known == one.retain(BANK, {"text": "Alice works at Google"}).known
        moved = two.retain("copy", {"text": "Alice works at Meta", "timestamp": "2025-01-01"})
        assert moved.superseded == again.known


def test_a_bank_that_holds_something_is_not_overwritten(memory: recollect.Recollect) -> None:
    memory.retain(BANK, "Bob runs.")
    lines = exported(memory)
    with pytest.raises(InvalidInput, match="not empty"):
        imported(memory, lines)
    imported(memory, lines, "other")
    assert exported(memory, "other")[1:] == lines[1:]


def test_an_emptied_bank_takes_an_import(memory: recollect.Recollect) -> None:
    one = memory.retain(BANK, {"text": "Bob runs."}).ids[0]
    lines = exported(memory)
    memory.forget(BANK, one)
    memory.recall(BANK, "runs")
    imported(memory, lines)
    assert [h.text for h in memory.recall(BANK, "Who runs?")] == ["Bob runs."]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b'{"content": "an item, not an export"}'],
        [b'{"recollect": 99, "bank": "b"}'],
        [b'{"recollect": 1, "bank": "b", "embedder": "x", "dimensions": 4, "token_dimensions": 0}', b'{"what": 1}'],
        [b'{"recollect": 1, "bank": "b", "embedder": "x", "dimensions": 4, "token_dimensions": 0}', b'{"memory": {}}'],
        [b'{"recollect": 1, "bank": "b"}'],
        [b"[1]"],
    ],
)  # fmt: skip
def test_what_is_no_export_is_refused_and_leaves_no_bank(
    memory: recollect.Recollect, lines: list[bytes]
) -> None:
    with pytest.raises(InvalidInput) as raised:
        imported(memory, lines)
    assert raised.value.hint
    assert memory.banks() == []

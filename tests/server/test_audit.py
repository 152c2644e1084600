"""The audit: who changed what, one line each, and nothing of what was remembered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.errors import ConfigError
from recollect.server.audit import Audit, Entry

ENTRY = Entry(
    request_id="r1",
    key="abc",
    bank="alice",
    action="retain_memories",
    status=200,
    counts={"new": 2},
    took_ms=12.34,
)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_entry_is_one_json_line(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path / "logs" / "audit.jsonl"))
    audit.record(ENTRY)
    audit.close()
    (line,) = lines(tmp_path / "logs" / "audit.jsonl")
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "request_id": "r1",
        "key": "abc",
        "bank": "alice",
        "action": "retain_memories",
        "outcome": "done",
        "status": 200,
        "took_ms": 12.3,
        "counts": {"new": 2},
    }


def test_a_bank_with_a_line_break_in_its_name_makes_no_second_line(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path / "a"))
    audit.record(
        Entry(**{f: getattr(ENTRY, f) for f in Entry.__slots__} | {"bank": 'x\n{"key":"y"}'})
    )
    audit.close()
    assert [line["bank"] for line in lines(tmp_path / "a")] == ['x\n{"key":"y"}']


@pytest.mark.parametrize(
    ("status", "outcome"), [(200, "done"), (201, "done"), (403, "refused"), (429, "refused"), (422, "failed"), (500, "failed")]
)  # fmt: skip
def test_the_outcome_says_how_it_ended(status: int, outcome: str) -> None:
    assert Entry(**{f: getattr(ENTRY, f) for f in Entry.__slots__} | {"status": status}).outcome == outcome  # fmt: skip


def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    Audit(str(tmp_path / "a")).close()
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_it_goes_on_in_a_new_file_when_the_old_one_is_moved_away(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path / "a"))
    audit.record(ENTRY)
    (tmp_path / "a").rename(tmp_path / "a.1")
    audit.record(ENTRY)
    audit.close()
    assert len(lines(tmp_path / "a")) == len(lines(tmp_path / "a.1")) == 1


def test_a_place_that_cannot_be_written_is_said_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError) as raised:
        Audit(str(tmp_path / "file" / "audit"))
    assert "audit_log" in (raised.value.hint or "")

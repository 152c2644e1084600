"""docs/vaults.md and docs/lifecycle.md say what the code does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from recollect import Recollect
from recollect.lifecycle import FACTOR, FROM, WINDOWS, Freshness
from recollect.vault.decide import AUTHORED_TOKENS, PLAIN_TOKENS
from recollect.vault.files import LARGEST

DOCS = Path(__file__).parents[2] / "docs"
LIFECYCLE = (DOCS / "lifecycle.md").read_text("utf-8")
VAULTS = " ".join((DOCS / "vaults.md").read_text("utf-8").split())


def test_the_windows_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| (`.*`) \| (\d+) days \|$", LIFECYCLE, re.MULTILINE)
    told = {kind: float(days) for kinds, days in rows for kind in re.findall(r"`([^`]+)`", kinds)}
    assert told == WINDOWS


def test_the_factors_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| (?:from|below) ([\d.]+).*\| (\w+) \| × ([\d.]+) \|$", LIFECYCLE, re.M)
    assert {Freshness(word): float(factor) for _, word, factor in rows} == FACTOR
    shares = {word: float(share) for share, word, _ in rows if word != "fresh"}
    assert shares == {f.value: share for f, share in FROM.items() if share}


def test_the_limits_are_those_of_the_code() -> None:
    for number in (AUTHORED_TOKENS, PLAIN_TOKENS, 2 * AUTHORED_TOKENS):
        assert f"{number:,}" in VAULTS
    assert f"over {LARGEST // 1_000_000} MB" in VAULTS


def test_the_example_runs(memory: Recollect) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=400)
    memory.retain(
        "work",
        [
            {"id": "a", "text": "Keys rotate.", "kind": "lesson", "updated_at": long_ago},
            {"id": "b", "text": "Tea is at four."},
        ],
    )
    (code,) = re.findall(r"```python\n(.*?)```", LIFECYCLE, re.DOTALL)
    exec(code, {"memory": memory, "memory_id": "a", "other_id": "b"})
    assert memory.load("work", "a").valid_until == datetime(2027, 6, 30, tzinfo=UTC)

"""docs/coming-from.md: what other memories give becomes a bank."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.testing import open_fake

PAGE = (Path(__file__).parents[2] / "docs/coming-from.md").read_text("utf-8")


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the blocks of Python define."""
    out: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, out)
    return out


MEM0 = {
    "results": [
        {"id": "a1", "memory": "Likes hiking", "hash": "x", "metadata": {"category": "hobbies"},
         "created_at": "2026-03-01T10:00:00-07:00", "updated_at": None, "user_id": "ann"},
        {"id": "a2", "memory": "Is allergic to nuts", "metadata": None,
         "created_at": "2026-04-01T10:00:00-07:00", "user_id": "ann"},
    ]
}  # fmt: skip
EDGES = [
    {"uuid": "e1", "fact": "Ann works at Acme", "name": "WORKS_AT", "created_at": "2024-01-02T00:00:00Z",
     "valid_at": "2023-06-01T00:00:00Z", "invalid_at": "2025-01-01T00:00:00Z", "expired_at": None},
    {"uuid": "e2", "fact": "Ann works at Northwind", "name": "WORKS_AT", "created_at": "2025-01-02T00:00:00Z"},
]  # fmt: skip


def test_mem0s_memories_keep_id_day_and_metadata(page: dict[str, Any], memory: Recollect) -> None:
    page["from_mem0"](memory, "ann", MEM0)
    kept = memory.load("ann", "a1")
    assert (kept.text, kept.metadata) == ("Likes hiking", {"category": "hobbies"})
    assert kept.mentioned_at is not None and kept.mentioned_at.isoformat()[:10] == "2026-03-01"


def test_an_edge_that_ended_ranks_below_the_one_that_holds(
    page: dict[str, Any], memory: Recollect
) -> None:
    page["from_edges"](memory, "ann", EDGES)
    assert memory.recall("ann", "Where does Ann work?").results[0].id == "e2"
    ended = memory.load("ann", "e1").valid_until
    assert ended is not None and ended.year == 2025


def test_what_was_brought_over_twice_is_there_once(page: dict[str, Any], memory: Recollect) -> None:
    for _ in range(2):
        page["from_mem0"](memory, "ann", MEM0)
        page["from_edges"](memory, "zep", EDGES)
    assert (memory.count("ann"), memory.count("zep")) == (2, 2)


def test_hindsights_own_client_brings_its_memories(
    page: dict[str, Any], memory: Recollect, serve: Any, tmp_path: Path
) -> None:
    hindsight = pytest.importorskip("hindsight_client", reason="Hindsight's client is not here")
    left = tmp_path / "left.db"
    with open_fake(left) as before:
        before.retain("ann", [{"text": f"Ann has {n} cats", "timestamp": "2026-01-02", "tags": ["pets"]} for n in range(7)])  # fmt: skip
        wanted = {(m.id, m.text, m.type, m.tags, m.mentioned_at) for m in before.memories("ann")}
    with hindsight.Hindsight(base_url=serve(left)) as client:
        page["from_hindsight"](memory, "ann", client, page=3)
    brought = memory.memories("ann")
    assert {(m.id, m.text, m.type, m.tags, m.mentioned_at) for m in brought} == wanted

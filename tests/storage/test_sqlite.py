"""The embedded store keeps the contract of all stores, and reads pages of a large bank in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.memory import Recollect
from recollect.storage.base import Store
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import StoreContract


class TestSqliteStore(StoreContract):
    def make_store(self, folder: Path) -> Store:
        return SqliteStore(folder / "m.db", model=self.model)


# --- from the plans of the very queries that are asked -----------------------------------------

BANK = "alice"


@pytest.fixture
def plans(memory: Recollect, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How SQLite goes about whatever is read of memories and documents from here on."""
    days = [{"text": f"Day {n} was fine", "id": f"m{n}", "document_id": f"d{n}"} for n in range(9)]
    memory.retain(BANK, days)
    store = memory.store
    assert isinstance(store, SqliteStore)
    execute, out = store._execute, []

    def noted(sql: str, arguments: Any = ()) -> list[Any]:
        if "ORDER BY" in sql or "count(*) FROM memories" in sql:
            steps = execute(f"EXPLAIN QUERY PLAN {sql}", arguments)
            out.append("\n".join(str(step[3]) for step in steps))
        return execute(sql, arguments)

    monkeypatch.setattr(store, "_execute", noted)
    return out


@pytest.mark.parametrize(
    "asked",
    [
        lambda m: m.memories(BANK, limit=3),
        lambda m: m.memories(BANK, limit=3, offset=2, type="world"),
        lambda m: m.memories(BANK, limit=3, state="valid"),
        lambda m: m.memories(BANK, limit=3, state="superseded"),
        lambda m: m.memories(BANK, limit=3, after="m5"),
    ],
)
def test_a_page_of_memories_is_read_in_order(
    memory: Recollect, plans: list[str], asked: Callable[[Recollect], Any]
) -> None:
    asked(memory)
    (plan,) = plans
    assert "INDEX memories_mentioned (bank=?" in plan
    assert "TEMP B-TREE" not in plan


def test_a_cursor_begins_in_the_index(memory: Recollect, plans: list[str]) -> None:
    memory.memories(BANK, limit=3, after="m5")
    assert "memories_mentioned (bank=? AND <expr><?)" in plans[0]


def test_memories_are_counted_without_reading_them(memory: Recollect, plans: list[str]) -> None:
    memory.count(BANK, type="world", state="valid")
    assert "COVERING INDEX memories_mentioned" in plans[0]


def test_the_memories_of_a_document_are_found_by_it(memory: Recollect, plans: list[str]) -> None:
    memory.memories(BANK, document_id="d5")
    assert "memories_document (bank=? AND document_id=?)" in plans[0]


def test_a_page_of_documents_is_read_in_order(memory: Recollect, plans: list[str]) -> None:
    memory.documents(BANK, limit=3)
    memory.store.documents(BANK, 3, (2**60, "d5"))
    first, next_ = (plan.partition("SCAN")[0] for plan in plans if "documents_updated" in plan)
    assert "documents_updated (bank=?)" in first and "TEMP B-TREE" not in first
    assert "documents_updated (bank=? AND updated_at<?)" in next_ and "TEMP B-TREE" not in next_

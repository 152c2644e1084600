"""Hindsight's own client curates: every field of a correction does what the contract says."""

from __future__ import annotations

import pytest
from hindsight_client import Hindsight
from hindsight_client_api.models.update_memory_request import UpdateMemoryRequest


@pytest.fixture
async def move(client: Hindsight, bank: str) -> str:
    """The id of the only memory of the bank."""
    await client.aretain(bank, "Alice left Oslo yesterday.", timestamp="2026-03-05T10:00:00Z")
    (only,) = (await client.alist_memories(bank)).items
    return only.id


async def test_entities_are_replaced_and_none_at_all_detaches_them(
    client: Hindsight, bank: str, move: str
) -> None:
    change = UpdateMemoryRequest(entities=["Alicia Berg"])
    changed = await client.memory.update_memory(bank, move, change)
    assert changed["entities"] == ["Alicia Berg"]
    listed = {e.canonical_name for e in (await client.entities.list_entities(bank)).items}
    assert "Alicia Berg" in listed
    none = await client.memory.update_memory(bank, move, UpdateMemoryRequest(entities=[]))
    assert none["entities"] == []
    assert (await client.arecall(bank, "Who left Oslo?")).results[0].entities == []


async def test_when_it_was_told_is_corrected_and_with_it_what_yesterday_was(
    client: Hindsight, bank: str, move: str
) -> None:
    before = await client.memory.get_memory(bank, move)
    assert before["occurred_start"].startswith("2026-03-04")
    change = UpdateMemoryRequest(mentioned_at="2026-05-10T10:00:00+02:00")
    changed = await client.memory.update_memory(bank, move, change)
    assert changed["mentioned_at"] == "2026-05-10T08:00:00+00:00"
    assert changed["occurred_start"] == "2026-05-08T22:00:00+00:00"  # the 9th, two hours east
    listed = await client.alist_memories(
        bank, time_field="mentioned_at", start_date="2026-05-01", end_date="2026-06-01"
    )
    assert [m.id for m in listed.items] == [move]
    undated = await client.memory.update_memory(bank, move, UpdateMemoryRequest(mentioned_at=""))
    assert (undated["mentioned_at"], undated["occurred_start"]) == (None, None)

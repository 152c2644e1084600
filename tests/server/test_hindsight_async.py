"""Hindsight's own client, unmodified: its async face, and all that only the low-level API has."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime

import pytest
from hindsight_client import Hindsight
from hindsight_client_api.exceptions import ApiException
from hindsight_client_api.models.create_bank_request import CreateBankRequest
from hindsight_client_api.models.update_document_request import UpdateDocumentRequest
from hindsight_client_api.models.update_memory_request import UpdateMemoryRequest

from .conftest import Server


@pytest.fixture
async def club(client: Hindsight, bank: str) -> str:
    await client.aretain_batch(
        bank,
        [
            {"content": "Bob sails with Cara.", "document_id": "d/1", "tags": ["sea"]},
            {"content": "Cara paints boats.", "document_id": "d2", "tags": ["art", "sea"]},
            {"content": "Dan bakes bread."},
        ],
    )
    return bank


async def finished(client: Hindsight, bank: str, operation_id: str) -> str:
    """The state it ends in."""
    while True:
        status = await client.operations.get_operation_status(bank, operation_id)
        if status.status not in ("pending", "processing"):
            return status.status
        await asyncio.sleep(0.02)


async def test_many_recalls_at_once(client: Hindsight, club: str) -> None:
    found = await asyncio.gather(*(client.arecall(club, f"Who sails? {i}") for i in range(20)))
    assert {f.results[0].text for f in found} == {"Bob sails with Cara."}


# --- monitoring and banks --------------------------------------------------------------------


async def test_health(client: Hindsight) -> None:
    assert (await client.monitoring.health_endpoint_health_get())["status"] == "healthy"
    assert (await client.monitoring.get_liveness()).status == "alive"
    assert (await client.monitoring.get_readiness())["status"] == "healthy"


async def test_banks_are_listed_patched_and_counted(client: Hindsight, club: str) -> None:
    await client.banks.update_bank(club, CreateBankRequest(name="The club"))
    listed = await client.banks.list_banks(q=club, limit=10)
    assert [(b.bank_id, b.name, b.fact_count) for b in listed.banks] == [(club, "The club", 3)]
    stats = await client.banks.get_agent_stats(club)
    assert (stats.total_nodes, stats.nodes_by_fact_type) == (3, {"world": 3})
    assert (await client.banks.get_bank_profile(club)).name == "The club"


async def test_banks_are_listed_written_last_first(client: Hindsight, bank: str) -> None:
    for name in ("a", "b", "c"):
        await client.banks.create_or_update_bank(f"{bank}-{name}", CreateBankRequest())
    for name in ("b", "a", "b"):
        await client.aretain(f"{bank}-{name}", f"Bob sails boat {uuid.uuid4()}.")
    listed = await client.banks.list_banks(q=f"{bank}-")
    assert [b.bank_id[-1] for b in listed.banks] == ["b", "a", "c"]
    assert listed.banks[-1].last_write_at is None


async def test_patching_a_bank_that_is_not_there_is_not_found(client: Hindsight, bank: str) -> None:
    with pytest.raises(ApiException) as refused:
        await client.banks.update_bank(bank, CreateBankRequest(name="x"))
    assert refused.value.status == 404


# --- asynchronous retain ---------------------------------------------------------------------


async def test_an_accepted_retain_is_done_and_listed(client: Hindsight, bank: str) -> None:
    accepted = await client.aretain(bank, "Bob sails.", retain_async=True)
    assert accepted.var_async
    assert accepted.operation_id is not None
    assert await finished(client, bank, accepted.operation_id) == "completed"
    assert [r.text for r in (await client.arecall(bank, "Bob")).results] == ["Bob sails."]
    listed = await client.operations.list_operations(bank)
    assert [o.id for o in listed.operations] == [accepted.operation_id]
    assert (await client.operations.list_operations(bank, status="failed")).operations == []


async def test_the_same_operation_id_is_one_operation(client: Hindsight, bank: str) -> None:
    own = str(uuid.uuid4())
    for _ in range(2):
        accepted = await client.aretain(bank, "Bob sails.", retain_async=True, operation_id=own)
        assert accepted.operation_id == own
    await finished(client, bank, own)
    assert (await client.operations.list_operations(bank)).total == 1
    with pytest.raises(ApiException) as refused:
        await client.aretain(bank, "Cara paints.", retain_async=True, operation_id=own)
    assert refused.value.status == 409


async def test_operations_of_a_type_are_counted_whole(client: Hindsight, bank: str) -> None:
    for text in ("Bob sails.", "Cara paints."):
        accepted = await client.aretain(bank, text, retain_async=True)
        await finished(client, bank, accepted.operation_id)
    listed = await client.operations.list_operations(bank, type="retain", limit=1)
    assert (len(listed.operations), listed.total) == (1, 2)
    listed = await client.operations.list_operations(bank, type="consolidation", status="completed")
    assert (len(listed.operations), listed.total) == (0, 0)


async def test_what_still_waits_can_be_cancelled(client: Hindsight, bank: str) -> None:
    long = [{"content": f"Person number {i} planted tree number {i}."} for i in range(300)]
    await client.aretain_batch(bank, long, retain_async=True)
    waiting = await client.aretain(bank, "Dan bakes bread.", retain_async=True)
    assert waiting.operation_id is not None
    cancelled = await client.operations.cancel_operation(bank, waiting.operation_id)
    assert cancelled.success
    status = await client.operations.get_operation_status(bank, waiting.operation_id)
    assert status.status == "cancelled"
    assert (await client.operations.delete_operation(bank, waiting.operation_id)).success


async def test_an_unknown_operation_is_not_found(client: Hindsight, club: str) -> None:
    assert (await client.operations.get_operation_status(club, "nope")).status == "not_found"


# --- memories --------------------------------------------------------------------------------


async def test_what_was_mentioned_or_written_last_is_listed_first(
    client: Hindsight, bank: str
) -> None:
    for month in (5, 7, 6):
        when = datetime(2026, month, 1, tzinfo=UTC)
        said = f"Eve sailed in month {month}."
        await client.aretain(bank, said, timestamp=when, document_id=f"month {month}")
    listed = await client.alist_memories(bank)
    assert [m.mentioned_at[:7] for m in listed.items] == ["2026-07", "2026-06", "2026-05"]
    pages = [await client.alist_memories(bank, limit=1, offset=i) for i in range(3)]
    assert [p.items[0].id for p in pages] == [m.id for m in listed.items]
    found = await client.documents.list_documents(bank)
    assert [d.id for d in found.items] == ["month 6", "month 7", "month 5"]
    assert {tuple(d.matched_fields) for d in found.items} == {()}
    sought = await client.documents.list_documents(bank, q="MONTH 7")
    assert [d.matched_fields for d in sought.items] == [["id", "original_text"]]
    sought = await client.documents.list_documents(bank, q="eve sailed in month 7")
    assert [d.matched_fields for d in sought.items] == [["original_text"]]
    by_arrival = await client.documents.list_documents(bank, time_field="created_at", offset=1)
    assert [d.id for d in by_arrival.items] == ["month 7", "month 5"]


async def test_memories_are_listed_by_filter_and_page(client: Hindsight, club: str) -> None:
    found = await client.alist_memories(club, search_query="SAILS")
    assert [m.text for m in found.items] == ["Bob sails with Cara."]
    tagged = await client.alist_memories(club, tags=["art"], tags_match="any_strict")
    assert [m.text for m in tagged.items] == ["Cara paints boats."]
    pages = [await client.alist_memories(club, limit=1, offset=i) for i in range(3)]
    assert [p.total for p in pages] == [3, 3, 3]
    assert len({p.items[0].id for p in pages}) == 3
    dated = await client.alist_memories(club, time_field="mentioned_at", start_date="2026-01-01")
    assert dated.total == 3
    assert (
        await client.alist_memories(club, time_field="created_at", end_date="2000-01-01")
    ).total == 0
    # The contract's own words: `created_at` when only dates are given, of documents `updated_at`.
    assert (await client.alist_memories(club, start_date="2026-01-01")).total == 3
    assert (await client.alist_memories(club, end_date="2000-01-01")).total == 0
    assert (await client.documents.list_documents(club, end_date="2000-01-01")).total == 0


async def test_a_memory_is_corrected_withdrawn_restored_and_deleted(
    client: Hindsight, server: Server, club: str
) -> None:
    memory = (await client.alist_memories(club, search_query="bakes")).items[0]
    change = UpdateMemoryRequest(text="Dan bakes rye bread.", context="kitchen")
    changed = await client.memory.update_memory(club, memory.id, change)
    assert (changed["text"], changed["context"]) == ("Dan bakes rye bread.", "kitchen")
    (found,) = (await client.alist_memories(club, search_query="KITCHEN")).items
    assert found.id == memory.id
    history = await client.memory.get_observation_history(club, memory.id)
    assert [h["text"] for h in history["items"]] == ["Dan bakes bread."]

    gone = UpdateMemoryRequest(state="invalidated", reason="he stopped")
    assert (await client.memory.update_memory(club, memory.id, gone))["state"] == "invalidated"
    assert memory.id not in {r.id for r in (await client.arecall(club, "Dan bread")).results}
    withdrawn = await client.alist_memories(club, state="invalidated")
    assert [(m.id, m.invalidation_reason) for m in withdrawn.items] == [(memory.id, "he stopped")]
    valid = await client.alist_memories(club, state="valid")
    assert valid.total == len(valid.items) == 2
    assert memory.id not in {m.id for m in valid.items}

    back = await client.memory.update_memory(club, memory.id, UpdateMemoryRequest(state="valid"))
    assert back["state"] == "valid"
    assert back["metadata"] == memory.metadata
    for state in ("invalidated", "valid"):  # for no reason: not for the one it once had
        again = await client.memory.update_memory(club, memory.id, UpdateMemoryRequest(state=state))
        assert again["invalidation_reason"] is None
    assert memory.id in {r.id for r in (await client.arecall(club, "Dan bread")).results}

    with server.client() as http:  # the client has no verb for it: its server cannot
        http.delete(f"/v1/default/banks/{club}/memories/{memory.id}").raise_for_status()
    with pytest.raises(ApiException) as refused:
        await client.memory.get_memory(club, memory.id)
    assert refused.value.status == 404


async def test_a_bank_is_cleared_but_stays(client: Hindsight, club: str) -> None:
    assert (await client.memory.clear_bank_memories(club)).deleted_count == 3
    assert (await client.alist_memories(club)).total == 0


# --- documents and chunks --------------------------------------------------------------------


async def test_documents_with_any_id_are_listed_read_tagged_and_deleted(
    client: Hindsight, club: str
) -> None:
    listed = await client.documents.list_documents(club, q="d/")
    assert [d.id for d in listed.items] == ["d/1"]
    whole = await client.documents.get_document(club, "d/1")
    assert (whole.original_text, whole.memory_unit_count) == ("Bob sails with Cara.", 1)
    await client.documents.update_document(club, "d/1", UpdateDocumentRequest(tags=["lake"]))
    assert (await client.documents.get_document(club, "d/1")).tags == ["lake"]
    assert (await client.alist_memories(club, document_id="d/1")).items[0].tags == ["lake"]
    gone = await client.documents.delete_document(club, "d/1")
    assert (gone.success, gone.memory_units_deleted) == (True, 1)


async def test_chunks_are_listed_and_read_by_id(client: Hindsight, bank: str) -> None:
    own = f"{bank}-document"
    await client.aretain(bank, "Bob sails.", document_id=own)
    (chunk,) = (await client.documents.list_document_chunks(bank, own)).items
    assert chunk.chunk_text == "Bob sails."
    found = await client.documents.get_chunk(chunk.chunk_id)
    assert (found.bank_id, found.chunk_text) == (bank, "Bob sails.")


async def test_a_chunk_id_that_several_banks_hold_is_a_conflict(client: Hindsight) -> None:
    for bank in ("left", "right"):
        await client.aretain(bank, "Bob sails.", document_id="same-document")
    with pytest.raises(ApiException) as refused:
        await client.documents.get_chunk("same-document#0")
    assert refused.value.status == 409


# --- entities and tags -----------------------------------------------------------------------


async def test_entities_are_listed_read_and_tied(client: Hindsight, club: str) -> None:
    listed = await client.entities.list_entities(club)
    cara = next(e for e in listed.items if e.canonical_name == "Cara")
    assert cara.mention_count == 2
    found = await client.entities.get_entity(club, cara.id)
    assert found.first_seen is not None
    graph = await client.entities.get_entity_graph(club)
    names = {n.data.id: n.data.label for n in graph.nodes}
    ties = {frozenset({names[e.data.source], names[e.data.target]}) for e in graph.edges}
    assert frozenset({"Bob", "Cara"}) in ties
    named = await client.alist_memories(club, entity_id=cara.id)
    assert named.total == 2


async def test_tags_with_their_counts(client: Hindsight, club: str) -> None:
    listed = await client.memory.list_tags(club)
    assert [(t.tag, t.count) for t in listed.items] == [("sea", 2), ("art", 1)]


async def test_the_memory_graph(client: Hindsight, club: str) -> None:
    graph = await client.memory.get_graph(club)
    assert (len(graph.nodes), graph.total_units) == (3, 3)
    oldest = (await client.alist_memories(club)).items[-1]
    graph = await client.memory.get_graph(club, chunk_id=oldest.chunk_id, limit=1)
    assert [n.data.id for n in graph.nodes] == [oldest.id]
    assert graph.total_units == 1

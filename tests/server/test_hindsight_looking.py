"""Hindsight's own client looks around: filters, orders and bounds as the contract words them."""

from __future__ import annotations

import json

import pytest
from hindsight_client import Hindsight
from hindsight_client_api.exceptions import NotFoundException


@pytest.fixture
async def harbour(client: Hindsight, bank: str) -> str:
    """Bob is named most often, Cara most often at sea."""
    await client.aretain_batch(
        bank,
        [
            {"content": "Bob met Cara in Kiel.", "tags": ["sailing"]},
            {"content": "Cara met Dan in Kiel.", "tags": ["sailing"]},
            {"content": "Bob met Dan in Rome.", "tags": ["work"]},
            {"content": "Bob met Ella in Rome.", "tags": ["work"]},
            {"content": "Nobody was there.", "document_id": "untagged"},
        ],
    )
    return bank


async def test_a_misspelt_tag_finds_what_it_means_in_every_listing(
    client: Hindsight, harbour: str
) -> None:
    meant = json.dumps([{"tags": ["sialing"], "resolve": "fuzzy"}])
    found = await client.entities.list_entities(harbour, tag_groups=meant)
    assert {e.canonical_name for e in found.items} == {"Bob", "Cara", "Dan", "Kiel"}
    graph = await client.entities.get_entity_graph(harbour, tag_groups=meant)
    assert {n.data.label for n in graph.nodes} == {"Bob", "Cara", "Dan", "Kiel"}
    literally = json.dumps([{"tags": ["sialing"]}])
    assert (await client.entities.list_entities(harbour, tag_groups=literally)).items == []


async def test_entities_come_in_the_order_of_the_counts_that_are_shown(
    client: Hindsight, harbour: str
) -> None:
    everybody = await client.entities.list_entities(harbour)
    assert everybody.items[0].canonical_name == "Bob"
    found = await client.entities.list_entities(harbour, tags=["sailing"], tags_match="any_strict")
    counts = [e.mention_count for e in found.items]
    assert counts == [2, 2, 1, 1]
    assert {e.canonical_name for e in found.items[:2]} == {"Cara", "Kiel"}


async def test_the_entity_graph_is_bounded_by_its_edges(client: Hindsight, harbour: str) -> None:
    whole = await client.entities.get_entity_graph(harbour)
    assert whole.total_edges == len(whole.edges) > 3
    often = await client.entities.get_entity_graph(harbour, min_count=2)
    names = {n.data.id: n.data.label for n in often.nodes}
    ties = {frozenset({names[e.data.source], names[e.data.target]}) for e in often.edges}
    assert ties == {frozenset({"Cara", "Kiel"}), frozenset({"Bob", "Rome"})}
    assert {e.data.weight for e in often.edges} == {2}
    first = await client.entities.get_entity_graph(harbour, limit=1)
    assert (len(first.edges), len(first.nodes)) == (1, 2)
    assert (first.total_edges, first.limit) == (whole.total_edges, 1)


async def test_exactly_no_tags_is_a_filter_in_every_listing(
    client: Hindsight, harbour: str
) -> None:
    memories = await client.memory.list_memories(harbour, tags_match="exact")
    assert [m.text for m in memories.items] == ["Nobody was there."]
    documents = await client.documents.list_documents(harbour, tags_match="exact")
    assert [d.id for d in documents.items] == ["untagged"]
    graph = await client.memory.get_graph(harbour, tags_match="exact")
    assert [n.data.text for n in graph.nodes] == ["Nobody was there."]


async def test_an_entity_of_another_server_is_not_found(client: Hindsight, harbour: str) -> None:
    with pytest.raises(NotFoundException):
        await client.entities.get_entity(harbour, "5b1c6f9e-6f4f-4a73-9a3e-6d2f4a0c1d11")


async def test_a_substring_is_found_whatever_its_capitals(client: Hindsight, bank: str) -> None:
    await client.aretain(bank, "Ärger im BÜRO.", context="Straßenfest")
    for words in ("büro", "ÄRGER", "STRAẞEN"):
        assert (await client.alist_memories(bank, search_query=words)).total == 1
        assert (await client.memory.get_graph(bank, q=words)).total_units == 1

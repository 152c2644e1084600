"""Looking around: listings with filters, tags, entities and who is named with whom."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect import Recollect
from recollect.errors import InvalidInput, NotFound


@pytest.fixture
def bank(memory: Recollect) -> Iterator[str]:
    memory.retain(
        "tour",
        [
            {"text": "Alice met Bob in Oslo.", "tags": ["work"], "timestamp": "2026-01-05",
             "entities": ["Alice", "Bob"], "document_id": "d1"},
            {"text": "Alice met Cara in Lisbon.", "tags": ["work", "travel"],
             "timestamp": "2026-02-05", "entities": ["Alice", "Cara"], "document_id": "d2"},
            {"text": "Bob paints at night.", "type": "experience", "timestamp": "2026-03-05",
             "entities": ["Bob"]},
        ],
    )  # fmt: skip
    yield "tour"
    memory.delete_bank("tour")


def texts(memory: Recollect, bank: str, **where: object) -> list[str]:
    return [m.text.split()[0] + " " + m.text.split()[1] for m in memory.memories(bank, **where)]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"contains": "OSLO"}, 1),
        ({"type": "experience"}, 1),
        ({"document_id": "d2"}, 1),
        ({"tags": ["travel"], "tags_match": "any_strict"}, 1),
        ({"tags": ["travel"]}, 2),  # and what has no tags
        ({"tags": ["work"], "tags_match": "exact"}, 1),
        ({"tag_groups": [{"not": {"tags": ["travel"]}}]}, 2),
        ({"time_field": "mentioned_at", "since": "2026-02-01"}, 2),
        ({"time_field": "mentioned_at", "since": "2026-02-01", "until": "2026-03-01"}, 1),
        ({"time_field": "occurred_start"}, 0),
        ({}, 3),
    ],
)
def test_a_listing_and_its_count_agree_under_every_filter(
    memory: Recollect, bank: str, where: dict[str, object], expected: int
) -> None:
    assert len(memory.memories(bank, **where)) == expected
    assert memory.count(bank, **where) == expected


@pytest.mark.parametrize(
    "words",
    ["büro", "BÜRO", "Ärger im", "ärger IM", "straße", "STRAẞE", "école", "жук", "ЖУК ИДЁТ"],
)
def test_capitals_do_not_matter_in_any_script(memory: Recollect, words: str) -> None:
    text = "ÄRGER IM BÜRO, Große Straße: École Жук идёт."
    memory.retain(
        "any", [{"text": text, "timestamp": "unset"}, {"text": "Burger, Strasse, Ecole."}]
    )
    assert [m.text for m in memory.memories("any", contains=words)] == [text]
    assert memory.count("any", contains=words) == 1


def test_a_time_axis_orders_latest_first(memory: Recollect, bank: str) -> None:
    found = memory.memories(bank, time_field="mentioned_at")
    assert [m.mentioned_at for m in found] == sorted((m.mentioned_at for m in found), reverse=True)


def test_an_offset_skips(memory: Recollect, bank: str) -> None:
    assert memory.memories(bank, offset=1) == memory.memories(bank)[1:]
    assert memory.documents(bank, offset=1) == memory.documents(bank)[1:]


def test_memories_of_an_entity(memory: Recollect, bank: str) -> None:
    alice = next(e for e in memory.entities(bank) if e.name == "Alice")
    assert {m.document_id for m in memory.memories(bank, entity=alice.id)} == {"d1", "d2"}


@pytest.mark.parametrize(
    "where", [{"texts": "x"}, {"state": "gone"}, {"since": "2026"}, {"time_field": "when"}]
)
def test_a_filter_that_means_nothing_is_refused(
    memory: Recollect, bank: str, where: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput):
        memory.memories(bank, **where)


def test_a_time_that_ends_before_it_starts_is_refused(memory: Recollect, bank: str) -> None:
    where = {"time_field": "created_at", "since": "2026-05-01", "until": "2026-04-01"}
    for listing in (memory.memories, memory.count, memory.documents, memory.count_documents):
        with pytest.raises(InvalidInput, match="until is before since"):
            listing(bank, **where)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"contains": "lisbon"}, ["d2"]),
        ({"contains": "D1"}, ["d1"]),
        ({"tags": ["travel"], "tags_match": "any_strict"}, ["d2"]),
        ({"time_field": "created_at", "until": "2000-01-01"}, []),
        ({}, ["d2", "d1"]),  # written last first
    ],
)
def test_documents_by_filter(
    memory: Recollect, bank: str, where: dict[str, object], expected: list[str]
) -> None:
    assert [d.id for d in memory.documents(bank, **where)] == expected
    assert memory.count_documents(bank, **where) == len(expected)


def test_tags_with_how_often_they_are_used(memory: Recollect, bank: str) -> None:
    assert memory.tags(bank) == {"work": 2, "travel": 1}


def test_new_tags_of_a_document_are_those_of_its_memories(memory: Recollect, bank: str) -> None:
    assert memory.update_document(bank, "d1", tags=["home"]).tags == ("home",)
    assert [m.tags for m in memory.memories(bank, document_id="d1")] == [("home",)]
    found = memory.recall(bank, "Alice Oslo", tags=["home"], tags_match="any_strict")
    assert [h.document_id for h in found] == ["d1"]


def test_an_entity_knows_when_it_was_seen(memory: Recollect, bank: str) -> None:
    alice = next(e for e in memory.entities(bank) if e.name == "Alice")
    seen = memory.entity(bank, alice.id)
    assert (seen.mentions, seen.first_seen.day, seen.last_seen.month) == (2, 5, 2)  # type: ignore[union-attr]


def test_entities_under_a_tag_are_those_it_shows(memory: Recollect, bank: str) -> None:
    found, total = memory.entity_page(bank, tags=["travel"], tags_match="any_strict")
    named = {p.entity.name: p.mentions for p in found}
    assert named["Alice"] == 1 and "Bob" not in named
    assert total == len(found)


def test_an_unknown_entity_is_not_found(memory: Recollect, bank: str) -> None:
    with pytest.raises(NotFound):
        memory.entity(bank, 10**6)


def test_the_graph_ties_those_who_are_named_together(memory: Recollect, bank: str) -> None:
    graph = memory.entity_graph(bank)
    names = {p.entity.id: p.entity.name for p in graph.entities}
    pairs = {frozenset({names[t.a], names[t.b]}) for t in graph.ties}
    assert {frozenset({"Alice", "Bob"}), frozenset({"Alice", "Cara"})} <= pairs
    assert frozenset({"Bob", "Cara"}) not in pairs


def test_the_graph_shows_no_more_than_asked(memory: Recollect, bank: str) -> None:
    every = memory.entity_graph(bank)
    graph = memory.entity_graph(bank, limit=1)
    assert graph.ties == every.ties[:1] and len(graph.entities) == 2
    assert (graph.total, graph.total_ties) == (len(every.entities), len(every.ties))


def test_the_graph_leaves_out_who_is_seldom_named_together(memory: Recollect, bank: str) -> None:
    assert memory.entity_graph(bank, min_count=2).ties == ()  # though each is named twice
    memory.retain(bank, {"text": "Alice met Bob again.", "entities": ["Alice", "Bob"]})
    graph = memory.entity_graph(bank, min_count=2)
    assert [p.entity.name for p in graph.entities] == ["Alice", "Bob"]
    assert [t.together for t in graph.ties] == [2]


def test_entities_under_a_tag_come_in_the_order_of_what_it_shows(
    memory: Recollect, bank: str
) -> None:
    for place in ("Rome", "Paris"):
        memory.retain(bank, {"text": f"Alice left {place}.", "tags": ["land"]})
        memory.retain(bank, {"text": f"Cara saw {place}.", "tags": ["sea"], "entities": ["Cara"]})
    found, _ = memory.entity_page(bank, tags=["sea", "travel"], tags_match="any_strict")
    assert [(p.entity.name, p.mentions) for p in found][:2] == [("Cara", 3), ("Alice", 1)]


def test_what_was_withdrawn_can_be_restored(memory: Recollect, bank: str) -> None:
    found = memory.recall(bank, "Bob paints").results[0]
    memory.invalidate(bank, found.id)
    assert found.id not in {h.id for h in memory.recall(bank, "Bob paints")}
    assert memory.restore(bank, found.id).state == "active"
    assert found.id in {h.id for h in memory.recall(bank, "Bob paints")}


def test_clearing_a_type_leaves_the_others(memory: Recollect, bank: str) -> None:
    assert memory.clear(bank, type="world") == 2
    assert [m.type for m in memory.memories(bank)] == ["experience"]


def test_clearing_a_bank_leaves_it_empty(memory: Recollect, bank: str) -> None:
    assert memory.clear(bank) == 3
    assert (memory.bank(bank).memories, memory.bank(bank).documents) == (0, 0)

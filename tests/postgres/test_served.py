"""A bank that the server searches: what a recall knows without asking, and what is planned once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.storage.base import Batch, Writing
from recollect.storage.postgres.view import PostgresView
from recollect.storage.postgres.writing import WritingView
from recollect.testing import open_fake

LEFT = 4


@pytest.fixture
def searched(postgres: str, schema: str) -> Iterator[Recollect]:
    with open_fake(postgres, pg_schema=schema, held_facts=0, pool_size=1) as opened:
        yield opened


def with_withdrawn(memory: Recollect, count: int) -> set[str]:
    """A bank in which so many are withdrawn; gives the ids of those."""
    items = [{"id": f"m{n}", "text": f"Boiler {n} is repaired."} for n in range(LEFT + count)]
    memory.retain("b", items)
    gone = {f"m{LEFT + n}" for n in range(count)}
    for memory_id in gone:
        memory.invalidate("b", memory_id)
    return gone


def view_of(memory: Recollect) -> PostgresView:
    view = memory.store.view("b")
    assert isinstance(view, PostgresView)
    return view


@pytest.mark.parametrize("count", [0, 3, 70])
def test_what_is_withdrawn_is_not_found_however_many_there_are(
    searched: Recollect, count: int
) -> None:
    gone = with_withdrawn(searched, count)
    found = {hit.memory.id for hit in searched.recall("b", "boiler", max_tokens=4096).results}
    assert found == {f"m{n}" for n in range(LEFT)}
    assert not found & gone


@pytest.mark.parametrize(("count", "trips"), [(3, 5), (70, 6)])
def test_a_recall_asks_what_is_withdrawn_only_where_that_is_much(
    searched: Recollect, count: int, trips: int
) -> None:
    with_withdrawn(searched, count)
    searched.recall("b", "boiler")  # the names of the bank are learnt
    trace = searched.recall("b", "Who repairs the boiler?", trace=True).trace
    assert trace is not None
    assert trace.round_trips <= trips
    assert (view_of(searched).head.withdrawn is None) == (count > 64)


def test_whoever_writes_takes_nobodys_word_for_what_is_withdrawn(searched: Recollect) -> None:
    """Who waited for the bank's lock sees other tables as they were before."""
    with_withdrawn(searched, 3)
    seen: list[Writing] = []

    def plan(view: Writing) -> Batch:
        seen.append(view)
        return Batch()

    searched.store.commit("b", plan)
    assert isinstance(seen[0], WritingView)
    assert seen[0].head.withdrawn is None


def test_what_every_recall_asks_is_planned_once_a_connection(searched: Recollect) -> None:
    with_withdrawn(searched, 1)
    for number in range(8):
        searched.recall("b", f"Who repairs boiler {number}?")
    view = view_of(searched)
    asked = b"SELECT statement FROM pg_prepared_statements"
    prepared = [text for (text,) in view.session.fetch(asked, {}, prepare=False)]
    assert any("WITH seed" in text for text in prepared)
    assert not any("<#>" in text for text in prepared)  # a plan for all banks suits none of them


def test_replies_are_told_apart_as_in_a_file(searched: Recollect, tmp_path: Path) -> None:
    """ "No." in another chat is another fact; a sentence is not."""
    found: list[list[tuple[str, int]]] = []
    with open_fake(tmp_path / "memory.db") as local:
        for memory in (searched, local):
            for chat in ("chat-1", "chat-2"):
                for question in ("Do you eat meat?", "Do you eat fish?"):
                    said = [("Ann", question), ("Bob", "No."), ("Bob", "I like tea.")]
                    turns = [{"speaker": speaker, "text": text} for speaker, text in said]
                    given = {"document_id": chat, "turns": turns, "update_mode": "append"}
                    memory.retain("b", given)
            held = memory.memories("b", limit=100)
            found.append(sorted((m.text, m.proof_count) for m in held))
    asked = [("Do you eat fish?", 2), ("Do you eat meat?", 2)]
    assert found[0] == found[1] == [*asked, ("I like tea.", 4), *[("No.", 2)] * 2]


@pytest.mark.parametrize("words", ["büro", "ÄRGER IM", "straße", "STRAẞE", "жук", "ЖУК ИДЁТ"])
def test_capitals_do_not_matter_in_any_script(served: Recollect, words: str) -> None:
    text = "Ärger im BÜRO, Große Straße: Жук идёт."
    served.retain("any", [{"text": text}, {"text": "Burger, Strasse.", "context": "Жало"}])
    assert [m.text for m in served.memories("any", contains=words)] == [text]
    assert [m.text for m in served.memories("any", contains="жАЛО")] == ["Burger, Strasse."]

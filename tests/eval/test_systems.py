"""How units become memories, and how gold is found again when two of them become one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import recollect
from recollect.eval import Bank, Dataset, DatasetError, Query, Recollect, Unit, evaluate
from recollect.eval.report import remarks
from recollect.eval.systems import BATCH, RecallOptions, batches, item


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[recollect.Recollect]:
    with recollect.open(str(tmp_path / "m.db")) as opened:
        yield opened


def test_a_conversation_is_not_cut_by_a_batch() -> None:
    units = [
        Unit(str(i), "x", session="long" if i < BATCH + 20 else "next") for i in range(BATCH + 50)
    ]
    sizes = [len(batch) for batch in batches(units)]
    assert sizes == [BATCH + 20, 30]


def test_loose_units_are_cut_into_batches() -> None:
    assert [len(b) for b in batches([Unit(str(i), "x") for i in range(250)])] == [100, 100, 50]


def test_a_session_that_comes_back_is_added_to() -> None:
    assert item(Unit("u", "x", session="s"), {"s"})["update_mode"] == "append"


def test_a_session_in_two_batches_keeps_all_its_units(memory: recollect.Recollect) -> None:
    texts = [f"Person {i} repaired engine number {i * 37}." for i in range(BATCH + 5)]
    units = [
        Unit(f"u{i}", text, session="a" if i < 3 or i > BATCH else "b")
        for i, text in enumerate(texts)
    ]
    bank = Bank("b", tuple(units), ())
    Recollect(memory).index(bank)
    assert memory.bank("b").memories == len(units)


def test_a_document_named_as_retain_names_it_keeps_all_its_units(
    memory: recollect.Recollect,
) -> None:
    texts = [f"Person {i} repaired engine number {i * 37}." for i in range(BATCH + 5)]
    named = [{"document_id": "a" if i < 3 or i > BATCH else "b"} for i in range(len(texts))]
    units = [Unit(f"u{i}", texts[i], fields=named[i]) for i in range(len(texts))]
    Recollect(memory).index(Bank("b", tuple(units), ()))
    assert memory.bank("b").memories == len(units)


def test_a_unit_said_twice_is_found_by_either_id(memory: recollect.Recollect) -> None:
    units = (Unit("first", "Ana repaired the kayak."), Unit("again", "Ana repaired the kayak."))
    bank = Bank("b", units, (Query("q", "Who repaired the kayak?", ("again",)),))
    system = Recollect(memory)
    system.index(bank)
    assert system.merged == 1
    assert system.gold_key(bank, "again") in system.search(bank, bank.queries[0]).ids


def test_a_query_longer_than_a_recall_takes_is_told_of(memory: recollect.Recollect) -> None:
    long = Query("q", "Who repaired the kayak? " + "I really wonder. " * 300, ("u",))
    bank = Bank("b", (Unit("u", "Ana repaired the kayak."),), (long, Query("r", "Who?", ("u",))))
    report = evaluate(Dataset("d", (bank,)), Recollect(memory))
    assert "queries longer than a recall takes, asked in part: 1" in remarks(report)


def test_gold_that_became_one_memory_is_wanted_once(memory: recollect.Recollect) -> None:
    units = (
        Unit("first", "Ana repaired the kayak."),
        Unit("again", "Ana repaired the kayak."),
        Unit("other", "Ben sold the kayak."),
    )
    query = Query("q", "Who repaired the kayak?", ("first", "again", "other"))
    report = evaluate(Dataset("d", (Bank("b", units, (query,)),)), Recollect(memory), ks=(1,))
    assert report.overall["recall@1"].value == 0.5


def test_what_became_one_memory_with_the_gold_is_not_said_to_be_kept_out(
    memory: recollect.Recollect,
) -> None:
    units = (Unit("first", "Ana repaired the kayak."), Unit("again", "Ana repaired the kayak."))
    query = Query("q", "Who repaired the kayak?", ("first",), ("again",))
    report = evaluate(Dataset("d", (Bank("b", units, (query,)),)), Recollect(memory))
    assert report.overall["recall@10"].value == 1.0
    assert "forbidden@10" not in report.overall


@pytest.mark.parametrize(
    "text",
    ["who repaired the kayak " * 200, "谁修好了皮划艇？" * 100, "kayak" + " " * 20_000 + "who"],
)
def test_a_query_too_long_for_recall_is_asked_by_its_beginning(
    memory: recollect.Recollect, text: str
) -> None:
    bank = Bank("b", (Unit("u1", "My sister repaired the kayak."),), (Query("q", text),))
    system = Recollect(memory)
    system.index(bank)
    assert system.search(bank, bank.queries[0]).wall_ms > 0


def _held(memory: recollect.Recollect, *units: Unit) -> list[str]:
    """What holds of the units, when the file has said what replaced what."""
    Recollect(memory).index(Bank("b", units, ()))
    return [held.text for held in memory.memories("b", state="active")]


def test_the_file_knows_better_what_holds_than_the_texts_tell(memory: recollect.Recollect) -> None:
    early, late = datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 6, 1, tzinfo=UTC)
    mistaken = Unit("new", "Alice works at Google.", time=late, superseded_by="old")
    assert _held(memory, mistaken, Unit("old", "Alice works at Northwind.", time=early)) == [
        "Alice works at Northwind."
    ]


def test_what_was_said_again_in_the_end_holds(memory: recollect.Recollect) -> None:
    tea, coffee = "Ann drinks tea.", "Ann drinks coffee."
    units = (
        Unit("1", tea, superseded_by="2"),
        Unit("2", coffee, superseded_by="3"),
        Unit("3", tea),
    )
    assert _held(memory, *units) == [tea]


def test_a_unit_that_retain_refuses_is_told_by_where_it_stands(memory: recollect.Recollect) -> None:
    units = (Unit("good", "Ana sails."), Unit("bad", "Ben swims.", fields={"tittle": "x"}))
    with pytest.raises(DatasetError, match="units from 'good' on, item 1: unknown field 'tittle'"):
        Recollect(memory).index(Bank("b", units, ()))


def test_a_unit_too_long_for_the_answer_is_remarked_upon(memory: recollect.Recollect) -> None:
    units = (Unit("short", "Ben sold the canoe."), Unit("long", "Ana repaired the kayak. " * 40))
    asked = Dataset("d", (Bank("b", units, (Query("q", "Who repaired the kayak?", ("long",)),)),))
    report = evaluate(asked, Recollect(memory, RecallOptions(max_tokens=100)))
    assert (report.overall["recall@5"].value, report.cut) == (0, 1)
    assert "answers full before place 20, see --max-tokens: 1" in remarks(report)
    whole = evaluate(asked, Recollect(memory, RecallOptions(max_tokens=1000)), index=False)
    assert whole.cut == 0


def test_a_variant_asks_the_same_banks_without_a_part(memory: recollect.Recollect) -> None:
    bank = Bank(
        "b", (Unit("u", "Ana repaired the kayak."),), (Query("q", "kayak repairs", ("u",)),)
    )
    system = Recollect(memory)
    system.index(bank)
    twin = system.variant("only keyword", ("semantic", "graph", "temporal", "rerank", "boost"))
    assert twin.search(bank, bank.queries[0]).ids == ("u",)


def test_tags_and_as_of_reach_recall(memory: recollect.Recollect) -> None:
    from datetime import UTC, datetime

    units = (
        Unit("old", "Ana owns a kayak.", time=datetime(2024, 1, 1, tzinfo=UTC), tags=("home",)),
        Unit("new", "Ben owns a canoe.", time=datetime(2024, 6, 1, tzinfo=UTC), tags=("work",)),
        Unit("bare", "Cid owns a boat.", time=datetime(2024, 6, 1, tzinfo=UTC)),
    )
    then = datetime(2024, 3, 1, tzinfo=UTC)
    queries = (
        Query("q1", "Who owns a boat, kayak or canoe?", as_of=then),
        Query("q2", "Who owns a boat, kayak or canoe?", tags=("work",), tags_match="any_strict"),
        Query("q3", "Who owns a boat, kayak or canoe?", tags_match="exact"),
    )
    bank = Bank("b", units, queries)
    system = Recollect(memory)
    system.index(bank)
    assert [system.search(bank, q).ids for q in queries] == [("old",), ("new",), ("bare",)]


@pytest.mark.parametrize("part", ["cross-encoder", "bridge"])
def test_a_later_stage_that_is_left_out_does_not_run(
    memory: recollect.Recollect, part: str
) -> None:
    units = (Unit("u", "Ana repaired the kayak."), Unit("v", "Ben sold the canoe."))
    bank = Bank("b", units, (Query("q", "Who repaired the kayak?", ("u",)),))
    system = Recollect(memory)
    system.index(bank)
    ran, left = (
        {name for name, _, _ in one.search(bank, bank.queries[0]).stages}
        for one in (system, system.variant("less", (part,)))
    )
    assert ran - left == {part}

"""as_of: the bank as it was known then; later memories and later corrections are invisible."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from recollect import Recollect, State
from recollect.errors import InvalidInput
from recollect.retain import edit

YESTERDAY = datetime.now(UTC) - timedelta(days=1)
TOMORROW = datetime.now(UTC) + timedelta(days=1)


def texts(memory: Recollect, bank: str, query: str, **options: object) -> set[str]:
    return {hit.text for hit in memory.recall(bank, query, min_score=0.0, **options)}


@pytest.fixture(scope="module")
def history(memory: Recollect) -> str:
    bank = "history"
    memory.retain(
        bank,
        [
            {"id": "early", "text": "The warehouse is painted green.", "timestamp": "2024-01-10"},
            {"id": "late", "text": "The warehouse has a new gate.", "timestamp": "2025-06-10"},
            {"id": "reworded", "text": "The warehouse opens at eight.", "timestamp": "2024-02-01"},
            {
                "id": "withdrawn",
                "text": "The warehouse was sold to Mr Hale.",
                "timestamp": "2024-02-02",
            },
            {"id": "replaced", "text": "The warehouse keeper is Odile.", "timestamp": "2024-02-03"},
            {
                "id": "successor",
                "text": "Since May Bertram looks after the warehouse.",
                "timestamp": "2025-05-05",
            },
        ],
    )
    memory.update(bank, "reworded", text="The warehouse opens at nine.")
    memory.invalidate(bank, "withdrawn")
    memory.supersede(bank, "replaced", "successor")
    return bank


def test_memories_learned_later_are_invisible(memory: Recollect, history: str) -> None:
    then = texts(memory, history, "warehouse", as_of="2024-12-31")
    assert "The warehouse is painted green." in then
    assert "The warehouse has a new gate." not in then


@pytest.mark.parametrize("hidden", [{"as_of": "2024-12-31"}, {"tags": ["staff"]}])
def test_a_name_that_only_hidden_memories_tell_of_is_one_nobody_knows(
    memory: Recollect, hidden: dict[str, Any]
) -> None:
    memory.retain("names", {"text": "Odile keeps the warehouse.", "timestamp": "2024-01-10"})
    secret = {
        "text": "Zelda Quix buys the warehouse.",
        "timestamp": "2025-06-10",
        "tags": ["board"],
    }
    memory.retain("names", secret)
    for query in ("What does Zelda Quix buy?", "What did Odile do before Zelda Quix came?"):
        seen = memory.recall("names", query, trace=True).trace
        assert seen is not None and not seen.query.strangers
        trace = memory.recall("names", query, trace=True, **hidden).trace
        assert trace is not None and trace.query.strangers == ("Zelda Quix",)
    memory.delete_bank("names")


def test_before_anything_was_known_nothing_is(memory: Recollect, history: str) -> None:
    result = memory.recall(history, "warehouse", as_of="2023-01-01")
    assert not result.results
    assert result.nothing_known


def test_the_day_itself_counts_as_known(memory: Recollect, history: str) -> None:
    assert "The warehouse has a new gate." in texts(
        memory, history, "warehouse", as_of="2025-06-10"
    )
    assert "The warehouse has a new gate." not in texts(
        memory, history, "warehouse", as_of="2025-06-09"
    )


def test_a_later_wording_is_invisible_and_the_earlier_one_visible(
    memory: Recollect, history: str
) -> None:
    then = texts(memory, history, "When does the warehouse open?", as_of=YESTERDAY)
    now = texts(memory, history, "When does the warehouse open?")
    assert "The warehouse opens at eight." in then and "The warehouse opens at nine." not in then
    assert "The warehouse opens at nine." in now and "The warehouse opens at eight." not in now
    assert "The warehouse opens at nine." in texts(
        memory, history, "warehouse open", as_of=TOMORROW
    )


def test_both_wordings_are_the_same_memory(memory: Recollect, history: str) -> None:
    for options in ({}, {"as_of": YESTERDAY}):
        top = memory.recall(history, "When does the warehouse open?", **options).results[0]
        assert top.id == "reworded"


def test_what_was_withdrawn_later_was_known_then(memory: Recollect, history: str) -> None:
    sold = "The warehouse was sold to Mr Hale."
    assert sold in texts(memory, history, "warehouse sold", as_of=YESTERDAY)
    assert sold not in texts(memory, history, "warehouse sold")
    assert sold not in texts(memory, history, "warehouse sold", as_of=TOMORROW)


def hit(memory: Recollect, bank: str, memory_id: str, **options: object):
    found = memory.recall(bank, "Who looks after the warehouse?", min_score=0.0, **options)
    return next(h for h in found if h.id == memory_id)


def test_a_value_replaced_later_stands_undiminished_then(memory: Recollect, history: str) -> None:
    then = hit(memory, history, "replaced", as_of=YESTERDAY)
    now = hit(memory, history, "replaced")
    assert then.scores["lifecycle_factor"] == 1.0
    assert now.scores["lifecycle_factor"] == pytest.approx(memory.settings.superseded_factor)


def test_it_does_so_too_when_the_anchor_is_another_time(memory: Recollect, history: str) -> None:
    then = hit(memory, history, "replaced", as_of=YESTERDAY, query_timestamp=TOMORROW)
    assert then.scores["lifecycle_factor"] == 1.0


@pytest.mark.parametrize("memory_id", ["replaced", "withdrawn", "reworded"])
def test_a_hit_of_then_carries_no_mark_of_the_later_correction(
    memory: Recollect, history: str, memory_id: str
) -> None:
    found = hit(memory, history, memory_id, as_of=YESTERDAY).memory
    assert found.state is State.ACTIVE
    assert found.superseded_by is None


def test_the_context_of_then_does_not_say_since_replaced(memory: Recollect, history: str) -> None:
    then = memory.recall(history, "Who is the warehouse keeper?", as_of=YESTERDAY)
    now = memory.recall(history, "Who is the warehouse keeper?")
    assert "since replaced" not in then.as_context()
    assert "since replaced" in now.as_context()


@pytest.fixture(scope="module")
def observed(memory: Recollect) -> str:
    """An observation and the facts it was made from; all of them changed since."""
    facts = [
        {"id": "car", "text": "Eva bought a red car.", "timestamp": "2025-01-01"},
        {"id": "boat", "text": "Eva bought a boat.", "timestamp": "2025-01-02"},
        {
            "id": "rich",
            "text": "Eva is well off.",
            "timestamp": "2025-02-01",
            "type": "observation",
            "source_ids": ["car", "boat"],
        },
    ]
    memory.retain("observed", facts)
    memory.update("observed", "car", text="Eva bought a green car.")
    memory.supersede("observed", "boat", "car")
    memory.supersede("observed", "rich", "car")
    return "observed"


def test_what_a_hit_of_then_brings_along_carries_no_mark_of_later_corrections(
    memory: Recollect, observed: str
) -> None:
    asked = {"include_source_facts": True, "include_entities": True}
    then = memory.recall(observed, "Is Eva well off?", as_of="2025-06-01", **asked)
    (eva,) = then.entities
    assert {m.text for m in then.source_facts} == {"Eva bought a red car.", "Eva bought a boat."}
    assert [m.id for m in eva.observations] == ["rich"]
    for brought in (*then.source_facts, *eva.observations):
        assert (brought.state, brought.superseded_by) == (State.ACTIVE, None)


def test_a_preferred_observation_stands_for_the_facts_as_they_were_worded_then(
    memory: Recollect, observed: str
) -> None:
    asked = {"as_of": "2025-06-01", "prefer_observations": True}
    assert texts(memory, observed, "Is Eva well off? Her car?", **asked) == {"Eva is well off."}


def test_a_newer_statement_replaces_an_older_from_when_it_was_made(memory: Recollect) -> None:
    memory.retain(
        "jobs", {"text": "Alice works at Google.", "id": "google", "timestamp": "2024-03-01"}
    )
    made = memory.retain(
        "jobs", {"text": "Alice works at Meta.", "id": "meta", "timestamp": "2025-03-01"}
    )
    assert made.superseded == ("google",)
    before, after = (
        memory.recall("jobs", "Where does Alice work?", as_of=day, min_score=0.0)
        for day in ("2024-12-01", "2025-12-01")
    )
    assert [h.id for h in before] == ["google"]
    assert before.results[0].memory.state is State.ACTIVE
    assert [h.id for h in after] == ["meta", "google"]


def test_relative_times_are_read_from_then(memory: Recollect, history: str) -> None:
    window = memory.recall(history, "What changed last month?", as_of="2024-12-15").window
    assert window is not None
    assert window.start == datetime(2024, 11, 1, tzinfo=UTC)


def test_why_speaks_of_the_wording_that_was_known_then(memory: Recollect, history: str) -> None:
    then = memory.why(
        history, "When does the warehouse open at eight?", "reworded", as_of=YESTERDAY
    )
    assert then.returned
    assert then.rank == 1


def test_why_gives_the_wording_of_then(memory: Recollect, history: str) -> None:
    query = "When does the warehouse open?"
    now = memory.why(history, query, "reworded").text
    then = memory.why(history, query, "reworded", as_of=YESTERDAY).text
    assert now == memory.load(history, "reworded").text
    assert then is not None and "eight" in then and then != now


def test_why_gives_no_wording_of_what_was_not_known_then(memory: Recollect, history: str) -> None:
    why = memory.why(history, "When does the warehouse open?", "reworded", as_of="1990-01-01")
    assert why.left_at == "filter" and why.text is None


def test_why_gives_no_wording_of_what_tags_hide(memory: Recollect) -> None:
    memory.retain("why-tags", {"id": "pin", "text": "The pin is 4711.", "tags": ["secret"]})
    asked = memory.why(
        "why-tags", "What is the pin?", "pin", tags=["open"], tags_match="any_strict"
    )
    assert asked.left_at == "filter" and asked.text is None


def test_why_gives_the_wording_of_what_was_only_withdrawn(memory: Recollect) -> None:
    memory.retain("why-gone", {"id": "pin", "text": "The pin is 4711."})
    memory.invalidate("why-gone", "pin")
    asked = memory.why("why-gone", "What is the pin?", "pin")
    assert asked.left_at == "filter" and asked.text == "The pin is 4711."


def test_expand_hops_follows_the_links_of_the_wording_known_then(memory: Recollect) -> None:
    memory.retain(
        "hops-then",
        [
            {"id": "cause", "text": "A storm tore the roof off.", "timestamp": "2024-01-01"},
            {
                "id": "effect",
                "text": "The library closed its reading room.",
                "timestamp": "2024-01-02",
                "causal_relations": [{"type": "caused_by", "target": 0, "weight": 0.9}],
            },
        ],
    )
    memory.update("hops-then", "effect", text="The library closed for a month.")
    result = memory.recall(
        "hops-then",
        "library reading room",
        as_of=YESTERDAY,
        expand_hops=1,
        without=["graph"],
        min_score=0.0,
    )
    assert [(h.id, h.hop) for h in result] == [("effect", 0), ("cause", 1)]


def test_the_graph_of_then_still_leads_on_from_a_wording_changed_later(memory: Recollect) -> None:
    memory.retain(
        "graph-then",
        [
            {"id": "cause", "text": "A storm tore the roof off.", "timestamp": "2024-01-01"},
            {
                "id": "effect",
                "text": "The library closed its reading room.",
                "timestamp": "2024-01-02",
                "causal_relations": [{"type": "caused_by", "target": 0, "weight": 0.9}],
            },
        ],
    )
    memory.update("graph-then", "effect", text="The library closed for a month.")
    result = memory.recall("graph-then", "library reading room", as_of=YESTERDAY, min_score=0.0)
    assert [h.id for h in result] == ["effect", "cause"]


def test_two_corrected_memories_are_linked_at_every_moment_and_once(memory: Recollect) -> None:
    bank = "both-corrected"
    memory.retain(
        bank,
        [
            {"id": "cause", "text": "A storm tore the roof off.", "timestamp": "2024-01-01"},
            {
                "id": "effect",
                "text": "The library closed its reading room.",
                "timestamp": "2024-01-02",
                "causal_relations": [{"type": "caused_by", "target": 0, "weight": 0.9}],
            },
        ],
    )
    given = {(k.source, k.target, k.kind) for k in memory.links(bank, "effect")}
    moments = [YESTERDAY]
    for memory_id, text in (
        ("effect", "The library closed for a month."),
        ("cause", "A gale tore the roof off."),
        ("effect", "The library closed for a year."),
    ):
        memory.update(bank, memory_id, text=text)
        moments.append(datetime.now(UTC))
    for moment in moments:
        found = memory.recall(bank, "library", as_of=moment, expand_hops=1, without=["graph"])
        assert {h.id for h in found} == {"effect", "cause"}
    links = memory.links(bank, "effect")
    assert {(k.source, k.target, k.kind) for k in links} == given
    assert len(links) == len(given)


def test_what_was_noted_later_is_invisible_then(memory: Recollect) -> None:
    bank = "noted-later"
    told = {"id": "rule", "text": "Ship on Fridays only.", "timestamp": "2024-01-01"}
    memory.retain(bank, {**told, "kind": "lesson"})
    memory.update(bank, "rule", kind="decision", metadata={"by": "Ann"})
    memory.review(bank, "rule")
    then, now = (
        memory.recall(bank, "When do we ship?", as_of=moment, min_score=0.0).results[0].memory
        for moment in (YESTERDAY, TOMORROW)
    )
    assert (then.kind, then.metadata, then.last_reviewed_at) == ("lesson", {}, None)
    assert (now.kind, now.metadata) == ("decision", {"by": "Ann"})
    assert now.last_reviewed_at is not None


def test_a_withdrawn_memory_corrected_later_was_withdrawn_in_between(memory: Recollect) -> None:
    bank = "withdrawn-then-corrected"
    memory.retain(bank, {"id": "a", "text": "The warehouse is sold.", "timestamp": "2024-01-01"})
    memory.invalidate(bank, "a")
    between = datetime.now(UTC)
    memory.update(bank, "a", text="The warehouse was sold to Mr Hale.")
    assert not texts(memory, bank, "warehouse", as_of=between)
    assert texts(memory, bank, "warehouse", as_of=YESTERDAY) == {"The warehouse is sold."}


def test_a_restored_memory_was_withdrawn_in_between(memory: Recollect) -> None:
    bank = "restored"
    memory.retain(bank, {"id": "a", "text": "The ferry leaves at nine.", "timestamp": "2024-01-01"})
    assert memory.invalidate(bank, "a").state is State.INVALIDATED
    between = datetime.now(UTC)
    assert memory.restore(bank, "a").state is State.ACTIVE
    ferry, query = "The ferry leaves at nine.", "When does the ferry leave?"
    assert ferry not in texts(memory, bank, query, as_of=between)
    assert ferry in texts(memory, bank, query, as_of=YESTERDAY)
    assert ferry in texts(memory, bank, query, as_of=TOMORROW)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_memory_withdrawn_again_was_withdrawn_in_between(
    memory: Recollect, *, replaced: bool
) -> None:
    bank = f"withdrawn-again-{replaced}"
    memory.retain(bank, {"id": "a", "text": "The ferry leaves at nine.", "timestamp": "2024-01-01"})
    memory.retain(bank, {"id": "b", "text": "Boats are mended here.", "timestamp": "2024-01-01"})
    withdraw = partial(memory.supersede, by="b") if replaced else memory.invalidate
    withdraw(bank, "a")
    between = datetime.now(UTC)
    withdraw(bank, "a")
    then = memory.recall(bank, "When does the ferry leave?", as_of=between, min_score=0.0)
    states = [hit.memory.state for hit in then if hit.id == "a"]
    assert states == ([State.SUPERSEDED] if replaced else [])


CLOSED_AGAIN = {
    "corrected": partial(Recollect.update, text="The ferry leaves at ten."),
    "reviewed": Recollect.review,
    "restored": Recollect.restore,
    "withdrawn": Recollect.invalidate,
    "replaced by another": partial(Recollect.supersede, by="c"),
}


@pytest.mark.parametrize("then", CLOSED_AGAIN)
@pytest.mark.parametrize("times", [1, 2])
def test_a_replaced_memory_edited_later_was_replaced_in_between(
    memory: Recollect, then: str, times: int
) -> None:
    bank, ferry = f"replaced-then-{then}-{times}", "The ferry leaves at nine."
    memory.retain(bank, {"id": "a", "text": ferry, "timestamp": "2024-01-01"})
    memory.retain(bank, {"id": "b", "text": "Boats are mended here.", "timestamp": "2024-01-01"})
    memory.retain(bank, {"id": "c", "text": "Sails are sewn there.", "timestamp": "2024-01-01"})
    memory.supersede(bank, "a", "b")
    if times == 2:
        memory.update(bank, "a", metadata={"seen": True})
    between = datetime.now(UTC)
    CLOSED_AGAIN[then](memory, bank, "a")
    asked = {"as_of": between, "min_score": 0.0}
    found = memory.recall(bank, "When does the ferry leave?", **asked).results
    (old,) = (hit for hit in found if hit.id == "a")
    assert (old.text, old.memory.state) == (ferry, State.SUPERSEDED)
    assert old.memory.superseded_by == ("c" if then == "replaced by another" else "b")
    assert old.scores["lifecycle_factor"] == pytest.approx(memory.settings.superseded_factor)
    before = memory.recall(bank, "When does the ferry leave?", as_of=YESTERDAY).results[0].memory
    assert (before.text, before.state, before.superseded_by) == (ferry, State.ACTIVE, None)


def test_a_replaced_memory_of_a_document_withdrawn_later_was_replaced_in_between(
    memory: Recollect,
) -> None:
    bank, asked = "replaced-then-gone", {"min_score": 0.0}
    ferry = {"text": "The ferry leaves at nine.", "timestamp": "2024-01-01", "document_id": "page"}
    (old,) = memory.retain(bank, ferry).new
    memory.retain(bank, {"id": "b", "text": "Boats are mended here.", "timestamp": "2024-01-01"})
    memory.supersede(bank, old, "b")
    between = datetime.now(UTC)
    edit.withdraw_document(memory.store, bank, "page", ())
    query = "When does the ferry leave?"
    now, then = (memory.recall(bank, query, as_of=at, **asked) for at in (None, between))
    assert old not in [hit.id for hit in now]
    assert [hit.memory.state for hit in then if hit.id == old] == [State.SUPERSEDED]


def test_a_memory_withdrawn_and_replaced_later_did_not_count_in_between(memory: Recollect) -> None:
    bank, ferry = "withdrawn-replaced", "The ferry leaves at nine."
    memory.retain(bank, {"id": "a", "text": ferry, "timestamp": "2024-01-01"})
    memory.retain(bank, {"id": "b", "text": "Boats are mended here.", "timestamp": "2024-01-01"})
    memory.invalidate(bank, "a")
    between = datetime.now(UTC)
    memory.supersede(bank, "a", "b")
    assert ferry not in texts(memory, bank, "When does the ferry leave?", as_of=between)
    assert ferry in texts(memory, bank, "When does the ferry leave?", as_of=YESTERDAY)


def test_a_withdrawn_memory_replaced_later_stands_behind_its_successor_from_then_on(
    memory: Recollect,
) -> None:
    bank = "withdrawn-then-replaced"
    memory.retain(bank, {"id": "a", "text": "The ferry leaves at nine.", "timestamp": "2024-01-01"})
    memory.retain(bank, {"id": "b", "text": "Boats are mended here.", "timestamp": "2024-01-01"})
    memory.invalidate(bank, "a")
    memory.supersede(bank, "a", "b")
    for moment in (None, datetime.now(UTC)):
        found = memory.recall(bank, "When does the ferry leave?", as_of=moment, min_score=0.0)
        (old,) = (hit.memory for hit in found if hit.id == "a")
        assert (old.state, old.superseded_by) == (State.SUPERSEDED, "b")


def test_a_withdrawn_memory_cannot_be_replaced_by_what_it_has_replaced(memory: Recollect) -> None:
    bank = "withdrawn-circle"
    memory.retain(bank, [{"id": i, "text": f"Ferry {i} leaves at nine."} for i in ("a", "b")])
    memory.supersede(bank, "b", "a")
    memory.invalidate(bank, "a")
    with pytest.raises(InvalidInput, match="which has replaced it"):
        memory.supersede(bank, "a", "b")


def test_what_was_told_again_later_had_not_been_told_then(memory: Recollect) -> None:
    bank = "told-again"
    for day in ("2024-01-10", "2024-03-10", "2025-06-10"):
        memory.retain(bank, {"text": "Odile keeps the warehouse.", "timestamp": day})
    then, now = (
        memory.recall(bank, "Who keeps the warehouse?", as_of=moment, min_score=0.0).results[0]
        for moment in ("2024-12-31", "2025-12-31")
    )
    assert (then.memory.proof_count, now.memory.proof_count) == (2, 3)
    assert then.memory.last_mentioned_at == datetime(2024, 3, 10, tzinfo=UTC)
    assert now.memory.last_mentioned_at == datetime(2025, 6, 10, tzinfo=UTC)
    alone = "told-once"
    for day in ("2024-01-10", "2024-03-10"):
        memory.retain(alone, {"text": "Odile keeps the warehouse.", "timestamp": day})
    as_then = memory.recall(
        alone, "Who keeps the warehouse?", as_of="2024-12-31", min_score=0.0
    ).results[0]
    assert then.score == pytest.approx(as_then.score, abs=1e-6)


EDITS = {
    "corrected": lambda m, bank, i, n: m.update(bank, i, text=f"Ferry {i} leaves at {n}."),
    "tagged": lambda m, bank, i, n: m.update(bank, i, tags=[f"t{n}"]),
    "reviewed": lambda m, bank, i, n: m.review(bank, i),
    "restored": lambda m, bank, i, n: m.restore(bank, i),
    "withdrawn": lambda m, bank, i, n: m.invalidate(bank, i),
    "replaced": lambda m, bank, i, n: m.supersede(bank, i, "new"),
}


@pytest.mark.parametrize("seed", range(8))
def test_every_moment_is_shown_as_it_was(memory: Recollect, seed: int) -> None:
    bank, drawn, ids = f"every-moment-{seed}", random.Random(seed), ["a", "b", "c"]
    facts = [{"id": i, "text": f"Ferry {i} leaves.", "timestamp": "2024-01-01"} for i in ids]
    memory.retain(bank, [*facts, {"id": "new", "text": "Boats.", "timestamp": "2024-01-01"}])

    def shown(as_of: datetime | None = None) -> dict[str, tuple[object, ...]]:
        found = memory.recall(bank, "When do the ferries leave?", as_of=as_of, min_score=0.0)
        held = (hit.memory for hit in found)
        return {m.id: (m.text, m.state, m.superseded_by, m.tags) for m in held}

    history: list[tuple[datetime, dict[str, tuple[object, ...]]]] = []
    for n in range(10):
        EDITS[drawn.choice(list(EDITS))](memory, bank, drawn.choice(ids), n)
        history.append((datetime.now(UTC), shown()))
    assert [shown(moment) for moment, _ in history] == [was for _, was in history]

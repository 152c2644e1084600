"""What an answer brings along: entities, source facts, observations instead of their facts, and
floors on the scores of single stages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from recollect import Arm, Hit, Recollect
from recollect.errors import InvalidInput
from recollect.testing import open_fake

FACTS = [
    "Alice ordered rooibos tea in Lisbon.",
    "Alice brought rooibos tea to the office.",
    "Bob repaired the blue kayak.",
]
OBSERVATION = "Alice likes rooibos tea."


@pytest.fixture
def bank(memory: Recollect) -> Iterator[dict[str, str]]:
    """Three facts, and an observation made from the first two."""
    ids = [
        memory.retain("b", {"text": text, "entities": [text.split()[0]]}).ids[0] for text in FACTS
    ]
    made = memory.retain(
        "b",
        {
            "text": OBSERVATION,
            "type": "observation",
            "source_ids": ids[:2],
            "entities": ["Alice"],
        },
    )
    yield {"tea": ids[0], "office": ids[1], "kayak": ids[2], "observation": made.ids[0]}
    memory.delete_bank("b")


def test_entities_come_with_what_was_observed_of_them(
    memory: Recollect, bank: dict[str, str]
) -> None:
    found = memory.recall("b", "rooibos tea", include_entities=True).entities
    alice = next(e for e in found if e.name == "Alice")
    assert [m.text for m in alice.observations] == [OBSERVATION]


def test_no_entities_unless_asked_for(memory: Recollect, bank: dict[str, str]) -> None:
    assert memory.recall("b", "rooibos tea").entities == ()


def test_observations_of_entities_stay_within_their_tokens(
    memory: Recollect, bank: dict[str, str]
) -> None:
    found = memory.recall("b", "rooibos tea", include_entities=True, max_entity_tokens=1).entities
    assert {e.name: e.observations for e in found}["Alice"] == ()


def test_source_facts_of_the_observations_returned(memory: Recollect, bank: dict[str, str]) -> None:
    result = memory.recall("b", "rooibos tea", include_source_facts=True)
    assert {m.id for m in result.source_facts} == {bank["tea"], bank["office"]}
    assert not result.source_facts_truncated


def test_source_facts_cut_short_say_so(memory: Recollect, bank: dict[str, str]) -> None:
    result = memory.recall(
        "b", "rooibos tea", include_source_facts=True, max_tokens_per_observation=1
    )
    assert result.source_facts == ()
    assert result.source_facts_truncated


def test_preferred_observations_take_the_place_of_their_facts(
    memory: Recollect, bank: dict[str, str]
) -> None:
    both = {h.id for h in memory.recall("b", "rooibos tea")}
    preferred = {h.id for h in memory.recall("b", "rooibos tea", prefer_observations=True)}
    assert bank["tea"] in both
    assert preferred == both - {bank["tea"], bank["office"]}


def test_without_the_observation_in_the_answer_its_facts_stay(
    memory: Recollect, bank: dict[str, str]
) -> None:
    found = memory.recall("b", "rooibos tea", prefer_observations=True, types=["world"])
    assert bank["tea"] in {h.id for h in found}


def test_why_names_the_observation_that_took_its_place(
    memory: Recollect, bank: dict[str, str]
) -> None:
    verdict = memory.why("b", "rooibos tea", bank["tea"], prefer_observations=True)
    assert verdict.left_at == "pack"
    assert "observation" in verdict.stages[-1].says


@pytest.fixture
def crowded(memory: Recollect) -> Iterator[str]:
    """The best hit is a fact; then comes a longer one, and last what was observed of the best."""
    fact = memory.retain("crowded", {"text": "Rooibos tea."}).ids[0]
    memory.retain("crowded", {"id": "long", "text": "A pound of tea, rooibos, in a big tin."})
    observed = {
        "id": "made",
        "text": "It is drunk every day by Alice and her friends.",
        "recall_when": ["tea"],
    }
    memory.retain("crowded", {**observed, "type": "observation", "source_ids": [fact]})
    yield fact
    memory.delete_bank("crowded")


def test_what_fits_where_a_fact_was_does_not_push_out_the_observation_made_from_it(
    memory: Recollect, crowded: str
) -> None:
    hits = {h.id: h.memory.tokens for h in memory.recall("crowded", "rooibos tea")}
    assert list(hits) == [crowded, "long", "made"]
    room = hits[crowded] + hits["made"]  # enough for the long one alone
    assert hits["long"] <= room < hits["long"] + hits["made"]
    asked = {"prefer_observations": True, "max_tokens": room}
    assert [h.id for h in memory.recall("crowded", "rooibos tea", **asked)] == ["made"]


def test_observations_made_from_each_other_do_not_both_stand_back(memory: Recollect) -> None:
    for id, other in (("yes", "no"), ("no", "yes")):
        item = {"id": id, "text": f"Alice says {id} to rooibos tea.", "type": "observation"}
        memory.retain("mutual", {**item, "source_ids": [other] if id == "no" else []})
    memory.update("mutual", "yes", source_ids=["no"])
    best, *_ = memory.recall("mutual", "rooibos tea")
    preferred = memory.recall("mutual", "rooibos tea", prefer_observations=True)
    assert [h.id for h in preferred] == [best.id]


@pytest.mark.parametrize("limit", range(1, 28))
def test_why_says_how_many_tokens_bring_a_memory_where_observations_are_preferred(
    memory: Recollect, crowded: str, limit: int
) -> None:
    def given(max_tokens: int, *, prefer: bool = True) -> set[str]:
        asked = {"max_tokens": max_tokens, "prefer_observations": prefer}
        return {h.id for h in memory.recall("crowded", "rooibos tea", **asked)}

    for id in {crowded, "long", "made"} - given(limit):
        asked = {"max_tokens": limit, "prefer_observations": True}
        pack = memory.why("crowded", "rooibos tea", id, **asked).stages[-1]
        enough = pack.numbers.get("max_tokens")
        if enough is None:
            assert id == crowded and "in its place" in pack.says and "made" in given(limit)
            continue
        prefer = "prefer_observations off" not in (pack.needed or "")
        assert id in given(enough, prefer=prefer)
        assert all(id not in given(n) for n in range(limit, enough if prefer else 40))


def test_why_says_that_a_fact_is_too_long_as_well_where_an_observation_stands_for_it(
    memory: Recollect,
) -> None:
    memory.retain("narrow", {"id": "best", "text": "Rooibos tea."})
    long = {"id": "long", "text": "A pound of tea, rooibos, in a big tin from the market."}
    memory.retain("narrow", long)
    made = {"id": "made", "text": "Tea is liked.", "type": "observation", "source_ids": ["long"]}
    memory.retain("narrow", made)
    sizes = {h.id: h.memory.tokens for h in memory.recall("narrow", "rooibos tea")}
    room = sizes["best"] + sizes["made"]
    assert room < sizes["best"] + sizes["long"]

    asked = {"prefer_observations": True, "max_tokens": room}
    pack = memory.why("narrow", "rooibos tea", "long", **asked).stages[-1]
    asked = {"prefer_observations": False, "max_tokens": pack.numbers.get("max_tokens", room)}
    assert "long" in {h.id for h in memory.recall("narrow", "rooibos tea", **asked)}, pack


@pytest.mark.parametrize("arm", [Arm.SEMANTIC, Arm.KEYWORD])
def test_a_floor_of_an_arm_holds_for_what_that_arm_found(
    memory: Recollect, bank: dict[str, str], arm: Arm
) -> None:
    query = "Alice rooibos tea in the office"
    found = [h.arms[arm].score for h in memory.recall("b", query) if arm in h.arms]
    floor = sorted(found)[-1]
    kept = memory.recall("b", query, min_scores={arm.value: floor})
    assert [h.arms[arm].score for h in kept if arm in h.arms] == [pytest.approx(floor)]


@pytest.mark.parametrize(("stage", "score"), [("final", "score"), ("reranker", "relevance")])
def test_floors_on_results_hold_for_all_of_them(
    memory: Recollect, bank: dict[str, str], stage: str, score: str
) -> None:
    def of(hit: Hit) -> float:
        return hit.score if score == "score" else hit.scores["relevance"]

    then = "2030-01-01"  # the clock moves scores
    floor = max(of(h) for h in memory.recall("b", "rooibos tea", query_timestamp=then))
    kept = memory.recall("b", "rooibos tea", min_scores={stage: floor}, query_timestamp=then)
    assert [of(h) for h in kept] == [pytest.approx(floor)]


def test_a_relevance_floor_is_refused_where_scores_are_ranks(db: Path) -> None:
    with open_fake(db) as memory:
        memory.settings = replace(memory.settings, reranker="rrf")
        memory.retain("b", FACTS)
        with pytest.raises(InvalidInput, match="rank alone"):
            memory.recall("b", "tea", min_scores={"reranker": 0.5})


def test_an_unknown_floor_is_refused(memory: Recollect, bank: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="min_scores"):
        memory.recall("b", "tea", min_scores={"semantics": 0.5})


# --- a bank's own settings -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("switch", "arm"),
    [("enable_text_search", Arm.KEYWORD), ("enable_graph_retrieval", Arm.GRAPH)],
)
def test_a_bank_may_leave_an_arm_out(
    memory: Recollect, bank: dict[str, str], switch: str, arm: Arm
) -> None:
    assert any(arm in h.arms for h in memory.recall("b", "Alice rooibos tea"))
    memory.configure_bank("b", {switch: False})
    assert not any(arm in h.arms for h in memory.recall("b", "Alice rooibos tea"))


def test_a_bank_may_prefer_observations_unless_the_caller_does_not(
    memory: Recollect, bank: dict[str, str]
) -> None:
    memory.configure_bank("b", {"recall_prefer_observations": True})
    assert bank["tea"] not in {h.id for h in memory.recall("b", "rooibos tea")}
    unsaid = memory.recall("b", "rooibos tea", prefer_observations=None)
    assert bank["tea"] not in {h.id for h in unsaid}
    said = memory.recall("b", "rooibos tea", prefer_observations=False)
    assert bank["tea"] in {h.id for h in said}

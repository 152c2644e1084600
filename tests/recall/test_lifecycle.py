"""Lifecycle, evidence and order in whole recalls: what ages stands back, what is proven steps up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from recollect import Recollect
from recollect.types import Band, Explanation

NOW = datetime.now(UTC)


def factor(
    memory: Recollect, bank: str, memory_id: str, days: float, name: str = "lifecycle"
) -> float:
    """As asked `days` from now."""
    result = memory.recall(
        bank, "rotate the signing keys", query_timestamp=NOW + timedelta(days=days), min_score=0.0
    )
    return next(h for h in result if h.id == memory_id).scores[f"{name}_factor"]


@pytest.fixture(scope="module")
def aging(memory: Recollect) -> str:
    kinds = ["lesson", "decision", "project-fact", "meta-working", "workflow", "recipe"]
    memory.retain(
        "aging",
        [{"id": k, "text": f"Rotate the signing keys, says the {k}.", "kind": k} for k in kinds]
        + [
            {"id": "none", "text": "Rotate the signing keys on Mondays."},
            {
                "id": "until",
                "text": "Rotate the signing keys by hand.",
                "valid_until": NOW + timedelta(days=10),
            },
        ],
    )
    return "aging"


@pytest.mark.parametrize(
    ("kind", "days"),
    [
        ("lesson", 180),
        ("decision", 365),
        ("project-fact", 90),
        ("meta-working", 365),
        ("workflow", 180),
    ],
)
def test_a_kind_ages_in_steps(memory: Recollect, aging: str, kind: str, days: int) -> None:
    shares = (0.0, 0.74, 0.76, 0.99, 1.01, 1.49, 1.51)
    steps = [factor(memory, aging, kind, share * days) for share in shares]
    assert steps == pytest.approx([1.0, 1.0, 0.85, 0.85, 0.5, 0.5, 0.2])


@pytest.mark.parametrize("memory_id", ["recipe", "none"])
def test_other_kinds_do_not_age(memory: Recollect, aging: str, memory_id: str) -> None:
    assert factor(memory, aging, memory_id, 5000) == 1.0


def test_past_valid_until_a_memory_is_expired(memory: Recollect, aging: str) -> None:
    assert factor(memory, aging, "until", 9) == 1.0
    assert factor(memory, aging, "until", 11) == pytest.approx(0.2)


def test_a_review_makes_it_fresh_again(memory: Recollect) -> None:
    long_ago = NOW - timedelta(days=3000)
    memory.retain(
        "reviewing",
        {
            "id": "l",
            "text": "Rotate the signing keys twice.",
            "kind": "lesson",
            "last_reviewed_at": long_ago,
        },
    )
    later = 200.0
    assert factor(memory, "reviewing", "l", later) == pytest.approx(0.5)
    memory.update("reviewing", "l", last_reviewed_at=NOW + timedelta(days=later - 1))
    assert factor(memory, "reviewing", "l", later) == 1.0


@pytest.fixture(scope="module")
def moved_on(memory: Recollect) -> str:
    """The question is in the words of the old value only."""
    memory.retain("moved-on", {"id": "was", "text": "Alice works at Google.", "timestamp": "2026-01-05"})  # fmt: skip
    news = {"id": "is", "text": "Alice left Google and joined Meta.", "timestamp": "2026-05-05"}
    assert memory.retain("moved-on", news).superseded == ("was",)
    return "moved-on"


def test_what_replaced_a_good_hit_comes_before_it(memory: Recollect, moved_on: str) -> None:
    result = memory.recall(moved_on, "Where does Alice work?")
    assert result.results[0].band is Band.STRONG
    assert [h.id for h in result] == ["is", "was"]


def test_a_successor_says_that_it_was_led_to(memory: Recollect, moved_on: str) -> None:
    tree = memory.why(moved_on, "Where does Alice work?", "is").explanation
    assert tree is not None and tree.details[0].operation == "either"
    assert "replaced" in tree.details[0].details[1].description


def test_before_it_was_replaced_the_old_value_is_the_answer(
    memory: Recollect, moved_on: str
) -> None:
    (hit,) = memory.recall(moved_on, "Where does Alice work?", as_of="2026-02-01")
    assert (hit.id, hit.scores["lifecycle_factor"]) == ("was", 1.0)


def test_the_value_that_held_at_the_time_asked_about_is_the_answer(
    memory: Recollect, moved_on: str
) -> None:
    def first(query: str) -> tuple[str, float]:
        hits = memory.recall(moved_on, query, query_timestamp="2026-11-15").results
        was = next(hit for hit in hits if hit.id == "was")
        return hits[0].id, was.scores["lifecycle_factor"]

    assert first("Where did Alice work in March 2026?") == ("was", 1.0)
    assert first("Where did Alice work in May 2026?") == ("is", 0.5)
    assert first("Where has Alice worked since March 2026?") == ("is", 0.5)


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Who was Mei's manager in March 2025?", "bo"),
        ("Who was Mei's manager in October 2025?", "cleo"),
        ("What broke in October 2025?", "boiler"),
    ],
)
def test_a_value_counts_for_all_the_time_that_it_held(
    memory: Recollect, query: str, answer: str
) -> None:
    memory.retain(
        "held-then",
        [
            {"id": "bo", "text": "Mei's manager is Bo Lund.", "timestamp": "2025-01-10"},
            {"id": "kiln", "text": "The kiln was repaired.", "timestamp": "2025-03-09"},
            {"id": "cleo", "text": "Mei's manager is Cleo Sand.", "timestamp": "2025-06-10"},
            {"id": "boiler", "text": "The old boiler broke.", "timestamp": "2025-10-09"},
            {"id": "rent", "text": "The rent went up.", "timestamp": "2025-10-10"},
        ],
    )
    result = memory.recall("held-then", query, query_timestamp="2026-03-10")
    assert not result.nothing_known
    assert result.results[0].id == answer


@pytest.fixture(scope="module")
def career(memory: Recollect) -> str:
    jobs = [("Google", "2024-03-01"), ("Meta", "2025-06-01"), ("Stripe", "2026-02-01")]
    facts = [
        {"id": at, "text": f"Alice works at {at}.", "timestamp": day, "entities": ["Alice", at]}
        for at, day in jobs
    ]
    memory.retain("career", facts)
    return "career"


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Where does Alice work?", "Stripe"),
        ("Where did Alice use to work?", "Meta"),
        ("What was Alice's previous employer?", "Meta"),
        ("Where did Alice work before?", "Meta"),
        ("Where did Alice work before Stripe?", "Meta"),
        ("Where did Alice work before she worked at Meta?", "Google"),
    ],
)
def test_the_former_value_is_the_one_before_the_last(
    memory: Recollect, career: str, query: str, answer: str
) -> None:
    result = memory.recall(career, query, query_timestamp="2026-11-15")
    assert result.results[0].id == answer


def test_what_holds_says_that_the_former_was_asked_for(memory: Recollect, career: str) -> None:
    asked = {"query_timestamp": "2026-11-15", "min_score": 0.0}
    why = memory.why(career, "Where did Alice use to work?", "Stripe", **asked)
    assert "what it replaced was asked for" in str(why.explanation)
    assert "yields ×0.50" in str(why.stages)


@pytest.fixture(scope="module")
def officers(memory: Recollect) -> str:
    memory.retain(
        "officers",
        [
            {"id": "petra", "text": "Our CTO is Petra Lang.", "timestamp": "2024-01-15"},
            {"id": "deadline", "text": "The deadline is March 1, 2025.", "timestamp": "2024-06-06"},
            {"id": "bike", "text": "Bob bought a bicycle in Utrecht.", "timestamp": "2025-03-03"},
            {"id": "prague", "text": "The team visited Prague.", "timestamp": "2025-03-12"},
            {"id": "omar", "text": "Our CTO is Omar Haddad.", "timestamp": "2025-11-01"},
        ],
    )
    return "officers"


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Who was our CTO in March 2025?", "petra"),
        ("Who was our CTO in January 2026?", "omar"),
    ],
)
def test_a_value_that_held_is_not_judged_by_the_date_at_which_it_was_told(
    memory: Recollect, officers: str, query: str, answer: str
) -> None:
    best = memory.recall(officers, query, query_timestamp="2026-03-10").results[0]
    assert (best.id, best.band) == (answer, Band.STRONG)


def test_its_explanation_says_that_it_was_read_without_the_time(
    memory: Recollect, officers: str
) -> None:
    asked = {"query_timestamp": "2026-03-10", "min_score": 0.0}
    result = memory.recall(officers, "Who was our CTO in March 2025?", **asked)
    told = {hit.id for hit in result if "it held then" in str(hit.explanation)}
    assert told == {"petra"}


def test_a_successor_holds_from_when_it_began_though_it_was_told_later(memory: Recollect) -> None:
    bank = "told-later"
    memory.retain(
        bank,
        [
            {"id": "was", "text": "The keeper is Odile.", "timestamp": "2024-02-03"},
            {
                "id": "is",
                "text": "Bertram looks after the warehouse.",
                "timestamp": "2025-05-05",
            },
        ],
    )
    memory.supersede(bank, "was", "is")  # today

    def stands(query: str) -> float:
        hits = memory.recall(bank, query, min_score=0.0)
        return next(hit for hit in hits if hit.id == "was").scores["lifecycle_factor"]

    assert stands("Who was the keeper in June 2025?") == pytest.approx(0.5)
    assert stands("Who was the keeper in June 2024?") == 1.0


def test_expired_stands_behind_fresh(memory: Recollect) -> None:
    memory.retain(
        "expiry",
        [
            {
                "id": "old",
                "text": "Use the blue form for travel.",
                "valid_until": NOW - timedelta(days=1),
            },
            {"id": "new", "text": "Use the green form for travel."},
        ],
    )
    assert [h.id for h in memory.recall("expiry", "Which form for travel?", min_score=0.0)] == [
        "new",
        "old",
    ]


def test_evidence_lifts_an_observation(memory: Recollect) -> None:
    memory.retain(
        "proof",
        [
            {"id": "weak", "text": "Lena prefers morning meetings.", "type": "observation", "proof_count": 1, "timestamp": "2026-01-05"},
            {"id": "strong", "text": "Jonas prefers morning meetings.", "type": "observation", "proof_count": 90, "timestamp": "2026-01-05"},
        ],
    )  # fmt: skip
    hits = {h.id: h for h in memory.recall("proof", "Who prefers morning meetings?", min_score=0.0)}
    assert hits["weak"].scores["proof_factor"] == 1.0
    assert hits["strong"].scores["proof_factor"] == pytest.approx(1 + 0.1 * 0.45, abs=1e-3)


def test_recency_prefers_the_newer_of_two_alike(memory: Recollect) -> None:
    memory.retain(
        "recent",
        [
            {"id": "older", "text": "Mila watered the ferns.", "timestamp": "2025-02-01"},
            {"id": "newer", "text": "Mila watered the palms.", "timestamp": "2026-10-01"},
        ],
    )
    hits = {
        h.id: h
        for h in memory.recall(
            "recent", "What did Mila water?", query_timestamp="2026-11-01", min_score=0.0
        )
    }
    assert hits["newer"].scores["recency_factor"] > hits["older"].scores["recency_factor"]
    assert hits["older"].scores["recency_factor"] == pytest.approx(0.92, abs=1e-4)


@pytest.mark.parametrize(
    ("query", "first"), [("When did Mila first swim?", "a"), ("When did Mila last swim?", "c")]
)
def test_first_and_last_ask_for_an_end_of_the_timeline(
    memory: Recollect, query: str, first: str
) -> None:
    if "ends" not in {b.id for b in memory.banks()}:
        days = {"a": "2024-05-01", "b": "2025-05-01", "c": "2026-05-01"}
        memory.retain(
            "ends",
            [
                {"id": k, "text": "Mila swam in the lake.", "occurred_start": d, "timestamp": d}
                for k, d in days.items()
            ],
        )
    result = memory.recall("ends", query, query_timestamp="2026-11-01", min_score=0.0)
    assert result.results[0].id == first


def descriptions(part: Explanation) -> set[str]:
    return {part.description}.union(*map(descriptions, part.details))


@pytest.mark.parametrize(
    ("days", "word"), [(10, None), (140, "aging"), (190, "stale"), (280, "expired")]
)
def test_the_explanation_names_the_step(
    memory: Recollect, aging: str, days: int, word: str | None
) -> None:
    later = NOW + timedelta(days=days)
    asked = {"query_timestamp": later, "min_score": 0.0}
    result = memory.recall(aging, "rotate the signing keys", **asked)
    hit = next(h for h in result if h.id == "lesson")
    said = "lifecycle factor" if word is None else f"lifecycle factor: {word}"
    assert hit.explanation is not None
    assert said in descriptions(hit.explanation)
    why = memory.why(aging, "rotate the signing keys", "lesson", **asked)
    boost = next(s.says for s in why.stages if s.stage == "boost")
    assert boost.endswith(f"({word})") if word else "(" not in boost.split(":")[1]


def test_a_superseded_value_is_explained_as_such(memory: Recollect) -> None:
    memory.retain(
        "replaced",
        [
            {"id": "a", "text": "Keys live in the vault."},
            {"id": "b", "text": "Keys live in the safe."},
        ],
    )
    memory.supersede("replaced", "a", "b")
    hits = {h.id: h for h in memory.recall("replaced", "Where do keys live?", min_score=0.0)}
    explanation = hits["a"].explanation
    assert explanation is not None
    assert "lifecycle factor: superseded" in {d.description for d in explanation.details}


@pytest.mark.parametrize("kind", ["lesson", "decision", "project-fact", "recipe", None])
def test_what_is_due_is_what_ranking_lets_stand_back(memory: Recollect, kind: str | None) -> None:
    bank = f"due-{kind}"
    memory.retain(bank, {"id": "m", "text": "Rotate the signing keys.", "kind": kind})
    for days in (1, 60, 80, 100, 150, 170, 190, 300, 350, 400, 600):
        later = NOW + timedelta(days=days)
        held = {d.memory.id: d.age.factor for d in memory.due(bank, now=later)}
        assert held.get("m", 1.0) == pytest.approx(factor(memory, bank, "m", days))

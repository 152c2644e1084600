"""An honest "nothing known": what the bank does not hold is not answered, what it holds is."""

from __future__ import annotations

import math

import pytest

from recollect import Band, Recollect
from recollect.recall.answerable import Verdict, Weights, fitted
from recollect.recall.relevance import calibrations
from recollect.testing import open_fake
from recollect.types import StageTrace

ANCHOR = "2026-11-15T12:00:00Z"

FOREIGN = [
    "What is the boiling point of tungsten?",
    "Who won the football world cup in 1998?",
    "How do I renew my passport?",
    "Which database does the billing service use?",
    "What is the wifi password of the office?",
    "What is the capital of Mongolia?",
    "When does the next train to Vienna leave?",
    "What was decided about the pricing model?",
    "Which medication was prescribed for the dog?",
    "How many shares did the company issue?",
]

# About people the bank knows, but of things it was never told.
UNTOLD = [
    "What is Alice's shoe size?",
    "What is the name of Bob's sister?",
    "Which car does Carla drive?",
    "Who is Dan's dentist?",
    "What did Erin study at university?",
    "How much rent does Frank pay?",
    "When was Gina born?",
    "What is Alice's phone number?",
    "Which football team does Bob support?",
    "What is Dan's favourite colour?",
]

TOLD = {
    "Where does Alice work?": "job",
    "What is Alice's job?": "job",
    "What pet does Bob have?": "cat",
    "What is the name of Bob's cat?": "cat",
    "Which ticket tracked the outage?": "ticket",
    "What does Carla bake on Sundays?": "bread",
    "Where did Dan fly to?": "trip",
    "Which instrument is Erin learning?": "guitar",
    "Where does Frank live?": "flat",
    "What is Gina allergic to?": "allergy",
}


@pytest.mark.parametrize("query", FOREIGN)
def test_what_the_bank_never_heard_of_is_not_known(
    memory: Recollect, story: str, query: str
) -> None:
    result = memory.recall(story, query, query_timestamp=ANCHOR)
    assert result.nothing_known, [(h.text, h.score) for h in result.results[:2]]
    assert result.as_context() == "Nothing is known about this."


@pytest.mark.parametrize("query", FOREIGN)
def test_nor_in_a_bank_of_six_hundred(memory: Recollect, diary: str, query: str) -> None:
    result = memory.recall(diary, query, query_timestamp=ANCHOR)
    assert result.nothing_known, [(h.text, h.score) for h in result.results[:2]]


@pytest.mark.parametrize("query", TOLD)
def test_what_the_bank_was_told_is_known(memory: Recollect, story: str, query: str) -> None:
    result = memory.recall(story, query, query_timestamp=ANCHOR)
    assert not result.nothing_known
    assert result.results[0].id == TOLD[query]
    assert result.results[0].band is not Band.NOISE


def test_abstaining_is_right_nine_times_of_ten_also_about_known_people(
    memory: Recollect, story: str
) -> None:
    unknown, known = [*FOREIGN, *UNTOLD], list(TOLD)
    said = {
        q: memory.recall(story, q, query_timestamp=ANCHOR).nothing_known for q in [*unknown, *known]
    }
    right = sum(said[q] for q in unknown)
    precision = right / max(sum(said.values()), 1)
    recall = right / len(unknown)
    print(
        f"abstention: precision {precision:.2f}, recall {recall:.2f}, wrong: {[q for q in unknown if not said[q]]}"
    )
    assert precision >= 0.9 and recall >= 0.9


# --- what the decision means for the hits -----------------------------------------------------


@pytest.mark.parametrize("query", [*FOREIGN[:3], *UNTOLD[:3], *list(TOLD)[:3]])
def test_nothing_is_known_when_all_is_noise_and_the_best_may_answer_when_something_is(
    memory: Recollect, story: str, query: str
) -> None:
    result = memory.recall(story, query, query_timestamp=ANCHOR, min_score=0.0)
    noise = [hit.band is Band.NOISE for hit in result]
    assert all(noise) if result.nothing_known else not noise[0]


def test_what_is_not_known_is_still_shown_to_who_wants_to_look(
    memory: Recollect, story: str
) -> None:
    result = memory.recall(story, "What is Alice's shoe size?", query_timestamp=ANCHOR)
    assert result.nothing_known and result.results[0].id == "job"


def test_a_time_that_is_all_that_was_asked_for_needs_no_words_in_common(
    memory: Recollect, diary: str
) -> None:
    assert not memory.recall(
        diary, "What happened in March 2026?", query_timestamp=ANCHOR
    ).nothing_known


# --- why ---------------------------------------------------------------------------------------


def decided(memory: Recollect, bank: str, query: str) -> StageTrace:
    result = memory.recall(bank, query, query_timestamp=ANCHOR, trace=True)
    assert result.trace is not None
    return next(stage for stage in result.trace.stages if stage.stage == "answerable")


def test_the_trace_names_the_words_that_nothing_covers(memory: Recollect, story: str) -> None:
    said = decided(memory, story, "What is Alice's shoe size?").detail
    assert said["because"] == "no memory that was found covers 'shoe', 'size'"


def test_the_trace_names_whom_the_bank_does_not_know(memory: Recollect, story: str) -> None:
    said = decided(memory, story, "Where does Zoltan Varga work?").detail
    assert said["because"] == "no memory knows 'Zoltan Varga'"


def test_the_trace_says_how_sure_it_is(memory: Recollect, story: str) -> None:
    said = decided(memory, story, "Where does Alice work?").detail
    assert said["known"] and said["score"] >= said["floor"] and "because" not in said


def test_why_says_that_nothing_is_known_and_what_it_would_take(
    memory: Recollect, story: str
) -> None:
    why = memory.why(story, "What is Alice's shoe size?", "job", query_timestamp=ANCHOR)
    stage = next(s for s in why.stages if s.stage == "answerable")
    assert not stage.passed and "'shoe'" in stage.says
    assert stage.numbers["score"] < stage.numbers["floor"]
    assert stage.needed == f"at least {stage.numbers['floor']:g}"


def test_the_explanation_of_a_verdict_adds_up() -> None:
    weights = Weights(0.5, {"relevance": 0.25, "words": 2.0}, 0.3)
    logit = 0.5 + 0.25 * -3.0 + 2.0 * 0.7
    score = 1 / (1 + math.exp(-logit))
    shown = Verdict(True, score, 0.3, {"relevance": -3.0, "words": 0.7}, weights).explanation()
    (inner,) = shown.details
    assert inner.value == pytest.approx(sum(part.value for part in inner.details))
    assert shown.value == pytest.approx(1 / (1 + math.exp(-inner.value)))


# --- whose weights -----------------------------------------------------------------------------


def test_every_stage_of_relevance_has_weights_that_say_what_they_mean(memory: Recollect) -> None:
    known = fitted(memory.embedder.name)
    assert set(known) == set(calibrations(memory.embedder.name))
    for weights in known.values():
        assert 0 < weights.floor < 1
        signs = {name: weight > 0 for name, weight in weights.weights.items()}
        expected = {"relevance": True, "words": True, "strangers": False}
        assert expected.items() <= signs.items()


def test_an_embedder_that_nobody_fitted_is_judged_by_the_floor_under_the_score() -> None:
    with open_fake(":memory:") as memory:
        memory.retain("b", "Alice works at Google.")
        assert not fitted(memory.embedder.name)
        result = memory.recall("b", "Where does Alice work?", trace=True)
        assert result.trace is not None
        said = next(s for s in result.trace.stages if s.stage == "answerable").detail
        assert said["floor"] == calibrations(memory.embedder.name)["first"].maybe
        assert said["score"] == pytest.approx(result.results[0].score, abs=1e-4)

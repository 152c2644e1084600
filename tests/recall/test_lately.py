"""A message of several sentences goes on with what is going on: how lately a memory was told counts, and its
words weigh more than those of a question."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from recollect import Recollect
from recollect.recall.relevance import Calibration, calibrations
from recollect.recall.result import RecallResult

BANK, NOW = "lately", "2024-06-01"
MESSAGE = "I am back at my desk. Which chapter of the thesis did we say I would draft?"
QUESTION = "Which chapter of the thesis did we say I would draft?"


@pytest.fixture(scope="module")
def told(memory: Recollect) -> str:
    memory.retain(BANK, [
        {"id": "old", "text": "The user will draft chapter three of the thesis.", "timestamp": "2023-09-03"},
        {"id": "new", "text": "The user will draft chapter seven of the thesis.", "timestamp": "2024-05-28"},
    ])  # fmt: skip
    return BANK


def lately(result: RecallResult) -> Sequence[float]:
    """Of the old one and of the new one."""
    by_id = {hit.id: hit.scores["lately"] for hit in result}
    return [by_id["old"], by_id["new"]]


def test_a_message_goes_on_with_what_was_told_lately(memory: Recollect, told: str) -> None:
    old, new = lately(memory.recall(told, MESSAGE, query_timestamp=NOW))
    assert old < -0.4
    assert new > 0.4


def test_a_question_looks_up_what_was_told_at_any_time(memory: Recollect, told: str) -> None:
    assert lately(memory.recall(told, QUESTION, query_timestamp=NOW)) == [0, 0]


def test_a_message_that_names_a_time_means_that_time(memory: Recollect, told: str) -> None:
    message = "I am back at my desk. Which chapter did we say in September 2023 I would draft?"
    assert lately(memory.recall(told, message, query_timestamp=NOW)) == [0, 0]


@pytest.mark.parametrize(
    "message",
    [
        "Tell me which chapter we said in September 2023 I would draft. I forgot.",
        "Back again. which chapter did we say in September 2023 i would draft.",
        "I am back. Could you look up which chapter I drafted in September 2023",
    ],
)
def test_it_is_asked_about_without_a_question_mark_too(
    memory: Recollect, told: str, message: str
) -> None:
    assert lately(memory.recall(told, message, query_timestamp=NOW)) == [0, 0]


@pytest.mark.parametrize(
    "message",
    [
        "I was away until yesterday. Which chapter of the thesis did we say I would draft?",
        "My supervisor comes on Friday. I am at the thesis again, and need the next chapter.",
    ],
)
def test_a_time_that_is_only_told_is_none_that_is_meant(
    memory: Recollect, told: str, message: str
) -> None:
    old, new = lately(memory.recall(told, message, query_timestamp=NOW))
    assert old < -0.4
    assert new > 0.4


def test_an_own_window_is_what_is_meant(memory: Recollect, told: str) -> None:
    window = ("2023-09-01", "2023-10-01")
    result = memory.recall(told, MESSAGE, query_timestamp=NOW, temporal_window=window)
    assert lately(result) == [0, 0]


def test_a_message_cannot_go_on_with_what_was_told_later(memory: Recollect, told: str) -> None:
    old, new = lately(memory.recall(told, MESSAGE, query_timestamp="2023-09-10"))
    assert old > 0.3
    assert new == -4


def test_what_is_to_come_is_not_what_was_told_later(memory: Recollect) -> None:
    memory.retain("dates", [
        {"id": "old", "text": "The dentist filled a tooth on the left.", "timestamp": "2023-09-03"},
        {"id": "new", "text": "The dentist puts a crown on a tooth on the right.", "timestamp": "2190-01-10"},
    ])  # fmt: skip
    message = "I have to pack. Which tooth does the dentist see to?"
    for asked in (None, "2024-01-01"):
        assert lately(memory.recall("dates", message, query_timestamp=asked))[1] == 0.5


def test_what_was_told_later_on_the_same_day_is_no_later(memory: Recollect, told: str) -> None:
    assert lately(memory.recall(told, MESSAGE, query_timestamp="2024-05-27T12:00"))[1] == 0.5


def test_whoever_wants_no_boosts_wants_none_of_this(memory: Recollect, told: str) -> None:
    result = memory.recall(told, MESSAGE, query_timestamp=NOW, without=["boost"])
    assert lately(result) == [0, 0]


def test_the_explanation_says_that_it_was_told_lately(memory: Recollect, told: str) -> None:
    best = memory.recall(told, MESSAGE, query_timestamp=NOW).results[0]
    assert best.id == "new"
    assert "told lately" in str(best.explanation)


def weighed(result: RecallResult, by: Calibration) -> bool:
    """Whether the best hit was judged by these weights."""
    return f"Explanation(value={by.bias}, description='bias'" in repr(result.results[0].explanation)


@pytest.mark.parametrize("stage", ["first", "late", "cross"])
def test_words_weigh_more_in_a_message(memory: Recollect, stage: str) -> None:
    message = calibrations(memory.embedder.name, message=True)[stage]
    question = calibrations(memory.embedder.name)[stage]
    assert message.weights["keyword"] > 2 * question.weights["keyword"]


def test_a_message_is_judged_by_weights_of_its_own(memory: Recollect, told: str) -> None:
    known = calibrations(memory.embedder.name, message=True)
    result = memory.recall(told, MESSAGE, query_timestamp=NOW, explain=True)
    assert weighed(result, known["cross"])


def test_a_question_is_not_judged_as_a_message(memory: Recollect, told: str) -> None:
    known = calibrations(memory.embedder.name)
    result = memory.recall(told, QUESTION, query_timestamp=NOW, explain=True)
    assert weighed(result, known["cross"])


def test_a_model_that_nobody_calibrated_judges_messages_as_questions() -> None:
    assert calibrations("mine", message=True) == calibrations("mine")

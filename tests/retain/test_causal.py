"""Stated causes are found with their direction; other readings of the same words are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.retain.causal import find_causal


@pytest.mark.parametrize(
    ("text", "kind", "cause", "effect"),
    [
        ("Alice joined Google because she loves research.", "causes", "she loves research", "Alice joined Google"),
        ("Because it rained, we stayed home.", "causes", "it rained", "we stayed home"),
        ("The flight was cancelled due to fog.", "causes", "fog", "The flight was cancelled"),
        ("Owing to fog, the flight was late.", "causes", "fog", "the flight was late"),
        ("Thanks to the cache, recall is faster.", "causes", "the cache", "recall is faster"),
        ("Since you are here, we can start.", "causes", "you are here", "we can start"),
        ("We left early, since the kids were tired.", "causes", "the kids were tired", "We left early"),
        ("It rained, so we stayed home.", "causes", "It rained", "we stayed home"),
        ("The disk was full; therefore the build failed.", "causes", "The disk was full", "the build failed"),
        ("The outage was caused by a bad deploy.", "causes", "a bad deploy", "The outage"),
        ("A bad deploy caused the outage.", "causes", "A bad deploy", "the outage"),
        ("Frustrations cause stress.", "causes", "Frustrations", "stress"),
        ("Smoking leads to cancer, but he smokes.", "causes", "Smoking", "cancer"),
        ("The crash resulted in a lawsuit.", "causes", "The crash", "a lawsuit"),
        ("The lawsuit resulted from the crash.", "causes", "the crash", "The lawsuit"),
        ("The news triggered a panic.", "causes", "The news", "a panic"),
        ("The reform brought about change.", "causes", "The reform", "change"),
        ("I was ill, which is why I missed it.", "causes", "I was ill", "I missed it"),
        ("The grant enabled her to finish.", "enables", "The grant", "her to finish"),
        ("The flag allows users to log in.", "enables", "The flag", "users to log in"),
        ("The dam made it possible to grow rice.", "enables", "The dam", "grow rice"),
        ("We added an index so that queries are fast.", "enables", "We added an index", "queries are fast"),
        ("We moved in order to be near family.", "enables", "We moved", "be near family"),
        ("He bought a bike to get to work.", "enables", "He bought a bike", "get to work"),
        ("The lock prevented two writers from clashing.", "prevents", "The lock", "two writers from clashing"),
        ("The storm kept us from leaving.", "prevents", "The storm", "us from leaving"),
        ("The guard stopped him from entering.", "prevents", "The guard", "him from entering"),
        ("A bug blocked us from shipping.", "prevents", "A bug", "us from shipping"),
    ],
)  # fmt: skip
def test_relations(text: str, kind: str, cause: str, effect: str) -> None:
    assert [(r.kind, r.cause, r.effect) for r in find_causal(text)] == [(kind, cause, effect)]


@pytest.mark.parametrize(
    "text",
    [
        "I have lived here since 2010.",
        "Since she moved, she has been happy.",
        "Since last week I have been ill.",
        "She has worked there since she was young.",
        "I like it so much.",
        "So far so good.",
        "She was allowed to go home.",
        "He stopped smoking.",
        "He quit not because he was tired.",
        "Why did she leave?",
        "Did it fail because of the disk?",
        "The cause of the fire is unknown.",
        "He wants to go to Paris.",
        "She kept the book.",
        "The farmer produced a surplus.",
        "It did not lead to anything.",
        "This is a result in physics.",
        "He went to the shop.",
        "They are the same, as a result of nothing?",
        "",
    ],
)
def test_other_readings_are_no_relations(text: str) -> None:
    assert find_causal(text) == ()


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("So, we left.", "we left"),
        ("Therefore the build failed.", "the build failed"),
        ("As a result, the build failed.", "the build failed"),
        ("Because of that, I stayed.", "I stayed"),
        ("That's why I quit.", "I quit"),
        ("This led to a lawsuit.", "a lawsuit"),
    ],
)
def test_a_text_that_opens_with_its_cue_points_before_itself(text: str, effect: str) -> None:
    (relation,) = find_causal(text)
    assert (relation.previous, relation.cause_span, relation.effect) == (True, None, effect)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("That was because the certificate had expired.", "the certificate had expired"),
        ("It was caused by an expired certificate.", "an expired certificate"),
        ("And this happened because we were late.", "we were late"),
        ("It's mainly due to the heat.", "the heat"),
        ("The cause was an expired certificate.", "an expired certificate"),
        ("The reason for that was an expired certificate.", "an expired certificate"),
        ("Root cause: an expired certificate.", "an expired certificate"),
    ],
)
def test_a_text_that_opens_with_a_reason_tells_the_cause_of_what_is_before_it(
    text: str, cause: str
) -> None:
    (relation,) = find_causal(text)
    assert (relation.previous, relation.effect_span, relation.cause) == (True, None, cause)


def test_a_reason_in_a_later_sentence_is_of_the_sentence_before_it() -> None:
    (relation,) = find_causal("The checkout went down. That was because the disk was full.")
    assert (relation.cause, relation.effect) == ("the disk was full", "The checkout went down.")
    assert not relation.previous


@pytest.mark.parametrize(
    "text",
    [
        "It was because of the fog that we stayed.",
        "The cause is unknown.",
        "The reason is simple.",
        "It was not because of the fog.",
        "That was for a good cause.",
        "Was it because of the fog?",
    ],
)
def test_what_names_no_cause_tells_none_of_what_is_before_it(text: str) -> None:
    assert not any(relation.previous for relation in find_causal(text))


def test_a_later_sentence_points_to_the_sentence_before_it() -> None:
    (relation,) = find_causal("The disk was full. As a result, the build failed.")
    assert (relation.previous, relation.cause) == (False, "The disk was full.")


def test_strong_cues_weigh_more_than_weak_ones() -> None:
    (strong,) = find_causal("We left because it rained.")
    (weak,) = find_causal("We bought a tent to sleep outside.")
    assert strong.weight > weak.weight


def test_two_relations_in_one_sentence() -> None:
    found = find_causal("Bob was late because of traffic; therefore the meeting began late.")
    assert next((r.cause, r.effect) for r in found) == ("traffic", "Bob was late")
    assert len(found) == 2


CUES = st.sampled_from(
    ["because", "so", "since", "led to", "to", ",", ".", "it", "rained", "was", "caused by", "\n"]
)


@given(st.lists(CUES, max_size=14).map(" ".join))
def test_spans_quote_the_text_and_do_not_overlap(text: str) -> None:
    for relation in find_causal(text):
        assert 0 < relation.weight <= 1
        if relation.effect_span:
            assert text[slice(*relation.effect_span)] == relation.effect
        if relation.cause_span and relation.effect_span:
            first, second = sorted([relation.cause_span, relation.effect_span])
            assert text[slice(*relation.cause_span)] == relation.cause
            assert first[1] <= second[0]

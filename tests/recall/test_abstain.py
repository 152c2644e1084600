"""An honest "nothing known": what the bank does not hold is not answered, what it holds is."""

from __future__ import annotations

import pytest

from recollect import Band, Recollect
from recollect.recall.answerable import FEW
from recollect.recall.relevance import calibrations

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


@pytest.fixture(scope="module")
def crowd(memory: Recollect, story: str, diary: str) -> str:
    """The story among six hundred things that other people did."""
    told = [*memory.memories(story), *memory.memories(diary, limit=1000)]
    facts = [{"id": m.id, "text": m.text, "timestamp": m.mentioned_at} for m in told]
    assert len(memory.retain("crowd", facts).new) == len(told) > 600
    return "crowd"


def abstention(memory: Recollect, bank: str) -> tuple[float, float, list[str]]:
    """Precision, recall, and what was answered though nobody said it."""
    unknown, known = [*FOREIGN, *UNTOLD], list(TOLD)
    said = {
        q: memory.recall(bank, q, query_timestamp=ANCHOR).nothing_known for q in [*unknown, *known]
    }
    right = sum(said[q] for q in unknown)
    missed = [q for q in unknown if not said[q]]
    return right / max(sum(said.values()), 1), right / len(unknown), missed


def test_abstaining_is_right_nine_times_of_ten_also_about_known_people(
    memory: Recollect, crowd: str
) -> None:
    precision, recall, missed = abstention(memory, crowd)
    assert precision >= 0.9 and recall >= 0.9, missed


def test_among_a_few_memories_it_rather_answers(memory: Recollect, story: str) -> None:
    """They all fit a prompt, and to be asked in other words is likelier than to be asked in vain."""
    precision, recall, missed = abstention(memory, story)
    assert precision == 1 and recall >= 0.75, missed


@pytest.mark.parametrize(("size", "fitted"), [(FEW - 1, False), (FEW, True)])
def test_the_floor_alone_decides_among_as_many_as_fit_a_prompt(
    memory: Recollect, diary: str, size: int, fitted: bool
) -> None:
    told = [
        {"text": m.text, "timestamp": m.mentioned_at} for m in memory.memories(diary, limit=size)
    ]
    assert len(memory.retain(f"few-{size}", told).new) == size
    somebody = told[0]["text"].split()[0]
    trace = memory.recall(f"few-{size}", f"What is {somebody}'s shoe size?", trace=True).trace
    assert trace is not None
    stage = next(s for s in trace.stages if s.stage == "answerable")
    assert (stage.detail["floor"] != calibrations("recollect-embed-6")["cross"].maybe) is fitted


def test_the_only_memory_answers_a_question_in_other_words(memory: Recollect) -> None:
    memory.retain("only", "Alice joined Google last spring because she loves research.")
    result = memory.recall("only", "Where does Alice work?")
    assert not result.nothing_known
    assert "Google" in result.as_context()


@pytest.mark.parametrize(
    "query",
    [
        "What happened in April 2026?",
        "What's new in April 2026?",
        "What did I do in April 2026?",
        "What have we talked about in April 2026?",
        "Summarize April 2026",
    ],
)
def test_whatever_lies_in_the_time_is_an_answer_when_nothing_else_is_asked(
    memory: Recollect, story: str, query: str
) -> None:
    result = memory.recall(story, query, query_timestamp=ANCHOR)
    assert not result.nothing_known
    assert result.results[0].id == "cat"


def test_but_not_when_nothing_lies_in_it(memory: Recollect, story: str) -> None:
    assert memory.recall(
        story, "What happened in April 2019?", query_timestamp=ANCHOR
    ).nothing_known


@pytest.mark.parametrize("query", ["What did I do in March 2026?", "Tell me about March 2026"])
def test_small_words_besides_a_time_ask_for_nothing_else(
    memory: Recollect, diary: str, query: str
) -> None:
    result = memory.recall(diary, query, query_timestamp=ANCHOR)
    assert not result.nothing_known
    start = result.results[0].occurred_start or result.results[0].mentioned_at
    assert start is not None and (start.year, start.month) == (2026, 3)


def test_all_that_lies_in_the_time_is_an_answer_not_only_the_best(
    memory: Recollect, story: str
) -> None:
    result = memory.recall(story, "What happened in June 2026?", query_timestamp=ANCHOR)
    told = {h.id for h in result if h.band is not Band.NOISE}
    assert told == {"bread", "trip"}


def test_an_open_question_about_a_given_time_asks_for_what_lies_in_it(
    memory: Recollect, story: str
) -> None:
    june = ("2026-06-01", "2026-06-30")
    result = memory.recall(story, "What's new?", temporal_window=june, query_timestamp=ANCHOR)
    assert {h.id for h in result if h.band is not Band.NOISE} == {"bread", "trip"}


@pytest.mark.parametrize(
    "query",
    [
        "What happened in June 2026?",
        "What did we do since May 2026?",
        "What changed in June 2026?",
        "Remind me what happened in June 2026",
        "Which notes are from June 2026?",
        "Give me a recap of June 2026",
        "Was ist im Juni 2026 passiert?",
        "Was haben wir im Juni 2026 gemacht?",
        "¿Qué pasó en junio de 2026?",
        "Que s'est-il passé en juin 2026 ?",
        "Qu'est-ce qui s'est passé en juin 2026 ?",
        "Cosa è successo a giugno 2026?",
        "O que aconteceu em junho de 2026?",
        "2026年6月发生了什么？",
        "2026年6月に何がありましたか？",
    ],
)
def test_what_lies_in_the_time_that_alone_was_asked_for_does_not_score_like_noise(
    memory: Recollect, story: str, query: str
) -> None:
    result = memory.recall(story, query, query_timestamp="2026-06-30", min_score=0.25)
    assert {"bread", "trip"} <= {h.id for h in result}
    assert "job" not in {h.id for h in result}  # of March


@pytest.mark.parametrize(
    ("query", "known"),
    [
        ("What happened yesterday?", False),
        ("What did I tell you last week?", False),
        ("What has happened since 2020?", True),
        ("What happened in 2021?", True),
        ("Where did I work yesterday?", True),
    ],
)
def test_what_has_lasted_for_years_did_not_happen_yesterday(
    memory: Recollect, query: str, known: bool
) -> None:
    memory.retain("for-years", {"text": "I work at Airbus since 2021.", "timestamp": "2026-01-05"})
    result = memory.recall("for-years", query, query_timestamp=ANCHOR)
    assert result.nothing_known is not known


def test_a_strong_hit_is_not_denied_though_it_holds_no_word_of_the_question(
    memory: Recollect,
) -> None:
    bought = [
        f"{who} went to the {shop} and bought {count} {what}."
        for who, shop in (("Ann", "shop"), ("Bob", "market"), ("Cy", "fair"), ("Ed", "mall"))
        for count in (2, 3, 4, 5)
        for what in ("apples", "pens", "chairs", "lamps")
    ]
    told = [{"id": "fall", "text": "Mum broke her hip on the icy stairs."}]
    memory.retain("family", [*told, *({"text": text} for text in bought)])
    result = memory.recall("family", "What injured my mother?", query_timestamp=ANCHOR)
    assert not result.nothing_known
    assert (result.results[0].id, result.results[0].band) == ("fall", Band.STRONG)

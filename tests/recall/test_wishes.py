"""A standing wish comes up when something is to be done, though the request does not speak of it."""

from __future__ import annotations

from itertools import product

import pytest

from recollect import Recollect

BANK = "wishes"
REQUEST = "Could you draft a message to the landlord about the broken heating?"
QUESTION = "When did the heating break?"
WISH = "Whenever you write something for me, keep it under eighty words."


@pytest.fixture(scope="module")
def wishes(memory: Recollect) -> str:
    """A wish among turns about other things, some of them nearer to the request."""
    about = ("garden", "bicycle", "exam", "recipe", "holiday", "cinema", "dentist", "choir")
    near = ("The landlord rang on Monday.", "The heating was new in May.", "Rent is due on Friday.")
    talk = [
        *({"speaker": "user", "text": text} for text in near),
        *(
            {"speaker": "user", "text": f"The {a} and the {b} came up again on day {day}."}
            for day, (a, b) in enumerate((a, b) for a in about for b in about)
        ),
    ]
    facts = [
        {"id": "wish", "speaker": "user", "text": WISH},
        {"id": "advice", "speaker": "assistant", "text": "Always keep letters under a page."},
        {"id": "broke", "speaker": "user", "text": "The heating broke on Friday night."},
        *talk,
    ]
    memory.retain(BANK, [{**fact, "timestamp": "2026-02-03"} for fact in facts])
    return BANK


def test_a_request_brings_the_wish(memory: Recollect, wishes: str) -> None:
    assert "wish" in [hit.id for hit in memory.recall(wishes, REQUEST).results[:10]]


def test_a_request_shows_why(memory: Recollect, wishes: str) -> None:
    result = memory.recall(wishes, REQUEST)
    tree = str(next(hit for hit in result.results if hit.id == "wish").explanation)
    assert "a standing wish" in tree


def test_a_question_does_not_lift_the_wish(memory: Recollect, wishes: str) -> None:
    found, asked = (memory.recall(wishes, text).results for text in (REQUEST, QUESTION))
    lifted, left = ([hit.id for hit in hits].index("wish") for hits in (found, asked))
    assert asked[0].id == "broke"
    assert lifted < left


def test_what_an_assistant_advises_is_no_wish(memory: Recollect, wishes: str) -> None:
    hits = memory.recall(wishes, REQUEST, max_tokens=8192).results
    found = {hit.id: hit.scores["wish"] for hit in hits if hit.id in ("wish", "advice")}
    assert found == {"wish": 1.0, "advice": 0.0}


def test_a_wish_outside_the_filter_stays_outside(memory: Recollect, wishes: str) -> None:
    result = memory.recall(wishes, REQUEST, tags=["private"], tags_match="any_strict")
    assert not result.results


@pytest.mark.parametrize("query", ["Could you draft xqzv?", "Please solve this integral."])
def test_where_no_arm_finds_anything_the_wish_stands_alone(memory: Recollect, query: str) -> None:
    bank = "one wish"
    memory.retain(bank, [{"id": "wish", "speaker": "user", "text": "Always end with a checklist."}])
    result = memory.recall(bank, query)
    assert [hit.id for hit in result.results] == ["wish"]
    assert not result.degraded
    for options in (
        {"budget": "high"},
        {"trace": True},
        {"expand_hops": 1},
        {"as_of": "2030-01-01"},
    ):
        assert memory.recall(bank, query, **options).results[0].id == "wish"
    assert "wish" in str(memory.why(bank, query, "wish"))


def test_among_many_memories_the_wish_becomes_a_candidate(memory: Recollect) -> None:
    """More memories than any arm brings are nearer to the request."""
    bank = "many wishes"
    names = [
        "Ada",
        "Bela",
        "Cora",
        "Dora",
        "Ella",
        "Fay",
        "Gus",
        "Hal",
        "Ida",
        "Jon",
        "Kai",
        "Leo",
        "Mia",
        "Nan",
        "Oda",
        "Pia",
        "Sue",
        "Tom",
    ]
    talk = [
        {"text": f"{a} sent the landlord of {b} a message about broken heating in flat {n}."}
        for n, (a, b, _) in enumerate(product(names, names, range(2)))
    ]
    memory.retain(bank, [{"id": "wish", "speaker": "user", "text": WISH}, *talk])
    hits = memory.recall(bank, REQUEST, max_tokens=32_000).results
    assert len(hits) < len(talk)
    assert "wish" in [hit.id for hit in hits]

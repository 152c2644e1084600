"""Identifiers are matched to the letter: to a model `as_of` is two little words."""

from __future__ import annotations

import pytest

from recollect import Recollect

TOLD = {
    "as_of": "Set `as_of` to a day, and later corrections are left out.",
    "known": "What was known as of the first of March was asked for in the meeting.",
    "file": "Ann wrote src/app.py in one night.",
    "app": "The app that Ann wrote in Python lives in the source folder, in a file of its own.",
    "flag": "With --chunks the source comes along.",
    "chunks": "Chunks of source text are cut so that each has some four hundred tokens; chunks overlap nowhere.",
    "ticket": "PROJ-1234 is about the printer on the second floor.",
    "tickets": "PROJ-1243 and PROJ-1324 are about the outage; somebody counted 1234 of them.",
}


@pytest.fixture(scope="module")
def code(memory: Recollect) -> str:
    memory.retain("code", [{"id": id, "text": text} for id, text in TOLD.items()])
    return "code"


@pytest.mark.parametrize("query", ["What is as_of for?", "What does as_of do?", "as_of"])
def test_what_an_identifier_is_for_is_known_though_its_words_are_small(
    memory: Recollect, code: str, query: str
) -> None:
    result = memory.recall(code, query)
    assert not result.nothing_known
    assert result.results[0].id == "as_of"


@pytest.mark.parametrize(
    ("query", "held", "other"),
    [
        ("What is in src/app.py?", "file", "app"),
        ("Who reported PROJ-1234?", "ticket", "tickets"),
        ("What does --chunks do?", "flag", "chunks"),
    ],
)
def test_only_what_holds_all_of_an_identifier_holds_it(
    memory: Recollect, code: str, query: str, held: str, other: str
) -> None:
    signal = {hit.id: hit.scores["exact"] for hit in memory.recall(code, query)}
    assert signal[held] > 0
    assert signal[other] == 0


def test_a_flag_is_first_where_it_is_named(memory: Recollect, code: str) -> None:
    assert memory.recall(code, "What does --chunks do?").results[0].id == "flag"


def test_an_identifier_in_a_flag_counts_once(memory: Recollect) -> None:
    memory.retain("flags", {"text": "Give --dry_run first.", "id": "dry"})
    assert memory.recall("flags", "--dry_run").results[0].scores["exact"] == pytest.approx(1)


def test_an_identifier_says_less_the_more_is_said_besides(memory: Recollect, code: str) -> None:
    def signal(query: str) -> float:
        return next(h.scores["exact"] for h in memory.recall(code, query) if h.id == "file")

    assert signal("src/app.py") == pytest.approx(1)
    told = "Ann and I met in Lisbon last night, and src/app.py came up between fish and coffee."
    assert 0 < signal(told) < 0.7


def test_a_query_without_identifiers_has_no_such_signal(memory: Recollect, code: str) -> None:
    result = memory.recall(code, "What did Ann write in one night?")
    assert {hit.scores["exact"] for hit in result} == {0.0}


@pytest.mark.parametrize(
    "query", ["What does `==` do?", "Who called https://h.example/a?n=1234 then?"]
)
def test_what_is_no_one_term_is_no_identifier(memory: Recollect, code: str, query: str) -> None:
    assert {hit.scores["exact"] for hit in memory.recall(code, query)} <= {0.0}


def test_an_identifier_named_twice_counts_once(memory: Recollect, code: str) -> None:
    result = memory.recall(code, "as_of as_of")
    assert result.results[0].scores["exact"] <= 1

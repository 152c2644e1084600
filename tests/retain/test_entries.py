"""Dated lines one below the other: a memory each, and the year that a line leaves out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import recollect
from recollect.retain.chunk import statements
from recollect.retain.entries import date_of

Held = Callable[[str], dict[str, str | None]]


@pytest.fixture
def held(memory: recollect.Recollect) -> Held:
    """The memories of a text, and when each of them happened."""

    def retained(text: str) -> dict[str, str | None]:
        memory.retain("b", text, timestamp="2026-01-02T10:00")
        found = {m.text: m.occurred_start for m in memory.memories("b")}
        return {text: start and start.date().isoformat() for text, start in found.items()}

    return retained


def test_dated_lines_are_a_memory_each_and_follow_the_year_above(held: Held) -> None:
    assert held("March 2023: moved to Lisbon.\nMay 3: started at Acme.") == {
        "March 2023: moved to Lisbon.": "2023-03-01",
        "May 3: started at Acme.": "2023-05-03",
    }


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        (["- March 2023: moved", "- May 3: began"], ["2023-03-01", "2023-05-03"]),
        (["**March 2023:** moved", "**May 3:** began"], ["2023-03-01", "2023-05-03"]),
        (["3 March 2023 – moved", "4 November – began"], ["2023-03-03", "2023-11-04"]),
        (["2023-03-01 moved", "2023-05-03 began"], ["2023-03-01", "2023-05-03"]),
        (["[3/1/2023] moved", "[5/3/2023] began"], ["2023-03-01", "2023-05-03"]),
        (["3. März 2023: Umzug", "5. Mai: Beginn"], ["2023-03-03", "2023-05-05"]),
        (["Summer 2022: Rome", "October 2022: Paris"], ["2022-06-01", "2022-10-01"]),
        (["2019: Rome", "2021: Paris"], ["2019-01-01", "2021-01-01"]),
        (["2019–2021: Rome", "2021–2022: Paris"], ["2019-01-01", "2021-01-01"]),
    ],
    ids=lambda value: value[0],
)
def test_a_date_may_be_written_in_many_ways(held: Held, lines: list[str], days: list[str]) -> None:
    found = held("\n".join(lines))
    assert {line.removeprefix("- "): day for line, day in zip(lines, days, strict=True)} == found


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        (["December 2023: a", "January 5: b"], ["2023-12-01", "2024-01-05"]),
        (["May 3, 2024: a", "March 12: b", "December 1: c"], ["2024-05-03", "2024-03-12", "2023-12-01"]),
        (["March 2019: a", "April 2: b", "May 2021: c", "June 3: d"],
         ["2019-03-01", "2019-04-02", "2021-05-01", "2021-06-03"]),
    ],
    ids=["over new year", "backwards", "each after its own"],
)  # fmt: skip
def test_a_year_left_out_is_that_of_the_line_above(
    held: Held, lines: list[str], days: list[str]
) -> None:
    assert held("\n".join(lines)) == dict(zip(lines, days, strict=True))


def test_a_year_left_out_is_that_of_the_heading(held: Held) -> None:
    text = "# 2021\n\nDecember 5: a\nMarch 3: b\n\n# 2022\n\nMay 4: c"
    assert held(text) == {
        "December 5: a": "2021-12-05",
        "March 3: b": "2021-03-03",
        "May 4: c": "2022-05-04",
    }


def test_days_that_name_their_weekday_are_of_the_year_in_which_they_fall_on_it(held: Held) -> None:
    assert held("June 2019: moved\nFri May 3: gym") == {
        "June 2019: moved": "2019-06-01",
        "Fri May 3: gym": "2024-05-03",
    }


def test_what_stands_below_a_date_is_of_that_day(held: Held) -> None:
    assert held("2024-03-12\nSaw the dentist.\n2024-03-13\nHad lunch\nwith Ann.") == {
        "2024-03-12\nSaw the dentist.": "2024-03-12",
        "2024-03-13\nHad lunch\nwith Ann.": "2024-03-13",
    }


@pytest.mark.parametrize(
    "text",
    [
        "We met in Rome and moved to Lisbon on\nMay 3: a Friday, and it rained.",
        "1/2: the first half\n2/2: the second half",
        "Chapter 3: the storm\nChapter 4: the calm",
        "Week 1: basics\nWeek 2: loops",
        "10:30 - coffee\n11:00 - talks",
        "Room 2023: closed\nRoom 2024: open",
        "2024-03-12 12:03:44 INFO started\n2024-03-12 12:03:45 INFO stopped",
    ],
)
def test_other_lines_stay_together(text: str) -> None:
    assert [each.text for each in statements(text)] == [text]


def test_a_year_alone_may_be_a_title(held: Held) -> None:
    assert held("2001: A Space Odyssey is a film.") == {"2001: A Space Odyssey is a film.": None}


def test_who_says_when_it_was_is_not_contradicted(memory: recollect.Recollect) -> None:
    item = {"content": "March 2023: a\nMay 3: b", "occurred_start": "2020-01-01"}
    memory.retain("b", item)
    assert {m.occurred_start.year for m in memory.memories("b") if m.occurred_start} == {2020}


@pytest.mark.parametrize(
    "line", ["May 3: " + " " * 100_000, " " * 100_000 + "May 3", "May " * 50_000]
)
def test_long_lines_are_read_at_once(line: str) -> None:
    assert date_of(line) in ("May 3", None)

"""Dates that texts are laid out by: dated lines, and days above what was told on them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

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


def test_what_was_and_what_will_be_done_is_kept_apart(held: Held) -> None:
    assert held(
        "March 2024: hired\nYesterday: fixed the login\nToday: reviews\nBlockers: none"
    ) == {
        "March 2024: hired": "2024-03-01",
        "Yesterday: fixed the login": "2026-01-01",
        "Today: reviews\nBlockers: none": "2026-01-02",
    }


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


DIARIES = [
    "# 2024-03-12\nSaw the dentist.\n# 2024-03-13\nHad lunch with Ann yesterday.",
    "## March 12, 2024: at home\nSaw the dentist.\n## March 13, 2024: in Rome\nHad lunch with Ann yesterday.",
    "# Diary\n## 2024-03-12\nSaw the dentist.\n## 2024-03-13\n### Noon\nHad lunch with Ann yesterday.",
    "2024-03-12\n\nSaw the dentist.\n\n2024-03-13\n\nHad lunch with Ann yesterday.",
    "2024-03-12\nSaw the dentist.\n2024-03-13\nHad lunch with Ann yesterday.",
    "Tuesday, 12 March 2024:\n- Saw the dentist.\n\nWednesday, 13 March 2024:\n- Had lunch with Ann yesterday.",
]


@pytest.mark.parametrize("text", DIARIES)
def test_what_stands_below_a_day_was_told_on_it(memory: recollect.Recollect, text: str) -> None:
    memory.retain("b", text, timestamp="2026-01-02T10:00")
    told = {m.text: (m.mentioned_at, m.occurred_start) for m in memory.memories("b")}
    first, second = datetime(2024, 3, 12, tzinfo=UTC), datetime(2024, 3, 13, tzinfo=UTC)
    assert told == {
        "Saw the dentist.": (first, None),
        "Had lunch with Ann yesterday.": (second, first),
    }


@pytest.mark.parametrize(
    ("head", "time"),
    [
        ("From: Ann\nDate: Mon, 4 Mar 2024 10:32:00 +0100\nSubject: Lunch", "2024-03-04T09:32"),
        ("From: Ann\nSent: Monday, March 4, 2024 10:32 AM", "2024-03-04T10:32"),
        ("---\ntitle: Lunch\ndate: 2024-03-04\n---", "2024-03-04"),
    ],
)
def test_a_letter_was_told_on_its_date(memory: recollect.Recollect, head: str, time: str) -> None:
    memory.retain("b", f"{head}\n\nShall we meet tomorrow?", timestamp="2026-01-02T10:00")
    (held,) = [m for m in memory.memories("b") if m.text.startswith("Shall")]
    assert held.mentioned_at == datetime.fromisoformat(time).replace(tzinfo=UTC)
    assert held.occurred_start == datetime(2024, 3, 5, tzinfo=UTC)


def test_a_talk_goes_on_below_the_next_day(memory: recollect.Recollect) -> None:
    text = "Ann: hi\n\n--- 2024-03-13 ---\n[14:05] Bob: yo\nAnn: I came yesterday."
    memory.retain("b", text, timestamp="2026-01-02T10:00")
    assert {(m.speaker, m.text, m.mentioned_at) for m in memory.memories("b")} == {
        ("Ann", "hi", datetime(2026, 1, 2, 10, tzinfo=UTC)),
        ("Bob", "yo", datetime(2024, 3, 13, 14, 5, tzinfo=UTC)),
        ("Ann", "I came yesterday.", datetime(2024, 3, 13, tzinfo=UTC)),
    }


@pytest.mark.parametrize(
    ("day", "time"),
    [
        ("Monday, March 4th", "2024-03-04"),
        ("4 March", "2025-03-04"),
        ("-- Yesterday --", "2026-01-01"),
    ],
)
def test_a_day_of_a_talk_needs_no_year(memory: recollect.Recollect, day: str, time: str) -> None:
    memory.retain("b", f"{day}\nAnn: hi\n[14:05] Bob: yo", timestamp="2026-01-02T10:00")
    told = {m.text: m.mentioned_at for m in memory.memories("b")}
    start = datetime.fromisoformat(time).replace(tzinfo=UTC)
    assert told == {"hi": start, "yo": start.replace(hour=14, minute=5)}


def test_a_day_may_be_what_somebody_says(memory: recollect.Recollect) -> None:
    memory.retain("b", "Ann: When?\nBob: I would say\nToday\nAnn: ok")
    assert "I would say\nToday" in {m.text for m in memory.memories("b")}


@pytest.mark.parametrize(
    "text",
    [
        "# 2026-12-24\nGoose for six.",  # a plan
        "# 2024\nGoose for six.",
        "# The fair of 24 December 2024\nGoose for six.",
        "The paper was signed on\n24 December 2024\nby all. Goose for six.",
        "Goose for six.\n\n24 December 2024",
    ],
)
def test_other_days_do_not_tell_when_a_text_was_told(
    memory: recollect.Recollect, text: str
) -> None:
    memory.retain("b", text, timestamp="2026-01-02T10:00")
    told = {m.mentioned_at for m in memory.memories("b")}
    assert told == {datetime(2026, 1, 2, 10, tzinfo=UTC)}


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

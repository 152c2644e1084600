"""What phrases mean. The day of asking is Sunday 15 November 2026, noon UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from recollect.language.time import Grain, read_times

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def days(text: str, anchor: datetime = NOW) -> tuple[str | None, str | None]:
    """The first range of a text, as its first day and the day after its last."""
    found = [each.range for each in read_times(text, anchor) if each.range]
    assert found, f"no time in {text!r}"
    start, end = found[0].start, found[0].end
    return (start.date().isoformat() if start else None, end.date().isoformat() if end else None)


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("last spring", "2026-03-01", "2026-06-01"),
        ("Q3 2025", "2025-07-01", "2025-10-01"),
        ("last quarter", "2026-07-01", "2026-10-01"),
        ("this month", "2026-11-01", "2026-12-01"),
        ("summer 2024", "2024-06-01", "2024-09-01"),
        ("from 2020 to 2022", "2020-01-01", "2023-01-01"),
        ("in May", "2026-05-01", "2026-06-01"),
        ("past 6 months", "2026-05-15", "2026-11-16"),
        ("early June", "2026-06-01", "2026-06-11"),
        ("between March and May 2024", "2024-03-01", "2024-06-01"),
    ],
)
def test_the_phrases_that_peers_miss(phrase: str, start: str, end: str) -> None:
    assert days(phrase) == (start, end)


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("today", "2026-11-15", "2026-11-16"),
        ("the day before yesterday", "2026-11-13", "2026-11-14"),
        ("this week", "2026-11-09", "2026-11-16"),
        ("last week", "2026-11-02", "2026-11-09"),
        ("next week", "2026-11-16", "2026-11-23"),
        ("last weekend", "2026-11-07", "2026-11-09"),
        ("next month", "2026-12-01", "2027-01-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("last decade", "2010-01-01", "2020-01-01"),
        ("in the 90s", "1990-01-01", "2000-01-01"),
        ("the nineteen seventies", "1970-01-01", "1980-01-01"),
        ("early 2010s", "2010-01-01", "2014-01-01"),
        ("mid-June", "2026-06-11", "2026-06-21"),
        ("late last year", "2025-09-01", "2026-01-01"),
        ("Christmas 2023", "2023-12-25", "2023-12-26"),
        ("Easter 2024", "2024-03-31", "2024-04-01"),
        ("Lent 2025", "2025-03-05", "2025-04-20"),
        ("for Lent", "2026-02-18", "2026-04-05"),
        ("Thanksgiving 2025", "2025-11-27", "2025-11-28"),
        ("FY24", "2024-01-01", "2025-01-01"),
        ("2024-W12", "2024-03-18", "2024-03-25"),
        ("week 12 of 2024", "2024-03-18", "2024-03-25"),
        ("summer of 2019", "2019-06-01", "2019-09-01"),
        ("the first half of 2023", "2023-01-01", "2023-07-01"),
        ("the second half of 2023", "2023-07-01", "2024-01-01"),
        ("the third quarter of last year", "2025-07-01", "2025-10-01"),
        ("the first Monday of October", "2026-10-05", "2026-10-06"),
        ("the last Friday of October 2024", "2024-10-25", "2024-10-26"),
        ("the 21st century", "2000-01-01", "2100-01-01"),
    ],
)
def test_periods(phrase: str, start: str, end: str) -> None:
    assert days(phrase) == (start, end)


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("two weeks ago", "2026-11-01", "2026-11-02"),
        ("two summers ago", "2025-06-01", "2025-09-01"),
        ("3 winters ago", "2023-12-01", "2024-03-01"),
        ("3 days ago", "2026-11-12", "2026-11-13"),
        ("in the past 3 months", "2026-08-15", "2026-11-16"),
        ("over the last year", "2025-11-15", "2026-11-16"),
        ("the week before Christmas 2025", "2025-12-18", "2025-12-25"),
        ("three days after Easter 2024", "2024-04-03", "2024-04-04"),
        ("the Friday before Christmas 2024", "2024-12-20", "2024-12-21"),
        ("in two weeks", "2026-11-29", "2026-11-30"),
        ("last Friday", "2026-11-13", "2026-11-14"),
        ("Tuesday of last week", "2026-11-03", "2026-11-04"),
        ("earlier this year", "2026-01-01", "2026-11-16"),
        ("around Christmas 2024", "2024-12-22", "2024-12-29"),
        ("the year before last", "2024-01-01", "2025-01-01"),
        ("this month last year", "2025-11-01", "2025-12-01"),
        ("on this day last year", "2025-11-15", "2025-11-16"),
        ("last year, this week", "2025-11-10", "2025-11-17"),
        ("at this time last year", "2025-11-01", "2025-12-01"),
        ("this time last week", "2026-11-08", "2026-11-09"),
        ("heute vor einem Jahr", "2025-11-15", "2025-11-16"),
    ],
)
def test_relative_times(phrase: str, start: str, end: str) -> None:
    assert days(phrase) == (start, end)


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("between March and May", "2026-03-01", "2026-06-01"),
        ("3–5 June", "2026-06-03", "2026-06-06"),
        ("June 3 to 5, 2024", "2024-06-03", "2024-06-06"),
        ("June through August", "2026-06-01", "2026-09-01"),
        ("from December to February 2024", "2023-12-01", "2024-03-01"),
        ("from 10 August to 12 September 2013", "2013-08-10", "2013-09-13"),
        ("2019-05-01 to 2019-05-10", "2019-05-01", "2019-05-11"),
    ],
)
def test_ranges(phrase: str, start: str, end: str) -> None:
    assert days(phrase) == (start, end)


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("since 2021", "2021-01-01", None),
        ("after 2019", "2020-01-01", None),
        ("before 2020", None, "2020-01-01"),
        ("until March", None, "2026-04-01"),
        ("from June 2024 on", "2024-06-01", None),
        ("2018 or later", "2018-01-01", None),
        ("no later than 5 May 2024", None, "2024-05-06"),
    ],
)
def test_open_ends_stay_open(phrase: str, start: str | None, end: str | None) -> None:
    assert days(phrase) == (start, end)


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("in December 9999", "9999-12-01", "9999-12-31"),
        ("31 Dec 9999", "9999-12-31", "9999-12-31"),
        ("Dec 31, 9999.", "9999-12-31", "9999-12-31"),
        ("9999年12月31日", "9999-12-31", "9999-12-31"),
        ("since March 3000, so they say", "3000-03-01", None),
        ("December 9999 with an option to extend", "9999-12-01", "9999-12-31"),
        ("In March 3000 we shall see", "3000-03-01", "3000-04-01"),
        ("by December 9999 or earlier", None, "9999-12-31"),
        ("In May 3000 and later more came", "2026-05-01", "2026-06-01"),
        ("5 March 2150", "2150-03-05", "2150-03-06"),
        ("On March 5 3000 people came", "2026-03-05", "2026-03-06"),
    ],
)
def test_a_far_year_after_a_month_is_that_year(phrase: str, start: str, end: str | None) -> None:
    assert days(phrase) == (start, end)


@pytest.mark.parametrize("text", ["May 5000 people", "3000年", "We sold 5000.", "in 9999"])
def test_thousands_of_anything_are_no_far_year(text: str) -> None:
    assert read_times(text, NOW) == ()


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("March 2023: moved to Rome", "2023-03-01"),
        ("Summer 2022: interned at Acme", "2022-06-01"),
        ("May 3, 2024: dentist", "2024-05-03"),
    ],
)
def test_a_time_may_stand_before_a_colon(text: str, start: str) -> None:
    assert days(text)[0] == start


@pytest.mark.parametrize(
    "text", ["Chapter 2023: The end", "Room 2023: closed", "Ratio 2023:1990", "April: I went home"]
)
def test_what_stands_before_a_colon_is_not_always_a_time(text: str) -> None:
    assert read_times(text, NOW) == ()


def test_a_bare_month_is_the_latest_that_has_begun() -> None:
    assert days("in November") == ("2026-11-01", "2026-12-01")
    assert days("in December") == ("2025-12-01", "2026-01-01")


def test_next_may_lies_ahead() -> None:
    assert days("next May") == ("2027-05-01", "2027-06-01")


def test_a_text_that_looks_forward_settles_forward() -> None:
    assert days("What will we do in March?") == ("2027-03-01", "2027-04-01")


def test_last_spring_is_the_latest_finished_one() -> None:
    april = datetime(2026, 4, 10, tzinfo=UTC)
    assert days("last spring", april) == ("2025-03-01", "2025-06-01")


@pytest.mark.parametrize(
    ("phrase", "grain"),
    [
        ("yesterday", Grain.DAY),
        ("last week", Grain.WEEK),
        ("in May", Grain.MONTH),
        ("last quarter", Grain.QUARTER),
        ("last spring", Grain.SEASON),
        ("in 2019", Grain.YEAR),
        ("the 1980s", Grain.DECADE),
        ("at 15:30 yesterday", Grain.MINUTE),
        ("two years ago", Grain.YEAR),
    ],
)
def test_the_grain_is_kept(phrase: str, grain: Grain) -> None:
    assert read_times(phrase, NOW)[0].grain is grain


@pytest.mark.parametrize(
    ("phrase", "hour"),
    [
        ("yesterday at 5pm", 17),
        ("tonight at 8", 20),
        ("this morning at 7", 7),
        ("half past three in the afternoon yesterday", 15),
        ("2026-11-14T08:15:00Z", 8),
        ("yesterday at noon", 12),
    ],
)
def test_times_of_day(phrase: str, hour: int) -> None:
    found = read_times(phrase, NOW)[0].range
    assert found is not None and found.start is not None
    assert found.start.hour == hour


def test_a_named_time_zone_counts() -> None:
    found = read_times("yesterday at 10:30 PST", NOW)[0].range
    assert found is not None and found.start == datetime(2026, 11, 14, 18, 30, tzinfo=UTC)


def test_days_are_those_of_the_askers_zone() -> None:
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    found = read_times("yesterday", tokyo)[0].range
    assert found is not None and found.start == datetime(2026, 11, 13, 15, tzinfo=UTC)


def test_several_expressions_in_one_text() -> None:
    found = read_times("compare last spring with summer 2024", NOW)
    assert [each.text for each in found] == ["last spring", "summer 2024"]


def test_spans_are_offsets_into_the_text() -> None:
    text = "What did we decide last spring, and why?"
    found = read_times(text, NOW)[0]
    assert text[slice(*found.span)] == found.text == "last spring"


@pytest.mark.parametrize("phrase", ["not last year", "except in 2020", "other than last June"])
def test_negated_times_are_marked(phrase: str) -> None:
    assert read_times(phrase, NOW)[0].negated


@pytest.mark.parametrize(
    ("phrase", "rule"),
    [
        ("every Monday", "FREQ=WEEKLY;BYDAY=MO"),
        ("every other week", "FREQ=WEEKLY;INTERVAL=2"),
        ("on Tuesdays", "FREQ=WEEKLY;BYDAY=TU"),
        ("daily at 9am", "FREQ=DAILY;BYHOUR=9"),
        ("every 3 months", "FREQ=MONTHLY;INTERVAL=3"),
        ("every June", "FREQ=YEARLY;BYMONTH=6"),
    ],
)
def test_repetition_is_kept_as_a_rule(phrase: str, rule: str) -> None:
    assert read_times(phrase, NOW)[0].recurrence == rule


def test_a_duration_is_no_range() -> None:
    found = read_times("for three hours", NOW)[0]
    assert found.range is None
    assert found.duration == timedelta(hours=3)


def test_30_february_is_no_time() -> None:
    assert not read_times("2024-02-30", NOW)


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("in June two years ago", "2024-06-01", "2024-07-01"),
        ("two years ago, in June", "2024-06-01", "2024-07-01"),
        ("the summer three years ago", "2023-06-01", "2023-09-01"),
        ("on June 5, a year ago", "2025-06-05", "2025-06-06"),
        ("at Christmas two years ago", "2024-12-25", "2024-12-26"),
        ("half a year ago, in May", "2026-05-01", "2026-06-01"),
        ("I met May two years ago", "2024-11-15", "2024-11-16"),
    ],
)
def test_what_comes_once_a_year_is_that_of_so_many_years_ago(
    phrase: str, start: str, end: str
) -> None:
    assert days(phrase) == (start, end)


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("on Friday two weeks ago", "2026-10-30", "2026-10-31"),
        ("Tuesday, three weeks ago", "2026-10-20", "2026-10-21"),
        ("two months ago, on the 5th", "2026-09-05", "2026-09-06"),
        ("this day two years ago", "2024-11-15", "2024-11-16"),
        ("this time two years ago", "2024-11-01", "2024-12-01"),
        ("a year ago this month", "2025-11-01", "2025-12-01"),
        ("a year ago last week", "2025-11-03", "2025-11-10"),
        ("I sat two weeks ago", "2026-11-01", "2026-11-02"),
    ],
)
def test_a_day_a_week_or_a_month_is_that_of_so_long_ago(phrase: str, start: str, end: str) -> None:
    assert days(phrase) == (start, end)


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("in the weeks after Christmas", "2025-12-26", "2026-01-16"),
        ("in the days before Easter", "2026-04-02", "2026-04-05"),
    ],
)
def test_several_units_beside_a_time_are_a_few(phrase: str, start: str, end: str) -> None:
    assert days(phrase) == (start, end)


def test_a_leap_day_of_another_year_is_no_time() -> None:
    assert not read_times("2023-02-29", NOW)


@pytest.mark.parametrize(
    "phrase", ["on 29 Feb 2023", "Feb 29, 2023", "February 29th, 2023", "the 29th of February 2023"]
)
def test_a_day_that_its_month_does_not_have_leaves_the_month_of_that_year(phrase: str) -> None:
    assert days(phrase) == ("2023-02-01", "2023-03-01")


@pytest.mark.parametrize(
    "phrase", ["at 2026-11-08", "at 2026-11-08 14:05", "at 2026-11-08 14:05:33"]
)
def test_the_year_of_a_date_after_at_is_no_hour(phrase: str) -> None:
    found = read_times(f"What happened {phrase}?", NOW)
    assert [each.text for each in found] == [phrase.removeprefix("at ")]


def test_an_hour_after_a_date_ends_what_began_on_that_date() -> None:
    found = read_times("from 2026-11-08 14:05 to 15:05", NOW)[0].range
    assert found is not None
    assert found.start == datetime(2026, 11, 8, 14, 5, tzinfo=UTC)
    assert found.end == datetime(2026, 11, 8, 15, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("phrase", "asked", "start"),
    [
        ("two hours ago", datetime(2026, 3, 29, 4), datetime(2026, 3, 29, 0)),
        ("24 hours ago", datetime(2026, 3, 29, 12), datetime(2026, 3, 28, 10)),
        ("two hours ago", datetime(2026, 10, 25, 4), datetime(2026, 10, 25, 1)),
        ("in the last three hours", datetime(2026, 10, 25, 4), datetime(2026, 10, 25, 0)),
        ("yesterday at 5pm", datetime(2026, 10, 26, 9), datetime(2026, 10, 25, 16)),
        ("two days ago", datetime(2026, 3, 30, 9), datetime(2026, 3, 27, 23)),
    ],
)
def test_hours_are_counted_past_a_change_of_the_clocks(
    phrase: str, asked: datetime, start: datetime
) -> None:
    found = read_times(phrase, asked.replace(tzinfo=ZoneInfo("Europe/Berlin")))[0].range
    assert found is not None and found.start == start.replace(tzinfo=UTC)

"""What holds for every phrase."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.language.time import ground, read_query, read_times

WORDS = [
    "last",
    "next",
    "this",
    "past",
    "spring",
    "summer",
    "May",
    "June",
    "Monday",
    "5",
    "2024",
    "1999",
    "31",
    "two",
    "week",
    "month",
    "year",
    "quarter",
    "ago",
    "in",
    "since",
    "until",
    "before",
    "after",
    "between",
    "and",
    "from",
    "to",
    "the",
    "of",
    "early",
    "late",
    "end",
    "mid",
    "first",
    "second",
    "Q3",
    "FY24",
    "10:30",
    "5pm",
    "morning",
    "tonight",
    "Christmas",
    "Easter",
    "Feb",
    "29",
    "30",
    "3/4",
    "2024-02-30",
    "-",
    ",",
    "every",
    "for",
    "half",
    "weekend",
    "now",
    "UTC",
    "not",
    "decade",
    "90s",
    "century",
    "hundred",
    "thousand",
    "twenty",
    "-5",
    "99999",
    "+3",
    "days",
    "去年",
    "夏",
    "dernier",
    "vor",
    "zwei",
    "Wochen",
    "il",
    "y",
    "a",
]
ANCHORS = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
PHRASES = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(st.one_of(PHRASES, st.text(max_size=60)), ANCHORS)
def test_no_text_crashes_the_reader(text: str, anchor: datetime) -> None:
    read_times(text, anchor)
    read_query(text, anchor)
    ground(text, anchor)


@settings(max_examples=300, deadline=None)
@given(PHRASES, ANCHORS)
def test_no_range_ends_before_it_starts(text: str, anchor: datetime) -> None:
    for each in read_times(text, anchor):
        if each.range and each.range.start and each.range.end:
            assert each.range.start < each.range.end


@settings(max_examples=200, deadline=None)
@given(PHRASES, ANCHORS)
def test_spans_lie_in_the_text_and_apart(text: str, anchor: datetime) -> None:
    found = [each for each in read_times(text, anchor) if each.event is None]
    assert all(text[slice(*each.span)] == each.text for each in found)
    assert all(left.span[1] <= right.span[0] for left, right in pairwise(found))


# Phrases that are told by the calendar year alone. Not weekdays and weeks, which fall on other
# dates a year later, nor feasts that move, nor absolute dates.
YEARLY = [
    "last year", "this year", "next year", "last spring", "next summer", "last quarter", "this month",
    "last month", "in June", "since March", "until May", "early June", "mid-October", "between March and May",
    "3–5 June", "Christmas", "on 5 May", "last December", "the first half of last year", "late last year",
]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(YEARLY), ANCHORS)
def test_a_year_later_the_range_is_a_year_later(phrase: str, anchor: datetime) -> None:
    later = _a_year_on(anchor)
    first, second = read_times(phrase, anchor)[0].range, read_times(phrase, later)[0].range
    assert first is not None and second is not None
    for one, other in ((first.start, second.start), (first.end, second.end)):
        assert (one is None) == (other is None)
        if one is not None:
            assert other == _a_year_on(one)


def _a_year_on(moment: datetime) -> datetime:
    try:
        return moment.replace(year=moment.year + 1)
    except ValueError:  # 29 February
        return moment.replace(year=moment.year + 1, day=28)


@pytest.mark.parametrize(
    "phrase", ["yesterday", "two weeks ago", "past 6 months", "3 days ago", "tomorrow"]
)
@given(anchor=ANCHORS)
@settings(max_examples=20, deadline=None)
def test_a_week_later_days_move_by_a_week(phrase: str, anchor: datetime) -> None:
    week = timedelta(days=7)
    first, second = read_times(phrase, anchor)[0].range, read_times(phrase, anchor + week)[0].range
    assert first is not None and second is not None and first.end is not None
    assert second.end == first.end + week


@pytest.mark.parametrize("phrase", ["yesterday", "tomorrow", "tonight at 8", "last night"])
@pytest.mark.parametrize("day", [datetime.min, datetime.max])
def test_there_is_nothing_beyond_the_calendar(phrase: str, day: datetime) -> None:
    for found in read_times(phrase, day.replace(tzinfo=UTC)):
        assert (
            found.range is None or found.range.start is None or found.range.start.year in (1, 9999)
        )


@pytest.mark.parametrize(
    "zone", [UTC, timezone(timedelta(hours=-8)), timezone(timedelta(hours=14))]
)
@pytest.mark.parametrize("phrase", ["on 9999-12-31", "from 2020-01-01 to 9999-12-31"])
def test_the_last_day_ends_with_the_calendar(phrase: str, zone: timezone) -> None:
    (found,) = read_times(phrase, datetime(2026, 1, 1, tzinfo=zone))
    assert found.range is not None
    assert found.range.end == datetime.max.replace(tzinfo=UTC)

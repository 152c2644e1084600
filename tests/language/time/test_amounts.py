"""Numbers that count, cost or rank something are no dates. Told on 15 November 2026."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.language.time import ground, read_times

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "400 pixels for the list and 1200 for the detail page.",
        "I paid 1500 for it.",
        "The rent is about 1,100 a month.",
        "The rent is about 1200 a month.",
        "We paid between 1500 and 2000 for the kitchen.",
        "We sold more than 2000.",
        "It costs 1500 or 2000.",
        "My room is 1204 and my bill was 1900.",
        "It was for the two of us.",
    ],
)
def test_an_amount_is_no_year_and_no_day(text: str) -> None:
    assert [each.text for each in read_times(text, NOW) if each.range] == []


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("We looked at three last month.", "last month"),
        ("We got 12 last week.", "last week"),
        ("We looked at the three last months.", "the three last months"),
        ("There was only one in January.", "January"),
        ("He ran 10 in June.", "June"),
        ("We spent 1800 in May.", "May"),
        ("The rent went up to 1450 in October.", "October"),
        ("The flat is 1950 a month from January.", "January"),
        ("He came second in March.", "March"),
        ("He came on the 3rd of March.", "the 3rd of March"),
    ],
)
def test_a_count_does_not_join_the_time_beside_it(text: str, phrase: str) -> None:
    found = ground(text, NOW)
    assert found is not None and found.text == phrase


@pytest.mark.parametrize(
    "text",
    ["He walks twenty minutes before he lies down.", "Freeze it a few days before the switch."],
)
def test_a_distance_from_an_event_is_not_counted_from_now(text: str) -> None:
    found = ground(text, NOW)
    assert found is None or found.start is None


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("The house was built in 1750.", 1750),
        ("We met in 2019 and 2020.", 2019),
        ("She spent from 1985 to 1990 in Porto.", 1985),
        ("The shop has been open since 2000 for the same reason.", 2000),
    ],
)
def test_a_year_stays_one(text: str, start: int) -> None:
    found = ground(text, NOW)
    assert found is not None and found.start is not None and found.start.year == start

"""What callers hand over, brought into one form before anything else looks at it."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from recollect.errors import InvalidInput
from recollect.retain.items import items
from recollect.retain.prepare import understand

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


def one(given: object, **shared: object):
    (item,) = items(given, shared, NOW)
    return item


def test_what_names_no_time_was_said_now_and_is_not_dated() -> None:
    fact = one({"text": "Bob runs."}).facts[0]
    assert (fact.said_at, fact.dated) == (NOW, False)


@pytest.mark.parametrize(
    "stamp",
    ["2026-04-01", date(2026, 4, 1), datetime(2026, 4, 1), "2026-04-01T02:00:00+02:00"],
)
def test_a_time_may_be_text_date_or_datetime(stamp: object) -> None:
    fact = one({"text": "Bob runs.", "timestamp": stamp}).facts[0]
    assert (fact.said_at, fact.dated) == (datetime(2026, 4, 1, tzinfo=UTC), True)


def test_a_generator_of_items_is_read_whole() -> None:
    assert len(items((t for t in ("Bob runs.", "Cara sails.")), {}, NOW)) == 2


def test_an_items_own_field_beats_the_shared_one() -> None:
    assert one({"text": "Bob runs.", "tags": ["mine"]}, tags=["all"]).facts[0].tags == ("mine",)


def test_repeated_tags_count_once() -> None:
    assert one({"text": "Bob runs.", "tags": ["a", "b", "a"]}).facts[0].tags == ("a", "b")


def test_entities_may_be_names_or_dicts() -> None:
    given = {"text": "x", "entities": ["Ann", {"text": "Bob"}, {"name": "Cara"}]}
    assert one(given).facts[0].entities == ("Ann", "Bob", "Cara")


def test_facts_know_their_place_in_their_list() -> None:
    assert [f.position for f in one({"facts": ["a", "b"]}).facts] == [0, 1]
    assert one({"text": "a"}).facts[0].position is None


def test_a_misspelt_field_is_answered_with_the_right_one() -> None:
    with pytest.raises(InvalidInput) as raised:
        one({"text": "a", "documentid": "x"})
    assert "document_id" in (raised.value.hint or "")


def test_metadata_is_kept_as_json_would_have_it() -> None:
    given = {"text": "a", "metadata": {"when": date(2026, 4, 1), "list": (1, 2)}}
    assert one(given).facts[0].metadata == {"when": "2026-04-01", "list": [1, 2]}


def test_nul_characters_are_taken_out() -> None:
    assert one({"text": "a\x00b"}).facts[0].text == "ab"


@pytest.mark.parametrize("field", ["occurred_start", "occurred_end"])
def test_the_last_day_of_the_calendar_is_a_day_like_others(field: str) -> None:
    end = one({"text": "The lease runs for good", field: "9999-12-31"}).facts[0].occurred_end
    assert end is not None and (end.year, end.hour) == (9999, 23)


def test_yesterday_is_a_day_of_the_zone_the_time_was_given_in() -> None:
    """Half past midnight in Tokyo is still the day before in UTC."""
    early = one({"text": "Met Jo yesterday", "timestamp": "2026-03-02T00:30:00+09:00"}).facts[0]
    start = understand(early, ()).occurred_start
    assert start == datetime(2026, 2, 28, 15, tzinfo=UTC)  # midnight of 1 March in Tokyo

"""A recall's options are checked before anything runs; what is wrong says how to put it right."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Recollect
from recollect.errors import InvalidInput, NotFound
from recollect.language.dates import to_micros
from recollect.recall.request import recall_request
from recollect.types import MemoryType, Window

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
AFTER_THE_END = datetime.max.replace(tzinfo=timezone(timedelta(hours=-9)))


def request(query: str = "Where is Alice?", **options: Any):
    return recall_request(query, now=NOW, **options)


BAD: list[tuple[str, dict[str, Any]]] = [
    ("empty query", {"query": ""}),
    ("blank query", {"query": " \n\t "}),
    ("query of which nothing is seen", {"query": "\u200b \x00\ufeff"}),
    ("query that is no text", {"query": 7}),
    ("query that is bytes", {"query": b"Alice"}),
    ("query over 500 tokens", {"query": "word " * 600}),
    ("query of blanks without end", {"query": " " * 20_000 + "cat"}),
    ("query with half a character", {"query": "Where is \ud83d?"}),
    ("unknown budget", {"budget": "huge"}),
    ("budget as a number", {"budget": 300}),
    ("budget an array", {"budget": np.array(["low", "mid"])}),
    ("max_tokens 0", {"max_tokens": 0}),
    ("max_tokens negative", {"max_tokens": -1}),
    ("max_tokens of more digits than can be written", {"max_tokens": -(10**5000)}),
    ("max_tokens a fraction", {"max_tokens": 10.5}),
    ("max_tokens a text", {"max_tokens": "4096"}),
    ("max_tokens a truth", {"max_tokens": True}),
    ("max_chunk_tokens 0", {"max_chunk_tokens": 0}),
    ("max_chunk_tokens negative", {"max_chunk_tokens": -5}),
    ("unknown type", {"types": ["dream"]}),
    ("types a number", {"types": 3}),
    ("tags a text", {"tags": "work"}),
    ("tags an empty text", {"tags": ""}),
    ("tags a number", {"tags": 3}),
    ("tags of numbers", {"tags": [1, 2]}),
    ("tags with half a character", {"tags": ["\ud83d"]}),
    ("unknown tag mode", {"tags": ["a"], "tags_match": "most"}),
    ("unknown tag mode without tags", {"tags_match": "most"}),
    ("tag_groups a number", {"tag_groups": 3}),
    ("tag group a text", {"tag_groups": ["a"]}),
    ("tag group with nothing known in it", {"tag_groups": [{"xor": []}]}),
    ("tag group with an empty or", {"tag_groups": [{"or": []}]}),
    ("tag group with an and that is no list", {"tag_groups": [{"and": 3}]}),
    ("tag group whose tags are a text", {"tag_groups": [{"tags": "work"}]}),
    ("tag group whose tags are numbers", {"tag_groups": [{"tags": [1]}]}),
    ("tag group with an unknown match", {"tag_groups": [{"tags": ["a"], "match": "most"}]}),
    ("tag group with two operators", {"tag_groups": [{"tags": ["a"], "not": {"tags": ["b"]}}]}),
    ("tag group with an unknown field", {"tag_groups": [{"tags": ["a"], "mtach": "all"}]}),
    ("tag group with an unknown way to resolve", {"tag_groups": [{"tags": ["a"], "resolve": "?"}]}),
    ("an empty tag mode", {"tags": ["a"], "tags_match": ""}),
    ("as_of after the end of the calendar", {"as_of": AFTER_THE_END}),
    ("malformed query_timestamp", {"query_timestamp": "yesterday-ish"}),
    ("malformed as_of", {"as_of": "2026-13-01"}),
    ("as_of a number", {"as_of": 20260101}),
    ("as_of in milliseconds", {"as_of": "1711121300000"}),
    ("query_timestamp without a sign before the time", {"query_timestamp": "202603150930"}),
    ("window of three", {"temporal_window": ("2026-01-01", "2026-02-01", "2026-03-01")}),
    ("window a text", {"temporal_window": "2026-01"}),
    ("window with a malformed start", {"temporal_window": ("soon", None)}),
    (
        "window with an unknown field",
        {"temporal_window": {"start": "2026-01-01", "stop": "2026-02-01"}},
    ),
    ("window open at both ends", {"temporal_window": (None, None)}),
    ("window object open at both ends", {"temporal_window": Window(None, None)}),
    ("window object that ends before it starts", {"temporal_window": Window(NOW, NOW)}),
    ("window that ends before it starts", {"temporal_window": ("2026-05-01", "2026-04-01")}),
    ("min_score over 1", {"min_score": 1.5}),
    ("min_score negative", {"min_score": -0.1}),
    ("min_score a text", {"min_score": "0.5"}),
    ("min_score not a number", {"min_score": float("nan")}),
    ("min_score a truth", {"min_score": True}),
    ("a floor a truth", {"min_scores": {"final": True}}),
    ("two hops", {"expand_hops": 2}),
    ("hops a truth", {"expand_hops": True}),
    ("negative hops", {"expand_hops": -1}),
    ("unknown verbosity", {"verbosity": "chatty"}),
    ("deadline 0", {"deadline_ms": 0}),
    ("deadline negative", {"deadline_ms": -5}),
    ("deadline a text", {"deadline_ms": "5"}),
    ("deadline a truth", {"deadline_ms": True}),
    ("deadline without end", {"deadline_ms": float("inf")}),
    ("deadline of too many figures", {"deadline_ms": 10**400}),
    ("deadline that nothing can wait for", {"deadline_ms": 1e13}),
    ("floor of too many figures", {"min_scores": {"semantic": 10**400}}),
    ("include_chunks a text", {"include_chunks": "no"}),
    ("trace a text", {"trace": "no"}),
    ("a part that does not exist left out", {"without": ["magic"]}),
]


@pytest.mark.parametrize("options", [o for _, o in BAD], ids=[name for name, _ in BAD])
def test_bad_input_is_refused_with_a_hint(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        request(**options)
    assert refused.value.hint


def test_a_floor_above_all_scores_is_a_number_that_scores_can_have() -> None:
    floor = request(min_scores={"keyword": 1e308}).floors.keyword
    assert floor is not None and 1e30 < np.float32(floor) < np.inf


@pytest.mark.parametrize(
    "query",
    [
        " ".join(["plain"] * 499),
        "It's Ann's, isn't it? " * 50,  # nine each: the sign goes with the letters after it
        "(self.name) " * 120,
        " ".join(["responsibilities"] * 490),
        " ".join(["ответственность"] * 120),
        "我上周去了北京出差" * 30,
        "a  " * 400,  # spaces are not counted by the estimate
    ],
)
def test_a_query_within_500_tokens_is_not_refused(query: str) -> None:
    assert request(query).query == query


@pytest.mark.parametrize(
    "query",
    [
        "plain " * 501,
        "a, b; " * 130,
        "x" * 20_000,
        "我上周去了北京出差" * 120,
        "ответственность " * 501,
    ],
)
def test_a_query_that_is_surely_longer_is_refused(query: str) -> None:
    with pytest.raises(InvalidInput, match="more than"):
        request(query)


def test_a_long_query_is_answered(memory: Recollect, story: str) -> None:
    said = "We spoke of this and that over the weekend, and of the harbour. " * 32
    assert memory.recall(story, f"{said} Who adopted a grey cat?").results


@pytest.mark.parametrize("day", ["2026-03-31", "20260331", date(2026, 3, 31)])
def test_a_day_is_included_whole_however_it_is_written(day: Any) -> None:
    asked = request(as_of=day, temporal_window=("2026-03-01", day))
    assert asked.window and asked.window.end == datetime(2026, 4, 1, tzinfo=UTC)
    assert asked.allowed.as_of == to_micros(datetime(2026, 4, 1, tzinfo=UTC)) - 1


def test_an_unknown_option_is_refused_and_the_known_ones_named(
    memory: Recollect, story: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.recall(story, "Alice", budgte="mid")
    assert "budget" in (refused.value.hint or "")


def test_an_unknown_bank_is_refused_with_a_hint(memory: Recollect) -> None:
    with pytest.raises(NotFound) as refused:
        memory.recall("nobody", "Alice")
    assert refused.value.hint


def test_refused_requests_leave_the_bank_as_it_was(memory: Recollect, story: str) -> None:
    before = memory.stats(story)
    with pytest.raises(InvalidInput):
        memory.recall(story, "")
    assert memory.stats(story) == before


def test_defaults_are_mid_4096_full_and_no_filter() -> None:
    r = request()
    assert (r.budget, r.max_tokens, r.max_chunk_tokens) == ("mid", 4096, 8192)
    assert (r.verbosity, r.include_chunks, r.expand_hops, r.trace) == ("full", False, 0, False)
    assert r.allowed.types is None and r.allowed.tags is None and r.allowed.as_of is None
    assert r.window is None and r.min_score is None and r.deadline_ms is None


def test_none_means_the_default_for_every_option() -> None:
    names = (
        "budget", "max_tokens", "types", "tags", "tag_groups", "query_timestamp", "temporal_window", "include_chunks",
        "max_chunk_tokens", "min_score", "expand_hops", "verbosity", "as_of", "deadline_ms", "trace", "without",
    )  # fmt: skip
    assert request(**dict.fromkeys(names)) == request()


def test_a_query_of_500_tokens_is_still_a_query() -> None:
    assert request("who " * 450).query


def test_agent_is_an_alias_of_experience() -> None:
    assert request(types=["agent"]).allowed.types == {MemoryType.EXPERIENCE}


@pytest.mark.parametrize("several", [tuple, set, iter, lambda v: np.array([*v, *v])])
@pytest.mark.parametrize(
    ("name", "values"), [("types", ["world"]), ("tags", ["a"]), ("without", ["graph"])]
)
def test_a_list_may_be_anything_that_holds_several(
    several: Callable[[Any], Any], name: str, values: list[str]
) -> None:
    assert request(**{name: several(values)}) == request(**{name: values})


@pytest.mark.parametrize(
    "name", ["types", "min_score", "trace", "max_tokens", "min_scores", "budget"]
)
def test_a_refusal_does_not_repeat_all_that_was_given(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        request(**{name: "x" * 100_000})
    assert len(str(refused.value)) < 500


def test_one_type_may_be_given_as_a_text() -> None:
    assert request(types="world").allowed.types == {MemoryType.WORLD}


def test_the_anchor_is_now_unless_query_timestamp_names_another() -> None:
    assert request().now == NOW
    assert request(query_timestamp="2025-01-02T03:04:05Z").now == datetime(
        2025, 1, 2, 3, 4, 5, tzinfo=UTC
    )


def test_as_of_moves_the_anchor_unless_query_timestamp_names_another() -> None:
    assert request(as_of="2024-06-01T12:00:00Z").now == datetime(2024, 6, 1, 12, tzinfo=UTC)
    assert request(as_of="2024-06-01T12:00:00Z", query_timestamp=NOW).now == NOW


def test_as_of_a_day_is_the_end_of_that_day() -> None:
    by_day = request(as_of="2024-06-01").allowed.as_of
    assert by_day == request(as_of="2024-06-01T23:59:59.999999Z").allowed.as_of


@pytest.mark.parametrize(
    "given", [("2026-03-01", "2026-03-31"), {"start": "2026-03-01", "end": "2026-03-31"}]
)
def test_a_window_by_days_includes_its_last_day(given: Any) -> None:
    window = request(temporal_window=given).window
    assert window == Window(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC))


def test_a_window_object_without_a_zone_is_utc_as_other_times_are() -> None:
    given = Window(datetime(2026, 3, 1), datetime(2026, 4, 1), near="end")
    window = request(temporal_window=given).window
    assert window == Window(
        datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC), near="end"
    )


def test_a_window_may_be_open_at_one_end() -> None:
    assert request(temporal_window=("2026-03-01", None)).window == Window(
        datetime(2026, 3, 1, tzinfo=UTC), None
    )
    assert request(temporal_window=(None, NOW)).window == Window(None, NOW)


def test_a_window_may_be_one_instant_wide_but_not_empty() -> None:
    assert request(temporal_window=(NOW, NOW + timedelta(microseconds=1))).window
    with pytest.raises(InvalidInput):
        request(temporal_window=(NOW, NOW))


def test_a_window_may_reach_to_the_end_of_the_calendar() -> None:
    window = request(temporal_window=("0001-01-01", "9999-12-31")).window
    assert window is not None and window.end is not None and window.end.year == 9999


odd = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80),
    st.sampled_from(
        ["?", "...", "\x00", "a\x00b", "\N{ZERO WIDTH JOINER}", "in 0001", "in 9999", "100000 years ago",
         "between 2030 and 2020", "before before before", "'; DROP TABLE memories;--", "[[a]]", "{}" * 40,
         "\N{RIGHT-TO-LEFT OVERRIDE}Alice", "NaN", "1e309", "\N{LATIN SMALL LIGATURE FI}", "why", "first last"]
    ),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    query=odd,
    anchor=st.none() | st.datetimes(),
    as_of=st.none() | st.datetimes() | st.dates(),
    window=st.none() | st.tuples(st.none() | st.dates(), st.dates()),
    budget=st.sampled_from(["low", "high"]),
)
def test_any_text_and_any_date_is_answered_or_refused_never_a_crash(
    memory: Recollect, story: str, query: str, anchor: Any, as_of: Any, window: Any, budget: str
) -> None:
    try:
        result = memory.recall(
            story,
            query,
            query_timestamp=anchor,
            as_of=as_of,
            temporal_window=window,
            budget=budget,
            expand_hops=1,
        )
    except InvalidInput as refused:
        assert refused.hint
        return
    assert not result.degraded
    json.dumps(result.as_dict(), allow_nan=False)
    assert ([h.explanation for h in result] and result.as_context()) or not result.results

"""Hits are columns until somebody looks at one."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from recollect import Recollect
from recollect.recall.explain import explain
from recollect.recall.hits import columns_of
from recollect.recall.pipeline import rank
from recollect.recall.request import recall_request
from recollect.telemetry import Run

from .banks import view_of

ANCHOR = "2026-11-15T12:00:00Z"
QUERY = "Where does Alice work?"


@pytest.mark.parametrize("hops", [0, 1])
def test_the_columns_say_what_the_hits_say(memory: Recollect, story: str, hops: int) -> None:
    result = memory.recall(
        story, QUERY, query_timestamp=ANCHOR, max_tokens=30 if hops else 4096, expand_hops=hops
    )
    one_by_one = columns_of(tuple(result.results))
    assert [*map(list, columns_of(result.results))] == [*map(list, one_by_one)]


def test_looked_at_twice_a_hit_is_the_same(memory: Recollect, story: str) -> None:
    hits = memory.recall(story, QUERY, query_timestamp=ANCHOR).results
    assert hits[0] is hits[0] is next(iter(hits)) and hits[-1] is hits[len(hits) - 1]


def test_hits_are_compared_by_what_they_say(memory: Recollect, story: str) -> None:
    first = memory.recall(story, QUERY, query_timestamp=ANCHOR).results
    again = memory.recall(story, QUERY, query_timestamp=ANCHOR, deadline_ms=60_000).results
    other = memory.recall(story, "Who sails?", query_timestamp=ANCHOR, max_tokens=20).results
    assert first == again == tuple(first) and first[:2] == tuple(first)[:2]
    assert first != other and first != (replace(first[0], score=0.0), *first[1:])


def test_hits_can_be_sent_to_another_process(memory: Recollect, story: str) -> None:
    result = memory.recall(story, QUERY, query_timestamp=ANCHOR)
    assert pickle.loads(pickle.dumps(result)).results == result.results


@pytest.mark.parametrize(
    "options", [{}, {"budget": "low"}, {"as_of": ANCHOR}, {"without": ["rerank", "boost"]}]
)
def test_a_part_of_a_ranking_is_explained_as_the_whole_is(
    memory: Recollect, story: str, options: dict[str, Any]
) -> None:
    query = "Does Alice work, Bob adopt, Carla bake, Dan fly, or did Frank move in July?"
    request = recall_request(query, now=datetime(2026, 11, 15, tzinfo=UTC), **options)
    found = rank(memory._recalling, view_of(memory, story), request, Run())  # pyright: ignore[reportPrivateUsage]
    part, rows = found.pool.only(found.rows[:0:-1]), found.rows[:0:-1].tolist()
    assert len(rows) > 1 and part.keys.tolist() == [int(found.pool.keys[row]) for row in rows]
    assert [explain(part, at) for at in range(len(rows))] == [explain(found.pool, r) for r in rows]

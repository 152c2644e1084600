"""An answer and `why` tell the same of every memory, however it is asked; and what an answer holds keeps
every bound at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Recollect
from recollect.errors import NotFound
from recollect.recall.result import RecallResult
from recollect.testing import open_fake

from .test_filters import START, TAGS, THINGS, TYPES, filters, memories, visible

BANK = "agreement"
ANCHOR = START + timedelta(days=400)
QUERIES = [
    "Who borrowed the kettle or the lamp?",
    "What did Nadia return in March 2025?",
    "Why did Oskar sell the tent?",
    "violin",
]
options = st.fixed_dictionaries(
    {},
    optional={
        "budget": st.sampled_from(["low", "mid", "high"]),
        "max_tokens": st.sampled_from([1, 8, 15, 40, 100]),
        "min_score": st.sampled_from([0.0, 0.01, 0.3]),
        "expand_hops": st.just(1),
        "prefer_observations": st.just(True),
        "without": st.lists(st.sampled_from(["semantic", "keyword", "graph", "boost"]), max_size=2),
    },
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    """Facts, observations made of them and of each other, and a talk; some corrected or withdrawn. Arms
    so shallow that not everything is found."""
    random = Random(7)
    facts: list[dict[str, Any]] = []
    for i in range(26):
        fact = {
            "id": f"m{i}",
            "text": f"{random.choice(['Nadia', 'Oskar'])} {random.choice(['borrowed', 'sold'])} the "
            f"{random.choice(THINGS)} number {i}" + ", and nobody knows why" * random.randint(0, 2),
            "type": random.choice(TYPES),
            "tags": random.sample(TAGS, random.randint(0, 2)),
            "timestamp": START + timedelta(days=12 * i),
        }
        if fact["type"] == "observation" and facts:
            fact["source_ids"] = random.sample([f["id"] for f in facts], min(3, len(facts)))
        facts.append(fact)
    path = tmp_path_factory.mktemp(BANK) / "memory.db"
    with open_fake(path, budget_low=4, budget_mid=8, budget_high=20, cache_entries=0) as opened:
        opened.retain(BANK, facts)
        turns = [{"speaker": "Priya", "text": f"I lent Oskar the {thing}."} for thing in THINGS[:4]]
        opened.retain(BANK, {"turns": turns, "document_id": "talk", "timestamp": START})
        opened.update(BANK, "m3", text="Nadia returned the violin.", tags=["a"])
        opened.supersede(BANK, "m4", "m9")
        opened.invalidate(BANK, "m5")
        yield opened


def asked(memory: Recollect, query: str, given_: Mapping[str, Any]) -> RecallResult:
    return memory.recall(BANK, query, query_timestamp=ANCHOR, **given_)


@settings(max_examples=40)
@given(query=st.sampled_from(QUERIES), how=options, seen=filters)
def test_why_says_of_every_memory_what_the_answer_shows(
    memory: Recollect, query: str, how: dict[str, Any], seen: dict[str, Any]
) -> None:
    answer = asked(memory, query, how | seen)
    place = {hit.id: number for number, hit in enumerate(answer, 1)}
    lines = list(memories(memory, BANK))
    for id in {line["id"] for line in lines}:
        allowed = any(visible(line, seen) for line in lines if line["id"] == id)
        try:
            why = memory.why(BANK, query, id, query_timestamp=ANCHOR, **how, **seen)
        except NotFound:  # of what was not known then
            assert not allowed and id not in place
            continue
        assert (why.returned, why.rank) == (id in place, place.get(id)), why
        assert why.returned == why.stages[-1].passed == (why.left_at is None), why
        assert (why.left_at == "filter") == (not allowed), why
        if why.returned:
            assert why.explanation == answer.results[place[id] - 1].explanation
        more: dict[str, Any] = {}
        if "max_tokens" in why.stages[-1].numbers:
            more["max_tokens"] = why.stages[-1].numbers["max_tokens"]
        if "prefer_observations off" in (why.stages[-1].needed or ""):
            more["prefer_observations"] = False
        assert not more or id in {hit.id for hit in asked(memory, query, how | seen | more)}


@settings(max_examples=100)
@given(query=st.sampled_from(QUERIES), how=options, seen=filters)
def test_an_answer_keeps_every_bound_at_once(
    memory: Recollect, query: str, how: dict[str, Any], seen: dict[str, Any]
) -> None:
    answer = asked(memory, query, how | seen)
    direct = [hit for hit in answer if not hit.hop]
    for part in (direct, [hit for hit in answer if hit.hop]):
        scores = [hit.score for hit in part]
        assert scores == sorted(scores, reverse=True)
    assert [*answer][: len(direct)] == direct
    assert len({hit.id for hit in answer}) == len(answer)
    assert answer.tokens == sum(hit.memory.tokens for hit in answer) <= how.get("max_tokens", 4096)
    assert all(hit.score >= how.get("min_score", 0.0) for hit in answer)
    if "prefer_observations" in how:
        made_from = {i for hit in direct for i in hit.memory.source_ids if i != hit.id}
        assert made_from.isdisjoint(hit.id for hit in direct)

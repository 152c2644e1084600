"""Budget: how deep the arms look, apart from how long the answer may be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Recollect
from recollect.config import Settings
from recollect.recall.pipeline import search_depth
from recollect.recall.request import RecallRequest

NOW = datetime(2026, 11, 15, tzinfo=UTC)


def depth(budget: str, max_tokens: int = 4096, mode: str = "fixed") -> int:
    request = RecallRequest(query="q", now=NOW, budget=budget, max_tokens=max_tokens)  # pyright: ignore[reportArgumentType]
    return search_depth(request, Settings(budget_mode=mode))


@pytest.mark.parametrize(("budget", "expected"), [("low", 100), ("mid", 300), ("high", 1000)])
def test_fixed_budgets(budget: str, expected: int) -> None:
    assert depth(budget) == expected
    assert depth(budget, max_tokens=10) == expected == depth(budget, max_tokens=10**6)


@pytest.mark.parametrize(
    ("budget", "tokens", "expected"),
    [
        ("low", 4096, 102),
        ("mid", 4096, 307),
        ("high", 4096, 1024),
        ("low", 100, 20),
        ("mid", 266, 20),
        ("high", 80, 20),
        ("low", 80_000, 2000),
        ("mid", 10**6, 2000),
        ("high", 8000, 2000),
    ],
)
def test_adaptive_budgets_are_a_share_of_max_tokens(
    budget: str, tokens: int, expected: int
) -> None:
    assert depth(budget, tokens, "adaptive") == expected


@given(st.sampled_from(["low", "mid", "high"]), st.integers(1, 10**7))
def test_an_adaptive_budget_stays_between_20_and_2000(budget: str, tokens: int) -> None:
    assert 20 <= depth(budget, tokens, "adaptive") <= 2000


def test_mid_is_the_default() -> None:
    assert RecallRequest(query="q", now=NOW).budget == "mid"


@pytest.fixture(scope="module")
def shallow(reopen: Callable[..., Recollect]) -> Recollect:
    return reopen(budget_low=5, budget_mid=5, budget_high=5)


def test_no_arm_looks_deeper_than_the_budget(shallow: Recollect, diary: str) -> None:
    result = shallow.recall(
        diary, "What did Priya do in May 2025?", query_timestamp="2026-07-01", min_score=0.0
    )
    assert result.results
    assert all(score.rank <= 5 for hit in result for score in hit.arms.values())


@pytest.mark.parametrize("budget", ["low", "high"])
def test_twice_the_budget_is_considered_for_packing(
    shallow: Recollect, diary: str, budget: str
) -> None:
    result = shallow.recall(
        diary,
        "What did Priya do in May 2025?",
        query_timestamp="2026-07-01",
        budget=budget,
        trace=True,
        min_score=0.0,
    )
    assert result.trace is not None
    (packed,) = [s for s in result.trace.stages if s.stage == "pack"]
    assert result.trace.candidates > 10
    assert packed.detail["considered"] == 10
    assert len(result) == 10


def test_depth_and_length_are_independent(memory: Recollect, diary: str) -> None:
    short = memory.recall(diary, "Who swam in the lake?", budget="high", max_tokens=40)
    long = memory.recall(diary, "Who swam in the lake?", budget="low", max_tokens=4096)
    assert 0 < len(short) < len(long)

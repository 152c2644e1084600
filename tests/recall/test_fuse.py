"""Fusion: the seeds' worked examples to the digit, and no signal lost in the merge."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Arm, Recollect
from recollect.recall.fuse import RRF, WEIGHTED, fuse
from recollect.recall.pool import Pool
from recollect.storage.base import Found

from .columns import PlainView, found

S, K, G, T = Arm.SEMANTIC, Arm.KEYWORD, Arm.GRAPH, Arm.TEMPORAL


def fused(lists: Mapping[Arm, Found], weights: Mapping[Arm, float] = RRF, k: int = 60) -> Pool:
    return fuse(cast("Any", PlainView()), lists, weights, k)


def score(pool: Pool, key: int) -> float:
    row = pool.at(key)
    assert row is not None
    return float(pool.fused[row])


# --- the seeds' worked examples ----------------------------------------------------------------


def test_first_in_semantic_and_fifth_in_keyword_is_0_0318() -> None:
    pool = fused({S: found([1, 20, 30]), K: found([90, 91, 92, 93, 1])})
    assert score(pool, 1) == pytest.approx(1 / 61 + 1 / 65)
    assert round(score(pool, 1), 4) == 0.0318


def test_first_in_semantic_alone_is_0_0164_and_stands_behind_consensus() -> None:
    pool = fused({S: found([7]), K: found([90, 91, 92, 93, 94])})
    assert round(score(pool, 7), 4) == 0.0164
    both = fused({S: found([1]), K: found([90, 91, 92, 93, 1])})
    assert score(both, 1) > score(pool, 7)


def test_ranks_2_1_2_3_in_four_arms_are_0_0645() -> None:
    lists = {
        S: found([3, 1, 7]),
        K: found([1, 3, 2]),
        G: found([7, 1, 3]),
        T: found([2, 3, 1]),
    }
    pool = fused(lists)
    assert score(pool, 1) == pytest.approx(1 / 62 + 1 / 61 + 1 / 62 + 1 / 63)
    # The seed prints 0.0645, the sum of its rounded parts; the sum itself is 0.06439.
    assert score(pool, 1) == pytest.approx(0.0645, abs=2e-4)
    assert sum(round(1 / (60 + r), 4) for r in (2, 1, 2, 3)) == pytest.approx(0.0645)


def test_the_seeds_four_rankings_fuse_to_a_known_order() -> None:
    """Computed by hand from the four lists. The seed's picture puts m1 before m3, but its
    own formula does not: m3 has ranks 1, 2, 3, 2 and m1 has 2, 1, 2, 3, which tie exactly."""
    lists = {
        S: found([3, 1, 7]),
        K: found([1, 3, 2]),
        G: found([7, 1, 3]),
        T: found([2, 3, 1]),
    }
    pool = fused(lists)
    by_hand = {
        1: 1 / 62 + 1 / 61 + 1 / 62 + 1 / 63,
        3: 1 / 61 + 1 / 62 + 1 / 63 + 1 / 62,
        7: 1 / 63 + 1 / 61,
        2: 1 / 63 + 1 / 61,
    }
    for key, value in by_hand.items():
        assert score(pool, key) == pytest.approx(value)
    assert pool.keys.tolist() == [1, 3, 2, 7]  # ties go to the lower key


def test_the_reference_gives_every_arm_one_vote_and_k_60(memory: Recollect) -> None:
    assert set(RRF.values()) == {1.0} and set(RRF) == set(Arm)
    assert memory.settings.rrf_k == 60


def test_the_default_lets_no_arm_outvote_semantic_and_keyword() -> None:
    assert set(WEIGHTED) == set(Arm)
    assert all(0 < w <= max(WEIGHTED[S], WEIGHTED[K]) for w in WEIGHTED.values())


# --- properties --------------------------------------------------------------------------------

arms = st.dictionaries(
    st.sampled_from(list(Arm)), st.lists(st.integers(1, 60), unique=True, max_size=30), max_size=4
)
weights = st.fixed_dictionaries({arm: st.floats(0.01, 5) for arm in Arm})


def as_found(lists: Mapping[Arm, list[int]]) -> dict[Arm, Found]:
    return {arm: found(keys) for arm, keys in lists.items()}


@given(arms, weights, st.integers(1, 200))
def test_every_score_is_the_weighted_sum_of_reciprocal_ranks(
    lists: dict[Arm, list[int]], weight: dict[Arm, float], k: int
) -> None:
    pool = fused(as_found(lists), weight, k)
    for key, value in zip(pool.keys.tolist(), pool.fused.tolist(), strict=True):
        expected = sum(
            weight[a] / (k + keys.index(key) + 1) for a, keys in lists.items() if key in keys
        )
        assert value == pytest.approx(expected, rel=1e-5)


@given(arms)
def test_candidates_come_best_first_with_ties_by_key(lists: dict[Arm, list[int]]) -> None:
    pool = fused(as_found(lists))
    exact = {
        key: sum(Fraction(1, 61 + keys.index(key)) for keys in lists.values() if key in keys)
        for key in pool.keys.tolist()
    }
    for a, b in pairwise(pool.keys.tolist()):
        assert float(exact[a]) >= float(exact[b]) - 1e-12
        if exact[a] == exact[b] and len(lists) <= 2:  # two terms add up alike in either order
            assert a < b


@given(arms, st.randoms(use_true_random=False))
def test_the_order_in_which_arms_arrive_changes_nothing(
    lists: dict[Arm, list[int]], random: Any
) -> None:
    shuffled = list(lists.items())
    random.shuffle(shuffled)
    one, other = fused(as_found(lists)), fused(as_found(dict(shuffled)))
    assert one.keys.tolist() == other.keys.tolist()
    assert one.fused.tolist() == other.fused.tolist()


@given(arms, st.lists(st.integers(1, 90), unique=True, max_size=30))
def test_another_arm_never_loses_a_candidate(lists: dict[Arm, list[int]], more: list[int]) -> None:
    before = fused(as_found({a: k for a, k in lists.items() if a is not T}))
    after = fused(as_found({**{a: k for a, k in lists.items() if a is not T}, T: more}))
    assert set(after.keys.tolist()) == set(before.keys.tolist()) | set(more)


@given(arms)
def test_every_candidate_keeps_every_arms_rank_and_score(lists: dict[Arm, list[int]]) -> None:
    given_lists = as_found(lists)
    pool = fused(given_lists)
    for row, key in enumerate(pool.keys.tolist()):
        for arm, keys in lists.items():
            column = pool.arms[arm]
            if key in keys:
                at = keys.index(key)
                assert column.rank[row] == at + 1
                assert column.score[row] == given_lists[arm].scores[at]
            else:
                assert column.rank[row] == 0
                assert np.isnan(column.score[row])


def test_nothing_found_by_any_arm_is_an_empty_pool() -> None:
    assert len(fused({})) == 0
    assert len(fused({S: Found.nothing(), K: Found.nothing()})) == 0

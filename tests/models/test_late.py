"""Late interaction by itself, against a plain loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from recollect.models.late import best_matches, maxsim, pool_tokens

rows = arrays(np.int8, st.tuples(st.integers(1, 9), st.just(8)), elements=st.integers(-127, 127))


def unit(seed: int, count: int, size: int = 16) -> NDArray[np.int8]:
    vectors = np.random.default_rng(seed).standard_normal((count, size))
    return np.round(127 * vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.int8)


@given(query=rows, passages=st.lists(rows, max_size=5))
def test_maxsim_is_the_weighted_mean_of_the_best_cosines(
    query: NDArray[np.int8], passages: list[NDArray[np.int8]]
) -> None:
    asked = query.astype(np.float64)
    weight = max(np.linalg.norm(asked, axis=1).mean(), 1.0) * len(asked) * 127
    wanted = [(p.astype(np.float64) @ asked.T).max(axis=0).sum() / weight for p in passages]
    np.testing.assert_allclose(maxsim(query, passages), wanted, rtol=1e-4, atol=1e-5)


def test_thousands_of_tokens_match_exactly_as_whole_numbers_do() -> None:
    query, passages = unit(1, 12, 64), [unit(2 + n, 30, 64) for n in range(200)]
    full = np.float32(127 * max(float(np.linalg.norm(query.astype(np.float32), axis=1).mean()), 1))
    wanted = [(p.astype(np.int32) @ query.T.astype(np.int32)).max(axis=0) for p in passages]
    assert np.array_equal(best_matches(query, passages), np.array(wanted, np.float32) / full)


def test_a_text_matches_itself_fully() -> None:
    tokens = unit(1, 7)
    assert abs(maxsim(tokens, [tokens])[0] - 1) < 0.02


def test_a_passage_without_tokens_scores_nothing() -> None:
    assert maxsim(unit(1, 3), [np.empty((0, 16), dtype=np.int8)])[0] == 0


@given(count=st.integers(1, 60), most=st.integers(1, 30))
def test_pooling_keeps_to_the_limit_and_to_unit_vectors(count: int, most: int) -> None:
    pooled = pool_tokens(unit(count, count), most)
    assert len(pooled) == min(count, most)
    norms = np.linalg.norm(pooled.astype(np.float64), axis=1)
    assert np.all(np.abs(norms - 127) < 4)


def test_pooling_merges_what_is_alike() -> None:
    tokens = unit(3, 4)
    doubled = np.repeat(tokens, 2, axis=0)
    np.testing.assert_allclose(pool_tokens(doubled, 4), tokens, atol=1)


def test_few_tokens_are_left_alone() -> None:
    tokens = unit(5, 6)
    assert pool_tokens(tokens, 6) is tokens

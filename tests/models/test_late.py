"""Late interaction by itself, against a plain loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from recollect.models.late import best_matches, code_bytes, maxsim, to_codes

rows = arrays(np.int8, st.tuples(st.integers(1, 9), st.just(8)), elements=st.integers(-127, 127))


def unit(seed: int, count: int, size: int = 16) -> NDArray[np.int8]:
    vectors = np.random.default_rng(seed).standard_normal((count, size))
    return np.round(127 * vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.int8)


def directions(codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """What codes stand for, read one nibble at a time."""
    levels = np.hstack([codes % 16, codes // 16]).astype(np.float64) - 7.5
    return levels / np.linalg.norm(levels, axis=1, keepdims=True)


@given(query=rows, passages=st.lists(rows, max_size=5))
def test_maxsim_is_the_weighted_mean_of_the_best_cosines(
    query: NDArray[np.int8], passages: list[NDArray[np.int8]]
) -> None:
    asked, codes = query.astype(np.float64), [to_codes(p) for p in passages]
    weight = max(np.linalg.norm(asked, axis=1).mean(), 1.0) * len(asked)
    wanted = [(directions(c) @ asked.T).max(axis=0).sum() / weight for c in codes]
    np.testing.assert_allclose(maxsim(query, codes), wanted, rtol=1e-4, atol=1e-5)


def test_a_score_does_not_depend_on_what_it_is_computed_with() -> None:
    query, passages = unit(1, 12, 64), [to_codes(unit(2 + n, 30, 64)) for n in range(200)]
    together = best_matches(query, passages)
    alone = np.concatenate([best_matches(query, [p]) for p in passages])
    assert np.array_equal(together, alone)


def test_codes_take_half_a_byte_a_component_and_keep_the_direction() -> None:
    tokens = unit(7, 500, 64)
    codes = to_codes(tokens)
    assert codes.nbytes == tokens.nbytes // 2
    true = tokens / np.linalg.norm(tokens.astype(np.float64), axis=1, keepdims=True)
    assert (directions(codes) * true).sum(axis=1).min() > 0.98


def test_a_cosine_errs_by_about_a_hundredth() -> None:
    tokens, query = unit(7, 500, 64), unit(8, 20, 64)
    exact = tokens / np.linalg.norm(tokens.astype(np.float64), axis=1, keepdims=True)
    error = (directions(to_codes(tokens)) - exact) @ query.T / 127
    assert 0.005 < error.std() < 0.015
    assert abs(error.mean()) < 0.001


def test_a_vector_of_one_large_component_keeps_its_direction_too() -> None:
    axis = np.zeros((1, 64), np.int8)
    axis[0, 40] = -127
    assert np.argmax(-directions(to_codes(axis))) == 40


def test_rows_of_an_odd_number_of_components_match_as_well() -> None:
    tokens = unit(4, 3, 15)
    codes = to_codes(tokens)
    assert codes.shape == (3, code_bytes(15))
    assert np.argmax(best_matches(tokens[1:2], [codes[i : i + 1] for i in range(3)])) == 1


def test_a_text_matches_itself_almost_fully() -> None:
    tokens = unit(1, 7, 64)
    assert abs(maxsim(tokens, [to_codes(tokens)])[0] - 1) < 0.03


def test_a_passage_without_tokens_scores_nothing() -> None:
    assert maxsim(unit(1, 3), [to_codes(np.empty((0, 16), dtype=np.int8))])[0] == 0

"""Sifting by 8-bit codes: nothing that can be among the best is missed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.storage.index import sift
from recollect.storage.index.sift import Codes, Coding, among_best, sifted
from recollect.storage.ranking import exact_dots

DIMENSIONS = 16


def made(vectors: np.ndarray) -> Codes:
    """After as many searches as it takes."""
    coding = Coding(vectors.shape[1])
    for _ in range(100):
        codes = coding.of(vectors)
        if codes is not None:
            return codes
    raise AssertionError("never ready")


def some(seed: int, count: int, length: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((count, DIMENSIONS))
    vectors *= length / np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float16)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 200),
    k=st.integers(1, 30),
    floor=st.floats(-1, 1),
    length=st.sampled_from([0.01, 1.0, 40.0]),
)
def test_the_best_are_always_among_what_is_kept(
    seed: int, count: int, k: int, floor: float, length: float
) -> None:
    vectors = some(seed, count, length)
    vectors[:: max(1, count // 3)] = vectors[0]  # equals
    vectors[count // 2] = 0  # a memory without a vector
    query = some(seed + 1, 1)[0].astype(np.float32)
    rough, off = made(vectors).rough(query)
    exact = exact_dots(query, vectors)
    assert np.abs(rough - exact).max() <= off
    best = np.argsort(-exact, kind="stable")[:k]
    wanted = best[exact[best] >= floor]
    assert set(wanted.tolist()) <= set(among_best(rough, off, k, floor).tolist())
    found = sifted(rough, off, k, floor, count, lambda at: exact[at])
    assert found is not None
    assert set(wanted.tolist()) <= set(found.at.tolist())
    assert np.array_equal(found.exact, exact[found.at])


def test_more_as_good_as_equal_than_are_worth_an_exact_look_are_told_of() -> None:
    rough = np.full(50, 0.5, np.float32)
    assert sifted(rough, 0.01, 10, 0.3, most=39, exact=lambda at: rough[at]) is None
    found = sifted(rough, 0.01, 10, 0.3, most=40, exact=lambda at: rough[at])
    assert found is not None and len(found.at) == 50


def test_the_first_search_makes_no_codes_and_later_ones_a_part_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sift, "_AT_ONCE", 1024)
    vectors = some(1, 3000)
    coding = Coding(DIMENSIONS)
    ready = [coding.of(vectors) is not None for _ in range(5)]
    assert ready == [False, False, False, True, True]


def test_codes_made_for_more_rows_serve_whoever_still_sees_fewer() -> None:
    vectors = some(2, 900)
    coding = Coding(DIMENSIONS)
    coding.of(vectors)
    whole, part = coding.of(vectors), coding.of(vectors[:700])
    assert whole is not None and part is not None
    assert len(whole.codes) == 900
    assert np.array_equal(part.codes, whole.codes[:700])

"""Ranking arithmetic that every store shares."""

from __future__ import annotations

import numpy as np

from recollect.storage.ranking import exact_dots, widened


def test_every_finite_half_is_the_same_number_in_single_precision() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = halves[np.isfinite(halves)].reshape(-1, 8)
    assert np.array_equal(widened(finite).view(np.int32), finite.astype(np.float32).view(np.int32))


def test_halves_in_another_byte_order_are_the_same_numbers() -> None:
    numbers = np.array([[0.5, -0.25], [1e-7, 3.0]], ">f2")
    assert np.array_equal(widened(numbers), numbers.astype(np.float32))


def test_equal_vectors_score_equal_wherever_they_stand() -> None:
    rng = np.random.default_rng(7)
    one = rng.standard_normal(384).astype(np.float16)
    matrix = rng.standard_normal((37, 384)).astype(np.float16)
    matrix[[0, 17, 36]] = one
    scores = exact_dots(rng.standard_normal(384).astype(np.float32), matrix)
    assert scores[0] == scores[17] == scores[36]

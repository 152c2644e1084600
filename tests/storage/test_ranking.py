"""Ranking arithmetic that every store shares."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.storage.index.columns import Postings
from recollect.storage.ranking import (
    best_first,
    counted,
    distinct,
    exact_dots,
    placed,
    top,
    widened,
)

IDS = st.lists(st.integers(0, 9), max_size=12)


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


@given(st.lists(st.lists(st.integers(-5, 5)), max_size=4))
def test_distinct_keys_are_the_set_of_all_ascending(parts: list[list[int]]) -> None:
    found = distinct(*(np.array(part, np.int64) for part in parts))
    assert found.tolist() == sorted({key for part in parts for key in part})


@given(st.lists(st.integers(-5, 5)))
def test_keys_are_counted_ascending(given: list[int]) -> None:
    keys, counts = counted(np.array(given, np.int64))
    assert list(zip(keys.tolist(), counts.tolist(), strict=True)) == sorted(Counter(given).items())


@given(st.lists(st.integers(0, 4), max_size=60), st.integers(1, 6))
def test_the_top_is_cut_from_the_whole_ranking_ties_by_key(given: list[int], k: int) -> None:
    scores, keys = np.array(given, np.float32), np.arange(len(given))[::-1].astype(np.int64)
    found, best = top(scores, keys, k)
    ranking = sorted(zip(given, keys.tolist(), strict=True), key=lambda e: (-e[0], e[1]))
    assert list(zip(best.tolist(), found.tolist(), strict=True)) == ranking[:k]


SCORES = st.lists(st.sampled_from([-1e30, -1.5, -0.0, 0.0, 1e-40, 0.25, 0.5, 3e38]), max_size=200)


@given(SCORES, st.sampled_from([1, 7 << 30]))
def test_the_top_is_the_same_however_many_and_however_far_apart_the_keys(
    given: list[float], step: int
) -> None:
    scores = np.array(given, np.float32)
    keys = 5 + step * np.random.default_rng(0).permutation(len(given)).astype(np.int64)
    found, best = top(scores, keys, len(given))
    order = np.lexsort((keys, -scores))
    assert found.tolist() == keys[order].tolist()
    assert best.tolist() == scores[order].tolist()


@given(SCORES)
def test_the_best_come_first_and_equals_as_they_stood(given: list[float]) -> None:
    scores = np.array(given, np.float32)
    assert best_first(scores).tolist() == np.argsort(-scores, kind="stable").tolist()


@given(st.lists(IDS, max_size=4))
def test_every_key_is_placed_among_those_of_all_parts(parts: list[list[int]]) -> None:
    keys, places = placed([np.array(part, np.int64) for part in parts])
    assert keys.tolist() == sorted({key for part in parts for key in part})
    assert [keys[at].tolist() for at in places] == parts


@given(st.lists(IDS, max_size=5))
def test_postings_hold_every_row_in_the_order_given(slabs: list[list[int]]) -> None:
    """However much of them was there at first and however much was added since."""
    none, no_rows = np.empty(0, np.int64), np.empty(0, np.int32)
    held = Postings.build(none, no_rows, [no_rows])
    expected: dict[int, list[int]] = {wanted: [] for wanted in range(10)}
    row = 0
    for number, slab in enumerate(slabs):
        rows = np.arange(row, row + len(slab), dtype=np.int32)
        given_ids = np.array(slab, np.int64)
        add = Postings.build if number == 0 else held.extend
        held = add(given_ids, rows, [rows + 100])
        for place, wanted in enumerate(slab, start=row):
            expected[wanted].append(place)
        row += len(slab)
    together = held.get_many(np.arange(10))
    newest = sorted(row for rows in expected.values() for row in rows[-2:])
    assert sorted(held.newest(np.arange(10), 2).tolist()) == newest
    for wanted, rows in expected.items():
        found, (payload,) = held.get(wanted)
        assert found.tolist() == together[wanted].tolist() == rows
        assert payload.tolist() == [place + 100 for place in rows]

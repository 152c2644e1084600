"""Products of codes: whole numbers, exact to the last one."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.storage.index.products import SMALL, products


@pytest.mark.parametrize(("rows", "columns", "length"), [(1, 1, 1), (5, 3, 384), (700, 256, 65)])
def test_they_are_those_of_whole_numbers(rows: int, columns: int, length: int) -> None:
    random = np.random.default_rng(rows)
    left = random.integers(-128, 128, (rows, length), np.int8)
    right = random.integers(-SMALL, SMALL + 1, (length, columns), np.int8)
    assert (products(left, right) == left.astype(np.int64) @ right.astype(np.int64)).all()


@pytest.mark.parametrize("row", [-128, 127])
@pytest.mark.parametrize("column", [-SMALL, SMALL])
def test_the_largest_numbers_do_not_run_over(row: int, column: int) -> None:
    left, right = np.full((2, 1024), row, np.int8), np.full((1024, 2), column, np.int8)
    assert (products(left, right) == row * column * 1024).all()


def test_part_of_a_table_will_do() -> None:
    table = np.arange(60, dtype=np.int8).reshape(10, 6)
    columns = np.ones((6, 1), np.int8)
    assert products(table[3:5], columns).ravel().tolist() == table[3:5].sum(axis=1).tolist()

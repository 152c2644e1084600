"""The nearest of many vectors at once, by codes and by products: what an exact search finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect import Memory
from recollect.storage.base import Filter, NewMemory
from recollect.storage.index.bank import Index
from recollect.storage.index.nearest import CROWD, nearest_of_many
from recollect.storage.index.record import features_row
from recollect.storage.index.snapshot import Snapshot
from recollect.storage.ranking import exact_dots, top

K, FLOOR = 4, 0.7


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def bank(held: NDArray[np.float32], *, coded: bool) -> Snapshot:
    index = Index(held.shape[1], 0)
    rows: list[Any] = []
    for key, vector in enumerate(held, 1):
        memory = Memory(id=str(key), bank="b", text=f"memory {key}")
        n, _, *rest = features_row(1, key, 1, NewMemory(key, memory, vector, None, (), 0, 0, 0))
        rows.append((n, *rest))
    index.catch_up(1, [rows], [])
    made = index.snapshot()
    for _ in range(2 if coded else 0):  # codes are made from the second search on
        made.coding.of(made.vectors)
    return made


def check(held: Snapshot, asked: NDArray[np.float32]) -> None:
    mask = held.mask(Filter())
    mask[::7] = False  # not everything may be seen
    rows = np.flatnonzero(mask)
    found = nearest_of_many(held, asked, mask, K, FLOOR)
    for vector, mine in zip(asked, found, strict=True):
        scores = exact_dots(vector, held.vectors[rows])
        over = scores >= FLOOR
        keys, best = top(scores[over], held.keys[rows[over]], K)
        assert mine.scores == pytest.approx(best, abs=1e-6)
        clear = np.diff(best, prepend=np.inf) < -1e-6  # equal ones may change places
        assert mine.keys[clear].tolist() == keys[clear].tolist()


@pytest.mark.parametrize("coded", [True, False])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 60), spread=st.floats(0.05, 2.0))
def test_they_are_those_of_an_exact_search(
    coded: bool, seed: int, count: int, spread: float
) -> None:
    random = np.random.default_rng(seed)
    centre = random.standard_normal(16)
    made = unit(centre + spread * random.standard_normal((count + 9, 16)))
    check(bank(made[9:], coded=coded), made[:9])


@pytest.mark.parametrize("coded", [True, False])
def test_of_a_crowd_the_best_are_found(coded: bool) -> None:
    random = np.random.default_rng(1)
    made = unit(np.ones(16) + 0.1 * random.standard_normal((CROWD * 5, 16)))
    check(bank(made, coded=coded), made[:3])

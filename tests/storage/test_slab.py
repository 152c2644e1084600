"""A whole bank is read as joined blobs: the bytes of every row must come through as they are."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recollect.storage.sqlite.features as reading
from recollect.errors import StoreDamaged
from recollect.language.terms import term_hash
from recollect.lifecycle import WINDOWS
from recollect.storage.base import NO_TIME
from recollect.storage.index.columns import stable_order
from recollect.storage.index.record import (
    KEY_BITS,
    KEY_MASK,
    POSTING,
    RECORD,
    Unseen,
    postings,
    record,
)
from recollect.storage.index.slab import FeatureRow, Slab, slab_of
from recollect.storage.ranking import Field
from recollect.storage.sqlite.features import slabs_of_bank
from recollect.testing import open_fake
from recollect.types import Memory

BANK, DIMENSIONS = 3, 4


def blobs(size: int, most: int = 3) -> st.SearchStrategy[bytes]:
    """Any bytes: NULs, and what is no UTF-8."""
    return st.integers(0, most).flatmap(lambda n: st.binary(min_size=n * size, max_size=n * size))


rows = st.tuples(
    st.binary(min_size=RECORD.itemsize, max_size=RECORD.itemsize),
    st.none() | st.binary(min_size=2 * DIMENSIONS, max_size=2 * DIMENSIONS),
    blobs(POSTING.itemsize),
    st.none() | blobs(8),
    st.none() | blobs(8),
)


def table(held: dict[int, FeatureRow]) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute(
        """CREATE TABLE features (n INTEGER PRIMARY KEY, bank INTEGER NOT NULL, seq INTEGER NOT NULL,
        record BLOB NOT NULL, vector BLOB, terms BLOB NOT NULL, labels BLOB, entities BLOB) STRICT"""
    )
    db.executemany(
        "INSERT INTO features VALUES (?,?,?,?,?,?,?,?)",
        [((BANK << KEY_BITS) + key, BANK, *row[1:]) for key, row in held.items()],
    )
    return db


def joined(slabs: list[Slab]) -> list[bytes]:
    parts = [(s.keys, s.records, s.vectors, *s.terms, *s.labels, *s.entities) for s in slabs]
    return [
        b"".join(np.ascontiguousarray(p).tobytes() for p in each)
        for each in zip(*parts, strict=True)
    ]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.integers(1, 40), rows, min_size=1, max_size=20), st.integers(1, 9))
def test_joined_rows_are_the_rows_byte_for_byte_and_in_order(
    drawn: dict[int, tuple[bytes, bytes | None, bytes, bytes | None, bytes | None]], step: int
) -> None:
    held: dict[int, FeatureRow] = {key: (key, 1, *row) for key, row in drawn.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "STEP", step)
        found = list(slabs_of_bank(table(held), BANK, max(held) + 1, DIMENSIONS))
    assert joined(found) == joined([slab_of([held[k] for k in sorted(held)], DIMENSIONS)])


def test_another_banks_rows_are_left_out() -> None:
    row: FeatureRow = (1, 1, bytes(RECORD.itemsize), None, b"", None, None)
    db = table({1: row, KEY_MASK + 2: row})  # the second belongs to the bank after this one
    (slab,) = slabs_of_bank(db, BANK, 2, DIMENSIONS)
    assert slab.keys.tolist() == [1]


def test_a_vector_of_the_wrong_length_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with open_fake(path) as memory:
        memory.retain("b", "Ada keeps bees.")
    db = sqlite3.connect(path)
    with db:
        db.execute("UPDATE features SET vector = x'00ff'")
    db.close()
    with open_fake(path) as memory, pytest.raises(StoreDamaged):
        memory.recall("b", "bees")


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5) | st.integers(2**40, 2**40 + 3))
)
def test_numbers_are_ordered_as_a_stable_sort_orders_them(values: list[int]) -> None:
    ids = np.array(values, np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recollect.storage.index.columns._MANY", 0)
        assert stable_order(ids).tolist() == np.argsort(ids, kind="stable").tolist()


def test_a_packed_row_reads_back_as_the_arrays_an_index_is_made_of() -> None:
    told = {"kind": "lesson", "tags": ("x", "y"), "proof_count": 3, "tokens": 5, "title": "Bees"}
    memory = Memory(id="m", bank="b", text="bees, bees", **told)
    (packed,) = np.frombuffer(record(memory, Unseen(-7, 8, 9, 10, None)), RECORD)
    assert (packed["statement"], packed["slot"], packed["before"]) == (-7, 8, 9)
    assert (packed["known_from"], packed["known_until"]) == (10, NO_TIME)
    assert (packed["proof"], packed["tokens"], packed["labels"]) == (3, 5, 2)
    assert packed["lifetime_days"] == WINDOWS["lesson"]
    found = np.frombuffer(postings(memory), POSTING)
    bee = found[found["term"] == term_hash("bee")]
    assert {(p["field"], p["tf"], p["length"]) for p in bee} == {
        (Field.BODY, 2, 2),
        (Field.TITLE, 1, 1),
    }

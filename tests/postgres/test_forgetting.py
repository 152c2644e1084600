"""What is forgotten is gone: text, terms, vectors, links and names, from every table."""

from __future__ import annotations

from typing import Any

import numpy as np
import psycopg
import pytest

from recollect import Recollect
from recollect.language.terms import term_hash, terms
from recollect.storage.postgres.schema import TABLES

Db = psycopg.Connection[Any]
SECRET = "Zebulon keeps the quixotic passphrase under the flagstone."
OTHERS = [
    "Zebulon plays chess on Sundays.",
    "The flagstone path leads to the garden.",
    "Alice waters the garden because the summer is dry.",
]


def everything(db: Db) -> str:
    """Every row of every table, as text."""
    rows = (db.execute(f"SELECT t::text FROM {table} t").fetchall() for table in TABLES)  # type: ignore[arg-type]
    return "\n".join(text for found in rows for (text,) in found)


def places(db: Db, word: str) -> int:
    """How often a term stands in the postings."""
    rows = db.execute(
        "SELECT length(data) FROM postings WHERE term = %s", (term_hash(terms(word)[0]),)
    ).fetchall()
    return sum(length for (length,) in rows) // 6


def test_a_forgotten_memory_leaves_no_trace(served: Recollect, admin: Db) -> None:
    (secret,) = served.retain("b", SECRET).new
    served.retain("b", OTHERS)
    assert "quixotic" in everything(admin)
    ((vector,),) = admin.execute(
        "SELECT f.vector::text FROM features f JOIN memories m USING (bank_id, key) WHERE m.id = %s",
        (secret,),
    ).fetchall()
    assert served.forget("b", secret) == 1
    left = everything(admin)
    for gone in ("quixotic", "passphrase", secret, vector):
        assert gone not in left
    assert places(admin, "quixotic") == 0
    assert admin.execute(
        "SELECT count(*) FROM postings WHERE term = %s", (term_hash(terms("quixotic")[0]),)
    ).fetchone() == (0,)


def test_what_others_say_stays_findable(served: Recollect, admin: Db) -> None:
    (secret,) = served.retain("b", SECRET).new
    served.retain("b", OTHERS)
    assert places(admin, "flagstone") == 2
    served.forget("b", secret)
    assert places(admin, "flagstone") == 1
    found = served.recall("b", "flagstone").results
    assert [hit.text for hit in found][:1] == [OTHERS[1]]


def test_keyword_statistics_are_those_of_a_bank_that_never_knew_it(
    served: Recollect, admin: Db
) -> None:
    (secret,) = served.retain("knew", [{"text": SECRET, "tags": ["x"], "title": "a title"}]).new
    for bank in ("knew", "never"):
        served.retain(bank, OTHERS)
    served.forget("knew", secret)
    counted = (
        "SELECT bank_id, size, memories, field_length, field_count FROM banks ORDER BY bank_id"
    )
    (_, *one), (_, *two) = admin.execute(counted).fetchall()
    assert one == two
    rows = admin.execute("SELECT count(*) FROM postings GROUP BY bank_id").fetchall()
    assert len(set(rows)) == 1


def test_counts_on_the_banks_row_are_those_of_its_tables(served: Recollect, admin: Db) -> None:
    """They are kept by whoever writes: no trigger counts."""
    ids = served.retain("b", OTHERS, document_id="notes").new
    served.retain("b", [SECRET, "Bob lives in Rome.", "Bob lives in Oslo."])
    served.update("b", ids[0], text="Zebulon plays go on Sundays.")
    served.invalidate("b", ids[1])
    served.forget("b", ids[2])
    served.retain("b", "The garden is dry.", document_id="notes")
    served.forget("b", document_id="notes")
    ((size, memories, documents),) = admin.execute(
        "SELECT size, memories, documents FROM banks"
    ).fetchall()
    ((rows, current, held),) = admin.execute(
        """SELECT (SELECT count(*) FROM features), (SELECT count(*) FROM memories WHERE state <> 'revised'),
        (SELECT count(*) FROM documents)"""
    ).fetchall()
    assert (size, memories, documents) == (rows, current, held)


def test_a_bank_is_cleared_whose_documents_say_the_same_in_words_of_their_own(
    served: Recollect,
) -> None:
    for name, words in (("one", "Bob  runs"), ("two", "Bob runs!"), ("three", "bob runs")):
        served.retain("b", {"content": words, "document_id": name})
    assert served.clear("b") == 1
    assert (served.memories("b"), served.documents("b")) == ([], [])


def test_a_deleted_bank_leaves_no_row(served: Recollect, admin: Db) -> None:
    served.retain("gone", [SECRET, *OTHERS], document_id="d")
    served.retain("stays", OTHERS)
    served.delete_bank("gone")
    for table in TABLES:
        banks = admin.execute(f"SELECT DISTINCT bank_id FROM {table}").fetchall()  # type: ignore[arg-type]
        assert banks in ([], [("stays",)]), table


@pytest.mark.parametrize("size", [1, 5000])
def test_blocks_of_postings_are_taken_apart_rightly(size: int) -> None:
    """Over several blocks, a term in several fields, and keys next to each other."""
    from recollect.storage.index.record import POSTING
    from recollect.storage.postgres.postings import PLACE, blocks_of, without

    held = [
        (key, np.array([(7, 3, 1, 0), (7, 2, 1, 4), (key, 3, 2, 0)], POSTING).tobytes())
        for key in range(4090, 4090 + size)
    ]
    blocks = blocks_of(held)
    sevens = [np.frombuffer(data, PLACE) for (term, _), data in blocks.items() if term == 7]
    assert sum(len(places) for places in sevens) == 2 * size
    first = blocks[7, 0]
    kept = np.frombuffer(without(first, [4090]), PLACE)
    assert len(kept) == len(first) // PLACE.itemsize - 2
    assert 4090 not in kept["offset"]

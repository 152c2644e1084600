"""Every arm uses its index: read from the plans, over tables of 100,000 rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from recollect.storage.base import Filter, Listing, TagLeaf
from recollect.storage.postgres.filters import clause
from recollect.storage.postgres.listing import beyond, conditions, order
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.schema import prepare
from recollect.types import MemoryType

Db = psycopg.Connection[Any]
DAY = 86_400_000_000
# 100,000 memories of one bank and 2,000 of another: shaped like the real thing, made in the
# server, with vectors of four numbers, since plans do not depend on their length.
FILL = """
INSERT INTO banks (bank_id, seq, embedder, dimensions, token_dimensions, created_at, updated_at)
  VALUES ('large', 1, 'm', 4, 0, 0, 0), ('small', 1, 'm', 4, 0, 0, 0);
CREATE TEMP TABLE made AS
  SELECT CASE WHEN g <= 100000 THEN 'large' ELSE 'small' END AS bank_id, g AS key
  FROM generate_series(1, 102000) g;
INSERT INTO features (bank_id, key, type, state, vector, record, happened_from, happened_until,
    known_from, statement, slot, previous, tags)
  SELECT bank_id, key, key % 4, 0, ARRAY[key % 7, key % 11, key % 13, 1]::real[]::halfvec, '\\x00',
    key * 86400000000, key * 86400000000 + CASE WHEN key % 50 = 0 THEN 8640000000000 ELSE 0 END, 0, key, 0, 0,
    CASE WHEN key % 200 = 0 THEN ARRAY['rare'] ELSE '{}' END FROM made;
INSERT INTO memories (bank_id, key, id, type, state, text, mentioned_at, created_at, updated_at, tokens, known_from,
    entities)
  SELECT bank_id, key, 'm' || key, 'world', 'active', 'text', CASE WHEN key % 10 > 0 THEN key * 7919 % 99991 END, 0, 0, 5,
    0, ARRAY[key % 5000, key % 31] FROM made;
INSERT INTO documents SELECT bank_id, 'd' || key, '', NULL, '[]', '{}', key, key * 7919 % 99991 FROM made;
INSERT INTO tokens (bank_id, key, terms) SELECT bank_id, key, '\\x00' FROM made;
INSERT INTO mentions SELECT bank_id, key % 5000, key FROM made
  UNION SELECT bank_id, key % 31, key FROM made;
INSERT INTO links SELECT bank_id, key, key - 1, 'semantic', 0.8 FROM made WHERE key % 3 = 0;
INSERT INTO postings SELECT bank_id, term, block, '\\x000000000000'
  FROM generate_series(1, 4000) term, generate_series(0, 24) block, (VALUES ('large')) b (bank_id);
"""


@pytest.fixture(scope="module")
def tables(postgres: str) -> Iterator[Db]:
    schema = f"explain_{uuid4().hex[:12]}"
    prepare(postgres, schema)
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(sql.SQL("SET search_path TO {}, public").format(sql.Identifier(schema)))
        db.execute(FILL.encode())
        for table in (
            "features",
            "documents",
            "memories",
            "tokens",
            "mentions",
            "links",
            "postings",
        ):
            db.execute(f"VACUUM ANALYZE {table}".encode())
        yield db
        db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


def used(db: Db, name: str, allowed: Filter | None = None, **given: Any) -> tuple[set[str], str]:
    """The indexes of the plan, and the plan."""
    condition, values = ("true", {}) if allowed is None else clause(allowed)
    text = b"EXPLAIN (FORMAT JSON) " + query(name, condition, 4)
    row = db.execute(text, {"bank": "large", **values, **given}).fetchone()
    assert row is not None
    found: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if "Index Name" in node:
                found.add(node["Index Name"])
            for value in node.values():  # pyright: ignore[reportUnknownVariableType]
                walk(value)
        elif isinstance(node, list):
            for value in node:  # pyright: ignore[reportUnknownVariableType]
                walk(value)

    walk(row[0])
    return found, json.dumps(row[0])


def test_keyword_reads_the_blocks_of_its_terms(tables: Db) -> None:
    indexes, plan = used(tables, "arm_keyword", terms=[3, 500, 2222])
    assert indexes == {"postings_pkey"}
    assert "Seq Scan" not in plan


def test_a_month_is_read_from_the_index_of_times(tables: Db) -> None:
    window = {"soonest": 49_960 * DAY, "start": 50_000 * DAY, "end": 50_030 * DAY}
    indexes, plan = used(tables, "arm_temporal", Filter(), vector="[1,2,3,4]", **window)
    assert indexes == {"features_happened", "features_lasting"}
    assert "Seq Scan" not in plan


def test_expansion_follows_entities_and_links_by_their_indexes(tables: Db) -> None:
    asked = {"keys": "{5,900,77000}", "entities": [7], "limit": 50, "to_effect": ["causes"]}
    filters = {"features_withdrawn": Filter(), "features_pkey": Filter(types=frozenset({MemoryType.WORLD}))}  # fmt: skip
    for index, allowed in filters.items():
        indexes, plan = used(tables, "expand", allowed, **asked)
        assert {"memories_pkey", "mentions_pkey", "links_pkey", "links_target", index} <= indexes
        assert "Seq Scan" not in plan


@pytest.mark.parametrize("after", [0, 50_000, 99_900])
def test_what_is_newer_than_a_key_is_read_by_the_keys_of_every_table(
    tables: Db, after: int
) -> None:
    indexes, plan = used(tables, "index_slab", after=after, limit=4096, blank=b"")
    assert indexes == {"features_pkey", "tokens_pkey", "memories_pkey"}
    assert plan.count("AND (key > ") >= 3
    assert "Seq Scan" not in plan


def test_exact_search_of_a_small_bank_does_not_read_the_large_one(tables: Db) -> None:
    asked = {"bank": "small", "vector": "[1,2,3,4]", "near": 157}
    indexes, plan = used(tables, "arm_semantic_exact", Filter(), **asked)
    assert indexes and all(name.startswith("features_") for name in indexes)
    assert "Seq Scan" not in plan


def test_a_selective_tag_is_looked_up_before_vectors_are_compared(tables: Db) -> None:
    rare = Filter(tags=TagLeaf(("rare",), "any_strict"))
    indexes, plan = used(tables, "arm_semantic_exact", rare, vector="[1,2,3,4]", near=157)
    assert "features_tags" in indexes
    assert "Seq Scan" not in plan


def planned(db: Db, sql: bytes, **given: Any) -> str:
    row = db.execute(b"EXPLAIN (FORMAT JSON) " + sql, {"bank": "large", **given}).fetchone()
    assert row is not None
    return json.dumps(row[0])


@pytest.mark.parametrize(
    "where", [Listing(), Listing(recallable=True), Listing(type=MemoryType.WORLD)]
)
@pytest.mark.parametrize("below", [None, 50_000])
def test_a_page_of_memories_is_read_in_order(tables: Db, where: Listing, below: int | None) -> None:
    condition, values = conditions(where)
    if below is not None:
        condition = f"{condition} AND {beyond(where)}"
    sql = query("listed_keys", condition, order=order(where))
    plan = planned(tables, sql, below=below, limit=100, skip=0, **values)
    assert "memories_mentioned" in plan
    assert "Sort" not in plan and "Seq Scan" not in plan
    assert below is None or "ROW(" in plan.partition("memories_mentioned")[2].partition("Filter")[0]


def test_a_page_of_documents_is_read_in_order(tables: Db) -> None:
    sql = query("documents", "(d.updated_at, d.id) < (%(at)s, %(id)s)", order="d.updated_at DESC, d.id DESC")  # fmt: skip
    plan = planned(tables, sql, at=500, id="d7", limit=100)
    assert "documents_updated" in plan
    assert "Sort" not in plan


def test_what_is_withdrawn_is_read_from_an_index_of_its_own(tables: Db) -> None:
    indexes, _ = used(tables, "head")  # the row itself is one of two
    assert indexes - {"banks_pkey"} == {"features_withdrawn"}


@pytest.mark.parametrize(
    ("name", "given", "index"),
    [
        ("allowed_rows", {"keys": "{1,2,3}", "blank": b""}, "features_pkey"),
        ("load", {"keys": "{1,2,3}"}, "memories_pkey"),
        ("edges", {"keys": "{1,2,3}", "limit": 9, "to_effect": []}, "links_target"),
        ("same_statement", {"hashes": [1, 2, 3]}, "features_statement"),
        ("keys_of", {"id": "m77"}, "memories_wordings"),
        ("standing", {"keys": "{1,2,3}"}, "memories_wordings"),
        ("following", {"key": 3}, "features_previous"),
        ("revisions_of", {"ids": ["m5", "m6"]}, "memories_wordings"),
        ("superseded_by", {"ids": ["m5"]}, "memories_superseded"),
        (
            "other_texts",
            {"document": "d", "chunk": "c", "text": "t", "gone": []},
            "memories_document",
        ),
        ("slab", {"after": 99_000, "limit": 100}, "features_pkey"),
        ("naming", {"entities": [4999], "limit": 5}, "mentions_pkey"),
    ],
)
def test_rows_are_found_by_key(tables: Db, name: str, given: dict[str, Any], index: str) -> None:
    filtered = Filter() if "{allowed}" in query(name, "{allowed}").decode() else None
    indexes, plan = used(tables, name, filtered, **given)
    assert index in indexes
    assert "Seq Scan" not in plan

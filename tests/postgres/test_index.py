"""The vector index of a large bank: made beside the traffic, searched with filters, kept exact
for what came later."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest
from psycopg import sql

from recollect.storage.base import Batch, Filter, Found, NewMemory, StagedVector, TagLeaf
from recollect.storage.postgres import hnsw, search
from recollect.storage.postgres.filters import clause
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.search import index_settings
from recollect.storage.postgres.store import PostgresStore
from recollect.storage.postgres.view import PostgresView
from recollect.types import Memory

BANK, SIZE, TAIL, DIMENSIONS = "large", 3000, 200, 32
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FILTERS = (
    Filter(),
    Filter(tags=TagLeaf(("third",), "any_strict")),
    Filter(tags=TagLeaf(("tenth",), "any_strict")),
    Filter(tags=TagLeaf(("hundredth",), "any_strict")),
)


def vectors(count: int, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """In clusters, as meanings are."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((40, DIMENSIONS))
    drawn = centres[rng.integers(0, 40, count)] + 0.6 * rng.standard_normal((count, DIMENSIONS))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def memories(first: int, found: np.ndarray[Any, np.dtype[np.float32]]) -> list[NewMemory]:
    def tags(key: int) -> tuple[str, ...]:
        named = (("third", 3), ("tenth", 10), ("hundredth", 100))
        return tuple(name for name, n in named if key % n == 0)

    return [
        NewMemory(
            key,
            Memory(
                id=f"m{key}",
                bank=BANK,
                text=f"text {key}",
                tags=tags(key),
                created_at=NOW,
                updated_at=NOW,
            ),
            vector,
            None,
            (),
            statement=key,
            slot=0,
            known_from=1,
        )
        for key, vector in enumerate(found, first)
    ]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bank of thousands stands for one of a hundred thousand."""
    monkeypatch.setattr(search, "LOOKED_AT", 500)
    monkeypatch.setattr(search, "LOOKED_AT_EACH", 2)


@pytest.fixture(scope="module")
def server(postgres: str) -> Iterator[tuple[PostgresStore, str]]:
    schema = f"index_{uuid4().hex[:12]}"
    store = PostgresStore(
        postgres, model=lambda: ("m", DIMENSIONS, 0), schema=schema, held_facts=0, auto_index=False
    )
    store.create_bank(BANK)
    store.commit(BANK, lambda _: Batch(memories=memories(1, vectors(SIZE, 2))))
    assert store.index(BANK) == SIZE
    store.commit(BANK, lambda _: Batch(memories=memories(SIZE + 1, vectors(TAIL, 3))))
    yield store, schema
    store.close()
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


def test_an_index_finds_nearly_all_that_an_exact_search_finds(
    server: tuple[PostgresStore, str],
) -> None:
    store, _ = server
    for allowed in FILTERS:
        view = viewed(store)
        shares: list[float] = []
        for vector in vectors(12, 4):
            found, truth = view.semantic(vector, allowed, 100, -1.0), exact(store, vector, allowed)
            shares.append(overlap(found, truth))
            assert overlap(head(found, 10), head(truth, 10)) >= 0.9
        assert sum(shares) / len(shares) >= 0.98, allowed


def test_scores_are_exact_also_when_the_index_finds_them(server: tuple[PostgresStore, str]) -> None:
    store, _ = server
    (vector,) = vectors(1, 5)
    found, truth = (
        viewed(store).semantic(vector, Filter(), 50, -1.0),
        exact(store, vector, Filter()),
    )
    scores = dict(zip(truth.keys.tolist(), truth.scores.tolist(), strict=True))
    both = [(s, scores[k]) for k, s in zip(found.keys.tolist(), found.scores.tolist(), strict=True) if k in scores]  # fmt: skip
    assert len(both) > 40
    assert all(one == two for one, two in both)


def test_what_came_after_the_index_is_found_exactly(server: tuple[PostgresStore, str]) -> None:
    store, _ = server
    for key, vector in enumerate(vectors(TAIL, 3)[:20], SIZE + 1):
        found = viewed(store).semantic(vector, Filter(), 5, 0.5)
        assert found.keys[0] == key


def test_a_selective_filter_is_searched_exactly(server: tuple[PostgresStore, str]) -> None:
    store, _ = server
    uses = [viewed(store).uses_index(allowed, 1) for allowed in FILTERS]
    assert uses == [True, True, False, False]
    assert not viewed(store).uses_index(Filter(), SIZE)  # nearly all are wanted


def test_neighbours_of_many_new_memories_come_from_index_and_tail(
    server: tuple[PostgresStore, str],
) -> None:
    store, _ = server
    asked = np.concatenate([vectors(SIZE, 2)[:10], vectors(TAIL, 3)[:10]])
    found: list[Found] = []

    def plan(view: Any) -> Batch:
        found.extend(view.nearest(asked, 3, 0.5))
        return Batch()

    store.commit(BANK, plan)
    first = [int(f.keys[0]) for f in found]
    assert first == [*range(1, 11), *range(SIZE + 1, SIZE + 11)]


def test_the_plan_uses_the_banks_own_index(server: tuple[PostgresStore, str]) -> None:
    store, _ = server
    view = viewed(store)
    condition, values = clause(FILTERS[1])
    sql_ = b"EXPLAIN (FORMAT JSON) " + query("arm_semantic_indexed", condition, DIMENSIONS)
    given = {"bank": BANK, "vector": "[" + ",".join(["0.1"] * DIMENSIONS) + "]", "near": 157}
    ((plan,),) = view.session.fetch(
        sql_, {**given, **values, "indexed": SIZE}, prepare=False, settings=index_settings(157)
    )
    used = json.dumps(plan)
    assert f"{hnsw.prefix(BANK)}{SIZE}" in used
    assert "features_pkey" in used  # the tail
    assert "Seq Scan" not in used


def test_an_index_is_due_when_a_bank_is_large_and_has_grown() -> None:
    def due(size: int, indexed: int) -> bool:
        head = _head(size=size, next_key=size + 1, indexed_key=indexed)
        return hnsw.is_due(head)

    assert not due(hnsw.WORTH_IT - 1, 0)
    assert due(hnsw.WORTH_IT, 0)
    assert not due(200_000, 160_001)
    assert due(200_000, 140_000)


def test_a_large_bank_is_indexed_by_itself(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hnsw, "WORTH_IT", 100)
    monkeypatch.setattr(hnsw, "QUIET", 0.0)
    schema = f"index_{uuid4().hex[:12]}"
    store = PostgresStore(postgres, model=lambda: ("m", DIMENSIONS, 0), schema=schema)
    try:
        store.create_bank(BANK)
        store.commit(BANK, lambda _: Batch(memories=memories(1, vectors(150, 2))))
        store._indexing.wait(BANK, timeout=60)  # pyright: ignore[reportPrivateUsage]
        assert viewed(store).head.indexed_key == 150
        # Another model: vectors of another length must not meet the old index.
        staged = [StagedVector(k, np.ones(8, np.float32) / 8**0.5, None) for k in range(1, 151)]
        store.stage(BANK, "other", staged)
        assert store.switch_model(BANK, ("other", 8, 0))
        view = viewed(store)
        assert (view.head.indexed_key, view.model) == (0, ("other", 8, 0))
        assert len(view.semantic(np.ones(8, np.float32) / 8**0.5, Filter(), 200, 0.5)) == 150
    finally:
        store.close()
        with psycopg.connect(postgres, autocommit=True) as db:
            db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


@pytest.fixture
def large(postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., PostgresStore]]:
    """Opens stores on one schema, where a hundred memories are many."""
    monkeypatch.setattr(hnsw, "WORTH_IT", 100)
    schema = f"index_{uuid4().hex[:12]}"
    opened: list[PostgresStore] = []

    def make(**options: Any) -> PostgresStore:
        opened.append(
            PostgresStore(postgres, model=lambda: ("m", DIMENSIONS, 0), schema=schema, **options)
        )
        return opened[-1]

    yield make
    for store in opened:
        store.close()
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


def test_no_index_is_made_while_a_bank_is_being_filled(
    large: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "QUIET", 3600.0)
    store = large(held_facts=0)
    store.create_bank(BANK)
    store.commit(BANK, lambda _: Batch(memories=memories(1, vectors(150, 2))))
    store.commit(BANK, lambda _: Batch(memories=memories(151, vectors(150, 3))))
    assert viewed(store).head.indexed_key == 0
    store.close()
    store._indexing.wait(BANK, timeout=60)  # pyright: ignore[reportPrivateUsage]
    assert not any(t.name == f"recollect-index-{BANK}" for t in threading.enumerate())


def test_a_bank_that_is_filled_without_a_pause_is_indexed_after_a_while(
    large: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "QUIET", 3600.0)
    monkeypatch.setattr(hnsw, "LONGEST", 0.0)
    store = large(held_facts=0)
    store.create_bank(BANK)
    store.commit(BANK, lambda _: Batch(memories=memories(1, vectors(150, 2))))
    store._indexing.wait(BANK, timeout=60)  # pyright: ignore[reportPrivateUsage]
    assert viewed(store).head.indexed_key == 150


def test_who_only_recalls_has_a_bank_indexed_that_others_filled(
    large: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "QUIET", 0.0)
    writer = large(auto_index=False)
    writer.create_bank(BANK)
    writer.commit(BANK, lambda _: Batch(memories=memories(1, vectors(150, 2))))
    reader = large(held_facts=0)
    reader.recall_view(BANK).close()
    reader._indexing.wait(BANK, timeout=60)  # pyright: ignore[reportPrivateUsage]
    assert viewed(reader).head.indexed_key == 150


def viewed(store: PostgresStore) -> PostgresView:
    view = store.view(BANK)
    assert isinstance(view, PostgresView)
    return view


def exact(store: PostgresStore, vector: np.ndarray[Any, Any], allowed: Filter) -> Found:
    view = viewed(store)
    view.head = view.head._replace(indexed_key=0)
    return view.semantic(vector, allowed, 100, -1.0)


def head(found: Found, k: int) -> Found:
    return Found(found.keys[:k], found.scores[:k])


def overlap(found: Found, truth: Found) -> float:
    return len(set(found.keys.tolist()) & set(truth.keys.tolist())) / max(len(truth), 1)


def _head(**given: Any) -> Any:
    from recollect.storage.postgres.session import Head

    blank = dict.fromkeys(Head._fields, 0)
    return Head(**{**blank, **given})

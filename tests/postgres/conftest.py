"""A store of its own for each test: a schema on the session's server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from recollect.storage.postgres.store import PostgresStore

MakeStore = Callable[..., PostgresStore]


@pytest.fixture
def schema(postgres: str) -> Iterator[str]:
    name = f"test_{uuid4().hex[:12]}"
    yield name
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


@pytest.fixture
def make_store(postgres: str, schema: str) -> Iterator[MakeStore]:
    opened: list[PostgresStore] = []

    def make(**options: Any) -> PostgresStore:
        given = {"model": lambda: ("reference", 16, 0), "schema": schema, "pool_size": 4}
        store = PostgresStore(postgres, **{**given, **options})
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()

"""Stores on the session's server, each in a schema of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from recollect import Recollect
from recollect.storage.postgres.store import PostgresStore
from recollect.testing import open_fake

MakeStore = Callable[..., PostgresStore]


@pytest.fixture
def schema(postgres: str) -> Iterator[str]:
    name = f"test_{uuid4().hex[:12]}"
    yield name
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute("SET lock_timeout = '60s'")  # a store that left something open fails its test
        db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


@pytest.fixture
def make_store(postgres: str, schema: str) -> Iterator[MakeStore]:
    opened: list[PostgresStore] = []

    def make(**options: Any) -> PostgresStore:
        given = {
            "model": lambda: ("reference", 16, 0),
            "schema": schema,
            "pool_size": 4,
            "patience": 60.0,
        }
        store = PostgresStore(postgres, **{**given, **options})
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def served(postgres: str, schema: str) -> Iterator[Recollect]:
    """A memory on the server, with a model that needs no weights."""
    with open_fake(postgres, pg_schema=schema) as opened:
        yield opened


@pytest.fixture
def admin(postgres: str, schema: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of the server's keeper, looking at the same tables."""
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(sql.SQL("SET search_path TO {}, public").format(sql.Identifier(schema)))
        yield db

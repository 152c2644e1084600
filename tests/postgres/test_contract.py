"""The PostgreSQL store keeps the contract of all stores."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from recollect.storage.base import Store
from recollect.storage.postgres.holding import Held, Holding
from recollect.storage.postgres.session import Head, Session
from recollect.storage.postgres.store import PostgresStore
from recollect.testing import StoreContract


class TestPostgresStore(StoreContract):
    dsn: str
    schema: str

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _server(cls, postgres: str) -> None:
        cls.dsn = postgres

    def make_store(self, folder: Path) -> Store:
        self.schema = f"contract_{uuid4().hex[:12]}"
        return PostgresStore(
            self.dsn, model=self.model, schema=self.schema, pool_size=4, patience=60
        )

    def teardown_method(self) -> None:
        super().teardown_method()
        with psycopg.connect(self.dsn, autocommit=True) as db:
            db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self.schema)))


class TestPostgresStoreThatHoldsEveryBank(TestPostgresStore):
    """Searches from the process's memory, of every bank from the first look at it."""

    @pytest.fixture(autouse=True)
    def _held(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = Holding.of

        def of(self: Holding, bank: str, head: Head, session: Session) -> Held | None:
            return real(self, bank, head, session) or self.take(bank, head, session)

        monkeypatch.setattr(Holding, "of", of)

"""The embedded store keeps the contract of all stores."""

from __future__ import annotations

from pathlib import Path

from recollect.storage.base import Store
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import StoreContract


class TestSqliteStore(StoreContract):
    def make_store(self, folder: Path) -> Store:
        return SqliteStore(folder / "m.db", model=self.model)

"""The contract of a store: whatever the engine, the same bank gives the same answers.

    class TestMyStore(StoreContract):
        def make_store(self, folder: Path) -> Store:
            return MyStore(folder / "bank", model=self.model)

Subclass it in a test module, and pytest runs every claim. Answers are compared with an exact
reference that holds the memories in a list and goes through all of them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from recollect.storage.base import ModelIdentity, Store
from recollect.testing.listings import ListingContract
from recollect.testing.reading import ReadingContract
from recollect.testing.reference import BANK, DIMENSIONS, Reference, made_up
from recollect.testing.service import ServiceContract
from recollect.testing.whole_banks import WholeBankContract
from recollect.testing.writing import WritingContract


class StoreContract(
    ReadingContract, WritingContract, WholeBankContract, ListingContract, ServiceContract
):
    """One part for each of `storage/base/`: reading, writing, whole banks, listings, and what a server
    keeps in a store."""

    store: Store

    def make_store(self, folder: Path) -> Store:
        raise NotImplementedError("open an empty store in this folder")

    @staticmethod
    def model() -> ModelIdentity:
        return "reference", DIMENSIONS, 0

    def setup_method(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.store = self.make_store(Path(self._folder.name))
        self.store.create_bank(BANK)

    def teardown_method(self) -> None:
        self.store.close()
        self._folder.cleanup()

    def filled(self, seed: int = 1) -> Reference:
        """A bank of made-up memories, with changes and deletions, and its reference."""
        reference = made_up(seed)
        for batch in reference.batches():
            self.store.commit(BANK, lambda _, b=batch: b)
        return reference

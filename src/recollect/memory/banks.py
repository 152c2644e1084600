"""Verbs of whole banks: made, listed, counted, moved, deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from recollect.memory.checks import Progress, as_json, check_bank_name
from recollect.memory.parts import Parts
from recollect.storage.base import BankStats
from recollect.telemetry import Run
from recollect.types import Bank

if TYPE_CHECKING:
    from recollect.storage.copy import Copied


class Banks(Parts):
    def banks(self) -> list[Bank]:
        return self._store.banks()

    def bank(self, bank: str) -> Bank:
        found = self._store.bank(bank)
        if found is None:
            self._store.model_of(bank)  # raises with the hint
        assert found is not None
        return found

    def arrivals(self) -> list[str]:
        """Banks that an import or a copy has not finished: nobody sees them before it is repeated
        and done; `delete_bank` takes one away."""
        return list(self._store.arrivals())

    def stats(self, bank: str) -> BankStats:
        return self._store.stats(bank)

    def create_bank(self, bank: str, config: Mapping[str, Any] | None = None) -> Bank:
        check_bank_name(bank)
        with Run(name="create_bank", bank=bank):
            return self._store.create_bank(bank, as_json(config or {}))

    def configure_bank(self, bank: str, config: Mapping[str, Any]) -> Bank:
        return self._store.configure_bank(bank, as_json(config))

    def delete_bank(self, bank: str) -> None:
        with Run(name="delete_bank", bank=bank):
            if not self._store.delete_bank(bank):
                self.bank(bank)

    def reembed(self, bank: str, *, progress: Progress | None = None) -> int:
        """Make the bank's vectors anew with this process's embedder; resumes where it stopped."""
        from recollect.retain.reembed import reembed

        return reembed(self._store, self.embedder, self._identity(), bank, progress)

    def export(self, bank: str) -> Iterator[dict[str, Any]]:
        """The whole bank as JSON objects, one a line; `import_bank` makes it again, exactly."""
        from recollect.storage.transfer import export

        self.bank(bank)
        return export(self._store, bank)

    def import_bank(
        self,
        lines: Iterable[Mapping[str, Any]],
        bank: str | None = None,
        *,
        progress: Progress | None = None,
    ) -> Bank:
        from recollect.storage.transfer import import_bank

        return self.bank(import_bank(self._store, lines, bank, progress))

    def copy(
        self,
        bank: str,
        to: Banks,
        *,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> Copied:
        """The bank, exactly, in another store. Interrupted, it goes on where it stopped."""
        from recollect.storage.copy import copy_bank

        check_bank_name(name or bank)
        return copy_bank(self._store, to._store, bank, name, progress)

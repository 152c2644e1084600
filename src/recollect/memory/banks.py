"""Verbs of whole banks: made, listed, counted, moved, deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput
from recollect.memory.checks import bank_config, check_bank_name, checked
from recollect.memory.parts import Parts
from recollect.options import Progress
from recollect.storage.base import BankStats
from recollect.storage.refusals import unknown_bank
from recollect.telemetry import Run
from recollect.types import Bank

if TYPE_CHECKING:
    from recollect.storage.copy import Copied, Holder, Place


class Banks(Parts):
    def banks(self) -> list[Bank]:
        """Every bank there is, by name, with how much it holds."""
        return self._store.banks()

    @checked
    def bank(self, bank: str) -> Bank:
        """One bank: when it was made and changed, how much it holds, its model and its settings."""
        found = self._store.bank(bank)
        if found is None:
            raise unknown_bank(bank)
        return found

    def arrivals(self) -> list[str]:
        """Banks that an import or a copy has not finished: nobody sees them before it is repeated
        and done; `delete_bank` takes one away."""
        return list(self._store.arrivals())

    @checked
    def stats(self, bank: str) -> BankStats:
        """What a bank holds, in numbers."""
        return self._store.stats(bank)

    @checked
    def create_bank(self, bank: str, config: Mapping[str, Any] | None = None) -> Bank:
        """An empty bank; one that is there already stays as it is."""
        check_bank_name(bank)
        with Run(name="create_bank", bank=bank):
            return self._store.create_bank(bank, bank_config(config or {}))

    @checked
    def configure_bank(self, bank: str, config: Mapping[str, Any], *, merge: bool = False) -> Bank:
        """New settings of a bank, in the place of those it had; with `merge` beside them, where None
        takes one back."""
        return self._store.configure_bank(bank, bank_config(config), merge=merge)

    @checked
    def delete_bank(self, bank: str) -> None:
        """A bank with everything in it: text, vectors, terms, links."""
        with Run(name="delete_bank", bank=bank):
            if not self._store.delete_bank(bank):
                raise unknown_bank(bank)

    @checked
    def reembed(self, bank: str, *, progress: Progress | None = None) -> int:
        """Make the bank's vectors anew with this process's embedder; resumes where it stopped."""
        from recollect.retain.reembed import reembed

        return reembed(self._store, self.embedder, self._identity(), bank, progress)

    @checked
    def reembedding(self, bank: str) -> Iterator[tuple[int, int]]:
        """`reembed` group by group, for a server that tells how far it is: vectors made, and how many
        there are to make with them."""
        from recollect.retain.reembed import reembedding

        return reembedding(self._store, self.embedder, self._identity(), bank)

    @checked
    def export(self, bank: str) -> Iterator[dict[str, Any]]:
        """The whole bank as JSON objects, one a line; `import_bank` makes it again, exactly."""
        from recollect.storage.transfer import export

        self.bank(bank)
        return export(self._store, bank)

    @checked
    def import_bank(
        self,
        lines: Iterable[Mapping[str, Any]],
        bank: str | None = None,
        *,
        progress: Progress | None = None,
    ) -> Bank:
        """A bank made again, exactly, from what `export` gave; nobody sees it before it is whole."""
        from recollect.storage.transfer import import_bank

        if not isinstance(lines, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(
                f"a {type(lines).__name__} is no exported bank", hint="make it with export(bank)"
            )
        if bank is not None:
            check_bank_name(bank)
        return self.bank(import_bank(self._store, lines, bank, progress))

    @property
    def place(self) -> Place:
        """What is copied from and to."""
        from recollect.storage.copy import StorePlace

        return StorePlace(self._store)

    @checked
    def copy(
        self,
        bank: str,
        to: Holder,
        *,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> Copied:
        """The bank, exactly, in another store, or on a server (`recollect.connect`). One that was
        interrupted goes on where it stopped; both sides are compared at the end."""
        from recollect.storage.copy import copy_bank

        check_bank_name(name or bank)
        if not hasattr(to, "place"):
            raise InvalidInput(
                f"cannot copy to a {type(to).__name__}",
                hint="give what recollect.open or recollect.connect made",
            )
        return copy_bank(self.place, to.place, bank, name, progress)

"""Banks held in this process: what search needs of each, read from the file and caught up with it."""

from __future__ import annotations

import gc
import sqlite3
import threading
from collections.abc import Iterator
from typing import Any

from recollect.storage.entities import EntityCache
from recollect.storage.index.bank import Index
from recollect.storage.index.decoded import Decoded
from recollect.storage.index.record import KEY_MASK
from recollect.storage.sqlite.features import slabs_of_bank

_FEATURES = "n & ?, seq, record, vector, terms, labels, entities"
_SLAB = 16_384  # rows read at a time
_DECODED_LIMIT = 20_000  # decoded memories kept of a bank


class HeldBank:
    """What this process holds of one bank. Whoever reads or changes it holds its lock."""

    def __init__(self, number: int, dimensions: int, generation: int) -> None:
        self.number = number
        self.lock = threading.RLock()
        self.index = Index(dimensions, generation)
        self.entities = EntityCache()
        self.decoded = Decoded()

    def catch_up(self, seq: int, db: sqlite3.Connection) -> None:
        """Read everything since the index's sequence, in one read transaction."""
        if self.index.seq >= seq and self.entities.seq >= self.index.seq:
            return
        own = not db.in_transaction
        if own:
            db.execute("BEGIN")
        # A hundred thousand rows are no garbage; looking for cycles among them takes as long as
        # reading them.
        collecting = gc.isenabled()
        gc.disable()
        try:
            self._read_changes(db)
        finally:
            if collecting:
                gc.enable()
            if own:
                db.execute("COMMIT")

    def _read_changes(self, db: sqlite3.Connection) -> None:
        seq, next_key = db.execute(
            "SELECT seq, next_key FROM banks WHERE bank = ?", (self.number,)
        ).fetchone()
        changed, deleted = self._read_rows(db, seq, next_key)
        renamed = self._read_entities(db, seq, anew=bool(deleted))
        keep = not renamed and not deleted and len(self.decoded) <= _DECODED_LIMIT
        self.decoded = self.decoded.without(changed) if keep else Decoded()

    def _read_rows(
        self, db: sqlite3.Connection, seq: int, next_key: int
    ) -> tuple[set[int], list[int]]:
        """Bring the index up to date; gives the keys that changed, and those that are gone."""
        index, number = self.index, self.number
        if index.seq < 0:
            index.reserve(next_key - 1)
            index.load(seq, slabs_of_bank(db, number, next_key, index.dimensions))
            return set(), []
        rows = db.execute(
            f"SELECT {_FEATURES} FROM features WHERE bank = ? AND seq > ? ORDER BY n",
            (KEY_MASK, number, index.seq),
        )
        gone = db.execute(
            "SELECT key FROM tombstones WHERE bank = ? AND seq > ?", (number, index.seq)
        )
        deleted = [key for (key,) in gone]
        changed: set[int] = set()
        index.catch_up(seq, _slabs(rows, changed), deleted)
        return changed, deleted

    def _read_entities(self, db: sqlite3.Connection, seq: int, *, anew: bool) -> bool:
        """Learn names; whether memories that were decoded may show others than are true now."""
        if anew:  # a deletion may have taken names away; what is left is learnt from nothing
            self.entities = EntityCache()
        rows = db.execute(
            "SELECT id, name, kind, aliases, mentions FROM entities WHERE bank = ? AND seq > ?",
            (self.number, self.entities.seq),
        ).fetchall()
        renamed = self.entities.catch_up(rows)
        self.entities.seq = seq
        return renamed


class Holding:
    """At most `most` memories; of banks that are held those unused longest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._banks: dict[str, HeldBank] = {}  # the last is what was used last

    @property
    def banks(self) -> list[str]:
        """Those that are held, the one unused longest first."""
        return list(self._banks)

    def of(self, bank: str, number: int, generation: int, dimensions: int) -> HeldBank:
        with self._lock:
            found = self._banks.pop(bank, None)
            if found is None or found.number != number or found.index.generation != generation:
                self._make_room()
                found = HeldBank(number, dimensions, generation)
            self._banks[bank] = found
            return found

    def _make_room(self) -> None:
        """Whoever is still reading a bank that goes has it whole; asked again, it is read from the
        file again."""
        held = sum(bank.index.rows for bank in self._banks.values())
        for name in list(self._banks):
            if held <= self._most:
                return
            held -= self._banks.pop(name).index.rows

    def unlearn(self, bank: str) -> None:
        """A plan teaches the resolver names as it goes; when nothing was written, none are known."""
        held = self._banks.get(bank)
        if held is not None:
            with held.lock:
                held.entities = EntityCache()

    def drop(self, bank: str) -> None:
        with self._lock:
            self._banks.pop(bank, None)

    def clear(self) -> None:
        with self._lock:
            self._banks.clear()


def _slabs(rows: sqlite3.Cursor, seen: set[int]) -> Iterator[list[Any]]:
    """A part at a time, so that a large bank is never in memory twice; keys are noted in `seen`."""
    while slab := rows.fetchmany(_SLAB):
        seen.update(row[0] for row in slab)
        yield slab

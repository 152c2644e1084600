"""Bringing a bank in, part by part, so that a crash leaves nothing that looks like a whole one.

The note that the store keeps with a bank in the making says where it comes from and how much of
it is there. Every part changes the note, so of two processes that bring in the same bank one is
refused at its next part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import orjson

from recollect.errors import Conflict
from recollect.ids import new_id
from recollect.storage.base import Batch, ModelIdentity, Store

T = TypeVar("T")
PART = 500  # rows in one transaction


class Arrival:
    """One process's hold on a bank in the making."""

    def __init__(self, store: Store, bank: str, note: str) -> None:
        self._store = store
        self._bank = bank
        self._note = note

    @property
    def done(self) -> Mapping[str, int]:
        """How many rows of each kind are there."""
        return orjson.loads(self._note)["done"]

    @property
    def by(self) -> str:
        """Identifies this hold until the next part is written."""
        return orjson.loads(self._note)["by"]

    def bring(self, batch: Batch, done: Mapping[str, int], by: str | None = None) -> None:
        self._write(batch, _note(orjson.loads(self._note)["origin"], done, by))

    def finish(self) -> None:
        self._write(Batch(), None)

    def abandon(self) -> None:
        """Delete what was written, unless another process has gone on with it."""
        if self._note and self._store.arriving(self._bank) == self._note:
            self._store.delete_bank(self._bank)

    def _write(self, batch: Batch, note: str | None) -> None:
        self._store.bring(self._bank, batch, self._note, note)
        self._note = note or ""


def begin(
    store: Store, bank: str, config: Mapping[str, Any], model: ModelIdentity, origin: Any = None
) -> Arrival:
    """Start anew, and delete what an earlier attempt left behind."""
    if store.arriving(bank) is not None:
        store.delete_bank(bank)
    note = _note(origin, {})
    store.begin(bank, config, model, note)
    return Arrival(store, bank, note)


def resume(store: Store, bank: str, origin: Any) -> Arrival | None:
    """Go on with what an earlier attempt from the same origin left behind; None if there is
    nothing."""
    held = store.arriving(bank)
    if held is None or orjson.loads(held)["origin"] != origin:
        return None
    arrival = Arrival(store, bank, held)
    arrival.bring(Batch(), arrival.done)  # from here on it is ours
    return arrival


def held(store: Store, bank: str) -> Arrival:
    """A bank in the making, whichever process is writing it."""
    note = store.arriving(bank)
    if note is None:
        raise Conflict(
            f"nobody is bringing in bank {bank!r}: it was finished, given up or never begun",
            hint="copy it again: what is there is compared, what is missing is brought",
        )
    return Arrival(store, bank, note)


def parts(rows: Iterable[T], size: int = PART) -> Iterator[list[T]]:
    part: list[T] = []
    for row in rows:
        part.append(row)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


def _note(origin: Any, done: Mapping[str, int], by: str | None = None) -> str:
    return orjson.dumps({"by": by or new_id(), "origin": origin, "done": done}).decode()

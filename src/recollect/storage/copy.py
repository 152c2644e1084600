"""One bank from one place to another, whatever the engines, here or behind a server: lossless,
resumable, checked.

The rows travel as they are, keys and vectors included, part by part into a bank that nobody sees
yet. A copy that was interrupted goes on where it stopped, as long as the source has not changed.
At the end both sides are read again and compared, and only then is the bank there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from recollect.errors import InvalidInput
from recollect.options import Progress
from recollect.storage.arrival import Arrival, begin, parts, resume
from recollect.storage.base import BankStats, ModelIdentity, Store
from recollect.storage.digest import Digests, Sums, digest
from recollect.storage.refusals import unknown_bank
from recollect.storage.transfer import Row, batch_of, rows
from recollect.types import Bank

Counts = Mapping[str, int]  # rows of each kind


@dataclass(frozen=True, slots=True)
class Copied:
    bank: str
    name: str  # of the bank in the target
    source: Digests
    target: Digests
    resumed: int  # rows that an earlier attempt had copied
    there: bool  # the target had it already

    @property
    def same(self) -> bool:
        return dict(self.source) == dict(self.target)


@dataclass(frozen=True, slots=True)
class Giving:
    """A bank on its way out, all of one moment."""

    model: ModelIdentity
    config: Mapping[str, Any]
    rows: Iterator[Row]  # but for those that the target has
    digests: Callable[[], Digests]  # of all of them, once `rows` is at its end


class Taking(Protocol):
    """A bank on its way in."""

    @property
    def done(self) -> Counts: ...
    def bring(self, part: Sequence[Row], done: Counts) -> None: ...
    def digest(self) -> Digests: ...
    def finish(self) -> None: ...
    def abandon(self) -> None: ...


class Place(Protocol):
    """Where banks are: a store, or a server that has one."""

    def bank(self, bank: str) -> Bank | None: ...
    def stats(self, bank: str) -> BankStats: ...
    def digest(self, bank: str) -> Digests: ...
    def give(self, bank: str, after: Counts) -> Giving: ...
    def resume(self, bank: str, origin: Any) -> Taking | None: ...
    def begin(self, bank: str, given: Giving, origin: Any) -> Taking: ...


class Holder(Protocol):
    """A memory, here or behind a server."""

    @property
    def place(self) -> Place: ...


class Waitable(Protocol):
    """The awaited form of a `Holder`."""

    @property
    def sync(self) -> Holder: ...


def copy_bank(
    source: Place,
    target: Place,
    bank: str,
    name: str | None = None,
    progress: Progress | None = None,
) -> Copied:
    name = name or bank
    found = source.bank(bank)
    if found is None:
        raise unknown_bank(bank)
    held = target.bank(name)
    if held is not None and (held.memories or held.documents):
        # Copied before, it is the same and nothing is left to do.
        return _same(Copied(bank, name, source.digest(bank), target.digest(name), 0, there=True))
    origin = _origin(found)
    taking = target.resume(name, origin)
    given = source.give(bank, taking.done if taking else {})
    taking = taking or target.begin(name, given, origin)
    resumed = sum(taking.done.values())
    _bring(given, taking, _telling(source, bank, progress))
    copied = Copied(bank, name, given.digests(), taking.digest(), resumed, there=False)
    if copied.same:
        taking.finish()
    else:
        taking.abandon()
    return copied


def _same(copied: Copied) -> Copied:
    if not copied.same:
        differing = [k for k in copied.source if copied.source[k] != copied.target[k]]
        raise InvalidInput(
            f"the target has a bank {copied.name!r} with other content "
            f"({', '.join(differing)} differ)",
            hint="copy under another name with --as, or delete that bank first",
        )
    return copied


def _origin(bank: Bank) -> Any:
    """What a later attempt must find unchanged to resume: a bank that was written to meanwhile
    is a different one."""
    return [bank.id, bank.created_at.isoformat(), bank.updated_at.isoformat(), bank.memories]


def _bring(given: Giving, taking: Taking, tell: Callable[[int], None]) -> None:
    done = Counter(taking.done)
    for part in parts(given.rows):
        done.update(kind for kind, _ in part)
        taking.bring(part, done)
        tell(done.total())


def _telling(source: Place, bank: str, progress: Progress | None) -> Callable[[int], None]:
    """Reports progress in rows, not memories: most of a bank's rows are links."""
    if progress is None:
        return lambda done: None
    held = source.stats(bank)
    rows = held.documents + held.entities + held.memories + sum(held.links.values())
    return lambda done: progress(min(done, rows), rows)


# --- a store ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StorePlace:
    store: Store

    def bank(self, bank: str) -> Bank | None:
        return self.store.bank(bank)

    def stats(self, bank: str) -> BankStats:
        return self.store.stats(bank)

    def digest(self, bank: str) -> Digests:
        return digest(self.store.dump(bank))

    def give(self, bank: str, after: Counts) -> Giving:
        """Every row is read and hashed, including those that the target has."""
        dump = self.store.dump(bank)
        sums = Sums(dump.model, dump.config)
        fresh = (row for row, new in passing(sums.adding(rows(dump)), after) if new)
        return Giving(dump.model, dump.config, fresh, sums.digests)

    def resume(self, bank: str, origin: Any) -> Taking | None:
        arrival = resume(self.store, bank, origin)
        return None if arrival is None else StoreTaking(self.store, bank, arrival)

    def begin(self, bank: str, given: Giving, origin: Any) -> Taking:
        if self.store.bank(bank) is not None:  # empty, but with a model and a history of its own
            self.store.delete_bank(bank)
        arrival = begin(self.store, bank, given.config, given.model, origin)
        return StoreTaking(self.store, bank, arrival)


@dataclass(frozen=True, slots=True)
class StoreTaking:
    store: Store
    bank: str
    arrival: Arrival

    @property
    def done(self) -> Counts:
        return self.arrival.done

    def bring(self, part: Sequence[Row], done: Counts) -> None:
        self.arrival.bring(batch_of(part), done)

    def digest(self) -> Digests:
        return digest(self.store.dump(self.bank))

    def finish(self) -> None:
        self.arrival.finish()

    def abandon(self) -> None:
        self.arrival.abandon()


def passing(found: Iterator[Row], after: Counts) -> Iterator[tuple[Row, bool]]:
    """Each row, and whether it is new to the target."""
    seen = Counter[str]()
    for row in found:
        seen[row[0]] += 1
        yield row, seen[row[0]] > after.get(row[0], 0)

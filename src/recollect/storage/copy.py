"""One bank from one store to another, whatever the engines: lossless, resumable, checked.

The rows travel as they are, keys and vectors included, part by part into a bank that nobody sees
yet. A copy that was interrupted goes on where it stopped, as long as the source has not changed.
At the end both sides are read again and compared, and only then is the bank there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

import orjson

from recollect.errors import InvalidInput
from recollect.options import Progress
from recollect.storage.arrival import Arrival, begin, parts, resume
from recollect.storage.base import Dump, Store
from recollect.storage.refusals import unknown_bank
from recollect.storage.transfer import KINDS, Row, batch_of, line, rows
from recollect.types import Bank

_BITS = 128


@dataclass(frozen=True, slots=True)
class Digest:
    """How many rows of a kind there are, and a hash of them all in which their order has no say:
    engines may sort names differently."""

    count: int
    hash: str


@dataclass(frozen=True, slots=True)
class Copied:
    bank: str
    name: str  # of the bank in the target
    source: Mapping[str, Digest]
    target: Mapping[str, Digest]
    resumed: int  # rows that an earlier attempt had copied
    there: bool  # the target had it already

    @property
    def same(self) -> bool:
        return dict(self.source) == dict(self.target)


def copy_bank(
    source: Store,
    target: Store,
    bank: str,
    name: str | None = None,
    progress: Progress | None = None,
) -> Copied:
    name = name or bank
    found = source.bank(bank)
    if found is None:
        raise unknown_bank(bank)
    if _holds_something(target, name):
        return _compared(source, target, found, name)
    origin = _origin(found)
    dump = source.dump(bank)
    arrival = resume(target, name, origin) or begin(target, name, dump.config, dump.model, origin)
    resumed = sum(arrival.done.values())
    wanted = _bring(dump, arrival, found, progress)
    there = digest(target.dump(name))
    copied = Copied(bank, name, wanted, there, resumed, there=False)
    if copied.same:
        arrival.finish()
    else:
        arrival.abandon()
    return copied


# --- as lines, where one end is a server ----------------------------------------------------------


class Holder(Protocol):
    """A memory, here or behind a server."""

    def banks(self) -> list[Bank]: ...
    def export(self, bank: str) -> Iterator[dict[str, Any]]: ...
    def import_bank(
        self,
        lines: Iterable[Mapping[str, Any]],
        bank: str | None = None,
        *,
        progress: Progress | None = None,
    ) -> Bank: ...


class Waitable(Protocol):
    """The awaited form of one."""

    @property
    def sync(self) -> Holder: ...


def copy_lines(
    source: Holder, target: Holder, bank: str, name: str | None, progress: Progress | None = None
) -> Copied:
    """As an export, which is whole or refused: one that was interrupted begins anew."""
    name = name or bank
    if any(b.id == name and (b.memories or b.documents) for b in target.banks()):
        wanted, there = (_digest_lines(h.export(n)) for h, n in ((source, bank), (target, name)))
        return _same(Copied(bank, name, wanted, there, 0, there=True))
    sums = _Sums()
    target.import_bank(sums.hearing(source.export(bank)), name, progress=progress)
    there = _digest_lines(target.export(name))
    return Copied(bank, name, sums.digests(), there, 0, there=False)


def _digest_lines(lines: Iterable[Mapping[str, Any]]) -> Mapping[str, Digest]:
    sums = _Sums()
    for _ in sums.hearing(lines):
        pass
    return sums.digests()


# --- both ---------------------------------------------------------------------------------------


def _holds_something(target: Store, name: str) -> bool:
    held = target.bank(name)
    if held is None:
        return False
    if held.memories or held.documents:
        return True
    target.delete_bank(name)
    return False


def _compared(source: Store, target: Store, found: Bank, name: str) -> Copied:
    """The bank is there. Copied before, it is the same and nothing is left to do."""
    wanted, there = digest(source.dump(found.id)), digest(target.dump(name))
    return _same(Copied(found.id, name, wanted, there, 0, there=True))


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
    """What a later attempt must find unchanged to go on: a bank that was written to is another."""
    return [bank.id, bank.created_at.isoformat(), bank.updated_at.isoformat(), bank.memories]


def _bring(
    dump: Dump, arrival: Arrival, bank: Bank, progress: Progress | None
) -> Mapping[str, Digest]:
    """Every row is read and hashed; those that are there already are not written again."""
    sums = _Sums()
    sums.add_bank(dump.model, dump.config)
    there = arrival.done
    done = Counter[str]()
    for part in parts(sums.adding(rows(dump))):
        fresh: list[Row] = []
        for kind, value in part:
            done[kind] += 1
            if done[kind] > there.get(kind, 0):
                fresh.append((kind, value))
        if fresh:
            arrival.bring(batch_of(fresh), done)
        if progress:
            progress(min(done["memory"], bank.memories), bank.memories)
    return sums.digests()


def digest(dump: Dump) -> Mapping[str, Digest]:
    sums = _Sums()
    sums.add_bank(dump.model, dump.config)
    for _ in sums.adding(rows(dump)):
        pass
    return sums.digests()


class _Sums:
    """Counts rows and adds up their hashes, kind by kind; `bank` is the model and the settings."""

    def __init__(self) -> None:
        self._count = Counter[str]()
        self._sum = Counter[str]()

    def add_bank(self, model: Iterable[Any], config: Mapping[str, Any]) -> None:
        self._add("bank", {"model": list(model), "config": config})

    def adding(self, found: Iterator[Row]) -> Iterator[Row]:
        for kind, value in found:
            self._add(kind, line(kind, value))
            yield kind, value

    def hearing(self, lines: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """The lines of an export, as they pass."""
        for said in lines:
            if "recollect" in said:
                model = (said[n] for n in ("embedder", "dimensions", "token_dimensions"))
                self.add_bank(model, said["config"])
            for kind in KINDS:
                if kind in said:
                    self._add(kind, said[kind])
            yield said

    def _add(self, kind: str, values: Any) -> None:
        told = orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
        self._count[kind] += 1
        self._sum[kind] += int.from_bytes(blake2b(told, digest_size=_BITS // 8).digest())

    def digests(self) -> Mapping[str, Digest]:
        return {
            kind: Digest(self._count[kind], f"{self._sum[kind] % 2**_BITS:032x}")
            for kind in ("bank", *KINDS)
        }

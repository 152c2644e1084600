"""How two copies of a bank are compared without sending either: counts and hashes, kind by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import orjson

from recollect.storage.arrival import parts
from recollect.storage.base import Dump
from recollect.storage.transfer import KINDS, Row, line, rows

_BITS = 128


@dataclass(frozen=True, slots=True)
class Digest:
    """How many rows of a kind there are, and a hash of all of them that does not depend on their
    order: engines may sort names differently."""

    count: int
    hash: str


Digests = Mapping[str, Digest]


class Sums:
    """Counts rows and adds up their hashes, kind by kind; `bank` is the model and the settings."""

    def __init__(self, model: Iterable[Any], config: Mapping[str, Any]) -> None:
        self._count = Counter[str]()
        self._sum = Counter[str]()
        self.add("bank", {"model": list(model), "config": config})

    def adding(self, found: Iterator[Row]) -> Iterator[Row]:
        for kind, value in found:
            self.add(kind, line(kind, value))
            yield kind, value

    def add(self, kind: str, values: Any) -> None:
        told = orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
        self._count[kind] += 1
        self._sum[kind] += int.from_bytes(blake2b(told, digest_size=_BITS // 8).digest())

    def digests(self) -> Digests:
        return {
            kind: Digest(self._count[kind], f"{self._sum[kind] % 2**_BITS:032x}")
            for kind in ("bank", *KINDS)
        }


def digest(dump: Dump) -> Digests:
    sums = Sums(dump.model, dump.config)
    for _ in sums.adding(rows(dump)):
        pass
    return sums.digests()


def digesting(dump: Dump) -> Iterator[int | Digests]:
    """Yields the number of rows read so far, part by part, and at the end the digests: a large
    bank takes a while."""
    sums = Sums(dump.model, dump.config)
    count = 0
    for part in parts(sums.adding(rows(dump))):
        count += len(part)
        yield count
    yield sums.digests()


def digests_out(found: Digests) -> dict[str, Any]:
    """As JSON values."""
    return {kind: asdict(each) for kind, each in found.items()}


def digests_in(said: Mapping[str, Any]) -> Digests:
    """From JSON values."""
    return {kind: Digest(said[kind]["count"], said[kind]["hash"]) for kind in ("bank", *KINDS)}

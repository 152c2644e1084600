"""What every view of a bank does to ask the server, and how it reads what comes back in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recollect.storage.base import Edges, Filter, Keys
from recollect.storage.entities import EntityCache
from recollect.storage.postgres.fetched import unpacked
from recollect.storage.postgres.filters import clause
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.session import Head, Session
from recollect.types import TO_EFFECT

TO_EFFECT_KINDS = sorted(k.value for k in TO_EFFECT)
_EDGE = np.dtype([("mine", ">i8"), ("other", ">i8"), ("weight", ">f4"), ("causal", ">i2")])


class Asking:
    """One bank at one state of it, over one connection, and the names that this process knows."""

    def __init__(self, bank: str, head: Head, session: Session, entities: EntityCache) -> None:
        self.bank = bank
        self.head = head
        self.session = session
        self.entity_cache = entities

    def fetch(
        self, name: str, allowed: Filter | None = None, *, prepare: bool | None = None, **given: Any
    ) -> list[tuple[Any, ...]]:
        condition, values = ("true", {}) if allowed is None else clause(allowed)
        sql = query(name, condition, self.head.dimensions)
        return self.session.fetch(sql, {"bank": self.bank, **values, **given}, prepare=prepare)

    def blob(self, name: str, allowed: Filter | None = None, **given: Any) -> bytes | None:
        return self.fetch(name, allowed, **given)[0][0]


def listed(numbers: Keys | Sequence[int]) -> str:
    """The numbers as PostgreSQL writes an array. The driver would convert them one by one, and
    prepare one statement for arrays of small numbers and another for arrays of large ones."""
    plain = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
    return "{" + ",".join(map(str, plain)) + "}"


def edges_of(blob: bytes | None) -> Edges:
    rows = unpacked(blob, _EDGE)
    return Edges(
        rows["mine"].astype(np.int64),
        rows["other"].astype(np.int64),
        rows["weight"].astype(np.float32),
        rows["causal"].astype(np.int8),
    )

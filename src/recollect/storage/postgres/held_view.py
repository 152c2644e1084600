"""A view of a bank that this process holds: searches from memory, rows and links from the server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from recollect.storage.base import Ask, Edges, Keys
from recollect.storage.postgres.fetched import unpacked
from recollect.storage.postgres.holding import Held
from recollect.storage.postgres.search import EDGE, KINDS, listed
from recollect.storage.postgres.session import Head, Session
from recollect.storage.postgres.view import PostgresView
from recollect.storage.sqlite.entities import EntityCache
from recollect.storage.sqlite.indexed import IndexedView
from recollect.types import Memory


class HeldView(IndexedView, PostgresView):
    def __init__(
        self, bank: str, head: Head, session: Session, entities: EntityCache, held: Held
    ) -> None:
        super().__init__(bank, head, session, entities)
        self.snapshot = held.snapshot
        self._loaded = held.loaded

    def gather(self, ask: Ask) -> None:
        """Everything that the arms will ask is here."""

    def links_of(self, keys: Keys) -> Edges:
        blob = self._blob("links_both_ways", keys=listed(keys), causal=KINDS)
        rows = unpacked(blob, EDGE)
        return Edges(
            rows["mine"].astype(np.int64),
            rows["other"].astype(np.int64),
            rows["weight"].astype(np.float32),
            rows["causal"].astype(np.bool_),
        )

    def load(self, keys: Iterable[int]) -> Mapping[int, Memory]:
        wanted = [int(k) for k in keys]
        held = self._loaded
        missing = [k for k in wanted if k not in held]
        if missing:
            held.update(super().load(missing))
        return {k: held[k] for k in wanted if k in held}

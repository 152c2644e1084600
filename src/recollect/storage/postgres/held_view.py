"""A view of a bank that this process holds: searches from memory, rows and links from the server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recollect.storage.base import Edges, Keys
from recollect.storage.entities import EntityCache
from recollect.storage.index.view import IndexedView
from recollect.storage.postgres.asking import TO_EFFECT_KINDS, edges_of, listed
from recollect.storage.postgres.holding import Held
from recollect.storage.postgres.session import Head, Session
from recollect.storage.postgres.view import ServerView
from recollect.types import Memory


class HeldView(IndexedView, ServerView):
    def __init__(
        self, bank: str, head: Head, session: Session, entities: EntityCache, held: Held
    ) -> None:
        super().__init__(bank, head, session, entities)
        self.snapshot = held.snapshot
        self._decoded = held.decoded

    def links_of(self, keys: Keys) -> Edges:
        return edges_of(self.blob("links_both_ways", keys=listed(keys), to_effect=TO_EFFECT_KINDS))

    def load(self, keys: Iterable[int]) -> Mapping[int, Memory]:
        return self._decoded.load(keys, super().load)

"""What a store lists: banks, documents, memories, entities, links, numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from recollect.storage.bank_row import bank_from_row, document_from_row
from recollect.storage.base import BankStats, DocumentAxis, Listing
from recollect.storage.counting import link_counts, total_links
from recollect.storage.entities import entity_from_row
from recollect.storage.memory_row import memory_from_row
from recollect.storage.postgres.connection import Connections
from recollect.storage.postgres.listing import beyond, conditions, order
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.schema import TABLES
from recollect.storage.postgres.view import ServerView
from recollect.storage.refusals import nothing_to_go_on_from, unknown_bank
from recollect.types import Bank, Chunk, Document, Entity, Link, LinkKind, Memory

_SIZE = b"SELECT sum(pg_total_relation_size(t::regclass)) FROM unnest(%(tables)s::text[]) AS t"


class Lists(ABC):
    _reading: Connections

    @abstractmethod
    def _view(
        self, connections: Connections, bank: str, *, arriving: bool = False
    ) -> ServerView: ...

    def _fetch(self, name: str, **given: Any) -> list[tuple[Any, ...]]:
        return self._reading.fetch(query(name), given)

    def banks(self) -> list[Bank]:
        return [bank_from_row(row) for row in self._fetch("all_banks")]

    def bank(self, bank: str) -> Bank | None:
        rows = self._fetch("bank", bank=bank)
        return bank_from_row(rows[0]) if rows else None

    def _there(self, bank: str) -> Bank:
        found = self.bank(bank)
        if found is None:
            raise unknown_bank(bank)
        return found

    def documents(
        self,
        bank: str,
        limit: int,
        after: tuple[int, str] | None = None,
        axis: DocumentAxis = "updated_at",
    ) -> list[Document]:
        self._there(bank)
        further = "true" if after is None else f"(d.{axis}, d.id) < (%(at)s, %(id)s)"
        at, own = after or (None, None)
        sql = query("documents", further, order=f"d.{axis} DESC, d.id DESC")
        given = {"bank": bank, "at": at, "id": own, "limit": limit}
        rows = self._reading.fetch(sql, given)
        return [document_from_row(bank, row) for row in rows]

    def document(self, bank: str, document_id: str) -> Document | None:
        self._there(bank)
        rows = self._fetch("document", bank=bank, id=document_id)
        return document_from_row(bank, rows[0]) if rows else None

    def document_chunks(self, bank: str, document_id: str) -> list[Chunk]:
        self._there(bank)
        return [Chunk(*row) for row in self._fetch("document_chunks", bank=bank, id=document_id)]

    def memories(
        self, bank: str, where: Listing, limit: int, after: str | None = None, skip: int = 0
    ) -> list[Memory]:
        """`after` is the last id seen of this listing."""
        view = self._view(self._reading, bank)
        below = view.key_of(after) if after else None
        if after and below is None:
            raise nothing_to_go_on_from(bank, after)
        condition, values = conditions(where)
        if below is not None:
            condition = f"{condition} AND {beyond(where)}"
        sql = query("listed_keys", condition, order=order(where))
        given = {"bank": bank, "below": below, "limit": limit, "skip": skip, **values}
        return list(view.load([k for (k,) in view.session.fetch(sql, given)]).values())

    def count(self, bank: str, where: Listing) -> int:
        self._there(bank)
        condition, values = conditions(where)
        sql, given = query("listed_count", condition), {"bank": bank, **values}
        return self._reading.fetch(sql, given)[0][0]

    def tags(self, bank: str) -> Mapping[str, int]:
        self._there(bank)
        return dict(self._fetch("all_tags", bank=bank))

    def entities(self, bank: str, limit: int) -> list[Entity]:
        self._there(bank)
        return [entity_from_row(row) for row in self._fetch("entities", bank=bank, limit=limit)]

    def links(self, bank: str, memory_id: str) -> list[Link]:
        self._there(bank)
        rows = self._fetch("links_of", bank=bank, id=memory_id)
        return [Link(a, b, LinkKind(kind), weight) for a, b, kind, weight in rows]

    def revisions(self, bank: str, memory_id: str) -> list[Memory]:
        self._there(bank)
        rows = self._fetch("revisions", bank=bank, id=memory_id)
        return [memory_from_row(bank, row, ()) for row in rows]

    def stats(self, bank: str) -> BankStats:
        self._there(bank)
        found: dict[str, dict[str, int]] = {"type": {}, "state": {}}
        for what, name, count in self._fetch("stats", bank=bank):
            found.setdefault(what, {})[name] = count
        ((size,),) = self._reading.fetch(_SIZE, {"tables": list(TABLES)})
        links = link_counts(self._fetch("link_stats", bank=bank))
        return BankStats(
            sum(v for k, v in found["state"].items() if k != "revised"),
            found["type"],
            found["state"],
            found["documents"][""],
            found["chunks"][""],
            found["entities"][""],
            total_links(links),
            int(size),
            links,
        )

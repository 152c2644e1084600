"""Verbs that look around in a bank: what it holds, listed, counted, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from recollect.errors import InvalidInput, NotFound
from recollect.language.dates import parse_when
from recollect.memory.banks import Banks
from recollect.memory.checks import check_text, checked, listed
from recollect.memory.checks import now as the_present
from recollect.types import Chunk, Document, Entity, EntityGraph, EntityProfile, Link, Memory

if TYPE_CHECKING:
    from recollect.options import DocumentFilters, MemoryFilters, TagFilters
    from recollect.recall.due import Due


class Looking(Banks):
    @checked
    def load(self, bank: str, memory_id: str) -> Memory:
        """One memory whole."""
        with closing(self._store.view(bank)) as view:
            key = view.key_of(memory_id)
            found = None if key is None else view.load([key]).get(key)
        if found is None:
            raise NotFound(
                f"bank {bank!r} has no memory {memory_id!r}",
                hint="ids come from retain, recall and memories",
            )
        return found

    @checked
    def memories(
        self,
        bank: str,
        *,
        limit: int = 100,
        after: str | None = None,
        offset: int = 0,
        **where: Unpack[MemoryFilters],
    ) -> list[Memory]:
        """Mentioned last first, undated ones at the end; page on with after= the last id seen.
        Filters: type, state, document_id, contains, entity (an id), tags, tags_match, tag_groups,
        and time_field (created_at, updated_at, mentioned_at, occurred_start, occurred_end), which
        also orders, with since and until."""
        from recollect.recall.browse import listing

        wanted = listing(self._store, bank, where)
        return self._store.memories(bank, wanted, limit, after, offset)

    @checked
    def count(self, bank: str, **where: Unpack[MemoryFilters]) -> int:
        """How many memories a listing with these filters has."""
        from recollect.recall.browse import listing

        return self._store.count(bank, listing(self._store, bank, where))

    @checked
    def links(self, bank: str, memory_id: str) -> list[Link]:
        """What a memory is linked to, strongest first."""
        self.load(bank, memory_id)
        return self._store.links(bank, memory_id)

    @checked
    def revisions(self, bank: str, memory_id: str) -> list[Memory]:
        """Earlier wordings, oldest first."""
        self.load(bank, memory_id)
        return self._store.revisions(bank, memory_id)

    @checked
    def linked(
        self, bank: str, memories: Sequence[Memory | str]
    ) -> list[tuple[str, str, bool, float]]:
        """Links among these memories (or those of these ids): source, target, whether causal,
        weight."""
        from recollect.recall.browse import linked

        ids = [getattr(m, "id", m) for m in listed("memories", memories)]
        for each in ids:
            check_text("a memory's id", each)
        return linked(self._store.view(bank), ids)

    @checked
    def due(
        self,
        bank: str,
        *,
        state: str | Iterable[str] | None = None,
        now: datetime | None = None,
        limit: int = 100,
    ) -> list[Due]:
        """Active memories that are aging, stale or expired (or only those of `state`), the most
        overdue first. `review` makes one fresh again."""
        from recollect.lifecycle import Freshness
        from recollect.recall.due import DUE, due

        named = [state] if isinstance(state, str) else listed("state", state or DUE)
        for name in named:
            if name not in DUE:
                raise InvalidInput(f"unknown state {name!r}", hint="use aging, stale or expired")
        wanted = {Freshness(name) for name in named}
        at = parse_when(now, "now") or the_present()
        return due(self._store.view(bank), at, wanted, limit)

    @checked
    def documents(
        self,
        bank: str,
        *,
        limit: int = 100,
        after: str | None = None,
        offset: int = 0,
        **where: Unpack[DocumentFilters],
    ) -> list[Document]:
        """Written last first; page on with after= the last id seen. Filters: contains, tags,
        tags_match, tag_groups, time_field (created_at, updated_at), which also orders, with since
        and until."""
        from recollect.recall.browse import document_page

        return document_page(self._store, bank, where, limit, after, offset)

    @checked
    def count_documents(self, bank: str, **where: Unpack[DocumentFilters]) -> int:
        """How many documents a listing with these filters has."""
        from recollect.recall.browse import documents

        if not where:
            return self.bank(bank).documents
        return sum(1 for _ in documents(self._store, bank, where))

    @checked
    def document(self, bank: str, document_id: str) -> Document:
        """A document with its text."""
        found = self._document(bank, document_id)
        text = "\n".join(c.text for c in self._store.document_chunks(bank, document_id))
        return replace(found, text=text)

    def _document(self, bank: str, document_id: str) -> Document:
        found = self._store.document(bank, document_id)
        if found is None:
            raise NotFound(
                f"bank {bank!r} has no document {document_id!r}", hint="`documents` lists them"
            )
        return found

    @checked
    def chunks(self, bank: str, document_id: str) -> list[Chunk]:
        """The source text of a document, in the pieces it was cut into."""
        self._document(bank, document_id)
        return self._store.document_chunks(bank, document_id)

    @checked
    def tags(self, bank: str) -> Mapping[str, int]:
        """Every tag and how many memories carry it, most used first."""
        return self._store.tags(bank)

    @checked
    def entities(self, bank: str, *, limit: int = 100) -> list[Entity]:
        """The people, places and things a bank knows, most mentioned first."""
        return self._store.entities(bank, limit)

    @checked
    def entity_page(
        self, bank: str, *, limit: int = 100, offset: int = 0, **where: Unpack[TagFilters]
    ) -> tuple[list[EntityProfile], int]:
        """Entities with when they were seen, most mentioned first, and how many there are.
        Filters: tags, tags_match, tag_groups."""
        from recollect.recall.browse import profiles

        return profiles(self._store, bank, where, limit, offset)

    @checked
    def entity(self, bank: str, entity: int, **where: Unpack[TagFilters]) -> EntityProfile:
        """One entity with what has been observed of it."""
        from recollect.recall.browse import profile

        found = profile(self._store, bank, entity, where)
        if found is None:
            raise NotFound(f"bank {bank!r} has no entity {entity}", hint="`entities` lists them")
        return found

    @checked
    def entity_graph(
        self, bank: str, *, limit: int = 1000, min_count: int = 1, **where: Unpack[TagFilters]
    ) -> EntityGraph:
        """Who is named together with whom: at most `limit` ties, each of `min_count` memories or more.
        Filters: tags, tags_match, tag_groups."""
        from recollect.recall.browse import graph

        return graph(self._store, bank, where, limit, min_count)

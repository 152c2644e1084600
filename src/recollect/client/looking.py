"""Verbs that look around in a bank, as calls to a server."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack

import orjson

from recollect.client import decode
from recollect.client.call import Call, Steps, pages, path, plain
from recollect.options import DocumentFilters, MemoryFilters, TagFilters, names
from recollect.recall.browse import filters
from recollect.recall.due import Due
from recollect.types import (
    Chunk,
    Document,
    Entity,
    EntityGraph,
    EntityProfile,
    Link,
    Memory,
)


def load(bank: str, memory_id: str) -> Steps[Memory]:
    """One memory whole."""
    return decode.memory((yield Call("GET", path(bank, "memories", memory_id))), bank)


def memories(
    bank: str,
    *,
    limit: int = 100,
    after: str | None = None,
    offset: int = 0,
    **where: Unpack[MemoryFilters],
) -> Steps[list[Memory]]:
    """Mentioned last first, undated ones at the end; page on with after= the last id seen. Filters:
    type, state, document_id, contains, entity (an id), tags, tags_match, tag_groups, and time_field,
    which also orders, with since and until."""
    asked = Call(
        "GET", path(bank, "memories", "list"), _filters(where, MemoryFilters) | _from(after, offset)
    )
    return [decode.memory(m, bank) for m in (yield from pages(asked, "items", limit))]


def count(bank: str, **where: Unpack[MemoryFilters]) -> Steps[int]:
    """How many memories a listing with these filters has."""
    asked = {**_filters(where, MemoryFilters), "limit": 0}
    return (yield Call("GET", path(bank, "memories", "list"), asked))["total"]


def links(bank: str, memory_id: str) -> Steps[list[Link]]:
    """What a memory is linked to, strongest first."""
    given = yield Call("GET", path(bank, "memories", memory_id, "links"))
    return [decode.link(k) for k in given["items"]]


def revisions(bank: str, memory_id: str) -> Steps[list[Memory]]:
    """Earlier wordings, oldest first."""
    return decode.memories((yield Call("GET", path(bank, "memories", memory_id, "history"))), bank)


def linked(
    bank: str, memories: Sequence[Memory | str]
) -> Steps[list[tuple[str, str, bool, float]]]:
    """Links among these memories (or those of these ids): source, target, whether causal,
    weight."""
    body = {"ids": [m if isinstance(m, str) else m.id for m in memories]}
    given = yield Call("POST", path(bank, "memories", "linked"), body=body)
    return [(t["source"], t["target"], t["causal"], t["weight"]) for t in given["items"]]


def due(
    bank: str,
    *,
    state: str | Iterable[str] | None = None,
    now: datetime | None = None,
    limit: int = 100,
) -> Steps[list[Due]]:
    """Active memories that are aging, stale or expired (or only those of `state`), the most
    overdue first. `review` makes one fresh again."""
    named = [state] if isinstance(state, str) else None if state is None else list(state)
    asked = {"state": named, "now": now, "limit": limit}
    given = yield Call("GET", path(bank, "due"), asked)
    return [decode.due(d, bank) for d in given["items"]]


def documents(
    bank: str,
    *,
    limit: int = 100,
    after: str | None = None,
    offset: int = 0,
    **where: Unpack[DocumentFilters],
) -> Steps[list[Document]]:
    """Written last first; page on with after= the last id seen. Filters: contains, tags, tags_match,
    tag_groups, time_field, which also orders, with since and until."""
    asked = Call(
        "GET", path(bank, "documents"), _filters(where, DocumentFilters) | _from(after, offset)
    )
    return [decode.document(d) for d in (yield from pages(asked, "items", limit))]


def count_documents(bank: str, **where: Unpack[DocumentFilters]) -> Steps[int]:
    """How many documents a listing with these filters has."""
    asked = {**_filters(where, DocumentFilters), "limit": 0}
    return (yield Call("GET", path(bank, "documents"), asked))["total"]


def document(bank: str, document_id: str) -> Steps[Document]:
    """A document with its text."""
    return decode.document((yield Call("GET", path(bank, "documents", document_id))))


def chunks(bank: str, document_id: str) -> Steps[list[Chunk]]:
    """The source text of a document, in the pieces it was cut into."""
    asked = Call("GET", path(bank, "documents", document_id, "chunks"))
    return [decode.chunk(c) for c in (yield from pages(asked, "items", None))]


def tags(bank: str) -> Steps[Mapping[str, int]]:
    """Every tag and how many memories carry it, most used first."""
    found = yield from pages(Call("GET", path(bank, "tags")), "items", None)
    return {t["tag"]: t["count"] for t in found}


def entities(bank: str, *, limit: int = 100) -> Steps[list[Entity]]:
    """The people, places and things a bank knows, most mentioned first."""
    asked = Call("GET", path(bank, "entities"))
    return [decode.entity(e) for e in (yield from pages(asked, "items", limit))]


def entity_page(
    bank: str, *, limit: int = 100, offset: int = 0, **where: Unpack[TagFilters]
) -> Steps[tuple[list[EntityProfile], int]]:
    """Entities with when they were seen, most mentioned first, and how many there are.
    Filters: tags, tags_match, tag_groups."""
    asked = _filters(where, TagFilters) | {"limit": limit, "offset": offset}
    given = yield Call("GET", path(bank, "entities"), asked)
    return [decode.profile(e, bank) for e in given["items"]], given["total"]


def entity(bank: str, entity: int, **where: Unpack[TagFilters]) -> Steps[EntityProfile]:
    """One entity with what has been observed of it."""
    asked = _filters(where, TagFilters)
    return decode.profile((yield Call("GET", path(bank, "entities", str(entity)), asked)), bank)


def entity_graph(
    bank: str, *, limit: int = 1000, min_count: int = 1, **where: Unpack[TagFilters]
) -> Steps[EntityGraph]:
    """Who is named together with whom: at most `limit` ties, each of `min_count` memories or more.
    Filters: tags, tags_match, tag_groups."""
    asked = _filters(where, TagFilters) | {"limit": limit, "min_count": min_count}
    return decode.graph((yield Call("GET", path(bank, "entities", "graph"), asked)), bank)


_NAMES = {"contains": "q", "entity": "entity_id", "since": "start_date", "until": "end_date"}


def _filters(where: Mapping[str, Any], known: type[Any]) -> dict[str, Any]:
    """As the contract names them; what is no filter is refused as the library refuses it."""
    given = filters(where, names(known))
    if given.get("tag_groups") is not None:
        given["tag_groups"] = orjson.dumps(given["tag_groups"], default=plain).decode()
    if given.get("tags"):
        given.setdefault("tags_match", "any")  # the contract has another default for documents
    return {_NAMES.get(name, name): value for name, value in given.items()}


def _from(after: str | None, offset: int) -> dict[str, Any]:
    """Where a listing begins."""
    cursor = None if after is None else urlsafe_b64encode(f"a:{after}".encode()).decode()
    return {"cursor": cursor, "offset": offset or None}

"""A bank's rows as the values a `Batch` is made of, for export and copies, all of one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import orjson

from recollect.storage.base import Dump, KeyLink, NewDocument, NewEvidence, NewMemory
from recollect.storage.entities import entity_from_row
from recollect.storage.index.record import RECORD
from recollect.storage.memory_row import MEMORY_WIDTH, memory_from_row
from recollect.storage.postgres.fetched import HEAD
from recollect.storage.postgres.view import ServerView
from recollect.types import Chunk, Entity, LinkKind

PAGE = 1000


def dump(view: ServerView) -> Dump:
    """The view, and its one transaction, live until the last iterator is done."""
    (config,) = view.fetch("config")[0]
    return Dump(
        view.model,
        orjson.loads(config),
        _documents(view),
        _entities(view),
        _memories(view),
        _links(view),
        _evidence(view),
    )


def _documents(view: ServerView) -> Iterator[NewDocument]:
    for row in view.fetch("dump_documents"):
        document_id, digest, context, tags, metadata, created_at, updated_at = row
        yield NewDocument(
            document_id,
            bytes(digest),
            context,
            tuple(orjson.loads(tags)),
            orjson.loads(metadata),
            tuple(Chunk(*c) for c in view.fetch("document_chunks", id=document_id)),
            created_at,
            updated_at,
        )


def _entities(view: ServerView) -> Iterator[Entity]:
    yield from (entity_from_row(row) for row in view.fetch("dump_entities"))


def _links(view: ServerView) -> Iterator[KeyLink]:
    after: dict[str, Any] = {"source": 0, "target": 0, "kind": ""}
    while True:
        page = view.fetch("dump_links", limit=PAGE, **after)
        yield from (KeyLink(s, t, LinkKind(k), w) for s, t, k, w in page)
        if len(page) < PAGE:
            return
        after = dict(zip(after, page[-1], strict=False))


def _evidence(view: ServerView) -> Iterator[NewEvidence]:
    """In the order it came in."""
    yield from (NewEvidence(*row) for row in view.fetch("dump_evidence"))


def _memories(view: ServerView) -> Iterator[NewMemory]:
    """A page at a time, by key, so that a large bank does not have to fit in memory."""
    after = 0
    while True:
        page = view.fetch("dump_memories", after=after, limit=PAGE)
        for row in page:
            yield _new_memory(view.bank, row)
        if len(page) < PAGE:
            return
        after = page[-1][0]


def _new_memory(bank: str, row: Sequence[Any]) -> NewMemory:
    known_from, known_until, packed, vector, entities, tokens, sources = row[MEMORY_WIDTH:]
    record = np.frombuffer(packed, RECORD)[0]
    return NewMemory(
        row[0],
        memory_from_row(bank, row, ()),
        None if vector is None else np.frombuffer(vector, ">f2", offset=HEAD).astype(np.float32),
        None if tokens is None else np.frombuffer(tokens, np.uint8),
        tuple(entities),
        int(record["statement"]),
        int(record["slot"]),
        known_from,
        known_until,
        tuple(sources or ()),
        int(record["before"]),
    )

"""A bank's rows as the values a `Batch` is made of, for export and copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import orjson

from recollect.storage.base import Dump, KeyLink, NewDocument, NewEvidence, NewMemory
from recollect.storage.entities import entity_from_row
from recollect.storage.index.record import KEY_MASK, RECORD
from recollect.storage.memory_row import MEMORY_COLUMNS, MEMORY_WIDTH, memory_from_row
from recollect.storage.sqlite.connection import Execute
from recollect.storage.sqlite.rows import row_span
from recollect.types import Chunk, Entity, LinkKind

PAGE = 1000


def dump(bank: str, number: int, execute: Execute) -> Dump:
    (row,) = execute(
        "SELECT embedder, dimensions, token_dimensions, config FROM banks WHERE bank = ?", (number,)
    )
    return Dump(
        (row[0], row[1], row[2]),
        orjson.loads(row[3]),
        _documents(number, execute),
        _entities(number, execute),
        _memories(bank, number, execute),
        _links(number, execute),
        _evidence(number, execute),
    )


def _documents(number: int, execute: Execute) -> Iterator[NewDocument]:
    rows = execute(
        """SELECT id, hash, context, tags, metadata, created_at, updated_at FROM documents
        WHERE bank = ? ORDER BY id""",
        (number,),
    )
    for document_id, digest, context, tags, metadata, created_at, updated_at in rows:
        chunks = execute(
            """SELECT id, document_id, position, text FROM chunks
            WHERE bank = ? AND document_id = ? ORDER BY position""",
            (number, document_id),
        )
        yield NewDocument(
            document_id,
            digest,
            context,
            tuple(orjson.loads(tags)),
            orjson.loads(metadata),
            tuple(Chunk(*c) for c in chunks),
            created_at,
            updated_at,
        )


def _entities(number: int, execute: Execute) -> Iterator[Entity]:
    rows = execute(
        "SELECT id, name, kind, aliases, mentions FROM entities WHERE bank = ? ORDER BY id",
        (number,),
    )
    yield from (entity_from_row(row) for row in rows)


def _links(number: int, execute: Execute) -> Iterator[KeyLink]:
    after: tuple[Any, ...] = (0, 0, "")
    while True:
        page = execute(
            f"""SELECT source, target, kind, weight FROM links
            WHERE bank = ? AND (source, target, kind) > (?, ?, ?) ORDER BY 1, 2, 3 LIMIT {PAGE}""",
            (number, *after),
        )
        yield from (KeyLink(s, t, LinkKind(k), w) for s, t, k, w in page)
        if len(page) < PAGE:
            return
        after = page[-1][:3]


def _evidence(number: int, execute: Execute) -> Iterator[NewEvidence]:
    """In the order it came in."""
    rows = execute(
        "SELECT key, at, document_id, chunk_id, text FROM evidence WHERE bank = ? ORDER BY rowid",
        (number,),
    )
    yield from (NewEvidence(*row) for row in rows)


def _memories(bank: str, number: int, execute: Execute) -> Iterator[NewMemory]:
    """A page at a time, by key, so that a large bank does not have to fit in memory."""
    first, end = row_span(number)
    after = first - 1
    while True:
        page = execute(
            f"""SELECT {MEMORY_COLUMNS}, m.known_from, m.known_until, f.record, f.vector, f.entities, t.data
            FROM memories m JOIN features f ON f.n = m.n LEFT JOIN tokens t ON t.n = m.n
            WHERE m.n > ? AND m.n < ? ORDER BY m.n LIMIT {PAGE}""",
            (after, end),
        )
        for row in page:
            yield _new_memory(bank, number, row[:MEMORY_WIDTH], row[MEMORY_WIDTH:], execute)
        if len(page) < PAGE:
            return
        after = page[-1][0]


def _new_memory(
    bank: str, number: int, memory: Sequence[Any], rest: Sequence[Any], execute: Execute
) -> NewMemory:
    known_from, known_until, packed, vector, entities, tokens = rest
    key = memory[0] & KEY_MASK
    record = np.frombuffer(packed, RECORD)[0]
    found = memory_from_row(bank, memory, ())
    sources = (
        [
            s
            for (s,) in execute(
                "SELECT source FROM sources WHERE bank = ? AND key = ?", (number, key)
            )
        ]
        if found.source_ids
        else []
    )
    return NewMemory(
        key,
        found,
        None if vector is None else np.frombuffer(vector, "<f2").astype(np.float32),
        None if tokens is None else np.frombuffer(tokens, np.uint8),
        tuple(np.frombuffer(entities, "<i8").tolist()) if entities else (),
        int(record["statement"]),
        int(record["slot"]),
        known_from,
        known_until,
        tuple(sources),
        int(record["before"]),
    )

"""A bank and a document of it from the values of a row, for every store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from recollect.language.dates import from_micros
from recollect.types import Bank, Document


def bank_from_row(row: Sequence[Any]) -> Bank:
    bank, created_at, updated_at, memories, documents, embedder, dimensions, config = row
    return Bank(
        bank,
        from_micros(created_at),
        from_micros(updated_at),
        memories,
        documents,
        embedder,
        dimensions,
        orjson.loads(config),
    )


def settings_after(held: str, config: Mapping[str, Any], *, merge: bool) -> Mapping[str, Any]:
    """A bank's settings after a change: the new ones instead of those it has, or merged into
    them, where None removes one."""
    if not merge:
        return config
    return {k: v for k, v in {**orjson.loads(held), **config}.items() if v is not None}


def document_from_row(bank: str, row: Sequence[Any]) -> Document:
    document, tags, metadata, context, created_at, updated_at, chunks, memories, letters = row
    return Document(
        document,
        bank,
        tuple(orjson.loads(tags)),
        orjson.loads(metadata),
        context,
        from_micros(created_at),
        from_micros(updated_at),
        chunks,
        memories,
        letters + max(chunks - 1, 0),  # chunks are lines of it
    )

"""A memory as the values of a row, and back, for every store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from recollect.language.dates import from_micros, to_micros
from recollect.types import Memory, MemoryType, State
from recollect.types.making import maker
from recollect.types.shared import shared

_AUTHORED = ("title", "summary", "topic_path", "kind", "scope", "recurrence", "duration_s")
_TIMES = ("valid_until", "last_reviewed_at")
_TUPLES = ("tags", "recall_when", "source_ids")
_NOTHING: dict[str, Any] = {}
_TYPE = {t.value: t for t in MemoryType}
_STATE = {s.value: s for s in State}
_make_memory = maker(Memory)  # an answer may be hundreds of rows

# Of `memories m`, in the order of `memory_from_row`; PostgreSQL has its key in the place of n.
MEMORY_COLUMNS = """m.n, m.id, m.type, m.state, m.text, m.context, m.speaker, m.document_id,
    m.chunk_id, m.occurred_start, m.occurred_end, m.occurred_grain, m.mentioned_at,
    m.last_mentioned_at, m.created_at, m.updated_at, m.superseded_by, m.proof_count, m.confidence,
    m.tokens, m.extra"""
MEMORY_WIDTH = MEMORY_COLUMNS.count(",") + 1


def micros(when: datetime | None) -> int | None:
    return None if when is None else to_micros(when)


def told(m: Memory) -> tuple[Any, ...]:
    """What was said, where and when: from id to updated_at."""
    return (
        m.id,
        m.type.value,
        m.state.value,
        m.text,
        m.context,
        m.speaker,
        m.document_id,
        m.chunk_id,
        micros(m.occurred_start),
        micros(m.occurred_end),
        m.occurred_grain,
        micros(m.mentioned_at),
        micros(m.last_mentioned_at),
        micros(m.created_at),
        micros(m.updated_at),
    )


def weighed(m: Memory) -> tuple[Any, ...]:
    """What it counts for: superseded_by, proof_count, confidence, tokens."""
    return m.superseded_by, m.proof_count, m.confidence, m.tokens


def memory_from_row(bank: str, row: Sequence[Any], entities: tuple[str, ...]) -> Memory:
    # Most were mentioned once and never changed: a time is made once where two are the same.
    mentioned, created = _when(row[12]), _when(row[14])
    return _make_memory(
        id=row[1],
        bank=bank,
        type=_TYPE[row[2]],
        state=_STATE[row[3]],
        text=row[4],
        context=row[5],
        speaker=row[6],
        document_id=row[7],
        chunk_id=row[8],
        occurred_start=_when(row[9]),
        occurred_end=_when(row[10]),
        occurred_grain=row[11],
        mentioned_at=mentioned,
        last_mentioned_at=mentioned if row[13] == row[12] else _when(row[13]),
        created_at=created,
        updated_at=created if row[15] == row[14] else _when(row[15]),
        superseded_by=row[16],
        proof_count=row[17],
        confidence=row[18],
        tokens=row[19],
        entities=entities,
        **(_extra(row[20]) if row[20] else _NOTHING),
    )


def _extra(text: str) -> dict[str, Any]:
    """The seldom used fields that a memory has, as `extra_of` wrote them."""
    extra: dict[str, Any] = orjson.loads(text)
    if "metadata" in extra:  # rows are kept, and every reader is given the same
        extra["metadata"] = shared(extra["metadata"])
    for name in _TUPLES:
        if name in extra:
            extra[name] = tuple(extra[name])
    for name in _TIMES:
        if name in extra:
            extra[name] = from_micros(extra[name])
    return extra


def extra_of(memory: Memory) -> str | None:
    """The seldom used fields of a memory as JSON; `memory_from_row` reads it back."""
    extra: dict[str, Any] = {name: getattr(memory, name) for name in _AUTHORED}
    extra |= {name: micros(getattr(memory, name)) for name in _TIMES}
    extra |= {
        "tags": list(memory.tags),
        "metadata": dict(memory.metadata),
        "recall_when": list(memory.recall_when),
        "source_ids": list(memory.source_ids),
        "weakened": memory.weakened,
    }
    kept = {k: v for k, v in extra.items() if v}
    return orjson.dumps(kept).decode() if kept else None


def _when(at: int | None) -> datetime | None:
    return None if at is None else from_micros(at)

"""A memory as the values of a row, for every store."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from recollect.language.dates import to_micros
from recollect.types import Memory


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

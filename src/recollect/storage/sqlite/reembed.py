"""Vectors of another model, made beside the old ones and switched in all at once.

Staged vectors survive a crash, so making them again resumes; until the switch every search
goes on with the old ones.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from recollect.storage.base import ModelIdentity, StagedVector
from recollect.storage.index.record import KEY_BITS, KEY_MASK, vector_blob
from recollect.storage.memory_row import MEMORY_COLUMNS, memory_from_row
from recollect.storage.sqlite.connection import Execute
from recollect.storage.sqlite.rows import row_span
from recollect.types import Memory

_UNSTAGED = """FROM memories m LEFT JOIN staged s ON s.n = m.n AND s.embedder = ?
    WHERE m.n > ? AND m.n < ? AND s.n IS NULL"""


def unstaged(
    execute: Execute, bank: str, number: int, embedder: str, limit: int, after: int
) -> dict[int, Memory]:
    """Memories behind a key, every version of them, that have no staged vector of `embedder` yet."""
    first, end = row_span(number)
    rows = execute(
        f"SELECT {MEMORY_COLUMNS} {_UNSTAGED} ORDER BY m.n LIMIT ?",
        (embedder, first | after, end, limit),
    )
    return {row[0] & KEY_MASK: memory_from_row(bank, row, ()) for row in rows}


def unstaged_count(
    execute: Callable[[str, Sequence[Any]], Iterable[Any]], number: int, embedder: str
) -> int:
    ((count,),) = execute(f"SELECT count(*) {_UNSTAGED}", (embedder, *row_span(number)))
    return count


def stage(
    db: sqlite3.Connection, number: int, embedder: str, vectors: Sequence[StagedVector]
) -> None:
    """A memory deleted meanwhile is passed over."""
    db.executemany(
        "INSERT OR REPLACE INTO staged SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM memories WHERE n = ?1)",
        [
            (
                number << KEY_BITS | v.key,
                embedder,
                vector_blob(v.vector),
                None if v.tokens is None else v.tokens.tobytes(),
            )
            for v in vectors
        ],
    )


def switch(db: sqlite3.Connection, number: int, model: ModelIdentity, now: int) -> bool:
    """Make the staged vectors the bank's; False when some memory has none yet."""
    inside = row_span(number)
    # Under one name a service may have another model by the time that making them goes on; and token
    # vectors may be wanted by then.
    size = len(vector_blob(np.zeros(model[1], np.float32)) or b"")
    db.execute(
        """DELETE FROM staged WHERE n >= ? AND n < ?
        AND (length(vector) <> ? OR (tokens IS NULL AND ? > 0))""",
        (*inside, size, model[2]),
    )
    if unstaged_count(db.execute, number, model[0]):
        return False
    db.execute(
        """UPDATE features SET vector = (SELECT s.vector FROM staged s WHERE s.n = features.n)
        WHERE n >= ? AND n < ?""",
        inside,
    )
    db.execute("DELETE FROM tokens WHERE n >= ? AND n < ?", inside)
    db.execute(
        """INSERT INTO tokens SELECT n, tokens FROM staged
        WHERE n >= ? AND n < ? AND tokens IS NOT NULL AND ? > 0""",
        (*inside, model[2]),
    )
    db.execute("DELETE FROM staged WHERE n >= ? AND n < ?", inside)
    db.execute(
        """UPDATE banks SET embedder = ?, dimensions = ?, token_dimensions = ?, generation = generation + 1,
        seq = seq + 1, updated_at = ? WHERE bank = ?""",
        (*model, now, number),
    )
    return True

"""A bank in the making: written part by part, seen by nobody before it is whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import orjson

from recollect.storage.base import Batch, ModelIdentity
from recollect.storage.forget import Forgetting
from recollect.storage.refusals import bank_exists, unknown_bank, went_on_elsewhere
from recollect.storage.sqlite.rows import BankRows
from recollect.storage.sqlite.write import Writer


def begin(
    db: sqlite3.Connection,
    bank: str,
    config: Mapping[str, Any],
    model: ModelIdentity,
    note: str,
    now: int,
) -> None:
    if db.execute("SELECT 1 FROM banks WHERE id = ?", (bank,)).fetchone():
        raise bank_exists(bank)
    db.execute(
        """INSERT INTO banks (id, embedder, dimensions, token_dimensions, config, created_at,
        updated_at, arriving) VALUES (?,?,?,?,?,?,?,?)""",
        (bank, *model, orjson.dumps(config).decode(), now, now, note),
    )
    # Caches know a bank by name and sequence: one deleted and made anew is another.
    db.execute("UPDATE banks SET seq = bank << 32 WHERE id = ?", (bank,))


def bring(
    db: sqlite3.Connection, bank: str, batch: Batch, was: str, note: str | None, now: int
) -> None:
    """No view and no plan: there is nothing to decide about rows that were decided elsewhere."""
    row = db.execute(
        "SELECT bank, seq, next_key, next_entity, arriving FROM banks WHERE id = ?", (bank,)
    ).fetchone()
    if row is None:
        raise unknown_bank(bank)
    number, seq, next_key, next_entity, arriving = row
    if arriving != was:
        raise went_on_elsewhere(bank)
    rows = BankRows(db, bank, number, seq + 1, holders=lambda _: ())  # nothing is forgotten
    Writer(rows, Forgetting(rows, next_key), now).apply(batch)
    next_key, next_entity = max(next_key, batch.free_key), max(next_entity, batch.free_entity)
    db.execute(
        """UPDATE banks SET seq = ?, next_key = ?, next_entity = ?, updated_at = ?, arriving = ?
        WHERE bank = ?""",
        (seq + 1, next_key, next_entity, now, note, number),
    )

"""The durable queue in the file: operations, claimed under leases."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from recollect.storage.base import Lease, NewOperation, Step
from recollect.storage.operation_row import operation_from_row
from recollect.storage.refusals import (
    already_over,
    lease_lost,
    not_finished,
    not_to_be_retried,
    unknown_bank,
    unknown_operation,
    used_before,
)
from recollect.storage.sqlite.connection import Execute, Transaction
from recollect.types import Operation, OperationState

_COLUMNS = """o.id, b.id, o.kind, o.state, o.items, o.attempts, o.error, o.created_at, o.updated_at,
    o.finished_at, o.not_before, o.steps, o.note, o.result"""
_FROM = "FROM operations o JOIN banks b ON b.bank = o.bank"
# The oldest open operation of each bank: what stands in line behind it waits.
_HEADS = """SELECT bank, min(number) AS number FROM operations
    WHERE state IN ('pending', 'running') GROUP BY bank"""


class SqliteQueue:
    def __init__(self, execute: Execute, transaction: Transaction) -> None:
        self._execute = execute
        self._transaction = transaction

    # --- accepting ---------------------------------------------------------------------------

    def enqueue(self, new: NewOperation, now: int, lease: Lease | None = None) -> Operation:
        with self._transaction() as db:
            bank = _bank_number(db, new.bank)
            held = _held(db, bank, new)
            if held is None:
                _insert(db, bank, new, now, lease)
                held = new.id
            return _one(db, new.bank, held)

    # --- working -----------------------------------------------------------------------------

    def waiting(self, now: int) -> list[str]:
        rows = self._execute(
            f"""SELECT b.id FROM ({_HEADS}) h JOIN banks b ON b.bank = h.bank
            JOIN operations o ON o.bank = h.bank AND o.number = h.number
            WHERE (o.state = 'pending' AND o.not_before <= ?1)
               OR (o.state = 'running' AND o.lease_until <= ?1)
            ORDER BY o.created_at, b.id""",
            (now,),
        )
        return [bank for (bank,) in rows]

    def due(self) -> int | None:
        ((when,),) = self._execute(
            f"""SELECT min(CASE o.state WHEN 'pending' THEN o.not_before ELSE o.lease_until END)
            FROM ({_HEADS}) h JOIN operations o ON o.bank = h.bank AND o.number = h.number""",
            (),
        )
        return when

    def claim(self, bank: str, lease: Lease, now: int) -> Operation | None:
        with self._transaction() as db:
            number = _bank_number(db, bank)
            claimed = db.execute(
                """UPDATE operations SET state = 'running', attempts = attempts + 1, worker = ?1,
                  token = ?2, lease_until = ?3, updated_at = ?4
                WHERE bank = ?5 AND number = (SELECT min(number) FROM operations
                    WHERE bank = ?5 AND state IN ('pending', 'running'))
                  AND ((state = 'pending' AND not_before <= ?4)
                    OR (state = 'running' AND lease_until <= ?4))
                RETURNING id""",
                (lease.worker, lease.token, lease.until, now, number),
            ).fetchall()
            return _one(db, bank, claimed[0][0]) if claimed else None

    def renew(self, bank: str, operation_id: str, lease: Lease) -> bool:
        with self._transaction() as db:
            changed = db.execute(
                """UPDATE operations SET lease_until = ? WHERE bank = ? AND id = ? AND token = ?
                AND state = 'running'""",
                (lease.until, _bank_number(db, bank), operation_id, lease.token),
            )
            return changed.rowcount == 1

    def complete(
        self, bank: str, operation_id: str, token: str, result: Mapping[str, Any], now: int
    ) -> None:
        self._end(
            bank,
            operation_id,
            token,
            """state = 'done', result = ?, payload = NULL, note = '{}', error = NULL,
            finished_at = ?, updated_at = ?""",
            (orjson.dumps(result).decode(), now, now),
        )

    def fail(self, bank: str, operation_id: str, token: str, error: str, now: int) -> None:
        self._end(
            bank,
            operation_id,
            token,
            "state = 'failed', error = ?, finished_at = ?, updated_at = ?",
            (error, now, now),
        )

    def defer(
        self, bank: str, operation_id: str, token: str, error: str | None, not_before: int, now: int
    ) -> None:
        self._end(
            bank,
            operation_id,
            token,
            "state = 'pending', error = ?, not_before = ?, updated_at = ?",
            (error, not_before, now),
        )

    def _end(
        self, bank: str, operation_id: str, token: str, changes: str, values: Sequence[Any]
    ) -> None:
        with self._transaction() as db:
            changed = db.execute(
                f"""UPDATE operations SET {changes}, worker = NULL, token = NULL, lease_until = NULL
                WHERE bank = ? AND id = ? AND token = ? AND state = 'running'""",
                (*values, _bank_number(db, bank), operation_id, token),
            )
            if changed.rowcount != 1:
                raise lease_lost(operation_id)

    def abandon(self, worker: str, now: int) -> int:
        with self._transaction() as db:
            return db.execute(
                """UPDATE operations SET state = 'pending', worker = NULL, token = NULL,
                  lease_until = NULL, not_before = 0, updated_at = ?
                WHERE state = 'running' AND worker = ?""",
                (now, worker),
            ).rowcount

    def workers(self) -> list[str]:
        rows = self._execute(
            "SELECT DISTINCT worker FROM operations WHERE state = 'running' ORDER BY worker", ()
        )
        return [worker for (worker,) in rows]

    # --- what people do with them ------------------------------------------------------------

    def cancel(self, bank: str, operation_id: str, now: int) -> Operation:
        with self._transaction() as db:
            changed = db.execute(
                """UPDATE operations SET state = 'cancelled', worker = NULL, token = NULL,
                  lease_until = NULL, finished_at = ?1, updated_at = ?1
                WHERE bank = ?2 AND id = ?3 AND state IN ('pending', 'running')""",
                (now, _bank_number(db, bank), operation_id),
            )
            found = _one(db, bank, operation_id)
            if changed.rowcount != 1:
                raise already_over(found)
            return found

    def retry(self, bank: str, operation_id: str, now: int) -> Operation:
        with self._transaction() as db:
            changed = db.execute(
                """UPDATE operations SET state = 'pending', attempts = 0, not_before = ?1,
                  finished_at = NULL, updated_at = ?1
                WHERE bank = ?2 AND id = ?3 AND payload IS NOT NULL
                  AND (state IN ('failed', 'cancelled') OR state = 'pending' AND not_before > ?1)""",
                (now, _bank_number(db, bank), operation_id),
            )
            found = _one(db, bank, operation_id)
            if changed.rowcount != 1:
                raise not_to_be_retried(found)
            return found

    def delete(self, bank: str, operation_id: str) -> None:
        with self._transaction() as db:
            found = _one(db, bank, operation_id)
            if not found.finished:
                raise not_finished(found)
            db.execute(
                "DELETE FROM operations WHERE bank = ? AND id = ?",
                (_bank_number(db, bank), operation_id),
            )

    def operation(self, bank: str, operation_id: str) -> Operation | None:
        rows = self._execute(
            f"SELECT {_COLUMNS}, o.payload {_FROM} WHERE b.id = ? AND o.id = ?",
            (bank, operation_id),
        )
        return operation_from_row(rows[0]) if rows else None

    def operations(
        self, bank: str, limit: int, after: str | None, where: Mapping[str, Any]
    ) -> list[Operation]:
        ((number,),) = self._execute(
            """SELECT (SELECT number FROM operations o JOIN banks b ON b.bank = o.bank
            WHERE b.id = ? AND o.id = ?)""",
            (bank, after or ""),
        )
        if after is not None and number is None:
            raise unknown_operation(bank, after)
        clauses = "".join(f" AND o.{column} = ?" for column in where)
        rows = self._execute(
            f"""SELECT {_COLUMNS}, NULL {_FROM}
            WHERE b.id = ? AND (?2 IS NULL OR o.number < ?2){clauses}
            ORDER BY o.number DESC LIMIT ?""",
            (bank, number, *where.values(), limit),
        )
        return [operation_from_row(row) for row in rows]

    def counts(self, bank: str | None = None) -> Mapping[OperationState, int]:
        rows = self._execute(
            f"SELECT o.state, count(*) {_FROM} WHERE ?1 IS NULL OR b.id = ?1 GROUP BY o.state",
            (bank,),
        )
        found = {OperationState(state): count for state, count in rows}
        return {state: found.get(state, 0) for state in OperationState}

    def purge(self, before: int) -> int:
        with self._transaction() as db:
            return db.execute(
                "DELETE FROM operations WHERE finished_at IS NOT NULL AND finished_at < ?",
                (before,),
            ).rowcount


# --- in the transaction of a commit ----------------------------------------------------------


def take_step(db: sqlite3.Connection, bank: int, step: Step, now: int) -> None:
    changed = db.execute(
        """UPDATE operations SET steps = ?1, note = ?2, updated_at = ?3
        WHERE bank = ?4 AND id = ?5 AND token = ?6 AND state = 'running' AND steps < ?1""",
        (step.number, orjson.dumps(step.note).decode(), now, bank, step.operation, step.token),
    )
    if changed.rowcount != 1:
        raise lease_lost(step.operation)


def drop_ended_payloads(db: sqlite3.Connection, bank: int) -> None:
    """What is forgotten may stand in work that failed or was cancelled as well."""
    db.execute(
        "UPDATE operations SET payload = NULL WHERE bank = ? AND finished_at IS NOT NULL", (bank,)
    )


# --- rows ------------------------------------------------------------------------------------


def _bank_number(db: sqlite3.Connection, bank: str) -> int:
    row = db.execute("SELECT bank FROM banks WHERE id = ?", (bank,)).fetchone()
    if row is None:
        raise unknown_bank(bank)
    return row[0]


def _held(db: sqlite3.Connection, bank: int, new: NewOperation) -> str | None:
    """The id of what was asked for before; Conflict when that was something else."""
    rows = db.execute(
        """SELECT id, kind, fingerprint FROM operations
        WHERE bank = ?1 AND (id = ?2 OR request_key = ?3)""",
        (bank, new.id, new.request_key),
    ).fetchall()
    for _, kind, fingerprint in rows:
        if (kind, fingerprint) != (new.kind, new.fingerprint):
            raise used_before(new)
    return rows[0][0] if rows else None


def _insert(
    db: sqlite3.Connection, bank: int, new: NewOperation, now: int, lease: Lease | None
) -> None:
    (number,) = db.execute(
        "SELECT coalesce(max(number), 0) + 1 FROM operations WHERE bank = ?", (bank,)
    ).fetchone()
    db.execute(
        """INSERT INTO operations (bank, id, number, kind, state, items, attempts, steps, note,
          payload, fingerprint, request_key, worker, token, lease_until, not_before, created_at,
          updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, 0, '{}', ?, ?, ?, ?, ?, ?, 0, ?, ?)""",
        (
            bank,
            new.id,
            number,
            new.kind,
            "running" if lease else "pending",
            new.items,
            1 if lease else 0,
            orjson.dumps(new.payload).decode(),
            new.fingerprint,
            new.request_key,
            lease.worker if lease else None,
            lease.token if lease else None,
            lease.until if lease else None,
            now,
            now,
        ),
    )


def _one(db: sqlite3.Connection, bank: str, operation_id: str) -> Operation:
    row = db.execute(
        f"SELECT {_COLUMNS}, o.payload {_FROM} WHERE b.id = ? AND o.id = ?", (bank, operation_id)
    ).fetchone()
    if row is None:
        raise unknown_operation(bank, operation_id)
    return operation_from_row(row)

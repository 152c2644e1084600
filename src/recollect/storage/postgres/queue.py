"""The durable queue: operations, claimed under leases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from psycopg import errors

from recollect.storage.base import Lease, NewOperation, Step
from recollect.storage.operation_row import operation_from_row
from recollect.storage.postgres.connection import Connections, Db
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.session import WriteSession
from recollect.storage.refusals import (
    already_over,
    lease_lost,
    not_finished,
    not_to_be_retried,
    unknown_bank,
    unknown_operation,
    used_before,
)
from recollect.types import Operation, OperationState


class PostgresQueue:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def _fetch(self, name: str, **given: Any) -> list[tuple[Any, ...]]:
        return self._connections.fetch(query(name), given)

    def _run(self, name: str, **given: Any) -> int:
        return self._connections.run(query(name), given)

    # --- accepting ---------------------------------------------------------------------------

    def enqueue(self, new: NewOperation, now: int, lease: Lease | None = None) -> Operation:
        while True:
            held = self._connections.attempt(lambda db: _accepted(db, new, now, lease))
            if held is not None:
                return self._one(new.bank, held)
            # Somebody else was given the same place in the line: take the next.

    # --- working -----------------------------------------------------------------------------

    def waiting(self, now: int) -> list[str]:
        return [bank for (bank,) in self._fetch("all_waiting", now=now)]

    def due(self) -> int | None:
        return self._fetch("all_due")[0][0]

    def claim(self, bank: str, lease: Lease, now: int) -> Operation | None:
        self._check(bank)
        rows = self._fetch(
            "claim",
            bank=bank,
            worker=lease.worker,
            token=lease.token,
            until=lease.until,
            now=now,
        )
        return self._one(bank, rows[0][0]) if rows else None

    def renew(self, bank: str, operation_id: str, lease: Lease) -> bool:
        given = {"id": operation_id, "token": lease.token, "until": lease.until}
        return self._run("renew", bank=bank, **given) == 1

    def complete(
        self, bank: str, operation_id: str, token: str, result: Mapping[str, Any], now: int
    ) -> None:
        told = orjson.dumps(result).decode()
        self._end("complete", bank=bank, id=operation_id, token=token, result=told, now=now)

    def fail(self, bank: str, operation_id: str, token: str, error: str, now: int) -> None:
        self._end("fail", bank=bank, id=operation_id, token=token, error=error, now=now)

    def defer(
        self, bank: str, operation_id: str, token: str, error: str | None, not_before: int, now: int
    ) -> None:
        given = {"error": error, "not_before": not_before, "now": now}
        self._end("defer", bank=bank, id=operation_id, token=token, **given)

    def _end(self, name: str, **given: Any) -> None:
        if self._run(name, **given) != 1:
            raise lease_lost(given["id"])

    def abandon(self, worker: str, now: int) -> int:
        return self._run("all_abandon", worker=worker, now=now)

    def workers(self) -> list[str]:
        return [worker for (worker,) in self._fetch("all_workers")]

    # --- what people do with them ------------------------------------------------------------

    def cancel(self, bank: str, operation_id: str, now: int) -> Operation:
        changed = self._run("cancel", bank=bank, id=operation_id, now=now)
        found = self._one(bank, operation_id)
        if changed != 1:
            raise already_over(found)
        return found

    def retry(self, bank: str, operation_id: str, now: int) -> Operation:
        changed = self._run("retry", bank=bank, id=operation_id, now=now)
        found = self._one(bank, operation_id)
        if changed != 1:
            raise not_to_be_retried(found)
        return found

    def delete(self, bank: str, operation_id: str) -> None:
        found = self._one(bank, operation_id)
        if self._run("delete_operation", bank=bank, id=operation_id) != 1:
            raise not_finished(found)

    def operation(self, bank: str, operation_id: str) -> Operation | None:
        rows = self._fetch("operation_of", bank=bank, id=operation_id)
        return operation_from_row(rows[0]) if rows else None

    def operations(
        self, bank: str, limit: int, after: str | None, where: Mapping[str, Any]
    ) -> list[Operation]:
        below = None
        if after is not None:
            rows = self._fetch("operation_number", bank=bank, id=after)
            if not rows:
                raise unknown_operation(bank, after)
            below = rows[0][0]
        given = {"state": None, "kind": None, **where}
        rows = self._fetch("operations", bank=bank, below=below, limit=limit, **given)
        return [operation_from_row(row) for row in rows]

    def counts(self, bank: str | None = None) -> Mapping[OperationState, int]:
        found = {OperationState(s): n for s, n in self._fetch("all_counts", bank=bank)}
        return {state: found.get(state, 0) for state in OperationState}

    def purge(self, before: int) -> int:
        return self._run("all_purge", before=before)

    def _check(self, bank: str) -> None:
        if not self._fetch("bank", bank=bank):
            raise unknown_bank(bank)

    def _one(self, bank: str, operation_id: str) -> Operation:
        found = self.operation(bank, operation_id)
        if found is None:
            self._check(bank)
            raise unknown_operation(bank, operation_id)
        return found


def _accepted(db: Db, new: NewOperation, now: int, lease: Lease | None) -> str | None:
    """The id under which it is held now; None when another operation took the same number at the
    same moment."""
    given = {"bank": new.bank, "id": new.id, "request_key": new.request_key}
    if not db.execute(query("bank"), given).fetchone():
        raise unknown_bank(new.bank)
    rows = db.execute(query("used_before"), given).fetchall()
    for _, kind, fingerprint in rows:
        if (kind, bytes(fingerprint)) != (new.kind, new.fingerprint):
            raise used_before(new)
    if rows:
        return rows[0][0]
    given |= {
        "kind": new.kind,
        "state": "running" if lease else "pending",
        "items": new.items,
        "attempts": 1 if lease else 0,
        "payload": orjson.dumps(new.payload).decode(),
        "fingerprint": new.fingerprint,
        "worker": lease.worker if lease else None,
        "token": lease.token if lease else None,
        "lease_until": lease.until if lease else None,
        "now": now,
    }
    try:
        db.execute(query("accept"), given)
    except errors.UniqueViolation:
        return None
    return new.id


# --- in the transaction of a commit ----------------------------------------------------------


def take_step(session: WriteSession, bank: str, step: Step, now: int) -> None:
    given = {
        "bank": bank,
        "id": step.operation,
        "token": step.token,
        "number": step.number,
        "note": orjson.dumps(step.note).decode(),
        "now": now,
    }
    if session.run(query("take_step"), given) != 1:
        raise lease_lost(step.operation)

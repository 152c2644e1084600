"""What becomes of accepted work, as calls to a server."""

from __future__ import annotations

from typing import Any

from recollect.client import decode
from recollect.client.call import Call, Steps, path
from recollect.storage.refusals import unknown_operation
from recollect.types import Operation, OperationState


def operation(bank: str, operation_id: str) -> Steps[Operation]:
    """How an accepted retain is doing."""
    given = yield Call("GET", path(bank, "operations", operation_id))
    if given["status"] == "not_found":  # the contract has it as a state
        raise unknown_operation(bank, operation_id)
    return decode.operation(given, bank)


def operations(
    bank: str, *, limit: int = 100, state: OperationState | None = None
) -> Steps[list[Operation]]:
    """Newest first."""
    name = next((n for n, s in decode.STATES.items() if s is state), None)
    asked = Call("GET", path(bank, "operations"), {"status": name})
    out: list[Any] = []
    cursor: str | None = None
    while len(out) < limit:
        size = min(100, limit - len(out))
        given = yield Call(
            asked.method, asked.path, {**asked.params, "limit": size, "cursor": cursor}
        )
        out += given["operations"]
        cursor = given.get("next_cursor")
        if cursor is None:
            break
    return [decode.operation(o, bank) for o in out]


def cancel(bank: str, operation_id: str) -> Steps[Operation]:
    """From now on nothing more of it is stored; the parts that are stay."""
    yield Call("DELETE", path(bank, "operations", operation_id), again=False)
    return (yield from operation(bank, operation_id))

"""Work that was accepted: looked at, cancelled, tried again."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from recollect.errors import InvalidInput
from recollect.server import holdings
from recollect.server.access import reading, writing
from recollect.server.answers import OperationDone, OperationList, OperationStatus
from recollect.server.operations import HINDSIGHT_NAMES
from recollect.server.paging import last, page, place
from recollect.server.respond import Json, answers
from recollect.server.schemas import BankId, Cursor, Offset, OperationId
from recollect.server.serving import serving
from recollect.types import Operation, OperationState

router = APIRouter(prefix="/v1/default/banks/{bank_id}/operations", tags=["operations"])
_STATES = {name: state for state, name in HINDSIGHT_NAMES.items()}


@router.get(
    "", operation_id="list_operations", responses=answers(OperationList), dependencies=[reading]
)
async def list_operations(
    request: Request,
    bank_id: BankId,
    status: Annotated[str | None, Query(description="Only in this state.")] = None,
    type: Annotated[str | None, Query(description="Only of this type: retain.")] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    offset: Offset = 0,
    exclude_parents: Annotated[bool, Query(description="Accepted; none has parts.")] = False,
    cursor: Cursor = None,
) -> Any:
    """Newest first."""
    state, start = serving(request), place(cursor, offset)
    wanted = _state(status)

    def work() -> dict[str, Any]:
        state.memory.bank(bank_id)
        found: list[Operation] = state.operations.operations(
            bank_id, limit=start.offset + limit, after=start.after, state=wanted, kind=type
        )[start.offset :]
        counts = state.operations.counts(bank_id)
        some = wanted is None and type is None
        total = sum(counts.values()) if some else counts.get(wanted, 0) if wanted else len(found)
        listed = page(
            [holdings.operation(o) for o in found], total, limit, start, last(found, limit)
        )
        return {"bank_id": bank_id, "operations": listed.pop("items"), **listed}

    return Json(await state.read(work))


def _state(name: str | None) -> OperationState | None:
    if name is None:
        return None
    if name not in _STATES:
        raise InvalidInput(f"unknown status {name!r}", hint="one of " + ", ".join(_STATES))
    return _STATES[name]


@router.get(
    "/{operation_id}",
    operation_id="get_operation_status",
    responses=answers(OperationStatus),
    dependencies=[reading],
)
async def get_operation(
    request: Request,
    bank_id: BankId,
    operation_id: OperationId,
    include_payload: Annotated[bool, Query(description="Also what was given.")] = False,
) -> Any:
    """`not_found` where there is none (any more): the contract has it as a state."""
    state = serving(request)
    found = await state.read(state.operations.operation, bank_id, operation_id)
    if found is None:
        return Json({"operation_id": operation_id, "status": "not_found"})
    return Json(holdings.operation(found, payload=include_payload))


def _done(operation_id: str, says: str) -> Json:
    return Json({"success": True, "message": says, "operation_id": operation_id})


@router.delete(
    "/{operation_id}",
    operation_id="cancel_operation",
    responses=answers(OperationDone, 409),
    dependencies=[writing],
)
async def cancel_operation(request: Request, bank_id: BankId, operation_id: OperationId) -> Any:
    """As long as it waits; what is being done is finished."""
    state = serving(request)
    await state.write(state.operations.cancel, bank_id, operation_id)
    return _done(operation_id, "cancelled")


@router.post(
    "/{operation_id}/retry",
    operation_id="retry_operation",
    responses=answers(OperationDone, 409),
    dependencies=[writing],
)
async def retry_operation(request: Request, bank_id: BankId, operation_id: OperationId) -> Any:
    """One that failed."""
    state = serving(request)
    await state.write(state.operations.retry, bank_id, operation_id)
    return _done(operation_id, "waiting to be tried again")


@router.delete(
    "/{operation_id}/delete",
    operation_id="delete_operation",
    responses=answers(OperationDone, 409),
    dependencies=[writing],
)
async def delete_operation(request: Request, bank_id: BankId, operation_id: OperationId) -> Any:
    """The note of one that is over."""
    state = serving(request)
    await state.write(state.operations.delete, bank_id, operation_id)
    return _done(operation_id, "deleted")

"""Work that was accepted: looked at, cancelled, tried again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from recollect.errors import InvalidInput
from recollect.server import holdings
from recollect.server.access import reading, writing
from recollect.server.answers import OperationDone, OperationList, OperationStatus
from recollect.server.guarded import Guarded
from recollect.server.operations import HINDSIGHT_NAMES, RETAIN
from recollect.server.paging import Paging, last, shown
from recollect.server.respond import Json, answers
from recollect.server.schemas import BankId, Cursor, Offset, OperationId
from recollect.server.serving import serving
from recollect.types import Operation, OperationState

router = APIRouter(
    prefix="/v1/default/banks/{bank_id}/operations", tags=["operations"], route_class=Guarded
)
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
    state, page = serving(request), Paging(limit, offset, cursor)
    skipped, after = page.start.offset, page.after
    wanted = _state(status)

    def work() -> dict[str, Any]:
        state.memory.bank(bank_id)
        found: list[Operation] = state.operations.operations(
            bank_id, limit=skipped + limit, after=after, state=wanted, kind=type
        )[skipped:]
        counts: Mapping[OperationState, int] = {}
        if type in (None, RETAIN):
            counts = state.operations.counts(bank_id)
        total = sum(counts.values()) if wanted is None else counts.get(wanted, 0)
        listed = shown([holdings.operation(o) for o in found], total, page, last(found, limit))
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


def _changes(method: str, path: str, verb: str, says: str, about: str) -> None:
    """A route that changes one operation."""

    async def change(request: Request, bank_id: BankId, operation_id: OperationId) -> Any:
        state = serving(request)
        await state.write(getattr(state.operations, verb), bank_id, operation_id)
        told = f"operation {operation_id} {says}"
        return Json({"success": True, "message": told, "operation_id": operation_id})

    router.add_api_route(
        "/{operation_id}" + path,
        change,
        methods=[method],
        operation_id=f"{verb}_operation",
        summary=f"{verb.title()} Operation",
        description=about,
        responses=answers(OperationDone, 409),
        dependencies=[writing],
    )


_changes(
    "DELETE",
    "",
    "cancel",
    "cancelled",
    "One that waits is never begun. Of one that runs nothing more is stored from now on; the parts "
    "that are stay, and its worker stops at the next one. A 409 when it is over.",
)
_changes(
    "POST",
    "/retry",
    "retry",
    "queued for retry",
    "One that failed or was cancelled goes on where it stopped; one that waits for another try is "
    "tried now.",
)
_changes("DELETE", "/delete", "delete", "deleted", "The note of one that is over.")

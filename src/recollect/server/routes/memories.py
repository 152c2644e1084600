"""Memories: retained, listed, looked at, corrected, deleted."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request

from recollect.errors import InvalidInput
from recollect.server import holdings, render
from recollect.server.access import note, reading, writing
from recollect.server.answers import (
    Deleted,
    History,
    MemoryGraphAnswer,
    RetainAnswer,
    Unit,
    UnitList,
)
from recollect.server.asking import visible
from recollect.server.correcting import correct
from recollect.server.giving import given_items
from recollect.server.guarded import Guarded
from recollect.server.paging import Page, Paging, last, shown
from recollect.server.respond import Json, answers
from recollect.server.schemas import (
    BankId,
    Limit,
    Match,
    MemoryBody,
    MemoryId,
    Moment,
    RetainBody,
    TagGroups,
    Tags,
    Text,
)
from recollect.server.serving import Serving, serving
from recollect.storage.base import EVERYTHING
from recollect.types import Operation

router = APIRouter(prefix="/v1/default/banks/{bank_id}", tags=["memories"], route_class=Guarded)
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="The same key with the same body gives the same answer and retains once.",
    ),
]
Type = Annotated[str | None, Query(alias="type", description="Only this type.")]
StateFilter = Annotated[
    Literal["valid", "invalidated", "active", "superseded"] | None,
    Query(description="Only in this state; valid = whatever can be recalled."),
]
TimeField = Annotated[
    Literal["created_at", "updated_at", "mentioned_at", "occurred_start", "occurred_end"] | None,
    Query(
        description="The time that `start_date` and `end_date` bound, latest first; `created_at` "
        "where only they are given."
    ),
]


@router.post(
    "/memories",
    operation_id="retain_memories",
    responses=answers(RetainAnswer, 409),
    dependencies=[writing],
)
async def retain_memories(
    request: Request, bank_id: BankId, body: RetainBody, idempotency_key: IdempotencyKey = None
) -> Any:
    """Remember. Durable and visible to the next recall when it answers; with `async` durable when
    it answers, and done soon after. A bank that is not there is made."""
    state = serving(request)
    items = given_items(body)
    if body.async_:
        operation = await state.write(
            state.operations.submit_retain,
            bank_id,
            items,
            operation_id=body.operation_id,
            request_key=idempotency_key,
        )
        note(request, items=operation.items, operation=operation.id)
        return Json(_accepted(operation))
    if idempotency_key is not None:
        result = await state.write(
            state.operations.retain, bank_id, items, request_key=idempotency_key
        )
    else:
        result = await state.write(state.memory.retain, bank_id, items)
    made = {"new": len(result.new), "known": len(result.known), "replaced": result.replaced}
    note(request, items=len(items), **made)
    return Json(render.retained(result))


def _accepted(operation: Operation) -> dict[str, Any]:
    return {
        "success": True,
        "bank_id": operation.bank,
        "items_count": operation.items,
        "async": True,
        "operation_id": operation.id,
        "operation_ids": [operation.id],
    }


@router.get(
    "/memories/list",
    operation_id="list_memories",
    responses=answers(UnitList),
    dependencies=[reading],
)
async def list_memories(
    request: Request,
    bank_id: BankId,
    page: Page,
    type: Type = None,
    q: Text = None,
    consolidation_state: Annotated[
        str | None, Query(description="Accepted; there is nothing to consolidate: `done` is all.")
    ] = None,
    state: StateFilter = None,
    document_id: Annotated[str | None, Query(description="Only of this document.")] = None,
    entity_id: Annotated[str | None, Query(description="Only what names this entity.")] = None,
    tags: Tags = None,
    tags_match: Match = "any",
    tag_groups: TagGroups = None,
    time_field: TimeField = None,
    start_date: Moment = None,
    end_date: Moment = None,
) -> Any:
    """Mentioned last first, then created last, undated ones at the end; by `time_field` where one is
    given, and then only what has that time."""
    where = {
        "type": type,
        "contains": q,
        "state": state,
        "document_id": document_id,
        "entity": entity_number(entity_id),
        "time_field": time_field or ("created_at" if start_date or end_date else None),
        "since": start_date,
        "until": end_date,
        **visible(tags, tags_match, tag_groups),
    }
    if consolidation_state not in (None, "done"):
        where["document_id"] = ""  # nothing waits to be consolidated
    found = serving(request)
    return Json(await found.read(_listed, found, bank_id, where, page))


def _listed(state: Serving, bank: str, where: dict[str, Any], page: Paging) -> dict[str, Any]:
    found = state.memory.memories(
        bank, limit=page.limit, after=page.after, offset=page.start.offset, **where
    )
    items, total = [render.unit(m) for m in found], state.memory.count(bank, **where)
    return shown(items, total, page, last(found, page.limit))


def entity_number(entity_id: str | None) -> int | None:
    if entity_id is None:
        return None
    if not entity_id.isascii() or not entity_id.isdigit() or len(entity_id) > 18:
        raise InvalidInput(f"{entity_id!r} is no id of an entity", hint="list the bank's entities")
    return int(entity_id)


@router.get(
    "/memories/{memory_id}",
    operation_id="get_memory",
    responses=answers(Unit),
    dependencies=[reading],
)
async def get_memory(request: Request, bank_id: BankId, memory_id: MemoryId) -> Any:
    state = serving(request)
    return Json(render.whole(await state.read(state.memory.load, bank_id, memory_id)))


@router.get(
    "/memories/{memory_id}/history",
    operation_id="get_observation_history",
    responses=answers(History),
    dependencies=[reading],
)
async def get_history(request: Request, bank_id: BankId, memory_id: MemoryId) -> Any:
    """Its earlier wordings, oldest first."""
    state = serving(request)
    found = await state.read(state.memory.revisions, bank_id, memory_id)
    return Json({"items": [render.unit(m) for m in found]})


@router.patch(
    "/memories/{memory_id}",
    operation_id="update_memory",
    responses=answers(Unit),
    dependencies=[writing],
)
async def update_memory(
    request: Request, bank_id: BankId, memory_id: MemoryId, body: MemoryBody
) -> Any:
    """Correct, withdraw, restore or confirm one memory. Its earlier wording stays visible to
    `as_of`."""
    state = serving(request)
    note(request, memory=memory_id)
    return Json(render.whole(await state.write(correct, state.memory, bank_id, memory_id, body)))


@router.delete(
    "/memories/{memory_id}",
    operation_id="delete_memory",
    responses=answers(Deleted),
    dependencies=[writing],
)
async def delete_memory(request: Request, bank_id: BankId, memory_id: MemoryId) -> Any:
    """Delete one memory with everything derived only from it: text, vectors, terms, links."""
    state = serving(request)
    count = await state.write(state.memory.forget, bank_id, memory_id)
    note(request, deleted=count, memory=memory_id)
    return Json({"success": True, "message": f"{memory_id} is gone", "deleted_count": count})


@router.delete(
    "/memories",
    operation_id="clear_bank_memories",
    responses=answers(Deleted),
    dependencies=[writing],
)
async def clear_memories(request: Request, bank_id: BankId, type: Type = None) -> Any:
    """Delete all memories of the bank, or all of one type."""
    state = serving(request)
    count = await state.write(state.memory.clear, bank_id, type=type)
    note(request, deleted=count)
    return Json({"success": True, "message": None, "deleted_count": count})


@router.delete(
    "/observations",
    operation_id="clear_observations",
    responses=answers(Deleted),
    dependencies=[writing],
)
async def clear_observations(request: Request, bank_id: BankId) -> Any:
    """Delete all observations of the bank; the facts stay."""
    return await clear_memories(request, bank_id, "observation")


@router.get(
    "/graph",
    operation_id="get_graph",
    responses=answers(MemoryGraphAnswer),
    dependencies=[reading],
)
async def get_graph(
    request: Request,
    bank_id: BankId,
    type: Type = None,
    limit: Limit = 1000,
    q: Text = None,
    tags: Tags = None,
    tags_match: Match = "all_strict",
    document_id: Annotated[str | None, Query(description="Only of this document.")] = None,
    chunk_id: Annotated[str | None, Query(description="Only of this chunk.")] = None,
) -> Any:
    """The memories mentioned last and the links among them."""
    state = serving(request)
    if document_id is None and chunk_id is not None:
        document_id = chunk_id.rpartition("#")[0]
    where: dict[str, Any] = {
        "type": type,
        "contains": q,
        "document_id": document_id,
        **visible(tags, tags_match),
    }

    def work() -> dict[str, Any]:
        if chunk_id is None:
            shown = state.memory.memories(bank_id, limit=limit, **where)
            total = state.memory.count(bank_id, **where)
        else:  # no filter of a listing: sought before anything is cut off
            found = state.memory.memories(bank_id, limit=EVERYTHING, **where)
            of_chunk = [m for m in found if m.chunk_id == chunk_id]
            shown, total = of_chunk[:limit], len(of_chunk)
        return holdings.memory_graph(shown, state.memory.linked(bank_id, shown), total, limit)

    return Json(await state.read(work))

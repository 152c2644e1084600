"""Documents: what was given, and the chunks of text it was cut into."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.recall.browse import document_page, matched
from recollect.server import holdings
from recollect.server.access import authorize, note, reading, writing
from recollect.server.answers import (
    ChunkAnswer,
    ChunkList,
    DocumentAnswer,
    DocumentDeleted,
    DocumentList,
    Done,
)
from recollect.server.asking import visible
from recollect.server.guarded import Guarded
from recollect.server.paging import Page, Paging, cut, last_written, shown
from recollect.server.respond import Json, answers
from recollect.server.schemas import (
    BankId,
    ChunkId,
    DocumentBody,
    DocumentId,
    Match,
    Moment,
    TagGroups,
    Tags,
    Text,
)
from recollect.server.serving import Serving, serving
from recollect.types import Scope

router = APIRouter(prefix="/v1/default", tags=["documents"], route_class=Guarded)
_IN_BANK = "/banks/{bank_id}/documents"


@router.get(
    _IN_BANK,
    operation_id="list_documents",
    responses=answers(DocumentList),
    dependencies=[reading],
)
async def list_documents(
    request: Request,
    bank_id: BankId,
    page: Page,
    q: Text = None,
    tags: Tags = None,
    tags_match: Match = "any_strict",
    tag_groups: TagGroups = None,
    time_field: Annotated[
        Literal["created_at", "updated_at"] | None,
        Query(
            description="What the dates bound, latest first; `updated_at` where only they are given."
        ),
    ] = None,
    start_date: Moment = None,
    end_date: Moment = None,
) -> Any:
    """Written last first."""
    state = serving(request)
    given = {
        "contains": q,
        "time_field": time_field or ("updated_at" if start_date or end_date else None),
        "since": start_date,
        "until": end_date,
        **visible(tags, tags_match, tag_groups),
    }
    where = {name: value for name, value in given.items() if value is not None}
    return Json(await state.read(_listed, state, bank_id, where, page))


def _listed(state: Serving, bank: str, where: dict[str, Any], page: Paging) -> dict[str, Any]:
    start = page.start
    seen = start.after if start.after is None or start.at is None else (start.at, start.after)
    found = document_page(state.memory.store, bank, where, page.limit, seen, start.offset)
    following = last_written(found, page.limit, where.get("time_field", "updated_at"))
    q = where.get("contains")
    items = [
        {
            **holdings.document_item(d),
            "matched_fields": matched(state.memory.store, d, q) if q else [],
        }
        for d in found
    ]
    total = state.memory.count_documents(bank, **where)
    return shown(items, total, page, following) | {"total_is_estimate": False}


@router.get(
    _IN_BANK + "/{document_id}",
    operation_id="get_document",
    responses=answers(DocumentAnswer),
    dependencies=[reading],
)
async def get_document(request: Request, bank_id: BankId, document_id: DocumentId) -> Any:
    """A document with its text."""
    state = serving(request)
    return Json(await state.read(_document, state, bank_id, document_id))


def _document(state: Serving, bank: str, document_id: str) -> dict[str, Any]:
    found = state.memory.document(bank, document_id)
    memories = state.memory.memories(bank, document_id=document_id, limit=found.memories)
    return holdings.document(found, Counter(m.type.value for m in memories))


@router.patch(
    _IN_BANK + "/{document_id}",
    operation_id="update_document",
    responses=answers(Done),
    dependencies=[writing],
)
async def update_document(
    request: Request, bank_id: BankId, document_id: DocumentId, body: DocumentBody
) -> Any:
    """New tags, for the document and its memories."""
    state = serving(request)
    if body.tags is None and body.observation_scopes is None:
        raise InvalidInput("there is nothing to change", hint="give tags")
    if body.tags is None:
        await state.read(state.memory.document, bank_id, document_id)
    else:
        tags = body.tags
        await state.write(state.memory.update_document, bank_id, document_id, tags=tags)
    return Json({"success": True})


@router.delete(
    _IN_BANK + "/{document_id}",
    operation_id="delete_document",
    responses=answers(DocumentDeleted),
    dependencies=[writing],
)
async def delete_document(request: Request, bank_id: BankId, document_id: DocumentId) -> Any:
    """With everything that came only from it."""
    state = serving(request)
    count = await state.write(state.memory.forget, bank_id, document_id=document_id)
    note(request, deleted=count, document=document_id)
    return Json(
        {
            "success": True,
            "message": f"{document_id} and {count} memories are gone",
            "document_id": document_id,
            "memory_units_deleted": count,
        }
    )


# --- chunks ----------------------------------------------------------------------------------


@router.get(
    _IN_BANK + "/{document_id}/chunks",
    operation_id="list_document_chunks",
    responses=answers(ChunkList),
    dependencies=[reading],
)
async def list_chunks(
    request: Request, bank_id: BankId, document_id: DocumentId, page: Page
) -> Any:
    """In the order of the text."""
    state = serving(request)

    def work() -> dict[str, Any]:
        document = state.memory.document(bank_id, document_id)
        found = state.memory.chunks(bank_id, document_id)
        return cut([holdings.chunk(c, bank_id, document.created_at) for c in found], page)

    return Json(await state.read(work))


@router.get(
    "/banks/{bank_id}/chunks/{chunk_id}",
    operation_id="get_bank_chunk",
    responses=answers(ChunkAnswer),
    dependencies=[reading],
)
async def get_bank_chunk(request: Request, bank_id: BankId, chunk_id: ChunkId) -> Any:
    state = serving(request)
    found = await state.read(_chunk, state, bank_id, chunk_id)
    if found is None:
        raise _no_chunk(chunk_id)
    return Json(found)


@router.get("/chunks/{chunk_id}", operation_id="get_chunk", responses=answers(ChunkAnswer, 409))
async def get_chunk(request: Request, chunk_id: ChunkId) -> Any:
    """The one chunk of this id in the banks that the caller may read. Ids are of a bank: where
    several hold one, name the bank in the path."""
    caller = authorize(request, None, Scope.READ)
    state = serving(request)

    def work() -> list[dict[str, Any]]:
        banks = [b.id for b in state.memory.banks() if caller.sees(b.id)]
        return [c for b in banks if (c := _chunk(state, b, chunk_id)) is not None]

    found = await state.read(work)
    if not found:
        raise _no_chunk(chunk_id)
    if len(found) > 1:
        raise Conflict(
            f"{len(found)} banks hold a chunk {chunk_id!r}",
            hint="name the bank: /v1/default/banks/{bank_id}/chunks/{chunk_id}",
        )
    return Json(found[0])


def _chunk(state: Serving, bank: str, chunk_id: str) -> dict[str, Any] | None:
    document_id = chunk_id.rpartition("#")[0]
    for chunk in state.memory.store.document_chunks(bank, document_id):
        if chunk.id == chunk_id:
            document = state.memory.document(bank, document_id)
            return holdings.chunk(chunk, bank, document.created_at)
    return None


def _no_chunk(chunk_id: str) -> NotFound:
    return NotFound(f"there is no chunk {chunk_id!r}", hint="recall gives the ids of chunks")

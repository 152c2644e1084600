"""What the library has and the contract does not: links, what is due, whole banks as lines, vectors
made anew. With these, `recollect.connect` has the verbs of `recollect.open`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import StreamingResponse

from recollect.language.dates import parse_when
from recollect.server import holdings
from recollect.server.access import administering, authorize, note, reading, writing
from recollect.server.answers import Answer, BankAnswer, Done, Unit
from recollect.server.respond import Json, answers
from recollect.server.schemas import BankId, IdsBody, Limit, LinksBody, MemoryId
from recollect.server.serving import Serving, serving
from recollect.server.uploading import lines_of
from recollect.types import Scope

router = APIRouter(prefix="/v1/default", tags=["library"])
BANK = "/banks/{bank_id}"
LINES = "application/x-ndjson"
STEP_S = 5.0  # of making vectors anew in one request: who asks shows how far it is, and asks again
_AT_ONCE = 200  # lines of a bank that are read before the next are asked for


class LinkAnswer(Answer):
    source: str
    target: str
    kind: str
    weight: float


class LinkList(Answer):
    items: list[LinkAnswer]


class TieAnswer(Answer):
    source: str
    target: str
    causal: bool
    weight: float


class TieList(Answer):
    items: list[TieAnswer]


class DueAnswer(Answer):
    memory: Unit
    freshness: Literal["aging", "stale", "expired"]
    factor: float = Field(description="What its score is multiplied by.")
    used: float = Field(description="The share of its window that is used up.")
    days: float = Field(description="Since it was last changed or reviewed.")
    window_days: float | None
    due_at: str | None
    overdue_days: float


class DueList(Answer):
    items: list[DueAnswer]


class Reembedded(Answer):
    done: int = Field(description="Vectors made by this request.")
    total: int = Field(description="Memories there are.")
    finished: bool


class ArrivalList(Answer):
    items: list[str]


@router.get(
    BANK + "/memories/{memory_id}/links",
    operation_id="list_memory_links",
    responses=answers(LinkList),
    dependencies=[reading],
)
async def list_links(request: Request, bank_id: BankId, memory_id: MemoryId) -> Any:
    """Addition: what it is linked to, strongest first."""
    state = serving(request)
    found = await state.read(state.memory.links, bank_id, memory_id)
    return Json(
        {
            "items": [
                {"source": k.source, "target": k.target, "kind": k.kind.value, "weight": k.weight}
                for k in found
            ]
        }
    )


@router.put(
    BANK + "/links",
    operation_id="relate_memories",
    responses=answers(Done),
    dependencies=[writing],
)
async def relate(request: Request, bank_id: BankId, body: LinksBody) -> Any:
    """Addition: what memories point at because somebody says so."""
    state = serving(request)
    await state.write(state.memory.relate, bank_id, body.links)
    note(request, items=len(body.links))
    return Json({"success": True})


@router.post(
    BANK + "/memories/linked",
    operation_id="list_links_among",
    responses=answers(TieList),
    dependencies=[reading],
)
async def list_linked(request: Request, bank_id: BankId, body: IdsBody) -> Any:
    """Addition: the links among these memories."""
    state = serving(request)
    found = await state.read(state.memory.linked, bank_id, body.ids)
    names = ("source", "target", "causal", "weight")
    return Json({"items": [dict(zip(names, tie, strict=True)) for tie in found]})


@router.get(
    BANK + "/due", operation_id="list_due", responses=answers(DueList), dependencies=[reading]
)
async def list_due(
    request: Request,
    bank_id: BankId,
    state: Annotated[
        list[Literal["aging", "stale", "expired"]] | None, Query(description="Only these.")
    ] = None,
    now: Annotated[str | None, Query(description="As if it were then: ISO 8601.")] = None,
    limit: Limit = 100,
) -> Any:
    """Addition: active memories that are aging, stale or expired, the most overdue first."""
    found = serving(request)
    at = parse_when(now, "now")
    listed = await found.read(found.memory.due, bank_id, state=state, now=at, limit=limit)
    return Json({"items": [holdings.due(d) for d in listed]})


@router.post(
    BANK + "/reembed",
    operation_id="reembed_bank",
    responses=answers(Reembedded),
    dependencies=[administering],
)
async def reembed(request: Request, bank_id: BankId) -> Any:
    """Addition: make the bank's vectors anew with the server's embedder, for some seconds. Ask
    again until it is `finished`; recalls with the old model go on meanwhile."""
    state = serving(request)

    def work() -> dict[str, Any]:
        until, done, total = time.monotonic() + STEP_S, 0, 0
        for done, total in state.memory.reembedding(bank_id):
            if time.monotonic() > until:
                return {"done": done, "total": total, "finished": False}
        return {"done": done, "total": total, "finished": True}

    return Json(await state.write(work))


# --- whole banks -----------------------------------------------------------------------------


@router.get("/arrivals", operation_id="list_arrivals", responses=answers(ArrivalList))
async def list_arrivals(request: Request) -> Any:
    """Addition: banks that an import or a copy has not finished; nobody sees them before."""
    caller = authorize(request, None, Scope.READ)
    state = serving(request)
    found = await state.read(state.memory.arrivals)
    return Json({"items": [name for name in found if caller.sees(name)]})


@router.get(
    BANK + "/dump",
    operation_id="export_bank",
    responses={
        **answers(LinkList),
        200: {
            "description": "JSON objects, one a line.",
            "content": {LINES: {"schema": {"type": "string"}}},
        },
    },
    dependencies=[reading],
)
async def export_bank(request: Request, bank_id: BankId) -> Any:
    """Addition: the whole bank, exactly, as `recollect export` writes it."""
    state = serving(request)
    await state.read(state.memory.bank, bank_id)
    return StreamingResponse(_lines(state, state.memory.export(bank_id)), media_type=LINES)


async def _lines(state: Serving, exported: Iterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    def some() -> bytes:
        return b"".join(orjson.dumps(line) + b"\n" for line in islice(exported, _AT_ONCE))

    while part := await state.read(some):
        yield part


@router.post(
    BANK + "/dump",
    operation_id="import_bank",
    responses=answers(BankAnswer, 409),
    dependencies=[administering],
    openapi_extra={
        "requestBody": {"required": True, "content": {LINES: {"schema": {"type": "string"}}}}
    },
)
async def import_bank(request: Request, bank_id: BankId) -> Any:
    """Addition: a bank made again from its export, under this name. It is whole or not there. Read
    line by line: only a line may not be larger than what one request may hold."""
    state = serving(request)
    limit = state.body_limit(request.headers.get("authorization"))
    given = lines_of(request, limit)
    made = await state.write(lambda: state.memory.import_bank(given, bank_id))
    note(request, new=made.memories)
    return Json(holdings.profile(made))

"""What the library has and the contract does not: links, what is due, vectors made anew. With these
and whole banks (`whole`), `recollect.connect` has the verbs of `recollect.open`."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field

from recollect.language.dates import parse_when
from recollect.server import holdings
from recollect.server.access import administering, note, reading, writing
from recollect.server.answers import Answer, Done, Unit
from recollect.server.guarded import Guarded
from recollect.server.respond import Json, answers
from recollect.server.schemas import BankId, IdsBody, Limit, LinksBody, MemoryId
from recollect.server.serving import serving

router = APIRouter(prefix="/v1/default", tags=["library"], route_class=Guarded)
BANK = "/banks/{bank_id}"
STEP_S = 5.0  # of making vectors anew in one request: who asks shows how far it is, and asks again


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
    total: int = Field(description="Vectors that were to make when it began.")
    finished: bool


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

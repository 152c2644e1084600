"""Recall, as an answer or as a stream of its stages, and why."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from recollect.errors import NotFound
from recollect.recall.result import RecallResult
from recollect.server.access import reading
from recollect.server.answers import RecallAnswer, WhyAnswer
from recollect.server.asking import answered, options
from recollect.server.direct import DirectRoute
from recollect.server.guarded import Guarded
from recollect.server.respond import Json, answers
from recollect.server.schemas import BankId, RecallBody, WhyBody
from recollect.server.serving import Serving, serving
from recollect.server.stream import HEADERS, MEDIA_TYPE, stages
from recollect.types import Degradation

router = APIRouter(prefix="/v1/default/banks/{bank_id}", tags=["recall"], route_class=Guarded)


async def recall_memories(request: Request, bank_id: BankId, body: RecallBody) -> Any:
    """What matters now, within `max_tokens`. A bank that is not there yet knows nothing."""
    state = serving(request)
    asked = options(body)

    def work() -> Json:
        # Rendered where it was recalled: the loop only hands over the bytes.
        try:
            result = state.memory.recall(bank_id, body.query, **asked)
        except NotFound:
            if _has_bank(state, bank_id):
                raise
            result = _nothing(bank_id, body)
        return Json(answered(result, body))

    return await state.recall(work, body.query, body.deadline_ms)


router.add_api_route(
    "/memories/recall",
    recall_memories,
    methods=["POST"],
    operation_id="recall_memories",
    responses=answers(RecallAnswer),
    dependencies=[reading],
    route_class_override=DirectRoute,
)


def _has_bank(state: Serving, bank: str) -> bool:
    return state.memory.store.bank(bank) is not None


def _nothing(bank: str, body: RecallBody) -> RecallResult:
    """What an agent gets that recalls before it first retains."""
    gone = Degradation("bank", f"there is no bank {bank!r} yet")
    return RecallResult(
        bank=bank,
        query=body.query,
        results=(),
        chunks=(),
        window=None,
        timings={},
        degraded=(gone,),
        nothing_known=True,
        tokens=0,
        cached=False,
        trace=None,
    )


@router.post(
    "/memories/recall/stream",
    operation_id="stream_recall",
    responses={
        **answers(RecallAnswer),
        200: {
            "description": "Server-sent events: `stage` while it runs, then one `result` (as "
            "recall answers) or one `problem`.",
            # No schema: of events some read it as that of the stream, some as that of each.
            "content": {MEDIA_TYPE: {}},
        },
    },
    dependencies=[reading],
)
async def stream_recall(request: Request, bank_id: BankId, body: RecallBody) -> Any:
    """The same recall, with every stage told as it starts and stops."""
    state = serving(request)
    await state.read(state.memory.bank, bank_id)
    told = stages(state, bank_id, body)
    return StreamingResponse(told, media_type=MEDIA_TYPE, headers=HEADERS)


@router.post(
    "/memories/why",
    operation_id="explain_memory",
    responses=answers(WhyAnswer),
    dependencies=[reading],
)
async def explain_memory(request: Request, bank_id: BankId, body: WhyBody) -> Any:
    """Why a memory was, or was not, returned: stage by stage, and what it would have needed."""
    state = serving(request)
    asked = options(body)
    found = await state.read(state.memory.why, bank_id, body.query, body.memory_id, **asked)
    return Json(found.as_dict())

"""What the library has and the contract does not: links of a memory, and whole banks as lines.

With these, `recollect.connect` has the verbs of `recollect.open`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Body, Request
from starlette.responses import StreamingResponse

from recollect.errors import InvalidInput
from recollect.server import holdings
from recollect.server.access import administering, note, reading
from recollect.server.answers import Answer, BankAnswer
from recollect.server.respond import Json, answers
from recollect.server.schemas import BankId, MemoryId
from recollect.server.serving import Serving, serving

router = APIRouter(prefix="/v1/default/banks/{bank_id}", tags=["library"])
LINES = "application/x-ndjson"
_AT_ONCE = 200  # lines of a bank that are read before the next are asked for


class LinkAnswer(Answer):
    source: str
    target: str
    kind: str
    weight: float


class LinkList(Answer):
    items: list[LinkAnswer]


@router.get(
    "/memories/{memory_id}/links",
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


@router.get(
    "/dump",
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
    "/dump",
    operation_id="import_bank",
    responses=answers(BankAnswer, 409),
    dependencies=[administering],
)
async def import_bank(
    request: Request, bank_id: BankId, body: Annotated[bytes, Body(media_type=LINES)]
) -> Any:
    """Addition: a bank made again from its export, under this name. It is whole or not there."""
    state = serving(request)

    made = await state.write(lambda: state.memory.import_bank(_objects(body), bank_id))
    note(request, new=made.memories)
    return Json(holdings.profile(made))


def _objects(body: bytes) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(body.splitlines(), 1):
        if line.strip():
            try:
                yield orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise InvalidInput(
                    f"line {number} is not JSON: {error}",
                    hint="send what GET …/dump or `recollect export` wrote",
                ) from error

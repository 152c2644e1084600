"""Whole banks as lines: exported and imported in one go, or copied part by part, so that a copy
that was interrupted goes on where it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import islice
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from recollect.memory.checks import check_bank_name
from recollect.server import holdings
from recollect.server.access import administering, authorize, note, reading
from recollect.server.answers import Answer, BankAnswer, Done
from recollect.server.guarded import Guarded
from recollect.server.respond import Json, answers
from recollect.server.schemas import BankId
from recollect.server.serving import Serving, serving
from recollect.server.uploading import lines_of
from recollect.storage.arrival import Arrival, held
from recollect.storage.base import Store
from recollect.storage.copy import Giving, StorePlace, passing
from recollect.storage.digest import Sums, digesting, digests_out
from recollect.storage.refusals import bank_exists, went_on_elsewhere
from recollect.storage.transfer import (
    KINDS,
    batch_of,
    checked_head,
    head,
    line,
    model_in,
    row_of,
    rows,
)
from recollect.types import Bank, Scope

router = APIRouter(prefix="/v1/default", tags=["whole banks"], route_class=Guarded)
BANK = "/banks/{bank_id}"
LINES = "application/x-ndjson"
_AT_ONCE = 200  # lines of a bank that are read before the next are asked for
# Lines that say little are held back by compression until there are many, and whoever waits for
# them would think that the server has gone.
_AT_ONCE_SENT = {"Content-Encoding": "identity"}
_STREAMED: dict[str, Any] = {
    "description": "JSON objects, one a line.",
    "content": {LINES: {"schema": {"type": "string"}}},
}
_TAKES_LINES = {
    "requestBody": {"required": True, "content": {LINES: {"schema": {"type": "string"}}}}
}
After = Annotated[
    list[Annotated[str, Field(pattern=f"^({'|'.join(KINDS)}):[0-9]{{1,12}}$")]] | None,
    Query(
        description="As `memory:1200`: so many rows of a kind are there already and stay out. The "
        "last line then also tells counts and hashes of all of them."
    ),
]
Was = Annotated[str, Query(max_length=100, description="The `by` of the last answer.")]


class ArrivalList(Answer):
    items: list[str]


class ArrivalBody(BaseModel):
    """A bank that is to be brought in."""

    origin: Any = Field(
        None, description="What a later attempt must name again to go on with this one."
    )
    head: dict[str, Any] | None = Field(
        None, description="The first line of its export: begin anew. Without: go on."
    )


class ArrivalAnswer(Answer):
    by: str | None = Field(
        description="Names the hold on it; null when there is none to go on with."
    )
    done: dict[str, int] = Field(description="How many rows of each kind are there.")


@router.get("/arrivals", operation_id="list_arrivals", responses=answers(ArrivalList))
async def list_arrivals(request: Request) -> Any:
    """Addition: banks that an import or a copy has not finished; nobody sees them before."""
    caller = authorize(request, None, Scope.READ)
    state = serving(request)
    found = await state.read(state.memory.arrivals)
    return Json({"items": [name for name in found if caller.sees(name)]})


# --- out ----------------------------------------------------------------------------------------


@router.get(
    BANK + "/dump",
    operation_id="export_bank",
    responses={**answers(Done), 200: _STREAMED},
    dependencies=[reading],
)
async def export_bank(request: Request, bank_id: BankId, after: After = None) -> Any:
    """Addition: the whole bank, exactly, as `recollect export` writes it."""
    state = serving(request)
    await state.read(state.memory.bank, bank_id)
    if after is None:
        return _stream(state, state.memory.export(bank_id))
    there = {kind: int(count) for kind, _, count in (each.partition(":") for each in after)}
    fresh = _fresh(state.memory.store, bank_id, there)
    return _stream(state, fresh, headers=_AT_ONCE_SENT if any(there.values()) else None)


def _fresh(store: Store, bank: str, after: Mapping[str, int]) -> Iterator[Mapping[str, Any] | None]:
    """None for what the other side has: a line with nothing in it, so that nobody thinks that
    the server has gone."""
    dump = store.dump(bank)
    yield head(bank, dump)
    sums, count = Sums(dump.model, dump.config), Counter[str]()
    for (kind, value), new in passing(rows(dump), after):
        told = line(kind, value)
        sums.add(kind, told)
        count[kind] += 1
        yield {kind: told} if new else None
    yield {"end": {k: count[k] for k in KINDS}, "digest": digests_out(sums.digests())}


@router.get(
    BANK + "/digest",
    operation_id="digest_bank",
    responses={**answers(Done), 200: _STREAMED},
    dependencies=[reading],
)
async def digest_bank(request: Request, bank_id: BankId) -> Any:
    """Addition: counts and hashes of all that a bank holds, in the last line; the lines before it
    tell how many rows are read. Two banks with the same ones hold the same."""
    state = serving(request)
    await state.read(state.memory.bank, bank_id)
    told = _digested(state.memory.store, bank_id)
    return _stream(state, told, at_once=1, headers=_AT_ONCE_SENT)


def _digested(store: Store, bank: str) -> Iterator[Mapping[str, Any]]:
    for found in digesting(store.dump(bank)):
        yield {"read": found} if isinstance(found, int) else {"digest": digests_out(found)}


def _stream(
    state: Serving,
    lines: Iterator[Mapping[str, Any] | None],
    at_once: int = _AT_ONCE,
    headers: Mapping[str, str] | None = None,
) -> StreamingResponse:
    return StreamingResponse(_parts(state, lines, at_once), media_type=LINES, headers=headers)


async def _parts(
    state: Serving, lines: Iterator[Mapping[str, Any] | None], at_once: int
) -> AsyncIterator[bytes]:
    def some() -> bytes:
        return b"".join(
            (b"" if line is None else orjson.dumps(line)) + b"\n" for line in islice(lines, at_once)
        )

    while part := await state.read(some):
        yield part


# --- in -----------------------------------------------------------------------------------------


@router.post(
    BANK + "/dump",
    operation_id="import_bank",
    responses=answers(BankAnswer, 409),
    dependencies=[administering],
    openapi_extra=_TAKES_LINES,
)
async def import_bank(request: Request, bank_id: BankId) -> Any:
    """Addition: a bank made again from its export, under this name. It is whole or not there. Read
    line by line: only a line may not be larger than what one request may hold."""
    state = serving(request)
    given = _lines(request)
    made = await state.write(lambda: state.memory.import_bank(given, bank_id))
    note(request, new=made.memories)
    return Json(holdings.profile(made))


def _lines(request: Request) -> Iterator[Mapping[str, Any]]:
    return lines_of(request, serving(request).body_limit(request.headers.get("authorization")))


@router.put(
    BANK + "/arrival",
    operation_id="begin_arrival",
    responses=answers(ArrivalAnswer, 409),
    dependencies=[administering],
)
async def begin_arrival(request: Request, bank_id: BankId, body: ArrivalBody) -> Any:
    """Addition: bring a bank in part by part, or go on with it. Nobody sees it before `finish`."""
    state = serving(request)
    store = state.memory.store

    def work() -> dict[str, Any]:
        check_bank_name(bank_id)
        if body.head is None:
            found = StorePlace(store).resume(bank_id, body.origin)
        else:
            first = checked_head(body.head)
            if (there := store.bank(bank_id)) is not None and (there.memories or there.documents):
                raise bank_exists(bank_id)
            given = Giving(model_in(first), first.get("config") or {}, iter(()), dict)
            found = StorePlace(store).begin(bank_id, given, body.origin)
        return _told(None if found is None else held(store, bank_id))

    return Json(await state.write(work))


def _told(arrival: Arrival | None) -> dict[str, Any]:
    if arrival is None:
        return {"by": None, "done": {}}
    return {"by": arrival.by, "done": arrival.done}


@router.post(
    BANK + "/arrival/rows",
    operation_id="bring_rows",
    responses=answers(ArrivalAnswer, 409),
    dependencies=[administering],
    openapi_extra=_TAKES_LINES,
)
async def bring_rows(
    request: Request,
    bank_id: BankId,
    was: Was,
    by: Annotated[
        str, Query(min_length=1, max_length=100, description="A new name: sent again, it is known.")
    ],
) -> Any:
    """Addition: the next rows, as lines of an export, in one transaction."""
    state = serving(request)
    given = _lines(request)

    def work() -> tuple[Arrival, int]:
        store = state.memory.store
        arrival = held(store, bank_id)
        model = store.dump(bank_id).model
        part = [row_of(each, bank_id, model) for each in given]
        if arrival.by == by:
            return arrival, 0
        if arrival.by != was:
            raise went_on_elsewhere(bank_id)
        done = Counter(arrival.done)
        done.update(kind for kind, _ in part)
        arrival.bring(batch_of(part), done, by)
        return arrival, len(part)

    arrival, count = await state.write(work)
    note(request, items=count)
    return Json(_told(arrival))


def _still_held(store: Store, bank: str, was: str) -> Arrival:
    """The bank in the making, if nobody else went on with it since the last answer."""
    arrival = held(store, bank)
    if arrival.by != was:
        raise went_on_elsewhere(bank)
    return arrival


@router.get(
    BANK + "/arrival/digest",
    operation_id="digest_arrival",
    responses={**answers(Done, 409), 200: _STREAMED},
    dependencies=[administering],
)
async def digest_arrival(request: Request, bank_id: BankId) -> Any:
    """Addition: as `digest_bank`, of what is there so far."""
    state = serving(request)
    await state.read(held, state.memory.store, bank_id)
    told = _digested(state.memory.store, bank_id)
    return _stream(state, told, at_once=1, headers=_AT_ONCE_SENT)


@router.post(
    BANK + "/arrival/finish",
    operation_id="finish_arrival",
    responses=answers(BankAnswer, 409),
    dependencies=[administering],
)
async def finish_arrival(request: Request, bank_id: BankId, was: Was) -> Any:
    """Addition: it is whole; from now on it is there."""
    state = serving(request)

    def work() -> Bank:
        _still_held(state.memory.store, bank_id, was).finish()
        return state.memory.bank(bank_id)

    made = await state.write(work)
    note(request, new=made.memories)
    return Json(holdings.profile(made))


@router.delete(
    BANK + "/arrival",
    operation_id="abandon_arrival",
    responses=answers(Done, 409),
    dependencies=[administering],
)
async def abandon_arrival(request: Request, bank_id: BankId, was: Was) -> Any:
    """Addition: take away what is there of it."""
    state = serving(request)

    await state.write(lambda: _still_held(state.memory.store, bank_id, was).abandon())
    return Json({"success": True})

"""A recall told while it runs, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson

from recollect.errors import RecollectError
from recollect.recall.result import RecallResult
from recollect.server import render
from recollect.server.asking import answered, options
from recollect.server.problems import of_error
from recollect.server.schemas import RecallBody
from recollect.server.serving import Serving
from recollect.types import StageEvent

# Told by the line, not when a proxy's buffer is full.
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
MEDIA_TYPE = "text/event-stream"


async def stages(state: Serving, bank: str, body: RecallBody) -> AsyncIterator[bytes]:
    """Stages as they start and stop, then the result, or the problem that ended it."""
    loop = asyncio.get_running_loop()
    told: asyncio.Queue[StageEvent | RecallResult | RecollectError] = asyncio.Queue()

    def tell(item: StageEvent | RecallResult | RecollectError) -> None:
        loop.call_soon_threadsafe(told.put_nowait, item)

    def work() -> None:
        try:
            tell(state.memory.recall(bank, body.query, on_event=tell, **options(body)))
        except RecollectError as error:
            tell(error)

    running = asyncio.ensure_future(state.recall(work, body.query, body.deadline_ms))
    while True:
        item = await _next(told, running)
        if isinstance(item, StageEvent):
            yield _event("stage", render.event(item))
            continue
        if isinstance(item, RecallResult):
            yield _event("result", answered(item, body))
        else:
            yield b"event: problem\ndata: " + bytes(of_error(item).body) + b"\n\n"
        return


async def _next(
    told: asyncio.Queue[StageEvent | RecallResult | RecollectError], running: asyncio.Future[None]
) -> StageEvent | RecallResult | RecollectError:
    """The next word; what breaks the recall otherwise is raised here, not waited for."""
    if not running.done():
        waiting = asyncio.ensure_future(told.get())
        await asyncio.wait({waiting, running}, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            return waiting.result()
        waiting.cancel()
    if told.empty():
        running.result()
        # Its last word is on the way: it was said before the work ended.
        return await told.get()
    return told.get_nowait()


def _event(name: str, data: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), orjson.dumps(data, default=dict))

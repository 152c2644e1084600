"""A recall's stage events as progress notifications, for a client that asked for progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server import ServerRequestContext

from recollect.telemetry import OnEvent
from recollect.types import StageEvent

PATIENCE_S = 1.0  # for a client that asked for progress and does not read it


@asynccontextmanager
async def stage_events(ctx: ServerRequestContext[Any, Any]) -> AsyncGenerator[OnEvent | None]:
    """What to hand to recall as `on_event`. All events are sent before the answer is."""
    if (ctx.meta or {}).get("progress_token") is None:
        yield None
        return
    happened: asyncio.Queue[StageEvent | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def on_event(event: StageEvent) -> None:  # called on the recall's own threads
        loop.call_soon_threadsafe(happened.put_nowait, event)

    async def forward() -> None:
        done = 0
        while (event := await happened.get()) is not None:
            if event.phase == "stop":
                done += 1
                took = f"{event.stage}: {event.took_ms or 0.0:.1f} ms"
                await ctx.session.report_progress(done, None, took)

    # Not a task group: that would wrap the recall's own error into a group of errors.
    forwarding = asyncio.create_task(forward())
    try:
        yield on_event
    finally:
        happened.put_nowait(None)
        with anyio.move_on_after(PATIENCE_S, shield=True):
            await forwarding

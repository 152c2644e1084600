"""The tools of `recollect.mcp` at /mcp, over the same memory and behind the same keys."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.errors import RecollectError
from recollect.server.keys import Gate, is_loopback
from recollect.server.problems import of_error, status_of
from recollect.types import Scope as Permission

if TYPE_CHECKING:
    from recollect.memory import Recollect

PATH = "/mcp"


class McpAtWork:
    """Made by the first request: the package behind it takes half a second to import, and most
    servers are asked over HTTP only. It runs in a task of its own until the server stops."""

    name = "mcp"

    def __init__(self, memory: Recollect, gate: Gate, together: Path | None = None) -> None:
        self._memory = memory
        self._together = together  # a folder that all processes behind the address have
        self._gate = gate
        self._made: ASGIApp | None = None
        self._task: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._stop = asyncio.Event()

    def routes(self) -> list[Route | Mount]:
        return [
            Route(PATH, endpoint=self, name=self.name, include_in_schema=False),
            Mount(PATH, app=self, name=self.name),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        scope["route"] = self  # by its name logs, metrics and the audit call what was asked
        try:
            self._admit(Request(scope))
        except RecollectError as error:
            await of_error(error, PATH)(scope, receive, send)
            return
        inner = {**scope, "root_path": PATH}
        if scope["path"] == PATH:
            inner["path"] = PATH + "/"
        await (await self._running())(inner, receive, send)

    def _admit(self, request: Request) -> None:
        given = request.headers.get("authorization")
        caller = request.state.caller = self._gate.recognise(given)
        self._gate.allow(caller, None, Permission.READ)

    def _allows(self, request: Request, bank: str, action: Literal["read", "write"]) -> bool:
        caller = self._gate.recognise(request.headers.get("authorization"))
        may = caller.sees(bank) and caller.may(Permission(action))
        if action == "write":  # for the audit: a tool that is refused is answered with 200
            request.state.bank, request.state.scope = bank, Permission.WRITE
            request.state.refused = not may
        return may

    def _failed(self, request: Request, error: Exception) -> None:
        """For the audit, as the same would have been answered on another path."""
        request.state.failed = status_of(error)

    async def _running(self) -> ASGIApp:
        async with self._lock:
            if self._made is not None:
                return self._made
            made = await asyncio.to_thread(self._make)
            ready = asyncio.Event()
            self._task = asyncio.create_task(self._live(made, ready))
            await ready.wait()
            self._made = made
            return made

    def _make(self) -> Any:
        from recollect.mcp import http_app

        # Other machines come with a key, or were let in by --no-auth, and with a name of ours; also
        # by way of a proxy on this one.
        own = is_loopback(self._memory.settings.host) and self._gate.unguarded()
        hosts = None if own else ["*"]
        shared = None
        if self._together is not None:
            from recollect.mcp.together import SharedConversations

            shared = SharedConversations(self._together / "conversations.sqlite")
        return http_app(
            self._memory,
            allow=self._allows,
            failed=self._failed,
            hosts=hosts,
            conversations=shared,
        )

    async def _live(self, made: Any, ready: asyncio.Event) -> None:
        async with made.router.lifespan_context(made):
            ready.set()
            await self._stop.wait()

    async def stop(self) -> None:
        self._stop.set()
        if self._task is not None:
            await self._task

"""Callers are checked before their body is read: reading it takes time, and what is wrong with
it concerns only those who may send it."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import unquote

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send


class Guarded(APIRoute):
    """A route of a bank. FastAPI, which reads the body first, asks once more; `access.authorize`
    knows that."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in self.methods:
            await self.ask(Request(scope, receive, send))
        await super().handle(scope, receive, send)

    async def ask(self, request: Request) -> None:
        bank = unquote(request.path_params.get("bank_id", ""))
        for asked in self.dependencies:
            await cast("Any", asked.dependency)(request, bank)

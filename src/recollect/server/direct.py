"""A route that is asked often, by the short way.

FastAPI describes it, and answers whatever is out of the ordinary: another method, a body that is
no JSON, a field that is wrong. A request that is as it should be goes straight to the handler:
working out what a handler needs takes FastAPI longer than the rest of the way takes.
"""

from __future__ import annotations

from functools import cached_property
from typing import get_type_hints
from urllib.parse import unquote

import orjson
from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from recollect.server.guarded import Guarded
from recollect.server.limits import read_whole, replayed

_JSON = (b"content-type", b"application/json")


class DirectRoute(Guarded):
    """For a handler that takes a request, a bank and a body."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in self.methods or _JSON not in scope["headers"]:
            await super().handle(scope, receive, send)
            return
        request = Request(scope, receive, send)
        await self.ask(request)
        content = await read_whole(receive)
        body = None if content is None else self._read(content)
        if body is None:
            again = receive if content is None else replayed(content, receive)
            await super().handle(scope, again, send)
            return
        bank = unquote(scope["path_params"]["bank_id"])
        answer: Response = await self.endpoint(request, bank, body)
        await answer(scope, receive, send)

    @cached_property
    def _body(self) -> type[BaseModel]:
        return get_type_hints(self.endpoint)["body"]

    def _read(self, content: bytes) -> BaseModel | None:
        """What is not as it should be is left to FastAPI, which says what is wrong with it."""
        try:
            return self._body.model_validate(orjson.loads(content))
        except (orjson.JSONDecodeError, ValidationError):
            return None

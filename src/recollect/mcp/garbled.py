"""Lines on stdin that are no message. The package drops them, and the client waits until it
times out. A text that was cut in the middle of an emoji is enough."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterable
from typing import Any, Protocol, cast

import mcp_types as mcp
from anyio.abc import ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST
from pydantic import ValidationError

logger = logging.getLogger("recollect.mcp")


class Outgoing(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


async def pass_on(
    incoming: AsyncIterable[SessionMessage | Exception],
    understood: ObjectSendStream[SessionMessage | Exception],
    outgoing: Outgoing,
) -> None:
    """Pass messages on to the server, and answer other lines where they carry an id."""
    async with understood:
        async for each in incoming:
            if not isinstance(each, Exception):
                await understood.send(each)
                continue
            answer = refusal(each)
            if answer is None:
                logger.warning("a line that is no message was left out")
            else:
                await outgoing.send(SessionMessage(answer))


def refusal(error: Exception) -> mcp.JSONRPCError | None:
    asked = _asked(error)
    number = asked.get("id")
    if not isinstance(number, str | int) or isinstance(number, bool):
        return None
    said = "the request holds half a character" if _halved(asked) else "the request is no message"
    hint = "hint: it was cut or decoded wrongly; send whole characters, as JSON-RPC 2.0"
    data = mcp.ErrorData(code=INVALID_REQUEST, message=f"{said}\n\n{hint}")
    return mcp.JSONRPCError(jsonrpc="2.0", id=number, error=data)


def _asked(error: Exception) -> dict[str, Any]:
    """What was sent, as far as it can be read."""
    given: Any = error.errors()[0]["input"] if isinstance(error, ValidationError) else None
    try:
        read = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}


def _halved(asked: dict[str, Any]) -> bool:
    try:
        json.dumps(asked, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False

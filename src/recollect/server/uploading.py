"""A long body, read as it comes in: by the thread that works on it, line by line."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping, MutableMapping
from typing import Any

from fastapi import Request
from starlette.requests import ClientDisconnect

from recollect.errors import InvalidInput, TooLarge
from recollect.storage.transfer import objects

_LINES = re.compile(rb"/v1/default/banks/[^/]+/(dump|arrival/rows)")


def is_streamed(scope: MutableMapping[str, Any]) -> bool:
    """Whether a request's body is read line by line, so that nobody needs to bound it whole."""
    raw: bytes = scope.get("raw_path") or b""
    return scope["method"] == "POST" and _LINES.fullmatch(raw.partition(b"?")[0]) is not None


def lines_of(request: Request, limit: int) -> Iterator[Mapping[str, Any]]:
    """JSON objects, one a line, for a worker thread: the loop must be free to bring them."""
    loop, stream = asyncio.get_running_loop(), request.stream()

    def parts() -> Iterator[bytes]:
        while part := asyncio.run_coroutine_threadsafe(_next(stream), loop).result():
            yield part

    return objects(_lines(parts(), limit), "the export")


async def _next(stream: AsyncIterator[bytes]) -> bytes:
    """b"" at the end."""
    try:
        async for part in stream:
            if part:
                return part
    except ClientDisconnect as error:
        raise InvalidInput("the request was cut short", hint="send the export again") from error
    return b""


def _lines(parts: Iterator[bytes], limit: int) -> Iterator[bytes]:
    held = b""
    for part in parts:
        *whole, held = (held + part).split(b"\n")
        if max(map(len, (*whole, held))) > limit:
            raise TooLarge(
                f"a line is larger than {limit:,} bytes",
                hint="the key's --max-body is the limit, or else the server's body_limit",
            )
        yield from whole
    yield held

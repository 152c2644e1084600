"""How answers leave: head and body in one go, and neither later than it could."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from recollect.server.heads import BoundedHeads
from recollect.server.serve import bind

from .conftest import Server

PATIENCE_S = 60
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Message = dict[str, Any]


@asynccontextmanager
async def connected(app: Callable[..., Awaitable[None]]) -> AsyncIterator[Streams]:
    """To an application behind the reader of HTTP that a server has."""
    with bind("127.0.0.1", 0) as bound:
        config = uvicorn.Config(app, http=BoundedHeads, ws="none", lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        reader, writer = await asyncio.open_connection(*bound.getsockname()[:2])
        try:
            yield reader, writer
        finally:
            writer.close()
            server.should_exit = True
            await asyncio.wait_for(serving, PATIENCE_S)


def started(length: int | None = None) -> Message:
    headers = [] if length is None else [(b"content-length", b"%d" % length)]
    return {"type": "http.response.start", "status": 200, "headers": headers}


def body(content: bytes, *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": content, "more_body": more}


async def test_head_and_body_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        transport = send.__self__.transport._transport
        write = transport.write
        monkeypatch.setattr(transport, "write", lambda data: (written.append(data), write(data)))
        await send(started(5))
        await send(body(b"hello"))

    async with connected(app) as (reader, writer):
        writer.write(GET)
        said = await asyncio.wait_for(reader.readuntil(b"hello"), PATIENCE_S)
    assert written == [said]


async def test_a_head_does_not_wait_for_a_body_that_comes_later() -> None:
    seen = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(started())
        await seen.wait()
        await send(body(b"event 1", more=True))
        await send(body(b"event 2", more=True))
        await send(body(b""))

    async with connected(app) as (reader, writer):
        writer.write(GET)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        assert head.startswith(b"HTTP/1.1 200 ")
        seen.set()
        rest = await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), PATIENCE_S)
        assert re.findall(rb"event \d", rest) == [b"event 1", b"event 2"]


async def test_who_asks_to_go_on_is_told_so() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        content = (await receive())["body"]
        await send(started(len(content)))
        await send(body(content))

    asked = GET.replace(b"GET", b"POST").rstrip() + b"\r\nContent-Length: 2\r\n"
    async with connected(app) as (reader, writer):
        writer.write(asked + b"Expect: 100-continue\r\n\r\n")
        told = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"ok")
        assert (await asyncio.wait_for(reader.readuntil(b"ok"), PATIENCE_S)).endswith(b"ok")


async def test_what_is_asked_in_one_go_is_answered_in_order(server: Server) -> None:
    host = b" HTTP/1.1\r\nHost: localhost\r\n"
    asked = [b"HEAD /version", b"GET /nowhere", b"HEAD /health/live", b"GET /version"]
    port = int(server.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"".join(each + host + b"\r\n" for each in asked))
    writer.write(b"GET /health/live" + host + b"Connection: close\r\n\r\n")
    said = await asyncio.wait_for(reader.read(), PATIENCE_S)
    writer.close()
    assert re.findall(rb"HTTP/1.1 (\d+)", said) == [b"405", b"404", b"200", b"200", b"200"]

"""Nobody keeps a connection by saying half of something, or by never reading."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from recollect.server import heads
from recollect.server.limits import read_whole

PATIENCE_S = 60
LONG = 32_000_000  # bytes: more than the buffers between two sockets hold


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers as many bytes as its path says, after the work that its path says."""
    _, size, work = scope["path"].split("/")
    await read_whole(receive)
    await asyncio.sleep(float(work))
    length = (b"content-length", size.encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": b"x" * int(size)})


@asynccontextmanager
async def served() -> AsyncGenerator[tuple[int, uvicorn.Server]]:
    bound = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=heads.BoundedHeads, lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        yield bound.getsockname()[1], server
    finally:
        server.should_exit = True
        await asyncio.wait_for(running, PATIENCE_S)


async def ends(reader: asyncio.StreamReader) -> bool:
    """Whether the server lets go."""
    try:
        while await asyncio.wait_for(reader.read(65536), PATIENCE_S):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "STALLED_S", 0.1)


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET /1/0 HT",
        b"POST /1/0 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf",
        b"GET /1/0 HTTP/1.1\r\nHost: localhost\r\n\r\nGET /1/0 HT",
    ],
    ids=["nothing", "half a head", "half a body", "half a second head"],
)
async def test_half_a_request_is_not_waited_for_for_ever(said: bytes) -> None:
    async with served() as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(said)
        assert await ends(reader)
        writer.close()


@pytest.mark.usefixtures("_hasty")
async def test_who_never_reads_is_let_go() -> None:
    async with served() as (port, server):
        deaf = socket.create_connection(("127.0.0.1", port))
        deaf.sendall(f"GET /{LONG}/0 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE_S):
            while not server.server_state.total_requests:
                await asyncio.sleep(0.01)
            while server.server_state.connections:
                await asyncio.sleep(0.01)
        deaf.close()


@pytest.mark.usefixtures("_hasty")
async def test_an_answer_that_takes_long_is_waited_for() -> None:
    async with served() as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /5/0.5 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
        assert answer.endswith(b"xxxxx")
        writer.close()


async def test_stopping_does_not_wait_for_half_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "STOPPING_S", 0.1)
    async with served() as (port, server):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /1/0 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf")
        async with asyncio.timeout(PATIENCE_S):
            while not server.server_state.tasks:
                await asyncio.sleep(0.01)
        server.should_exit = True
        assert await ends(reader)
        writer.close()

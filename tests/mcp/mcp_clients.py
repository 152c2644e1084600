"""Agents for the tests: the real client of the `mcp` package, by each way there is to connect."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

import recollect
from mcp import Client, StdioServerParameters
from recollect.mcp import http_app, make_server

LEGACY = "legacy"  # the handshake revisions, which have sessions
MODERN = "2026-07-28"  # each request on its own


@dataclass(frozen=True)
class Reply:
    text: str
    data: Any
    failed: bool


@dataclass(frozen=True)
class Agent:
    client: Client

    async def __call__(self, tool: str, /, **arguments: Any) -> Reply:
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        return Reply(content.text, result.structured_content, bool(result.is_error))


@asynccontextmanager
async def connected(
    memory: recollect.Recollect, mode: str = LEGACY, **options: Any
) -> AsyncGenerator[Agent]:
    """In this process, through the whole protocol."""
    async with Client(make_server(memory, **options), mode=mode) as client:
        yield Agent(client)


@asynccontextmanager
async def over_stdio(db: Path, *arguments: str, mode: str = "auto") -> AsyncGenerator[Agent]:
    """A server process of its own."""
    async with Client(stdio(db, *arguments), mode=mode) as client:
        yield Agent(client)


def stdio(db: Path, *arguments: str) -> StdioServerParameters:
    run = ["-m", "recollect.cli", "mcp", "--db", str(db), *arguments]
    return StdioServerParameters(command=sys.executable, args=run)


def http(memory: recollect.Recollect, **options: Any) -> AbstractContextManager[str]:
    """A real HTTP server on loopback; gives the URL of its tools."""
    return serving(http_app(memory, **{"path": "/mcp", **options}), "/mcp")


@contextmanager
def serving(app: Any, path: str = "") -> Generator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # who connects before the server is up waits for it
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}{path}"
        finally:
            server.should_exit = True
            thread.join(60)


@asynccontextmanager
async def over_http(
    url: str, mode: str = LEGACY, headers: Mapping[str, str] | None = None
) -> AsyncGenerator[Agent]:
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async with create_mcp_http_client(headers=dict(headers or {})) as opened:
        transport = streamable_http_client(url, http_client=opened)
        async with Client(transport, mode=mode) as client:
            yield Agent(client)

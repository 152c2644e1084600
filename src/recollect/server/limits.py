"""What one caller may take: so many requests, so many bytes; and what every answer carries."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from recollect.errors import TooLarge, TooManyRequests

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class Buckets:
    """A token bucket for each key: `burst` at once, refilled with `rate` a second. A key with a
    rate of its own has twice as many at once. With several processes each has its share."""

    def __init__(
        self,
        rate: float,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
        *,
        processes: int = 1,
    ):
        self._rate = rate
        self._burst = burst
        self._processes = processes
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[str, tuple[float, float]] = {}  # tokens, when

    def take(self, key_id: str, own: float | None = None) -> None:
        limit = self._rate if own is None else own
        if limit <= 0:
            return
        rate = limit / self._processes
        most = max(1.0, (self._burst if own is None else 2 * own) / self._processes)
        now = self._clock()
        with self._lock:
            tokens, then = self._held.get(key_id, (most, now))
            tokens = min(most, tokens + (now - then) * rate)
            self._held[key_id] = (tokens - 1 if tokens >= 1 else tokens, now)
        if tokens < 1:
            sets = "the server's rate_limit" if own is None else "the --rate it was created with"
            raise TooManyRequests(
                f"the key {key_id} asks more than {limit:g} times a second",
                hint=f"wait as long as Retry-After says; {sets} is the limit",
                retry_after=math.ceil((1 - tokens) / rate),
            )


class BodyLimit:
    """ASGI middleware: refuses a body that is larger than the caller may send, before anybody
    reads it all. `limit` is told who asks: the Authorization header. What is `streamed` is never
    held whole, and is bounded by who reads it."""

    def __init__(
        self,
        app: App,
        limit: Callable[[str | None], int],
        streamed: Callable[[MutableMapping[str, Any]], bool] = lambda scope: False,
    ) -> None:
        self._app = app
        self._limit = limit
        self._streamed = streamed

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._streamed(scope):
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        length = headers.get(b"content-length")
        if length == b"0" or (length is None and b"transfer-encoding" not in headers):
            await self._app(scope, receive, send)
            return
        who = headers.get(b"authorization")
        limit = self._limit(None if who is None else who.decode("latin-1"))
        if length is not None:  # the server reads no more than this
            if length.isdigit() and int(length) > limit:
                await _too_large(limit, scope["path"])(scope, receive, send)
            else:
                await self._app(scope, receive, send)
            return
        try:
            body = await read_whole(receive, limit)
        except TooLarge:
            await _too_large(limit, scope["path"])(scope, receive, send)
        else:
            await self._app(scope, receive if body is None else replayed(body, receive), send)


async def read_whole(receive: Receive, limit: float = math.inf) -> bytes | None:
    """None when the caller went away first: half a body is none."""
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise TooLarge(f"more than {limit:,} bytes")
        more = message.get("more_body", False)
    return b"".join(parts)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, as if it had not been."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _too_large(limit: int, path: str) -> App:
    from recollect.server.problems import problem

    return problem(
        413,
        f"the request is larger than {limit:,} bytes",
        "send it in parts; the key's --max-body is the limit, or else the server's body_limit",
        kind="too-large",
        instance=path,
    )


class Acquainted:
    """ASGI middleware: looks callers up beforehand, on a thread. A store that does not answer
    would otherwise block the event loop, and with it the health checks."""

    def __init__(
        self, app: App, known: Callable[[str | None], bool], look: Callable[[str | None], None]
    ) -> None:
        self._app = app
        self._known = known
        self._look = look

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope["path"].startswith("/health"):
            given = next((v for k, v in scope["headers"] if k == b"authorization"), None)
            who = None if given is None else given.decode("latin-1")
            if not self._known(who):
                await asyncio.to_thread(self._look, who)
        await self._app(scope, receive, send)


class OwnHost:
    """ASGI middleware for a server that asks for no keys: it answers to names of this machine only.
    Otherwise any web page could have its own name point here, and read what its visitor keeps."""

    def __init__(self, app: App, unguarded: Callable[[], bool], own: Callable[[str], bool]):
        self._app = app
        self._unguarded = unguarded
        self._own = own

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host = dict(scope["headers"]).get(b"host", b"localhost").decode("latin-1")
            if not self._own(_without_port(host.lower())) and self._unguarded():
                await _strange_host(host, scope["path"])(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _without_port(host: str) -> str:
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


def _strange_host(host: str, path: str) -> App:
    from recollect.server.problems import problem

    return problem(
        403,
        f"this server asks for no keys, and so it answers to localhost only, not to {host[:100]!r}",
        "make a key (recollect keys create NAME), or say --no-auth where a proxy guards it",
        kind="not-allowed",
        instance=path,
    )


SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)


class SecurityHeaders:
    """ASGI middleware: what tells a browser to do nothing clever with an answer. A route that
    needs another value sets it itself."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                more = [h for h in SECURITY_HEADERS if h[0] not in given]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self._app(scope, receive, sent)

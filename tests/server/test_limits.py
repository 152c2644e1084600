"""So many requests, so many bytes, and the headers of every answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import TooManyRequests
from recollect.server.keys import is_loopback
from recollect.server.limits import (
    SECURITY_HEADERS,
    BodyLimit,
    Buckets,
    OwnHost,
    SecurityHeaders,
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@given(
    waits=st.lists(st.floats(0, 2), min_size=1, max_size=200),
    rate=st.floats(0.5, 20),
    burst=st.integers(1, 20),
)
def test_never_more_than_the_burst_and_what_was_refilled(waits, rate, burst) -> None:
    clock = Clock()
    buckets = Buckets(rate, burst, clock)
    passed = 0
    for wait in waits:
        clock.now += wait
        try:
            buckets.take("k")
            passed += 1
        except TooManyRequests as error:
            assert error.retry_after >= 1
        assert passed <= burst + clock.now * rate + 1e-6


def test_whoever_waits_as_told_passes() -> None:
    clock = Clock()
    buckets = Buckets(0.3, 1, clock)
    buckets.take("k")
    with pytest.raises(TooManyRequests) as raised:
        buckets.take("k")
    clock.now += raised.value.retry_after
    buckets.take("k")


def test_a_rate_of_nought_is_no_limit() -> None:
    buckets = Buckets(0, 1, Clock())
    for _ in range(1000):
        buckets.take("k")


# --- middleware --------------------------------------------------------------------------------


async def echo(scope, receive, send) -> None:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def ask(app, headers: list[tuple[bytes, bytes]], parts: list[bytes]):
    waiting: Iterator[bytes] = iter(parts)
    left, sent = len(parts), []

    async def receive():
        nonlocal left
        left -= 1
        return {"type": "http.request", "body": next(waiting), "more_body": left > 0}

    async def send(message):
        sent.append(message)

    await app({"type": "http", "path": "/x", "headers": headers}, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(m.get("body", b"") for m in sent)


async def test_a_body_within_the_limit_passes_whole() -> None:
    app = BodyLimit(echo, lambda who: 10)
    assert (await ask(app, [(b"content-length", b"10")], [b"0123456789"]))[2] == b"0123456789"
    assert (await ask(app, [], [b""]))[0] == 200


async def test_a_body_that_says_it_is_too_long_is_not_read() -> None:
    status, headers, body = await ask(
        BodyLimit(echo, lambda who: 10), [(b"content-length", b"11")], []
    )
    assert status == 413
    assert headers[b"content-type"] == b"application/problem+json"
    assert b"body_limit" in body


async def test_a_body_of_unknown_length_is_counted() -> None:
    chunked = [(b"transfer-encoding", b"chunked")]
    app = BodyLimit(echo, lambda who: 10)
    assert (await ask(app, chunked, [b"01234", b"56789"]))[2] == b"0123456789"
    assert (await ask(app, chunked, [b"01234", b"567890", b"never read"]))[0] == 413


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8888", "[::1]:80", "LOCALHOST:1"])
async def test_without_keys_names_of_this_machine_are_answered(host: str) -> None:
    app = OwnHost(echo, lambda: True, is_loopback)
    assert (await ask(app, [(b"host", host.encode())], [b""]))[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:80", ""]
)
async def test_without_keys_other_names_are_refused(host: str) -> None:
    app = OwnHost(echo, lambda: True, is_loopback)
    status, _, body = await ask(app, [(b"host", host.encode())], [])
    assert status == 403
    assert b"keys create" in body


async def test_with_keys_any_name_is_answered() -> None:
    app = OwnHost(echo, lambda: False, is_loopback)
    assert (await ask(app, [(b"host", b"memory.example.com")], [b""]))[0] == 200


async def test_every_answer_carries_the_security_headers() -> None:
    _, headers, _ = await ask(SecurityHeaders(echo), [], [b""])
    assert headers == dict(SECURITY_HEADERS)


async def test_a_route_may_say_otherwise() -> None:
    async def page(scope, receive, send) -> None:
        given = [(b"Content-Security-Policy", b"default-src 'self'")]
        await send({"type": "http.response.start", "status": 200, "headers": given})
        await send({"type": "http.response.body", "body": b""})

    _, headers, _ = await ask(SecurityHeaders(page), [], [b""])
    assert headers[b"Content-Security-Policy"] == b"default-src 'self'"
    assert b"content-security-policy" not in headers

"""Who may not is told so before what they send is read; a real server, over plain sockets."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

import recollect
from recollect.server.keys import Limits, create_key
from recollect.types import Scope

from .conftest import PATIENCE_S, Server, start

BANK = "/v1/default/banks/alice"


class Guard(NamedTuple):
    server: Server
    reader: str
    seldom: str  # one request, and then none for days


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    db = tmp_path_factory.mktemp("guarded") / "m.db"
    with recollect.open(db) as memory:
        memory.create_bank("alice")
        ring = memory.store.keys
        _, reader = create_key(ring, "reader", [Scope.READ])
        _, seldom = create_key(ring, "seldom", [Scope.WRITE], limits=Limits(rate=1e-6))
    server = start(db)
    try:
        yield Guard(server, reader, seldom)
    finally:
        assert server.stop() == 0


def answered(guard: Guard, method: str, rest: str, key: str) -> bytes:
    """The status line, although most of the body is still to come."""
    head = f"{method} {BANK}{rest} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    where = urlsplit(guard.server.url)
    address = (where.hostname or "", where.port or 0)
    with socket.create_connection(address, timeout=PATIENCE_S) as asking:
        asking.sendall(head.encode())
        return asking.recv(12)


@pytest.mark.parametrize(
    ("method", "rest"),
    [
        ("POST", "/memories"),
        ("POST", "/memories/recall"),
        ("POST", "/memories/why"),
        ("PATCH", "/memories/m1"),
        ("PUT", ""),
        ("PATCH", "/config"),
        ("PUT", "/links"),
        ("PUT", "/arrival"),
    ],
)
def test_a_stranger_is_turned_away_before_the_body_is_there(
    guard: Guard, method: str, rest: str
) -> None:
    assert answered(guard, method, rest, "rk_no_body") == b"HTTP/1.1 401"


def test_a_key_that_may_not_write_is_turned_away_before_the_body_is_there(guard: Guard) -> None:
    assert answered(guard, "POST", "/memories", guard.reader) == b"HTTP/1.1 403"


def test_a_stranger_hears_nothing_about_what_was_wrong_with_the_body(guard: Guard) -> None:
    with guard.server.client() as http:
        json = {"Content-Type": "application/json"}
        assert http.post(f"{BANK}/memories", content=b"{", headers=json).status_code == 401


def test_a_request_counts_once_however_often_it_is_asked_who_may(guard: Guard) -> None:
    with guard.server.client(headers={"Authorization": f"Bearer {guard.seldom}"}) as http:
        sent = [http.post(f"{BANK}/memories", json={"items": []}).status_code for _ in range(2)]
    assert sent == [200, 429]

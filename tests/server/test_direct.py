"""Recall goes by a short way past FastAPI; nobody can tell by the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from socket import create_connection
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.server.limits import read_whole, replayed

from .conftest import Server
from .test_http import path, retain

STRAIGHT = {"Content-Type": "application/json"}
AROUND = {"Content-Type": "application/json; charset=utf-8"}  # not as the short way expects it
NOW = {"query_timestamp": "2030-01-01T00:00:00Z"}  # what is recent does not change meanwhile


@pytest.fixture
def told(http: httpx2.Client, bank: str) -> str:
    retain(http, bank, "Alice joined Google in March 2024.", "Bob plays the cello.")
    return bank


def ask(http: httpx2.Client, bank: str, content: bytes, headers: dict[str, str]) -> httpx2.Response:
    return http.post(path(bank, "/memories/recall"), content=content, headers=headers)


def both(http: httpx2.Client, bank: str, content: bytes) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    for headers in (STRAIGHT, AROUND):
        answer = ask(http, bank, content, headers)
        said = answer.json()
        for passing in ("timings", "cached"):
            said.pop(passing, None)
        found.append((answer.status_code, said))
    return found


@pytest.mark.parametrize(
    "body",
    [
        {"query": "Where does Alice work?", **NOW},
        {"query": "Bob", "verbosity": "full", "explain": True, "max_tokens": "50", **NOW},
        {"query": "Bob", "budgget": "low", **NOW},
        {"query": "Bob", "budget": "enormous", "max_tokens": 0},
        {"question": "Bob"},
        {"query": "Bob", "types": ["no such type"]},
        ["Bob"],
    ],
    ids=lambda body: json.dumps(body)[:50],
)
def test_both_ways_answer_alike(http: httpx2.Client, told: str, body: Any) -> None:
    straight, around = both(http, told, json.dumps(body).encode())
    assert straight == around


@pytest.mark.parametrize("content", [b"", b"{", b'{"query": NaN}', b'{"query": "\xff"}', b"null"])
def test_what_is_no_request_is_refused_alike(
    http: httpx2.Client, told: str, content: bytes
) -> None:
    straight, around = both(http, told, content)
    assert straight == around
    assert straight[0] in (400, 422)


def test_another_method_is_refused(http: httpx2.Client, told: str) -> None:
    answer = http.put(path(told, "/memories/recall"), json={"query": "Bob"})
    assert answer.status_code == 405


def test_a_bank_may_have_a_slash_in_its_name(http: httpx2.Client, bank: str) -> None:
    retain(http, f"{bank}%2Fnotes", "Carol lives in Oslo.")
    found = ask(http, f"{bank}%2Fnotes", b'{"query": "Where is Carol?"}', STRAIGHT).json()
    assert [r["text"] for r in found["results"]] == ["Carol lives in Oslo."]


# --- bodies ------------------------------------------------------------------------------------


def coming(parts: list[bytes], *, whole: bool) -> Any:
    waiting: Iterator[tuple[int, bytes]] = iter(enumerate(parts, 1))

    async def receive() -> dict[str, Any]:
        number, part = next(waiting, (0, b""))
        if not number:
            return {"type": "http.disconnect"}
        more = number < len(parts) or not whole
        return {"type": "http.request", "body": part, "more_body": more}

    return receive


@given(parts=st.lists(st.binary(max_size=20), min_size=1, max_size=5))
async def test_a_body_is_read_whole_and_can_be_read_again(parts: list[bytes]) -> None:
    body = await read_whole(coming(parts, whole=True))
    assert body == b"".join(parts)
    assert await read_whole(replayed(body, coming([], whole=True))) == body


async def test_half_a_body_is_none() -> None:
    assert await read_whole(coming([b'{"items": []}'], whole=False)) is None


# --- heads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [b"GET /", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_a_head_without_an_end_is_cut_off(server: Server, begun: bytes) -> None:
    answer = b""
    with create_connection(("127.0.0.1", httpx2.URL(server.url).port or 0), 60) as sending:
        try:
            sending.sendall(begun)
            for _ in range(100):
                sending.sendall(b"x" * 10_000)
            answer = sending.recv(1000)
        except ConnectionError:  # closed before all of it was sent
            return
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")

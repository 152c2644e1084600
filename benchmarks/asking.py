"""Clients that cost little: whoever asks shares the cores with who answers.

One thread and plain sockets that stay open, each with one request under way. Requests are bytes
before the clock starts; answers are checked and read after it has stopped.
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ROOM = 1 << 20  # bytes, for an answer to begin with
_PATIENCE_S = 600


@dataclass(frozen=True)
class Asked:
    """What came of it: the answers in order of arrival, how long each took, all of them together,
    and this process's own CPU."""

    answers: list[bytes]
    waits_s: list[float]
    wall_s: float
    cpu_s: float


def post(path: str, body: Any, encoding: str = "identity") -> bytes:
    """A request as it goes over the wire."""
    content = orjson.dumps(body)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept-Encoding: {encoding}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def ask(port: int, requests: Sequence[bytes], *, clients: int = 1) -> Asked:
    """Every request once, by so many clients at a time."""
    waiting = iter(requests)
    heads: list[bytes] = []
    answers: list[bytes] = []
    waits: list[float] = []
    with selectors.DefaultSelector() as ready:
        for _ in range(min(clients, len(requests))):
            client = _Client(port)
            ready.register(client.socket, selectors.EVENT_READ, client)
        wall, cpu = time.perf_counter(), time.process_time()
        for key in list(ready.get_map().values()):
            key.data.send(next(waiting))
        while len(answers) < len(requests):
            for key, _ in ready.select(_PATIENCE_S):
                if (answer := key.data.received()) is None:
                    continue
                waits.append(time.perf_counter() - key.data.sent)
                heads.append(answer[0])
                answers.append(answer[1])
                if (request := next(waiting, None)) is not None:
                    key.data.send(request)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        for key in list(ready.get_map().values()):
            key.data.socket.close()
    _check(heads, answers)
    return Asked(answers, waits, wall, cpu)


class _Client:
    """One connection that stays open."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), _PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._held = bytearray(_ROOM)
        self.sent = 0.0
        self._size = 0
        self._whole: tuple[int, int] | None = None  # where the body begins and ends

    def send(self, request: bytes) -> None:
        self._size, self._whole = 0, None
        self.sent = time.perf_counter()
        self.socket.sendall(request)

    def received(self) -> tuple[bytes, bytes] | None:
        """Head and body, once they are here whole."""
        if self._size == len(self._held):
            self._held.extend(bytes(len(self._held)))
        with memoryview(self._held) as held:
            got = self.socket.recv_into(held[self._size :])
        if not got:
            raise RuntimeError("the server closed the connection before it had answered")
        self._size += got
        if self._whole is None:
            self._whole = self._measured()
        if self._whole is None or self._size < self._whole[1]:
            return None
        begin, end = self._whole
        return bytes(self._held[:begin]), bytes(self._held[begin:end])

    def _measured(self) -> tuple[int, int] | None:
        begin = self._held.find(_END, 0, self._size)
        if begin < 0:
            return None
        length = _LENGTH.search(self._held, 0, begin)
        if length is None:
            raise RuntimeError(f"an answer of unknown length: {bytes(self._held[:begin])!r}")
        return begin + len(_END), begin + len(_END) + int(length[1])


def _check(heads: Sequence[bytes], answers: Sequence[bytes]) -> None:
    for head, answer in zip(heads, answers, strict=True):
        status = head.split(b" ", 2)[1]
        if status != b"200":
            raise RuntimeError(f"{status.decode()} {answer[:300]!r}")
        if b"content-encoding" not in head.lower() and not orjson.loads(answer)["results"]:
            raise RuntimeError(f"an answer without results: {answer[:300]!r}")

"""Several workers behind one address have as many connections each."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import uvicorn

from recollect.server.evenly import Door, EvenServer
from recollect.server.serve import bind
from recollect.server.workers import Counts, Place

PATIENCE_S = 60
FOR_EVER = 10**9  # passes: who has more never takes it
NOT_AT_ALL = 0


@pytest.fixture
def bound() -> Iterator[socket.socket]:
    with bind("127.0.0.1", 0) as made:
        yield made


class Worker:
    """One that accepts, and keeps what it accepted."""

    def __init__(self, place: Place, passes: int) -> None:
        self.place = place
        self.held: list[socket.socket] = []
        self.door = Door(place, self._enter, passes)
        self.door.open()

    def _enter(self, accepted: socket.socket) -> None:
        self.held.append(accepted)

    def hang_up(self) -> None:
        self.held.pop().close()
        self.place.add(-1)

    def end(self) -> None:
        self.door.close()
        while self.held:
            self.held.pop().close()


class Workers:
    def __init__(self, bound: socket.socket, count: int, passes: int = FOR_EVER) -> None:
        self._bound = bound
        self._counts = Counts(count)
        self._ends = ExitStack()
        # As after a fork: each has a descriptor of its own for the same socket.
        self.all = [self._worker(number, passes) for number in range(count)]

    def _worker(self, number: int, passes: int) -> Worker:
        own = self._ends.enter_context(self._bound.dup())
        return Worker(self._counts.place(number, own), passes)

    async def connect(self, times: int) -> None:
        """One after the other, each accepted by somebody."""
        for _ in range(times):
            held = sum(map(len, (w.held for w in self.all)))
            self._ends.enter_context(socket.create_connection(self._bound.getsockname()))
            async with asyncio.timeout(PATIENCE_S):
                while sum(map(len, (w.held for w in self.all))) == held:
                    await asyncio.sleep(0)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.all:
            worker.end()
        self._ends.close()


@pytest.mark.parametrize("count", [2, 3, 4])
async def test_each_gets_as_many_as_the_others(bound: socket.socket, count: int) -> None:
    with Workers(bound, count) as workers:
        await workers.connect(3 * count)
        assert [len(w.held) for w in workers.all] == [3] * count


async def test_whoever_has_fewer_comes_first(bound: socket.socket) -> None:
    with Workers(bound, 2) as workers:
        await workers.connect(8)
        first, second = workers.all
        for _ in range(3):
            first.hang_up()
        await workers.connect(3)
        assert (len(first.held), len(second.held)) == (4, 4)


async def test_a_connection_nobody_comes_for_is_taken_by_who_has_more(
    bound: socket.socket,
) -> None:
    counts = Counts(2)
    counts.place(1, bound).join()  # it is there, and never accepts
    worker = Worker(counts.place(0, bound), passes=3)
    try:
        clients = [socket.create_connection(bound.getsockname()) for _ in range(4)]
        async with asyncio.timeout(PATIENCE_S):
            while len(worker.held) < len(clients):
                await asyncio.sleep(0)
        for client in clients:
            client.close()
    finally:
        worker.end()


async def test_a_worker_that_is_gone_is_left_nothing(bound: socket.socket) -> None:
    with Workers(bound, 2) as workers:
        await workers.connect(2)
        staying, gone = workers.all
        gone.end()
        await workers.connect(4)
        assert len(staying.held) == 5


async def test_who_stopped_accepting_leaves_all_to_the_others(bound: socket.socket) -> None:
    with Workers(bound, 2, passes=NOT_AT_ALL) as workers:
        workers.all[0].door.close()
        await workers.connect(3)
        assert [len(w.held) for w in workers.all] == [0, 3]


@pytest.mark.parametrize(
    ("own", "other", "ahead"),
    [(0, 0, False), (1, 0, True), (4, 4, False), (5, 4, True), (101, 100, False), (150, 100, True)],
)
def test_of_many_a_few_more_are_even(
    bound: socket.socket, own: int, other: int, ahead: bool
) -> None:
    counts = Counts(2)
    places = [counts.place(number, bound) for number in range(2)]
    for place, connections in zip(places, (own, other), strict=True):
        place.join()
        place.add(connections)
    assert places[0].is_ahead() is ahead


# --- as uvicorn serves -------------------------------------------------------------------------


async def hello(scope: Any, receive: Any, send: Any) -> None:
    assert scope["type"] == "http"
    head = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    await send(head)
    await send({"type": "http.response.body", "body": b"hi"})


@pytest.mark.parametrize("http", ["h11", "httptools"])
async def test_a_server_counts_who_comes_and_who_goes(bound: socket.socket, http: Any) -> None:
    counts = Counts(1)
    config = uvicorn.Config(hello, http=http, ws="none", lifespan="off", log_config=None)
    server = EvenServer(config, counts.place(0, bound))
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    address = bound.getsockname()
    streams = [await asyncio.open_connection(*address[:2]) for _ in range(3)]
    for reader, writer in streams:
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await asyncio.wait_for(reader.readuntil(b"hi"), PATIENCE_S)).endswith(b"hi")
    assert counts.open() == [3]
    streams[0][1].close()
    async with asyncio.timeout(PATIENCE_S):
        while counts.open() != [2]:
            await asyncio.sleep(0)
    for _, writer in streams:
        writer.close()
    server.should_exit = True
    await asyncio.wait_for(serving, PATIENCE_S)
    assert bound.fileno() == -1  # nobody is accepted any more

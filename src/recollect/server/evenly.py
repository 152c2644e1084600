"""Connections in even parts for several processes behind one address.

A client keeps its connection, so which worker accepts it decides where all its requests are
computed, and the kernel gives it to whoever happens to wake first: one of two workers could have all
of eight, while the other rested. Here every worker sees how many the others
have, and one that has more leaves the next to those who have fewer. It is a courtesy, not a lock:
if they do not come for it in a moment, it is taken all the same.
"""

from __future__ import annotations

import asyncio
import logging
import select
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn

from recollect.server.workers import Place

log = logging.getLogger("recollect.server")
PAUSE_S = 0.001  # before it is looked again whether somebody else came
PASSES = 20  # so often a connection is left to others
TROUBLE_S = 1.0  # without accepting, when the system has no room for another


class Door:
    """Where one worker accepts: each connection once, whoever has fewer first."""

    def __init__(
        self,
        place: Place,
        enter: Callable[[socket.socket], None],
        passes: int = PASSES,
    ) -> None:
        self._place = place
        self._bound = place.bound
        self._enter = enter
        self._passes = passes
        self._passed = 0  # times in a row
        self._resting: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._pending = select.poll()
        self._pending.register(self._bound, select.POLLIN)

    def open(self) -> None:
        self._bound.setblocking(False)
        self._place.join()
        self._loop.add_reader(self._bound, self._knock)

    def close(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        self._loop.remove_reader(self._bound)
        self._place.leave()

    def _knock(self) -> None:
        if self._passed < self._passes and self._place.is_ahead():
            self._passed += 1
            self._rest(PAUSE_S)
            return
        self._passed = 0
        try:
            accepted, _ = self._bound.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another worker was faster, or the client is gone again
        except OSError as error:
            log.error("a connection cannot be accepted: %s", error)
            self._rest(TROUBLE_S)
            return
        self._place.add(1)
        self._enter(accepted)

    def _rest(self, seconds: float) -> None:
        """Without being told of a connection that waits, which would be all the time."""
        self._loop.remove_reader(self._bound)
        self._resting = self._loop.call_later(seconds, self._listen)

    def _listen(self) -> None:
        self._resting = None
        if not self._pending.poll(0):  # somebody came for it
            self._passed = 0
        self._loop.add_reader(self._bound, self._knock)


class _Connections(set[Any]):
    """uvicorn's open connections, of which somebody is told when one ends."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        super().__init__()
        self._on_end = on_end

    def discard(self, element: Any) -> None:
        if element in self:
            self._on_end()
        super().discard(element)


class EvenServer(uvicorn.Server):
    """uvicorn, which is handed its connections by a `Door`."""

    def __init__(self, config: uvicorn.Config, place: Place) -> None:
        super().__init__(config)
        self._place = place
        self._door: Door | None = None
        self._entering: set[asyncio.Task[None]] = set()
        self.server_state.connections = _Connections(partial(place.add, -1))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        self._door = Door(self._place, self._take)
        self._door.open()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._door is not None:
            self._door.close()
        await asyncio.gather(*self._entering)
        await super().shutdown(sockets=[self._place.bound])

    def _take(self, accepted: socket.socket) -> None:
        entering = asyncio.get_running_loop().create_task(self._serve_one(accepted))
        self._entering.add(entering)
        entering.add_done_callback(self._entering.discard)

    async def _serve_one(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, accepted)
        except OSError as error:  # gone before it was here
            log.info("a connection was lost as it was accepted: %s", error)
            accepted.close()
            self._place.add(-1)

    def _protocol(self) -> asyncio.Protocol:
        made: Any = self.config.http_protocol_class
        return made(
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )

"""HTTP as compiled code reads it, with bounds on what a client may keep a server waiting for, and
answers that are sent at once.

uvicorn's other reader, in Python, has a bound on what comes before a body; this one would gather a
header for as long as somebody sends one. And neither would ever let go of who says half a request,
or asks and never reads the answer: half-open connections would stay until the server is stopped.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle, Transport
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 64 * 1024  # bytes, as uvicorn's other reader has it
STALLED_S = 60.0  # without a byte either way, while it is the client's turn
STOPPING_S = 5.0  # the same, when the server was told to stop


class _AtOnce:
    """A transport as an answer uses it: what is written in one breath, head and body, is one system
    call here and one for who reads it. uvicorn writes them one by one."""

    __slots__ = ("_held", "_loop", "_transport")

    def __init__(self, transport: Transport, loop: AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: bytes | None = None

    def write(self, data: bytes) -> None:
        if self._held is not None:
            self._transport.write(b"".join((self._held, data)))
            self._held = None
        else:
            self._held = data
            self._loop.call_soon(self.flush)

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def flush(self) -> None:
        if self._held is not None:
            self._transport.write(self._held)
            self._held = None


class BoundedHeads(HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0  # bytes of a head that has not ended
        self._in_head = True
        self._received = 0  # bytes
        self._drained = 0  # times
        self._seen = (0, 0, 0)  # the progress when last looked at
        self._looks: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:
        super().connection_made(transport)
        self._at_once = _AtOnce(transport, self.loop)
        self._look_in(STALLED_S)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._looks is not None:
            self._looks.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._head, self._in_head = 0, True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()
        self.cycle.transport = cast("Transport", self._at_once)

    def on_response_complete(self) -> None:
        self._at_once.flush()  # a head without a body
        super().on_response_complete()

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > LONGEST_HEAD and not self.transport.is_closing():
                self.send_400_response("The head of the request is too long.")

    def resume_writing(self) -> None:
        self._drained += 1
        super().resume_writing()

    def shutdown(self) -> None:
        super().shutdown()
        if self._looks is not None:
            self._looks.cancel()
        self._look_in(STOPPING_S)

    def _look_in(self, seconds: float) -> None:
        self._seen = self._progress()
        self._looks = self.loop.call_later(seconds, self._look, seconds)

    def _look(self, seconds: float) -> None:
        """One timer a connection, which looks back: a request costs no timer of its own."""
        if self._is_clients_turn() and self._progress() == self._seen:
            self.transport.abort()
        else:
            self._look_in(seconds)

    def _progress(self) -> tuple[int, int, int]:
        return self._received, self._drained, self.transport.get_write_buffer_size()

    def _is_clients_turn(self) -> bool:
        """To send the rest of what it began, or to read. One that rests between two requests is
        uvicorn's to close, and one whose answer is being made waits for us."""
        if self._in_head or self.transport.get_write_buffer_size():
            return True
        asking = self.cycle.more_body and not self.cycle.response_complete
        return asking and not (self.flow.read_paused or self.cycle.waiting_for_100_continue)

"""HTTP as compiled code reads it, with a bound on what comes before a body.

uvicorn's other reader, in Python, has such a bound; this one would gather a header for as long as
somebody sends one.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 64 * 1024  # bytes, as uvicorn's other reader has it


class BoundedHeads(HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0  # bytes of a head that has not ended
        self._in_head = False

    def on_message_begin(self) -> None:
        self._head, self._in_head = 0, True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > LONGEST_HEAD and not self.transport.is_closing():
                self.send_400_response("The head of the request is too long.")

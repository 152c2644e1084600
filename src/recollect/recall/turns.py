"""Recalls take turns: as many are under way at once as there are cores.

More would only take Python's lock from each other in the middle of things (docs/why.md). For the same
reason a recall that is not alone keeps its arms on its own thread: the cores have other work, and
handing an arm to a worker costs more than an arm that searches in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager


class Turns:
    def __init__(self, together: int, *, shared: bool = False) -> None:
        self._seats = threading.BoundedSemaphore(together)
        self._shared = shared  # the cores, with other processes behind one address
        self._asking: set[int] = set()  # threads that recall, or wait for it

    @property
    def crowded(self) -> bool:
        """Whether others recall, or wait for it, besides whoever asks. Who took no turn waits for a
        server, not for a core."""
        mine = threading.get_ident() in self._asking
        return mine and (self._shared or len(self._asking) > 1)

    @contextmanager
    def taken(self, wait: float) -> Generator[None]:
        """A turn, which is waited for so many seconds at most: a courtesy, not a lock. A recall inside a
        callback of another is part of the other's turn."""
        me = threading.get_ident()
        if me in self._asking:
            yield
            return
        self._asking.add(me)
        try:
            seated = self._seats.acquire(timeout=wait)
            try:
                yield
            finally:
                if seated:
                    self._seats.release()
        finally:
            self._asking.discard(me)

"""Recalls take turns: as many are under way at once as there are cores.

More would only take Python's lock from each other in the middle of things (docs/why.md). For the same
reason a recall that is not alone keeps its arms on its own thread: the cores have other work, and
handing an arm to a worker costs more than an arm that searches in memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from queue import Empty, SimpleQueue


class Turns:
    def __init__(self, together: int, *, shared: bool = False) -> None:
        # A semaphore of Python's own is Python code, which wakes up only to wait for Python's lock.
        self._seats: SimpleQueue[None] = SimpleQueue()
        for _ in range(together):
            self._seats.put(None)
        self._shared = shared  # the cores, with other processes behind one address
        self._asking: set[int] = set()  # threads that recall, or wait for it

    @property
    def crowded(self) -> bool:
        """Whether others recall, or wait for it, besides whoever asks. Who took no turn waits for a
        server, not for a core."""
        mine = threading.get_ident() in self._asking
        return mine and (self._shared or len(self._asking) > 1)

    @contextmanager
    def taken(self, wait: float) -> Generator[float]:
        """A turn, and how long it was waited for: so many seconds at most, for it is a courtesy, not a
        lock. Who has a turn, as a recall inside a callback of another does, needs no second one."""
        me, begun = threading.get_ident(), time.perf_counter()
        if me in self._asking:
            yield 0.0
            return
        self._asking.add(me)
        try:
            seated = self._seated(wait)
            try:
                yield time.perf_counter() - begun
            finally:
                if seated:
                    self._seats.put(None)
        finally:
            self._asking.discard(me)

    def _seated(self, wait: float) -> bool:
        try:
            self._seats.get(timeout=wait)
        except Empty:
            return False
        return True

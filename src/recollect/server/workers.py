"""Several processes behind one address: Python computes on one core at a time, a server has more.

The parent binds the address and watches; the workers each open the store and accept from the
same socket, in even parts. One that dies is started anew, in its place. When the parent goes,
however it goes, they stop.
"""

from __future__ import annotations

import logging
import mmap
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from recollect.errors import ConfigError, ServerError

log = logging.getLogger("recollect.server")
STEADY_S = 5.0  # a worker that dies sooner is not started again at once
SLACK = 8  # of so many connections, one more or less is even
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ABSENT = -1  # not there, or not yet, or on its way out


class Counts:
    """How many connections each worker has open, in memory that all of them see."""

    def __init__(self, workers: int) -> None:
        self._open = memoryview(mmap.mmap(-1, 8 * workers)).cast("q")
        for number in range(workers):
            self._open[number] = _ABSENT

    def place(self, number: int, bound: socket.socket) -> Place:
        return Place(bound, number, self._open)

    def open(self) -> list[int]:
        return self._open.tolist()


@dataclass(frozen=True, slots=True)
class Place:
    """One worker's: where it accepts, and how many connections it and the others have."""

    bound: socket.socket
    _number: int
    _open: memoryview  # nobody but the worker, and the parent when it has ended, writes its own

    def join(self) -> None:
        self._open[self._number] = 0

    def leave(self) -> None:
        self._open[self._number] = _ABSENT

    def add(self, change: int) -> None:
        self._open[self._number] += change

    def is_ahead(self) -> bool:
        """Whether somebody else has clearly fewer."""
        counts = self._open.tolist()
        least = min(n for n in counts if n >= 0)
        return counts[self._number] > least + least // SLACK


Work = Callable[[Place, Callable[[], None]], None]


class Workers:
    def __init__(
        self,
        bound: socket.socket,
        count: int,
        work: Work,
        gone: Callable[[int], None] | None = None,
    ) -> None:
        """`gone` is told the id of a process that has ended."""
        if not hasattr(os, "fork"):
            raise ConfigError(
                "this system cannot share an address among processes",
                hint="serve with workers = 1",
            )
        self._bound = bound
        self._count = count
        self._work = work
        self._gone = gone
        self._counts = Counts(count)
        self._started: dict[int, tuple[int, float]] = {}  # place and when, by process id
        self._stopping = False
        # Held open by the parent alone: the workers read its end as the parent's end.
        self._watched, self._life = os.pipe()

    def run(self, on_ready: Callable[[], None]) -> None:
        """Until told to stop; every worker has finished what it accepted then."""
        held = {s: signal.signal(s, self._stop) for s in _SIGNALS}
        try:
            ready = [self._start(number) for number in range(self._count)]
            if not all(ready) and not self._stopping:
                self._end()
                self._wait()
                raise ServerError("a worker ended before it was ready", hint="its log says why")
            if not self._stopping:
                on_ready()
            self._wait()
        finally:
            for number, handler in held.items():
                signal.signal(number, handler)
            os.close(self._life)
            os.close(self._watched)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._end()

    def _end(self) -> None:
        self._stopping = True
        for pid in list(self._started):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:  # it was faster
                continue

    def _wait(self) -> None:
        while self._started:
            pid, status = os.wait()
            if pid not in self._started:
                continue
            number, begun = self._started.pop(pid)
            self._counts.place(number, self._bound).leave()
            if self._gone is not None:
                self._gone(pid)
            if self._stopping:
                continue
            log.error("a worker ended with %s; starting another", os.waitstatus_to_exitcode(status))
            lived = time.monotonic() - begun
            if lived < STEADY_S:
                time.sleep(STEADY_S - lived)
            self._start(number)

    def _start(self, number: int) -> bool:
        """Whether it became ready."""
        told, tell = os.pipe()
        # A word to stop is heard when the new one is known: it would not be passed on to it
        # otherwise, and the parent would wait for it without end.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            if not self._stopping:
                self._fork(number, told, tell)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.close(tell)
        ready = os.read(told, 1) == b"1"
        os.close(told)
        return ready

    def _fork(self, number: int, told: int, tell: int) -> None:
        pid = os.fork()
        if pid == 0:
            os.close(told)
            os.close(self._life)
            self._live(number, tell)
        self._started[pid] = number, time.monotonic()

    def _live(self, number: int, tell: int) -> None:
        """In the worker: never returns."""
        code = 1
        try:
            for each in _SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            threading.Thread(target=self._follow, name="recollect-parent", daemon=True).start()
            self._work(self._counts.place(number, self._bound), lambda: _say(tell))
            code = 0
        except BaseException:
            log.exception("the worker cannot go on")
        finally:
            os._exit(code)

    def _follow(self) -> None:
        """Stop when the parent is gone."""
        os.read(self._watched, 1)
        os.kill(os.getpid(), signal.SIGTERM)


def _say(tell: int) -> None:
    os.write(tell, b"1")
    os.close(tell)

"""Recalls take turns, one thread for each that computes.

As many compute at once as are worth it; the others wait in the event loop, where waiting costs
nothing. Threads that wait for each other's turn cost CPU: they take Python's
lock from each other, and each has a connection and a stack that the processor has forgotten. For
the same reason the thread that was at work last is the next to get some.

It is a courtesy, not a lock: who has waited long enough is begun, while there are threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from itertools import islice
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
PATIENCE_S = 1.0  # that a turn is waited for
FOLLOWING = 3  # that wait, for whom something is done ahead


class _Job:
    """What one thread is given to do. Not a dataclass: one is made for every recall."""

    __slots__ = ("ahead", "context", "done", "first", "late", "work")

    def __init__(self, work: Callable[[], Any], done: asyncio.Future[Any], ahead: _Ahead) -> None:
        self.work = work
        self.done = done
        self.ahead = ahead
        self.first: list[Callable[[], None]] = []  # done ahead of it, for itself and others
        self.context: Context = copy_context()  # the request's id and trace
        self.late: asyncio.TimerHandle | None = None

    def run(self) -> Any:
        for ahead in self.first:
            ahead()
        return self.context.run(self.work)


_Jobs = SimpleQueue[_Job | None]
_Ahead = Callable[[], None] | None  # None once it has been begun


class Lane:
    """Used from one event loop at a time, which alone changes what is in here."""

    def __init__(self, at_once: int, most: int) -> None:
        self._at_once = min(at_once, most)
        self._most = most
        self._busy = 0
        self._threads: list[tuple[threading.Thread, _Jobs]] = []
        self._idle: list[_Jobs] = []  # the last one was at work last
        self._waiting: deque[_Job] = deque()

    async def take(
        self, work: Callable[[], T], patience_s: float = PATIENCE_S, ahead: _Ahead = None
    ) -> T:
        """`ahead` is the part of the work that may be done beforehand, and is cheaper when done
        for several jobs in a row. It raises nothing."""
        loop = asyncio.get_running_loop()
        job = _Job(work, loop.create_future(), ahead)
        if self._busy < self._at_once:
            self._begin(job)
        else:
            self._waiting.append(job)
            job.late = loop.call_later(patience_s, self._hurry, job)
        return await job.done

    def _begin(self, job: _Job) -> None:
        if job.late is not None:
            job.late.cancel()
        self._busy += 1
        if job.ahead is not None and self._waiting:
            job.first = self._all_ahead(job)
        (self._idle.pop() if self._idle else self._another()).put(job)

    def _all_ahead(self, job: _Job) -> list[Callable[[], None]]:
        """What may be done ahead of this one, and of those that come next."""
        found: list[Callable[[], None]] = []
        for each in (job, *islice(self._waiting, FOLLOWING)):
            if each.ahead is not None:
                found.append(each.ahead)
                each.ahead = None
        return found

    def _hurry(self, job: _Job) -> None:
        """It has waited long enough. With no thread left it is the next, as it was."""
        if self._busy < self._most:
            self._waiting.remove(job)
            self._next(job)

    def _another(self) -> _Jobs:
        jobs: _Jobs = SimpleQueue()
        name = f"recollect-recall_{len(self._threads)}"
        thread = threading.Thread(target=self._run, args=(jobs,), name=name, daemon=True)
        thread.start()
        self._threads.append((thread, jobs))
        return jobs

    def _run(self, jobs: _Jobs) -> None:
        """In a thread: it keeps nothing of a job while it waits for the next."""
        while (job := jobs.get()) is not None:
            result = error = None
            try:
                result = job.run()
            except BaseException as raised:  # noqa: BLE001  handed to who asked
                error = raised
            try:
                told = job.done.get_loop().call_soon_threadsafe
                told(self._ended, jobs, job, result, error)
            except RuntimeError:  # the loop has ended: nobody waits for it any more
                return
            del job, result, error

    def _ended(self, jobs: _Jobs, job: _Job, result: Any, error: BaseException | None) -> None:
        self._busy -= 1
        self._idle.append(jobs)
        while self._waiting and self._busy < self._at_once:
            self._next(self._waiting.popleft())
        if job.done.cancelled():
            return
        if error is None:
            job.done.set_result(result)
        else:
            job.done.set_exception(error)

    def _next(self, job: _Job) -> None:
        if not job.done.cancelled():  # else its caller went away
            self._begin(job)
        elif job.late is not None:
            job.late.cancel()

    def close(self) -> None:
        """Waits until the jobs that have begun are done."""
        for _, jobs in self._threads:
            jobs.put(None)
        for thread, _ in self._threads:
            thread.join()

"""The one wrapper that turns a stage into trace, event and timing.

Stages are plain functions; nothing in them knows that it is being watched. `Run.stage`
calls one, times it (wall and the thread's own CPU), emits a start and a stop event and
keeps the trace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from recollect.types import Degradation, StageEvent, StageTrace

OnEvent = Callable[[StageEvent], None]


class Span:
    """What a stage may say about itself while it runs: `span.note(found=12)`."""

    __slots__ = ("detail",)

    def __init__(self) -> None:
        self.detail: dict[str, Any] = {}

    def note(self, **detail: Any) -> None:
        self.detail.update(detail)


class Run:
    """One retain or recall: its clock, its stages, what it had to do without."""

    def __init__(self, on_event: OnEvent | None = None, *, cpu: bool = False) -> None:
        # A thread's CPU clock is a system call, up to 60 µs on some machines: only when asked.
        self._cpu: Callable[[], float] = time.thread_time if cpu else float
        self._began = time.perf_counter()
        self._on_event = on_event
        self._lock = threading.Lock()
        self._stages: list[StageTrace] = []
        self._degraded: list[Degradation] = []

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self._began) * 1000

    @contextmanager
    def stage(self, name: str) -> Generator[Span]:
        span = Span()
        start = self.elapsed_ms()
        cpu = self._cpu()
        if self._on_event:
            self._on_event(StageEvent(name, "start", start))
        try:
            yield span
        finally:
            stop = self.elapsed_ms()
            trace = StageTrace(
                name,
                start,
                stop,
                (self._cpu() - cpu) * 1000,
                threading.current_thread().name,
                span.detail,
            )
            with self._lock:
                self._stages.append(trace)
            if self._on_event:
                self._on_event(StageEvent(name, "stop", stop, stop - start, span.detail))

    def degrade(self, part: str, reason: str) -> None:
        with self._lock:
            self._degraded.append(Degradation(part, reason))

    @property
    def degraded(self) -> tuple[Degradation, ...]:
        with self._lock:
            return tuple(self._degraded)

    @property
    def stages(self) -> tuple[StageTrace, ...]:
        with self._lock:
            return tuple(sorted(self._stages, key=lambda s: (s.start_ms, s.stage)))

    def timings(self) -> Mapping[str, float]:
        out: dict[str, float] = {}
        for s in self.stages:
            out[s.stage] = out.get(s.stage, 0.0) + s.took_ms
        out["total"] = self.elapsed_ms()
        return out

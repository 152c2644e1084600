"""The one wrapper that turns a stage into trace, event, span and metric.

Stages are plain functions; nothing in them knows that it is being watched. `Run.stage`
calls one, times it (wall and the thread's own CPU), emits a start and a stop event and
keeps the trace. Whoever wants all of it, a server's metrics for one, adds a `Watch`.

Where the application has set up the OpenTelemetry SDK, a run is a span by the GenAI memory
conventions and each stage a span in it. Where it has not, that costs one look at a dict.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self

from recollect.types import Degradation, StageEvent, StageTrace
from recollect.types.making import maker

if TYPE_CHECKING:
    from types import TracebackType

    from recollect.spans import Spans

OnEvent = Callable[[StageEvent], None]
_make_trace = maker(StageTrace)


class Watch(Protocol):
    """Sees every run of this process. Called on the run's own threads: be quick."""

    def stage(self, run: str, trace: StageTrace) -> None: ...
    def ended(self, run: Run, error: BaseException | None) -> None: ...
    def waited(self, what: str, seconds: float) -> None:
        """For something shared: a connection of a pool."""
        ...


_watches: tuple[Watch, ...] = ()


def watch(new: Watch) -> Callable[[], None]:
    """Add one; gives what takes it away again."""
    global _watches
    _watches = (*_watches, new)

    def unwatch() -> None:
        global _watches
        _watches = tuple(w for w in _watches if w is not new)

    return unwatch


def waited(what: str, seconds: float) -> None:
    for each in _watches:
        each.waited(what, seconds)


class _Deaf(BaseException):
    """Whoever is told of the stages failed. Not one of them did: it passes by all that do without a
    stage that fails, and comes out as what it was."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _tell(on_event: OnEvent, event: StageEvent) -> None:
    try:
        on_event(event)
    except Exception as error:
        raise _Deaf(error) from error


class Stage:
    """What `Run.stage` gives, and what a stage may say about itself while it runs: `note(found=12)`.
    One class, and no generator: a dozen are entered in every recall."""

    __slots__ = ("_begun", "_name", "_run", "detail")

    def __init__(self, run: Run, name: str) -> None:
        self._run = run
        self._name = name
        self.detail: dict[str, Any] = {}

    def note(self, **detail: Any) -> None:
        self.detail.update(detail)

    def __enter__(self) -> Self:
        self._begun = self._run.begin(self._name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._run.finish(self._name, self._begun, self.detail, error)


class Run:
    """One retain or recall: its clock, its stages, what it had to do without. Used as a context
    manager it also tells when it has ended, and how."""

    def __init__(
        self,
        on_event: OnEvent | None = None,
        *,
        name: str = "recall",
        bank: str | None = None,
        cpu: bool = False,
        waited: float = 0.0,  # seconds, for its turn; they count
    ) -> None:
        # A thread's CPU clock is a system call, up to 60 µs on some machines: only when asked.
        self._cpu: Callable[[], float] = time.thread_time if cpu else float
        self._began = time.perf_counter() - waited
        self._on_event = on_event
        self._stages: list[StageTrace] = []  # threads append, which no other can come between
        self._degraded: list[Degradation] = []
        self._spans: Spans | None = None
        self.name = name
        self.bank = bank
        self.detail: dict[str, Any] = {}  # what came of it: results, cached …

    def __enter__(self) -> Self:
        if "opentelemetry.sdk.trace" in sys.modules:
            from recollect.spans import Spans

            self._spans = Spans(self.name, self.bank)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, _Deaf):
            error = error.error
        for each in _watches:
            each.ended(self, error)
        if self._spans is not None:
            self._spans.end(self.detail, self._degraded, error)
        if kind is _Deaf and error is not None:
            raise error

    def note(self, **detail: Any) -> None:
        self.detail.update(detail)

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self._began) * 1000

    def stage(self, name: str) -> Stage:
        return Stage(self, name)

    def begin(self, name: str) -> tuple[float, float, Any]:
        """The clock, the thread's own CPU, and the span that was begun."""
        start, cpu = self.elapsed_ms(), self._cpu()
        inner = None if self._spans is None else self._spans.begin(name)
        if self._on_event:
            _tell(self._on_event, StageEvent(name, "start", start))
        return start, cpu, inner

    def finish(
        self,
        name: str,
        begun: tuple[float, float, Any],
        detail: dict[str, Any],
        error: BaseException | None,
    ) -> None:
        start, cpu, inner = begun
        stop, used = self.elapsed_ms(), (self._cpu() - cpu) * 1000
        thread = threading.current_thread().name
        trace = _make_trace(name, start, stop, used, thread, detail)
        self._stages.append(trace)
        for each in _watches:
            each.stage(self.name, trace)
        if self._spans is not None:
            self._spans.finish(inner, detail, error)
        if self._on_event:
            _tell(self._on_event, StageEvent(name, "stop", stop, stop - start, detail))

    def degrade(self, part: str, reason: str) -> None:
        self._degraded.append(Degradation(part, reason))

    @property
    def degraded(self) -> tuple[Degradation, ...]:
        return tuple(self._degraded)

    @property
    def stages(self) -> tuple[StageTrace, ...]:
        return tuple(sorted(self._stages, key=lambda s: (s.start_ms, s.stage)))

    def timings(self) -> Mapping[str, float]:
        out: dict[str, float] = {}
        for s in self.stages:
            out[s.stage] = out.get(s.stage, 0.0) + s.took_ms
        out["total"] = self.elapsed_ms()
        return out

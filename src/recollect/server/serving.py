"""What the handlers work with: the memory, the threads it runs on, and who may do what."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from fastapi import Request

from recollect.memory.parts import recalls_at_once
from recollect.server.keys import Gate
from recollect.server.lane import PATIENCE_S, Lane
from recollect.server.operations import HINDSIGHT_NAMES, Operations

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.memory import Recollect
    from recollect.server.audit import Audit
    from recollect.server.metrics import Metrics

P = ParamSpec("P")
T = TypeVar("T")
READERS, WRITERS = 8, 4


def _threads(name: str, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix=f"recollect-{name}")


@dataclass(slots=True)
class Serving:
    """One memory behind a server. Reading and writing have threads of their own, so that long
    retains never keep recalls waiting; SQLite and onnxruntime free the GIL."""

    memory: Recollect
    operations: Operations
    gate: Gate
    metrics: Metrics | None = None
    audit: Audit | None = None
    started: float = field(default_factory=time.monotonic)
    warm: bool = False
    _computing: Lane = field(init=False)
    _reading: ThreadPoolExecutor = field(default_factory=lambda: _threads("read", READERS))
    _writing: ThreadPoolExecutor = field(default_factory=lambda: _threads("write", WRITERS))

    def __post_init__(self) -> None:
        self._computing = Lane(_worth_computing(self.memory.settings), READERS)

    async def recall(self, work: Callable[[], T], query: str, deadline_ms: float | None) -> T:
        """Reading that computes: in turn. With a deadline it is begun at once, since its clock runs
        from there, and nothing is done for others first; the memory knows how long it may then wait."""
        if deadline_ms is not None:
            return await self._computing.take(work, 0)
        return await self._computing.take(work, PATIENCE_S, partial(self.memory.read_ahead, query))

    async def read(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reading, _carried(work, *args, **kwargs))

    async def write(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Not given up when the caller goes away: what was begun is finished."""
        loop = asyncio.get_running_loop()
        begun = loop.run_in_executor(self._writing, _carried(work, *args, **kwargs))
        return await asyncio.shield(begun)

    async def warm_up(self) -> None:
        await self.read(self.memory.warm)
        self.warm = True

    def operation_counts(self, bank: str) -> Mapping[str, int]:
        return {HINDSIGHT_NAMES[s]: n for s, n in self.operations.counts(bank).items()}

    def body_limit(self, authorization: str | None) -> int:
        return self.gate.body_limit(authorization, self.memory.settings.body_limit)

    def close(self) -> None:
        """Finishes what was accepted."""
        self._computing.close()
        self._reading.shutdown(wait=True)
        self._writing.shutdown(wait=True)
        self.operations.stop()


def _worth_computing(settings: Settings) -> int:
    """How many recalls at a time. What waits for somebody else's computer needs no turns."""
    used = f"{settings.db} {settings.embedder} {settings.reranker}"
    return READERS if "://" in used else recalls_at_once(settings)


def _carried(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
    """With the request's id and trace, which a thread would not know of."""
    context = copy_context()
    return lambda: context.run(work, *args, **kwargs)


def serving(request: Request) -> Serving:
    return request.app.state.serving

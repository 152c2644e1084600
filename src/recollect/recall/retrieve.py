"""Retrieve: the four arms, concurrently.

Keyword needs no vector, so it runs while the query is embedded; graph and temporal start
together once semantic is done. An arm that fails or is late is left out, and the result
says so; the recall goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.models.base import Embedder
from recollect.recall.arms.graph import graph
from recollect.recall.arms.keyword import keyword
from recollect.recall.arms.semantic import semantic
from recollect.recall.arms.temporal import temporal
from recollect.recall.request import RecallRequest
from recollect.recall.understand import Query
from recollect.storage.base import Floats, Found, View
from recollect.telemetry import Run
from recollect.types import Arm

T = TypeVar("T")


@dataclass
class Retrieved:
    lists: dict[Arm, Found] = field(default_factory=dict[Arm, Found])
    vector: Floats | None = None
    tokens: NDArray[np.int8] | None = None


class Deadline:
    """How much time a recall has left; None of it when no deadline was given."""

    def __init__(self, run: Run, limit_ms: float | None) -> None:
        self._run = run
        self._limit_ms = limit_ms

    def left(self) -> float | None:
        """Seconds."""
        if self._limit_ms is None:
            return None
        return max(0.0, (self._limit_ms - self._run.elapsed_ms()) / 1000)

    @property
    def over(self) -> bool:
        return self.left() == 0.0


def retrieve(
    view: View,
    query: Query,
    request: RecallRequest,
    depth: int,
    embedder: Embedder,
    floor: float,
    workers: ThreadPoolExecutor,
    run: Run,
    deadline: Deadline,
) -> Retrieved:
    out = Retrieved()
    allowed = request.allowed

    def start(name: str, work: Callable[[], T], *, here: bool = False) -> Callable[[], T]:
        """On a worker; or on this thread, which would only wait, when no deadline could come.
        Gives what waits for the answer."""

        def timed() -> T:
            with run.stage(name) as span:
                found = work()
                if isinstance(found, Found):
                    span.note(found=len(found))
                return found

        if here and deadline.left() is None:
            return partial(_finish, _done(timed), timed, deadline)
        return partial(_finish, workers.submit(timed), timed, deadline)

    def embed() -> tuple[Floats, NDArray[np.int8] | None]:
        encoded = embedder.encode_queries([request.query])
        return encoded.vectors[0], None if encoded.tokens is None else encoded.tokens[0]

    def keep(arm: Arm, answer: Callable[[], Found]) -> None:
        found = _awaited(arm.value, answer, run)
        if found is not None:
            out.lists[arm] = found

    by_keyword = None
    if "keyword" not in request.without and query.hashes:
        by_keyword = start("keyword", lambda: keyword(view, query, allowed, depth))
    encoded = _awaited("embed", start("embed", embed, here=True), run)
    if encoded is not None:
        out.vector, out.tokens = encoded
        vector = encoded[0]
        keep(
            Arm.SEMANTIC,
            start("semantic", lambda: semantic(view, vector, allowed, depth, floor), here=True),
        )
    seeds = out.lists.get(Arm.SEMANTIC, Found.nothing())
    rest: dict[Arm, Callable[[], Found]] = {}
    if "temporal" not in request.without and query.window is not None:
        window = query.window
        rest[Arm.TEMPORAL] = start(
            "temporal", lambda: temporal(view, window, out.vector, allowed, depth)
        )
    if "graph" not in request.without and (len(seeds) or query.entities):
        walk = request.budget == "high"
        rest[Arm.GRAPH] = start(
            "graph", lambda: graph(view, query, seeds, allowed, depth, walk), here=True
        )
    if by_keyword is not None:
        keep(Arm.KEYWORD, by_keyword)
    for arm, answer in rest.items():
        keep(arm, answer)
    if "semantic" in request.without:
        out.lists.pop(Arm.SEMANTIC, None)
    return out


def _done(work: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    try:
        future.set_result(work())
    except Exception as error:  # noqa: BLE001  as a worker would
        future.set_exception(error)
    return future


class _Overdue(Exception):
    """The deadline came first."""


def _finish(future: Future[T], work: Callable[[], T], deadline: Deadline) -> T:
    left = deadline.left()
    if left is None and future.cancel():
        # It waits in line for a worker. Callers that hold workers themselves must not wait
        # for one, or enough of them would wait for each other for ever.
        return work()
    try:
        return future.result(timeout=left)
    except Late:
        if future.done():  # a timeout of its own, or done in the last moment
            return future.result()
        future.cancel()
        raise _Overdue from None


def _awaited(part: str, answer: Callable[[], T], run: Run) -> T | None:
    try:
        return answer()
    except _Overdue:
        run.degrade(part, "the deadline came first")
    except Exception as error:  # noqa: BLE001  any failure of one arm, shown in the result
        run.degrade(part, f"{type(error).__name__}: {error}".splitlines()[0])
    return None

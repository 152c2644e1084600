"""Retrieve: the four arms, concurrently.

Keyword needs no vector, so it runs while the query is embedded; graph and temporal start
together once semantic is done. A store on a server is first told all that the arms will ask,
and answers in one go. An arm that fails or is late is left out, and the result says so; the
recall goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ModelError
from recollect.language.wishes import WISH
from recollect.models.base import Embedder
from recollect.models.loading import Loading, NotYet
from recollect.models.patience import Overdue, within
from recollect.recall.arms.graph import graph
from recollect.recall.arms.keyword import keyword
from recollect.recall.arms.semantic import semantic
from recollect.recall.arms.temporal import bounds, temporal
from recollect.recall.request import RecallRequest
from recollect.recall.turns import Turns
from recollect.recall.understand import Query
from recollect.storage.base import Ask, Floats, Found, GatheringView, View
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


@dataclass(frozen=True, slots=True)
class Search:
    """What the arms are asked."""

    view: View
    query: Query
    request: RecallRequest
    depth: int
    floor: float  # of the semantic arm

    def wants(self, arm: Arm) -> bool:
        return arm.value not in self.request.without


class Line:
    """Where the arms run, and how long anybody waits for them."""

    def __init__(
        self, workers: ThreadPoolExecutor, turns: Turns, run: Run, deadline: Deadline
    ) -> None:
        self._workers = workers
        self._turns = turns
        self._run = run
        self._deadline = deadline
        self._left_behind = False

    @property
    def overdue(self) -> bool:
        return self._deadline.over

    @property
    def cut_short(self) -> bool:
        """Whether the deadline kept anything from being looked at, or keeps the rest."""
        return self._left_behind or self._deadline.over

    @property
    def spare(self) -> ThreadPoolExecutor | None:
        """Threads that may help; none where others need the cores."""
        return None if self._turns.crowded else self._workers

    def start(self, name: str, work: Callable[[], T], *, here: bool = False) -> Callable[[], T]:
        """On a worker; or on this thread, when no deadline could come: where it would only wait, or
        where others need the cores. Gives what waits for the answer."""

        def timed() -> T:
            with self._run.stage(name) as span:
                found = work()
                if isinstance(found, Found):
                    span.note(found=len(found))
                return found

        left = self._deadline.left()
        if left is None and (here or self._turns.crowded):
            return _done(timed)
        bounded = timed if left is None else partial(_bounded, timed, left)
        try:
            future = self._workers.submit(bounded)
        except RuntimeError:  # closed meanwhile: what is gone with it says so itself
            return _done(timed)
        return partial(_finish, future, timed, self._deadline)

    def loaded(self, part: str, load: Callable[[], T]) -> T | None:
        """A model; None where the deadline comes before it is loaded."""
        left = self._deadline.left()
        if left is None or not isinstance(load, Loading):
            return load()
        model = cast("Loading[T]", load)
        return self.needed(part, lambda: model.within(left))

    def needed(self, part: str, answer: Callable[[], T]) -> T | None:
        """The answer; without it there is nothing to go on with, unless the deadline came first."""
        try:
            return answer()
        except Overdue as late:
            self._left_behind = True
            self._run.degrade(part, str(late))
        return None

    def awaited(self, part: str, answer: Callable[[], T]) -> T | None:
        """The answer, or None and a word about what the result has to do without."""
        try:
            return self.needed(part, answer)
        except Exception as error:  # noqa: BLE001  any failure of one arm, shown in the result
            self._run.degrade(part, f"{type(error).__name__}: {error}".splitlines()[0])
        return None


def retrieve(search: Search, embedder: Embedder, line: Line) -> Retrieved:
    view, query, allowed, depth = search.view, search.query, search.request.allowed, search.depth
    out = Retrieved()
    waiting: dict[Arm, Callable[[], Found]] = {}
    served = view if isinstance(view, GatheringView) else None

    def start_keyword() -> None:
        if search.wants(Arm.KEYWORD) and query.hashes:
            least = search.request.floors.keyword or 0.0
            waiting[Arm.KEYWORD] = line.start(
                "keyword",
                lambda: _above(keyword(view, query, allowed, depth), least),
                here=served is not None,
            )

    if served is None:
        start_keyword()
    embed = partial(_embed, embedder, query.text)
    late = isinstance(embedder, NotYet)  # says so at once, though no time may be left to hear it
    embedded = _done(embed) if late else line.start("embed", embed, here=True)
    out.vector, out.tokens = line.awaited("embed", embedded) or (None, None)
    if served is not None:
        gather = partial(served.gather, _ask(search, out.vector))
        line.needed("gather", line.start("gather", gather, here=True))
        start_keyword()
    seeds = _seeds(search, out.vector, line)
    if search.wants(Arm.TEMPORAL) and query.window is not None:
        window, parts = query.window, query.parts
        waiting[Arm.TEMPORAL] = line.start(
            "temporal", lambda: temporal(view, window, out.vector, allowed, depth, parts)
        )
    if search.wants(Arm.GRAPH) and ((seeds is not None and len(seeds)) or query.entities):
        walk, first = search.request.budget == "high", seeds or Found.nothing()
        waiting[Arm.GRAPH] = line.start(
            "graph", lambda: graph(view, query, first, allowed, depth, walk), here=True
        )
    if seeds is not None and search.wants(Arm.SEMANTIC):
        out.lists[Arm.SEMANTIC] = seeds
    for arm, answer in waiting.items():
        found = line.awaited(arm.value, answer)
        if found is not None:
            out.lists[arm] = found
    return out


def _above(found: Found, floor: float) -> Found:
    if floor <= 0:
        return found
    kept = found.scores >= floor
    return Found(found.keys[kept], found.scores[kept])


def _ask(search: Search, vector: Floats | None) -> Ask:
    """All that the arms will ask of the store."""
    query, window = search.query, search.query.window
    terms = query.hashes if search.wants(Arm.KEYWORD) else ()
    return Ask(
        vector,
        (*terms, WISH) if query.request else terms,
        search.request.allowed,
        search.depth,
        None if window is None or not search.wants(Arm.TEMPORAL) else bounds(window),
    )


def _embed(embedder: Embedder, text: str) -> tuple[Floats, NDArray[np.int8] | None]:
    encoded = embedder.encode_queries([text])
    if not np.isfinite(encoded.vectors).all():  # nothing would be near it, and nobody would know
        raise ModelError("the embedder gave no numbers", hint="look at its model")
    return encoded.vectors[0], None if encoded.tokens is None else encoded.tokens[0]


def _seeds(search: Search, vector: Floats | None, line: Line) -> Found | None:
    """The semantic arm. It runs even when it is left out of the answer: graph starts from it."""
    if vector is None:
        return None
    view, allowed = search.view, search.request.allowed
    answer = line.start(
        "semantic", lambda: semantic(view, vector, allowed, search.depth, search.floor), here=True
    )
    return line.awaited("semantic", answer)


def _bounded(work: Callable[[], T], seconds: float) -> T:
    with within(seconds):
        return work()


def _done(work: Callable[[], T]) -> Callable[[], T]:
    """Done at once; as with a worker, what went wrong is told to whoever asks for the answer."""
    try:
        found = work()
    except Exception as error:  # noqa: BLE001  raised by `_fail`
        return partial(_fail, error)
    return lambda: found


def _fail(error: Exception) -> NoReturn:
    raise error


def _finish(future: Future[T], work: Callable[[], T], deadline: Deadline) -> T:
    left = deadline.left()
    if left is None and future.cancel():
        # It waits in line for a worker. Callers that hold workers themselves must not wait
        # for one, or enough of them would wait for each other for ever.
        return work()
    try:
        return future.result(timeout=left)
    except CancelledError:  # by whoever closed meanwhile
        return work()
    except Late:
        if future.done():  # a timeout of its own, or done in the last moment
            return future.result()
        future.cancel()
        raise Overdue from None

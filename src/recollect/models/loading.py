"""A model is loaded once: by whoever needs it first, and in the background of whoever has no time.

What loads is a thread that nobody cuts off, neither a caller that gives up nor the end of the
process: a runtime that is torn down while it reads a model may take the process with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as Late
from typing import Generic, NoReturn, TypeVar

from recollect.models.base import Encoded
from recollect.models.patience import Overdue

T = TypeVar("T")


class Loading(Generic[T]):
    """Calling it returns the model, after loading it if nobody has begun to. A load that failed
    is tried again by the next caller."""

    def __init__(self, what: str, load: Callable[[], T], look: Callable[[], object]) -> None:
        self._what = what
        self._load = load
        self._look = look  # fails at once where a load would fail, too late for who has no time
        self._lock = threading.Lock()
        self._begun: Future[T] | None = None

    def __call__(self) -> T:
        begun, mine = self._claimed()
        if mine:
            self._run(begun)
        return begun.result()

    def within(self, seconds: float) -> T:
        """The model, if it is loaded by then; otherwise it goes on loading, and `Overdue` is
        raised."""
        begun = self._begun
        if begun is None or not begun.done():
            self._look()
            begun, mine = self._claimed()
            if mine:
                threading.Thread(target=self._run, args=(begun,), name="recollect-load").start()
        try:
            return begun.result(max(0.0, seconds))
        except Late:
            if begun.done():  # an error of its own, or done in the last moment
                return begun.result()
            raise Overdue(still_loading(self._what)) from None

    def ended(self) -> None:
        """Waits until nothing loads any more."""
        if self._begun is not None:
            wait([self._begun])

    def _claimed(self) -> tuple[Future[T], bool]:
        with self._lock:
            mine = self._begun is None
            begun = self._begun = self._begun or Future[T]()
            return begun, mine

    def _run(self, begun: Future[T]) -> None:
        try:
            model = self._load()
        except BaseException as error:  # noqa: BLE001  raised by whoever waits
            self._begun = None
            begun.set_exception(error)
        else:
            begun.set_result(model)


class NotYet:
    """In place of an embedder that is still being loaded: known by what a bank holds of it."""

    def __init__(self, name: str, dimensions: int, token_dimensions: int) -> None:
        self.name = name
        self.dimensions = dimensions
        self.token_dimensions = token_dimensions

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        self._refuse()

    def encode_passages(self, texts: Sequence[str]) -> Encoded:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise Overdue(still_loading("embedder"))


def still_loading(what: str) -> str:
    return f"{Overdue()}: the {what} is still being loaded"

"""How long somebody waits for a model that runs elsewhere.

A call that went on after that would only keep who closes the store from going. Apart from the
rest of HTTP, which takes long to import and is seldom needed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar


class Overdue(Exception):
    """Nobody waits any longer."""

    def __init__(self, reason: str = "the deadline came first") -> None:
        super().__init__(reason)


_until: ContextVar[float] = ContextVar("until", default=math.inf)


@contextmanager
def within(seconds: float) -> Generator[None]:
    """No model is waited for longer than this inside the block, nor longer than an enclosing
    block allows."""
    before = _until.set(min(_until.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _until.reset(before)


def left() -> float:
    """Seconds; infinite where nobody set a limit."""
    return _until.get() - time.monotonic()

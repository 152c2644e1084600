"""A server in this process, over a store with a model that needs no weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from recollect.testing import open_fake

Serve = Callable[..., str]


@pytest.fixture
def serve(tmp_path: Path, served: Any) -> Iterator[Serve]:
    """Serves a store of its own, or the one named."""
    with ExitStack() as stack:

        def start(db: Path | None = None, **settings: object) -> str:
            memory = open_fake(db or tmp_path / "served.db", **settings)
            return stack.enter_context(served(memory))

        yield start

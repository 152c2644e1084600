"""A server in this process, over a store with a model that needs no weights."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn

import recollect
from recollect.server.app import create_app
from recollect.server.serve import address, bind
from recollect.testing import open_fake


@contextmanager
def served(memory: recollect.Recollect) -> Iterator[str]:
    bound = bind("127.0.0.1", 0)
    ready = threading.Event()
    config = uvicorn.Config(
        create_app(memory, on_ready=ready.set), log_config=None, lifespan="on", ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield address(bound)
    finally:
        server.should_exit = True
        thread.join(30)
        bound.close()


Serve = Callable[..., str]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serves a store of its own, or the one named."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(db: Path | None = None, **settings: object) -> str:
            memory = open_fake(db or tmp_path / "served.db", **settings)
            return stack.enter_context(served(memory))

        yield start

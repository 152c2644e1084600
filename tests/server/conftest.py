"""A real server process, on loopback, over a store in a temporary folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hindsight_client import Hindsight

PATIENCE_S = 180
_names = count()


@dataclass
class Server:
    """One `recollect serve`."""

    process: subprocess.Popen[bytes]
    url: str
    db: Path
    log: Path

    def client(self, **options: Any) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, timeout=PATIENCE_S, **options)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)


def start(db: Path, *arguments: str, **environ: str) -> Server:
    log = db.with_suffix(".log")
    with log.open("ab") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "recollect.cli", "--json", "serve", "--db", str(db)]
            + ["--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, **environ},
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise AssertionError(f"no server: {log.read_text()}")
    return Server(process, json.loads(line)["url"], db, log)


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Shared by the tests of this folder; each uses banks of its own."""
    started = start(tmp_path_factory.mktemp("server") / "memory.db")
    try:
        yield started
    finally:
        assert started.stop() == 0


@pytest.fixture
def http(server: Server) -> Iterator[httpx2.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def bank() -> str:
    """A name that no other test uses."""
    return f"bank-{next(_names)}"


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Hindsight]:
    """Hindsight's own, awaited; a module that asks it otherwise makes its own."""
    opened = Hindsight(base_url=server.url)
    yield opened
    await opened.aclose()

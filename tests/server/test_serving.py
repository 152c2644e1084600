"""The threads that requests are worked on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from recollect import Recollect
from recollect.memory import open_memory
from recollect.models import registry
from recollect.server.app import create_app
from recollect.server.keys import Gate
from recollect.server.observe import request_id
from recollect.server.operations import Operations
from recollect.server.serving import READERS, Serving
from recollect.testing import FakeEmbedder, open_fake


@pytest.fixture
def state(memory: Recollect) -> Iterator[Serving]:
    made = Serving(memory, Operations(memory), Gate(memory.store.keys))
    yield made
    made.close()


async def test_the_requests_id_goes_along_to_its_thread(state: Serving) -> None:
    token = request_id.set("r-1")
    try:
        assert await state.read(request_id.get) == "r-1"
        assert await state.write(request_id.get) == "r-1"
    finally:
        request_id.reset(token)


async def test_long_writes_do_not_keep_reads_waiting(state: Serving) -> None:
    held = threading.Event()
    writing = [asyncio.create_task(state.write(held.wait)) for _ in range(2 * READERS)]
    assert await asyncio.wait_for(state.read(lambda: "read"), 60) == "read"
    held.set()
    await asyncio.gather(*writing)


async def test_what_is_being_written_is_finished_when_the_caller_goes_away(state: Serving) -> None:
    begun, goes_on, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        goes_on.wait()
        done.set()

    asked = asyncio.create_task(state.write(work))
    await asyncio.to_thread(begun.wait)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    goes_on.set()
    assert await asyncio.to_thread(done.wait, 60)


def test_a_deadline_is_kept_while_a_server_loads_its_models(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_fake(db) as memory:
        memory.retain("alice", "Alice has a dog named Rex.")
    loaded, asked = threading.Event(), {"query": "Who has a dog?", "deadline_ms": 300}

    def slowly(*_: Any, **__: Any) -> FakeEmbedder:
        assert loaded.wait(60)
        return FakeEmbedder()

    monkeypatch.setattr(registry, "load_embedder", slowly)
    with TestClient(
        create_app(open_memory(db, reranker="none")), base_url="http://localhost"
    ) as http:
        answer = http.post("/v1/default/banks/alice/memories/recall", json=asked).json()
        loaded.set()
    assert [d["part"] for d in answer["degraded"]] == ["embed"]
    assert "Rex" in answer["results"][0]["text"]

"""A bank is exported as it is read, whoever asks: never whole in memory, and nothing stays open
behind somebody who has seen enough."""

from __future__ import annotations

import asyncio
import threading
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from random import Random
from typing import Any

import pytest

import recollect
from recollect.errors import NotFound, ServerError
from recollect.testing import aopen_fake, open_fake
from recollect.threads import awaited

BANK = "many"
MANY = 3_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a bank whose export has some megabytes."""
    db = tmp_path_factory.mktemp("exporting") / "many.db"
    noise = Random(7)  # on the way texts are compressed, and x after x would be nothing
    with open_fake(db) as memory:
        memory.retain(
            BANK,
            [
                {
                    "text": f"Person{n} has {n} cats.",
                    "metadata": {"scan": noise.randbytes(1500).hex()},
                }
                for n in range(MANY)
            ],
        )
    return db


@pytest.fixture(autouse=True)
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store reads a bank in pages; one page must be little beside the bank of this test."""
    monkeypatch.setattr("recollect.storage.sqlite.dump.PAGE", 100)


async def sizes(lines: AsyncIterator[dict[str, Any]]) -> tuple[int, int]:
    """Lines seen, and the most that was in memory meanwhile."""
    tracemalloc.start()
    count = 0
    async for _ in lines:
        count += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return count, peak


async def test_a_client_holds_a_part_of_a_large_bank(many: Path, serve) -> None:
    size = sum(len(str(line)) for line in _exported(many))
    async with recollect.aconnect(serve(many)) as client:
        count, peak = await sizes(client.export(BANK))
    assert count > MANY
    # the server runs in this process, so that both ends of the stream are counted
    assert peak < size / 2


async def test_the_library_holds_a_part_of_a_large_bank(many: Path) -> None:
    size = sum(len(str(line)) for line in _exported(many))
    async with aopen_fake(many) as memory:
        count, peak = await sizes(memory.export(BANK))
    assert count > MANY
    assert peak < size / 2


async def test_whoever_has_seen_enough_lets_the_connection_go(many: Path, serve) -> None:
    async with recollect.aconnect(serve(many)) as client:
        async for _ in client.export(BANK):
            assert _open(client) == 1
            break
        async with asyncio.timeout(60):  # a generator that nobody holds is closed by the loop
            while _open(client):
                await asyncio.sleep(0.001)
        assert (await client.bank(BANK)).memories == MANY


async def test_whoever_has_seen_enough_lets_the_file_go(many: Path) -> None:
    async with aopen_fake(many) as memory:
        lines = memory.export(BANK)
        await anext(lines)
        await lines.aclose()
        before = await memory.count(BANK)
        await memory.retain(BANK, {"id": "late", "text": "Somebody came late."})
        await memory.forget(BANK, "late")  # would wait for a reader that is still there
        assert await memory.count(BANK) == before


async def test_a_thread_that_is_left_behind_lets_go_when_it_is_done() -> None:
    begun, go_on, closed = threading.Event(), threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        try:
            begun.set()
            go_on.wait(60)
            yield 1
        finally:
            closed.set()

    async def listen() -> None:
        async with aclosing(awaited(items())) as made:
            async for _ in made:
                pass

    listening = asyncio.ensure_future(listen())
    await asyncio.to_thread(begun.wait, 60)
    listening.cancel()
    await asyncio.sleep(0)  # it is being cancelled, and waits for the thread
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await listening
    assert closed.is_set()


async def test_a_bank_that_is_not_there_is_told_at_the_first_line(serve, tmp_path: Path) -> None:
    async with recollect.aconnect(serve()) as client, aopen_fake(tmp_path / "a.db") as library:
        for memory in (client, library):
            with pytest.raises(NotFound):
                async for _ in memory.export("nobody"):
                    pass


async def test_a_server_that_is_not_there_is_told() -> None:
    async with recollect.aconnect("http://127.0.0.1:1", retries=0) as client:
        with pytest.raises(ServerError) as raised:
            await anext(client.export(BANK))
        assert raised.value.hint


async def test_an_export_goes_through_from_one_to_the_other(serve, tmp_path: Path) -> None:
    db = tmp_path / "one.db"
    with open_fake(db) as memory:
        memory.retain("b", [f"Person{n} has {n} cats." for n in range(500)])
    async with recollect.aconnect(serve(db)) as client, aopen_fake(tmp_path / "two.db") as library:
        assert (await library.import_bank(client.export("b"))).memories == 500
        assert (await client.import_bank(library.export("b"), "again")).memories == 500


def _exported(db: Path) -> list[dict[str, Any]]:
    with open_fake(db) as memory:
        return list(memory.export(BANK))


def _open(client: recollect.AsyncClient) -> int:
    return sum(not c.is_idle() for c in client._http._transport._pool.connections)

"""Recalls take turns, on few threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from recollect.config import Settings, cores
from recollect.memory.parts import recalls_at_once
from recollect.server.lane import Lane
from recollect.server.observe import request_id
from recollect.server.serving import READERS, _worth_computing

PATIENCE_S = 60
FOR_EVER = 1e6


class Held:
    """Work that has begun, and goes on until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self._free = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self._free.wait(PATIENCE_S)
        return threading.current_thread().name

    def let_go(self) -> None:
        self._free.set()

    async def has_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.wait, PATIENCE_S)


@pytest.fixture
def lanes() -> Iterator[Callable[[int, int], Lane]]:
    made: list[Lane] = []

    def make(at_once: int, most: int) -> Lane:
        made.append(Lane(at_once, most))
        return made[-1]

    yield make
    for each in made:
        each.close()


async def ended(*awaited: Awaitable[Any]) -> list[Any]:
    return await asyncio.wait_for(asyncio.gather(*awaited), PATIENCE_S)


async def begun(work: Awaitable[Any]) -> asyncio.Future[Any]:
    """Asked for: a task that has run up to where it waits."""
    asked = asyncio.ensure_future(work)
    await asyncio.sleep(0)
    return asked


async def test_no_more_compute_at_once_than_are_worth_it(lanes: Any) -> None:
    lane = lanes(2, 8)
    held = [Held() for _ in range(5)]
    asked = [await begun(lane.take(work, FOR_EVER)) for work in held]
    for first, second in ((0, 1), (1, 2), (2, 3), (3, 4)):
        await ended(held[first].has_begun(), held[second].has_begun())
        assert not any(work.begun.is_set() for work in held[second + 1 :])
        held[first].let_go()
        await ended(asked[first])
    held[4].let_go()
    await ended(*asked)


async def test_one_at_a_time_needs_one_thread(lanes: Any) -> None:
    lane = lanes(1, 8)
    names = await ended(*(lane.take(threading.get_ident, FOR_EVER) for _ in range(20)))
    assert len(set(names)) == 1


async def test_the_thread_that_was_at_work_last_is_the_next(lanes: Any) -> None:
    lane = lanes(2, 8)
    first, second = Held(), Held()
    both = [await begun(lane.take(work)) for work in (first, second)]
    first.let_go()
    await ended(both[0])
    second.let_go()
    name = await ended(both[1])
    alone = [await ended(lane.take(lambda: threading.current_thread().name)) for _ in range(5)]
    assert alone == [name] * 5


async def test_who_cannot_wait_is_begun_while_there_are_threads(lanes: Any) -> None:
    lane = lanes(1, 2)
    held = [Held() for _ in range(3)]
    asked = [await begun(lane.take(work, 0)) for work in held]
    await ended(held[0].has_begun(), held[1].has_begun())
    held[0].let_go()
    held[1].let_go()
    await ended(held[2].has_begun())
    held[2].let_go()
    await ended(*asked)


async def test_a_caller_who_went_away_is_passed_over(lanes: Any) -> None:
    lane = lanes(1, 8)
    held, never = Held(), Held()
    first = await begun(lane.take(held))
    gone = await begun(lane.take(never, FOR_EVER))
    last = await begun(lane.take(lambda: "last", FOR_EVER))
    gone.cancel()
    held.let_go()
    await ended(first)
    assert await ended(last) == ["last"]
    assert not never.begun.is_set()


async def test_nobody_hurries_for_a_caller_who_went_away(lanes: Any) -> None:
    lane = lanes(1, 8)
    held, never = Held(), Held()
    first = await begun(lane.take(held))
    gone = await begun(lane.take(never, 0))
    gone.cancel()
    await asyncio.sleep(0.001)  # its time has come
    held.let_go()
    await ended(first, lane.take(lambda: "next", FOR_EVER))
    assert not never.begun.is_set()


async def test_a_caller_who_went_away_at_work_leaves_the_turn_to_the_next(lanes: Any) -> None:
    lane = lanes(1, 8)
    held = Held()
    gone = await begun(lane.take(held))
    await held.has_begun()
    gone.cancel()
    next_one = await begun(lane.take(lambda: "next", FOR_EVER))
    held.let_go()
    assert await ended(next_one) == ["next"]


async def test_what_may_be_done_ahead_is_done_for_those_that_wait_in_a_row(lanes: Any) -> None:
    """Once for each: before the first of them, and for no more than come next."""
    lane, held = lanes(1, 8), Held()
    done: list[str] = []

    async def ask(name: str) -> asyncio.Future[Any]:
        return await begun(
            lane.take(lambda: done.append(name), FOR_EVER, lambda: done.append(f"ahead of {name}"))
        )

    first = await begun(lane.take(held))
    asked = [await ask(name) for name in "abcdef"]
    held.let_go()
    await ended(first, *asked)
    ahead = [f"ahead of {name}" for name in "abcdef"]
    assert done == [*ahead[:4], "a", "b", "c", "d", *ahead[4:], "e", "f"]


async def test_who_does_not_wait_does_nothing_ahead(lanes: Any) -> None:
    lane = lanes(1, 8)
    done: list[str] = []
    await ended(lane.take(lambda: done.append("work"), FOR_EVER, lambda: done.append("ahead")))
    assert done == ["work"]


async def test_what_goes_wrong_is_told_to_who_asked(lanes: Any) -> None:
    lane = lanes(1, 8)
    with pytest.raises(ZeroDivisionError):
        await lane.take(lambda: 1 / 0)
    assert await ended(lane.take(lambda: "well")) == ["well"]


async def test_each_runs_with_its_own_request(lanes: Any) -> None:
    lane = lanes(1, 8)

    async def ask(name: str) -> str:
        request_id.set(name)
        return await lane.take(request_id.get, FOR_EVER)

    names = [f"r-{n}" for n in range(4)]
    assert await ended(*(asyncio.create_task(ask(name)) for name in names)) == names


async def test_what_was_begun_is_finished_when_it_closes() -> None:
    lane, held = Lane(1, 8), Held()
    asked = await begun(lane.take(held))
    await held.has_begun()
    closing = asyncio.create_task(asyncio.to_thread(lane.close))
    held.let_go()
    await ended(closing, asked)


# --- how many ----------------------------------------------------------------------------------


def test_of_several_processes_each_computes_its_share() -> None:
    assert recalls_at_once(Settings(threads=1)) == cores()
    assert recalls_at_once(Settings(threads=1, workers=cores())) == 1
    assert recalls_at_once(Settings(threads=1, workers=3 * cores())) == 1


@pytest.mark.parametrize(
    "elsewhere", [{"db": "postgresql://localhost/x"}, {"embedder": "tei:http://localhost:1"}]
)
def test_what_waits_for_another_computer_needs_no_turns(elsewhere: dict[str, str]) -> None:
    assert _worth_computing(Settings(**elsewhere)) == READERS

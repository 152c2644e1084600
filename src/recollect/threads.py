"""Between threads: work that is shared among them, and iterators across the border between the event
loop and threads, some items at a time: crossing it for every one would cost more than making it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from concurrent.futures import Executor, Future
from contextlib import suppress
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
AT_ONCE = 200


def shared(work: Callable[[T], None], items: Iterable[T], helpers: Executor, most: int) -> None:
    """Do the work on this thread and, as far as they are free, on helpers: `most` threads in all. Nobody
    waits for a helper that has not begun, so it does not matter whose threads they are."""
    waiting = deque(items)

    def go_on() -> None:
        while True:
            try:
                item = waiting.popleft()
            except IndexError:
                return
            work(item)

    helping: list[Future[None]] = []
    with suppress(RuntimeError):  # closed meanwhile
        helping.extend(helpers.submit(go_on) for _ in range(min(most, len(waiting)) - 1))
    try:
        go_on()
    finally:
        waiting.clear()
        begun = [helper for helper in helping if not helper.cancel()]
        for helper in begun:
            helper.result()


async def awaited(items: Iterator[T], at_once: int = AT_ONCE) -> AsyncGenerator[T]:
    """What an iterator makes in threads. Whoever stops early closes it, and what it holds open."""
    making = threading.Lock()  # a thread goes on though nobody waits for it any more

    def some() -> list[T]:
        with making:
            return list(islice(items, at_once))

    def close() -> None:
        if isinstance(items, Generator):
            with making:
                items.close()

    try:
        while part := await asyncio.to_thread(some):
            for item in part:
                yield item
    finally:
        await asyncio.to_thread(close)


async def waited_for(items: AsyncIterable[T], at_once: int = AT_ONCE) -> Iterator[T]:
    """What the event loop makes, for a thread. The first part is there already, so that whoever
    looks at the first item need not be in a thread."""
    stream, loop = aiter(items), asyncio.get_running_loop()
    first = await _some(stream, at_once)

    def rest() -> Iterator[T]:
        part = first
        while part:
            yield from part
            part = asyncio.run_coroutine_threadsafe(_some(stream, at_once), loop).result()

    return rest()


async def _some(stream: AsyncIterator[T], at_once: int) -> list[T]:
    part: list[T] = []
    async for item in stream:
        part.append(item)
        if len(part) == at_once:
            break
    return part

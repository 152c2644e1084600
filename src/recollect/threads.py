"""Iterators across the border between the event loop and threads, some items at a time: crossing
it for every one would cost more than making it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
AT_ONCE = 200


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

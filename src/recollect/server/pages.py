"""A server's memory in large pages.

A recall goes through some megabytes that lie all over a process: weights, vectors, memories, Python's own
objects. In pages of four kilobytes the processor spends a part of it looking up where those are. Linux puts what
lies together into pages of two megabytes when it is asked to (MADV_COLLAPSE, since 6.1), and what is
stored stays what and where it is.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

log = logging.getLogger("recollect.server")
LARGE = 2 << 20
COLLAPSE = 25  # MADV_COLLAPSE
SOON_S, SELDOM_S, RARER = 2.0, 3600.0, 4  # a bank is read when it is first asked for
_MAPS = Path("/proc/self/maps")


async def keep_in_large_pages() -> None:
    """Soon after the start, and then ever more seldom; until it is cancelled, or where that cannot be."""
    pause = SOON_S
    while sys.platform == "linux" and _MAPS.exists():
        await asyncio.sleep(pause)
        await asyncio.to_thread(to_large_pages)
        pause = min(RARER * pause, SELDOM_S)


def to_large_pages() -> None:
    """What the kernel will not do, or cannot yet, stays as it is."""
    import ctypes

    advise = ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    refused = 0
    for start, end in spans(_MAPS.read_text().splitlines()):
        refused += advise(start, end - start, COLLAPSE) != 0
    log.debug("memory in large pages; %d spans were refused, in part at least", refused)


def spans(maps: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where large pages fit into memory that is this process's own, and no file's."""
    for line in maps:
        where, mode, _, _, _, *name = line.split(maxsplit=5)
        if mode != "rw-p" or name not in ([], ["[heap]"]):
            continue
        low, high = (int(end, 16) for end in where.split("-"))
        start, end = -(-low // LARGE) * LARGE, high // LARGE * LARGE
        if start < end:
            yield start, end

"""Memory in large pages."""

from __future__ import annotations

import asyncio
import sys

import pytest

from recollect.server import pages
from recollect.server.pages import LARGE, spans, to_large_pages

MAPS = """\
55d000000000-55d000400000 r-xp 00000000 fe:00 131 /usr/bin/python3.11
55d000500000-55d000900000 rw-p 00000000 00:00 0 [heap]
7f0000000000-7f0000200000 rw-p 00000000 00:00 0
7f0000300000-7f0000500000 rw-p 00000000 00:00 0
7f0000600000-7f0000800000 r--p 00000000 00:00 0
7f0000800000-7f0000c00000 rw-s 00000000 00:01 9 /dev/shm/shared rows
7f0000c00000-7f0001000000 rw-p 00000000 fe:00 7 /srv/model.bin
7ffc00000000-7ffc00800000 rw-p 00000000 00:00 0 [stack]
"""


def test_large_pages_fit_into_what_is_the_process_own() -> None:
    assert list(spans(MAPS.splitlines())) == [
        (0x55D000600000, 0x55D000800000),
        (0x7F0000000000, 0x7F0000200000),
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux is asked")
def test_what_is_stored_stays() -> None:
    held = bytearray(range(256)) * (4 * LARGE // 256)
    was = bytes(held)
    to_large_pages()
    assert held == was


@pytest.mark.skipif(sys.platform != "linux", reason="Linux is asked")
async def test_it_is_done_soon_and_then_ever_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 8:
            raise asyncio.CancelledError

    monkeypatch.setattr(pages.asyncio, "sleep", sleep)
    monkeypatch.setattr(pages, "to_large_pages", lambda: None)
    with pytest.raises(asyncio.CancelledError):
        await pages.keep_in_large_pages()
    assert pauses == [2, 8, 32, 128, 512, 2048, 3600, 3600]

"""Hits in short, as JSON. An answer may hold two hundred, and a memory is written in the same words
each time: they are kept as bytes, and only its scores are written anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Any

import orjson

from recollect.types import Band, Hit, Memory

_BANDS = {band: orjson.dumps(band) for band in Band}
MOST = 16_384  # memories; their texts are held by the store anyway


class Briefs:
    """What a memory says of itself. It never changes: a correction is another object. So it is known
    by being the same object, which costs less than looking at what it holds."""

    def __init__(self, describe: Callable[[Memory], dict[str, Any]]) -> None:
        self._describe = describe
        self._held: dict[int, tuple[Memory, bytes]] = {}

    def of(self, memory: Memory) -> bytes:
        """A JSON object without its braces."""
        held = self._held.get(id(memory))
        if held is not None and held[0] is memory:
            return held[1]
        said = orjson.dumps(self._describe(memory), default=dict)[1:-1]
        if len(self._held) >= MOST:
            self._held.clear()
        self._held[id(memory)] = memory, said
        return said

    def array(self, hits: Sequence[Hit]) -> orjson.Fragment:
        """All of them, each with what the ranking says of it as `scored` does. Numbers are written
        a column at a time, and nothing is made for a single hit: that took longer than all else."""
        if not hits:
            return orjson.Fragment(b"[]")
        relevance, semantic, keyword = map(_written, zip(*[h.stages for h in hits], strict=True))
        final = _written([h.score for h in hits])
        rows = zip(
            chain((b"[{",), repeat(b"},{")),
            [self.of(h.memory) for h in hits],
            repeat(b',"scores":{"final":'),
            final,
            repeat(b',"reranker":'),
            relevance,
            repeat(b',"semantic":'),
            semantic,
            repeat(b',"keyword":'),
            keyword,
            repeat(b'},"score":'),
            final,
            repeat(b',"band":'),
            [_BANDS[h.band] if not h.hop else _hopped(h) for h in hits],
            strict=False,  # what is said between them has no end
        )
        return orjson.Fragment(b"".join(chain(chain.from_iterable(rows), (b"}]",))))


def _written(numbers: Sequence[float | None]) -> list[bytes]:
    return orjson.dumps(numbers)[1:-1].split(b",")


def _hopped(hit: Hit) -> bytes:
    return b'%b,"hop":%d' % (_BANDS[hit.band], hit.hop)


def scored(hit: Hit) -> dict[str, Any]:
    """What the ranking says of a hit, in short."""
    relevance, semantic, keyword = hit.stages
    score = hit.score
    out: dict[str, Any] = {
        "scores": {
            "final": score,
            "reranker": relevance,
            "semantic": semantic,
            "keyword": keyword,
        },
        "score": score,
        "band": hit.band,
    }
    if hit.hop:
        out["hop"] = hit.hop
    return out

"""Hits in short, as JSON. An answer may hold two hundred, and a memory is written in the same words
each time: they are kept as bytes, and only its scores are written anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import orjson

from recollect.recall.hits import columns_of
from recollect.types import Band, Hit, Memory

_BANDS = {band: orjson.dumps(band) for band in Band}
# A hit as it is written: what differs is put between what does not.
_HIT = [
    b"{", b"", b',"scores":{"final":', b"", b',"reranker":', b"", b',"semantic":', b"",
    b',"keyword":', b"", b'},"score":', b"", b',"band":', b"", b"},",
]  # fmt: skip
_BRIEF, _FINAL, _RELEVANCE, _SEMANTIC, _KEYWORD, _SCORE, _BAND = range(1, len(_HIT), 2)
MOST = 16_384  # memories; their texts are held by the store anyway


class _Kept(NamedTuple):
    said: dict[int, bytes]  # by the memory's identity
    memories: list[Memory]  # alive while they are here, so that no other has the same identity


class Briefs:
    """What a memory says of itself. It never changes: a correction is another object. So it is known
    by being the same object, which costs less than looking at what it holds."""

    def __init__(self, describe: Callable[[Memory], dict[str, Any]]) -> None:
        self._describe = describe
        self._kept = _Kept({}, [])

    def of(self, memories: Sequence[Memory]) -> list[bytes]:
        """A JSON object for each, without its braces."""
        found = list(map(self._kept.said.get, map(id, memories)))
        if not all(found):
            pairs = zip(found, memories, strict=True)
            return [self._new(memory) if said is None else said for said, memory in pairs]
        return cast("list[bytes]", found)

    def _new(self, memory: Memory) -> bytes:
        said = orjson.dumps(self._describe(memory), default=dict)[1:-1]
        if len(self._kept.memories) >= MOST:
            self._kept = _Kept({}, [])
        kept = self._kept  # the two belong together, whatever other threads do meanwhile
        kept.memories.append(memory)
        kept.said[id(memory)] = said
        return said

    def array(self, hits: Sequence[Hit]) -> orjson.Fragment:
        """All of them, each with what the ranking says of it as `scored` does. Numbers are written
        a column at a time, and nothing is made for a single hit: that took longer than all else."""
        if not hits:
            return orjson.Fragment(b"[]")
        said = columns_of(hits)
        parts = _HIT * len(hits)
        wide = len(_HIT)
        parts[_BRIEF::wide] = self.of(said.memories)
        parts[_FINAL::wide] = parts[_SCORE::wide] = _written(said.scores)
        parts[_RELEVANCE::wide] = _written(said.relevance)
        parts[_SEMANTIC::wide] = _written(said.semantic)
        parts[_KEYWORD::wide] = _written(said.keyword)
        plain = not any(said.hops)
        parts[_BAND::wide] = (
            map(_BANDS.__getitem__, said.bands) if plain else map(_placed, said.bands, said.hops)
        )
        parts[0], parts[-1] = b"[{", b"}]"
        return orjson.Fragment(b"".join(parts))


def _written(numbers: Sequence[float | None]) -> list[bytes]:
    return orjson.dumps(numbers)[1:-1].split(b",")


def _placed(band: Band, hop: int) -> bytes:
    return b'%b,"hop":%d' % (_BANDS[band], hop) if hop else _BANDS[band]


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

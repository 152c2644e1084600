"""Terms and where they stand: blocks of places, and BM25F over them.

A block holds every place of one term in 4096 consecutive keys. All blocks of a query's terms
come in one statement and are scored here, with the arithmetic that every store shares: a
few hundred kilobytes for a question over a hundred thousand memories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.storage.base import Keys
from recollect.storage.index.record import POSTING
from recollect.storage.ranking import FIELD_WEIGHTS, K1, idf, saturate, weighted_tf

BLOCK_BITS = 12
PLACE = np.dtype([("offset", "<u2"), ("length", "<u2"), ("tf", "u1"), ("field", "u1")])
FIELDS = len(FIELD_WEIGHTS)
Block = tuple[int, int]  # term, block


class FieldTotals(NamedTuple):
    """How long each field is over all memories, and how many have it."""

    length: NDArray[np.int64]
    having: NDArray[np.int64]


# --- writing -----------------------------------------------------------------------------------


def blocks_of(terms: Sequence[tuple[int, bytes]]) -> dict[Block, bytes]:
    """The places that memories (key, its postings) add, block by block."""
    keys, found = _flat(terms)
    if not len(found):
        return {}
    block = keys >> BLOCK_BITS
    places = np.empty(len(found), PLACE)
    places["offset"] = keys & ((1 << BLOCK_BITS) - 1)
    for name in ("length", "tf", "field"):
        places[name] = found[name]
    order = np.lexsort((keys, block, found["term"]))
    term, block, places = found["term"][order], block[order], places[order]
    changes = (term[1:] != term[:-1]) | (block[1:] != block[:-1])
    starts = np.flatnonzero(np.r_[True, changes])
    raw, ends = places.tobytes(), np.r_[starts[1:], len(places)]
    size = PLACE.itemsize
    return {
        (t, b): raw[start * size : end * size]
        for t, b, start, end in zip(
            term[starts].tolist(),
            block[starts].tolist(),
            starts.tolist(),
            ends.tolist(),
            strict=True,
        )
    }


def without(data: bytes, keys: Iterable[int]) -> bytes:
    """A block without the places of these keys."""
    places = np.frombuffer(data, PLACE)
    gone = np.array([k & ((1 << BLOCK_BITS) - 1) for k in keys], np.uint16)
    return places[~np.isin(places["offset"], gone)].tobytes()


def totals(terms: Sequence[tuple[int, bytes]]) -> FieldTotals:
    """What these memories add to the bank's field lengths."""
    keys, found = _flat(terms)
    owner = keys * FIELDS + found["field"]
    _, first = np.unique(owner, return_index=True)
    one = found[first]  # one posting of every (memory, field)
    length = np.bincount(one["field"], one["length"], FIELDS).astype(np.int64)
    return FieldTotals(length, np.bincount(one["field"], minlength=FIELDS).astype(np.int64))


def _flat(terms: Sequence[tuple[int, bytes]]) -> tuple[Keys, NDArray[Any]]:
    found = np.frombuffer(b"".join(data for _, data in terms), POSTING)
    sizes = [len(data) // POSTING.itemsize for _, data in terms]
    return np.repeat(np.array([k for k, _ in terms], np.int64), sizes), found


# --- reading -----------------------------------------------------------------------------------


class Postings:
    """Blocks of the terms that a view was asked for."""

    def __init__(self, size: int, next_key: int, fields: FieldTotals) -> None:
        self._size = size
        self._room = next_key
        count = np.maximum(fields.having, 1)
        self._average = np.maximum(fields.length / count, 1e-9).astype(np.float32)
        self._places: dict[int, tuple[Keys, NDArray[Any]]] = {}
        self._weight: dict[int, float] = {}
        self._scores: dict[tuple[int, ...], NDArray[np.float32]] = {}

    def missing(self, terms: Iterable[int]) -> list[int]:
        return [t for t in dict.fromkeys(terms) if t not in self._places]

    def learn(self, terms: Iterable[int], rows: Iterable[tuple[int, int, bytes]]) -> None:
        """(term, block, data) of all blocks of `terms`; a term without any is in no memory."""
        held: Mapping[int, list[tuple[int, bytes]]] = {t: [] for t in terms}
        for term, block, data in rows:
            held[term].append((block, data))
        for term, blocks in held.items():
            places = np.frombuffer(b"".join(data for _, data in blocks), PLACE)
            sizes = [len(data) // PLACE.itemsize for _, data in blocks]
            first = np.array([block << BLOCK_BITS for block, _ in blocks], np.int64)
            self._places[term] = (np.repeat(first, sizes) + places["offset"], places)

    def scores(self, terms: Sequence[int]) -> NDArray[np.float32]:
        """BM25F of every key of the bank, by key."""
        asked = tuple(terms)
        found = self._scores.get(asked)
        if found is None:
            found = self._scores[asked] = self._score(asked)
        return found

    def _score(self, terms: Sequence[int]) -> NDArray[np.float32]:
        scores = np.zeros(self._room, np.float32)
        for term in terms:
            keys, places = self._places[term]
            if not len(keys):
                continue
            keys, weighted = weighted_tf(
                keys, places["length"], places["tf"], places["field"], self._average
            )
            scores[keys] += np.float32(self.weight(term, len(keys))) * saturate(weighted)
        return scores

    def ceiling(self, terms: Sequence[int]) -> float:
        """The limit that the score of a memory approaches when it holds every term ever more
        often. Terms that the bank has never seen count as its rarest."""
        return sum(self.weight(term) for term in terms) * (K1 + 1)

    def weight(self, term: int, containing: int | None = None) -> float:
        found = self._weight.get(term)
        if found is None:
            if containing is None:
                containing = len(np.unique(self._places[term][0]))
            found = self._weight[term] = idf(self._size, containing)
        return found

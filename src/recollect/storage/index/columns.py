"""Append-only arrays whose snapshots never change, and posting lists made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int32]
_MANY = 100_000  # ids, from which sorting by parts of them is faster


class Column:
    """A growing array. `data` is a snapshot: later appends go beyond its end, later writes go
    to a copy, so a reader keeps what it took without a lock."""

    __slots__ = ("_buffer", "_length")

    def __init__(self, first: NDArray[Any]) -> None:
        self._buffer = np.ascontiguousarray(first)
        self._length = len(first)

    @property
    def data(self) -> NDArray[Any]:
        return self._buffer[: self._length]

    def append(self, values: NDArray[Any]) -> None:
        need = self._length + len(values)
        if need > len(self._buffer):
            self._grow(max(need, len(self._buffer) * 5 // 4, 256))
        self._buffer[self._length : need] = values
        self._length = need

    def reserve(self, length: int) -> None:
        """Room for so many in all, so that appending slab by slab copies nothing twice."""
        if length > len(self._buffer):
            self._grow(length)

    def _grow(self, length: int) -> None:
        grown = np.empty((length, *self._buffer.shape[1:]), self._buffer.dtype)
        grown[: self._length] = self.data
        self._buffer = grown

    def write(self, rows: Rows, values: Any) -> None:
        copy = self._buffer.copy()
        copy[rows] = values
        self._buffer = copy


@dataclass(frozen=True, slots=True)
class Postings:
    """id → rows, with parallel payload columns: a sorted base and a short sorted tail.

    A look-up is a binary search in both; the tail is folded into the base when it outgrows a
    sixteenth of it. No dictionary, so a hundred thousand memories load in the time of a sort.
    """

    ids: NDArray[np.int64]
    rows: Rows
    payload: tuple[NDArray[Any], ...]
    tail_ids: NDArray[np.int64]
    tail_rows: Rows
    tail_payload: tuple[NDArray[Any], ...]

    @staticmethod
    def build(ids: NDArray[np.int64], rows: Rows, payload: Iterable[NDArray[Any]] = ()) -> Postings:
        order = stable_order(ids)
        columns = tuple(p[order] for p in payload)
        return Postings(
            ids[order],
            rows[order],
            columns,
            ids[:0],
            rows[:0],
            tuple(c[:0] for c in columns),
        )

    def extend(
        self, ids: NDArray[np.int64], rows: Rows, payload: Iterable[NDArray[Any]] = ()
    ) -> Postings:
        if not len(ids):
            return self
        if not len(self.ids):
            return Postings.build(ids, rows, payload)
        given = tuple(payload)
        if len(self.tail_ids) + len(ids) > max(8192, len(self.ids) // 16):
            parts = zip(self.payload, self.tail_payload, given, strict=True)
            return Postings.build(
                np.concatenate([self.ids, self.tail_ids, ids]),
                np.concatenate([self.rows, self.tail_rows, rows]),
                [np.concatenate(part) for part in parts],
            )
        order = np.argsort(ids, kind="stable")
        at = np.searchsorted(self.tail_ids, ids[order], "right")
        return Postings(
            self.ids,
            self.rows,
            self.payload,
            np.insert(self.tail_ids, at, ids[order]),
            np.insert(self.tail_rows, at, rows[order]),
            tuple(
                np.insert(tail, at, new[order])
                for tail, new in zip(self.tail_payload, given, strict=True)
            ),
        )

    def get(self, wanted: int) -> tuple[Rows, tuple[NDArray[Any], ...]]:
        low, high = _span(self.ids, wanted)
        more, end = _span(self.tail_ids, wanted)
        if more == end:
            return self.rows[low:high], tuple(p[low:high] for p in self.payload)
        rows = np.concatenate([self.rows[low:high], self.tail_rows[more:end]])
        return rows, tuple(
            np.concatenate([p[low:high], t[more:end]])
            for p, t in zip(self.payload, self.tail_payload, strict=True)
        )

    def get_many(self, wanted: NDArray[np.int64]) -> list[Rows]:
        """The rows of each id."""
        found = [self.rows[low:high] for low, high in _spans(self.ids, wanted)]
        if not len(self.tail_ids):
            return found
        for place, (low, high) in enumerate(_spans(self.tail_ids, wanted)):
            if low < high:
                found[place] = np.concatenate([found[place], self.tail_rows[low:high]])
        return found

    def newest(self, wanted: NDArray[np.int64], limit: int) -> Rows:
        """The last rows of each id, at most `limit` of them, one id after another."""
        lows, highs = _bounds(self.ids, wanted)
        if not len(self.tail_ids):
            return self.rows[places_before(highs, np.minimum(highs - lows, limit))]
        starts, ends = _bounds(self.tail_ids, wanted)
        late = np.minimum(ends - starts, limit)
        early = np.minimum(highs - lows, limit - late)
        more = self.tail_rows[places_before(ends, late)]
        return np.concatenate([self.rows[places_before(highs, early)], more])


def places_before(ends: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """So many places before each end."""
    done = counts.cumsum()
    return np.arange(done[-1] if len(done) else 0) + (ends - done).repeat(counts)


def _span(ids: NDArray[np.int64], wanted: int) -> tuple[int, int]:
    low, high = ids.searchsorted([wanted, wanted + 1]).tolist()
    return low, high


def _bounds(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> tuple[NDArray[np.intp], ...]:
    return ids.searchsorted(wanted), ids.searchsorted(wanted, "right")


def _spans(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    lows, highs = _bounds(ids, wanted)
    return zip(lows.tolist(), highs.tolist(), strict=True)


def stable_order(ids: NDArray[np.int64]) -> NDArray[np.intp]:
    """As `argsort(ids, kind="stable")`, in half the time where there are many: by 16 bits at a
    time, lowest first, which numpy sorts in linear time. Hashes are told apart by their upper 48."""
    if len(ids) < max(_MANY, 1):
        return np.argsort(ids, kind="stable")
    unsigned = ids.astype("<i8", copy=False).view("<u8") ^ np.uint64(1 << 63)
    columns = unsigned.view("<u2").reshape(-1, 4).T
    words = [np.ascontiguousarray(c) for c in columns if c.min() != c.max()]
    order = _by_words(words[1:] if len(words) == 4 else words, len(ids))
    ordered = ids[order]
    if bool((ordered[1:] >= ordered[:-1]).all()):
        return order
    return _by_words(words, len(ids))


def _by_words(words: Sequence[NDArray[np.uint16]], count: int) -> NDArray[np.intp]:
    if not words:
        return np.arange(count)
    order = np.argsort(words[0], kind="stable")
    for word in words[1:]:
        order = order[np.argsort(word[order], kind="stable")]
    return order

"""The times that ranking reads of a memory, derived from those that it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from recollect.language.dates import from_micros, to_micros
from recollect.storage.base import NO_TIME
from recollect.types import Memory

NEWEST = 8  # memories looked at at once for the one told last
_EARLIEST, _LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def happened(memory: Memory) -> tuple[int, int]:
    """An instant is its own end; "since 2021" has none yet, "until 1990" no beginning."""
    start, end = memory.occurred_start, memory.occurred_end
    if start is None and end is None:
        said = memory.last_mentioned_at or memory.mentioned_at
        return micros(said), micros(said)
    if memory.occurred_grain is not None and (start is None or end is None):
        return (
            to_micros(_EARLIEST if start is None else start),
            to_micros(_LATEST if end is None else end),
        )
    only = start if start is not None else end
    return micros(start or only), micros(end or only)


def recent(memory: Memory, happened_until: int) -> int:
    """What recency counts from: when it happened, if somebody said when it was told; else when it
    was told. Among texts that were handed in without a time, one that mentions 1990 is not older
    than its neighbours."""
    if memory.mentioned_at is not None and memory.mentioned_at == memory.created_at:
        return micros(memory.last_mentioned_at or memory.mentioned_at)
    return happened_until


def micros(when: datetime | None) -> int:
    return NO_TIME if when is None else to_micros(when)


def told_again(memory: Memory, at: int | None) -> Memory:
    """The memory with one more proof, and last mentioned at that time if it is later."""
    times = [t for t in (memory.last_mentioned_at, None if at is None else from_micros(at)) if t]
    return replace(
        memory, proof_count=memory.proof_count + 1, last_mentioned_at=max(times, default=None)
    )


def told_last(page: Callable[[int], Sequence[tuple[int, int | None]]], below: int) -> int:
    """The key of the memory that was told last; 0 for none. `page` gives the last NEWEST keys below
    one, each with the key of its first wording if it was corrected. A correction has a later key than
    what was told before it, so the walk goes on until a memory that nobody has corrected."""
    told = last = 0
    while True:
        found = page(below)
        for key, first in found:
            if (first or key) > told:
                told, last = first or key, key
        if len(found) < NEWEST or any(first is None for _, first in found):
            return last
        below = found[-1][0]

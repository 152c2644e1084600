"""Memories of a bank that were decoded, by key.

An answer takes two hundred of thousands. Those lie all over the place; of a dictionary so do its slots and
its keys, and fetching all of these took longer than anything else there is to do with a memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from recollect.types import Memory


class Decoded:
    def __init__(self) -> None:
        self._held = np.empty(0, np.object_)  # at its key; a bank counts them up
        self._count = 0

    def __len__(self) -> int:
        """At least so many."""
        return self._count

    def load(
        self, keys: Iterable[int], read: Callable[[Sequence[int]], Mapping[int, Memory]]
    ) -> dict[int, Memory]:
        """By key, in the order asked for; what is not here is read, and what that does not find left out."""
        wanted = list(map(int, keys))
        held = self._reaching(max(wanted, default=0))
        there = held.take(np.array(wanted, np.int64)).tolist()
        found: dict[int, Memory | None] = dict(zip(wanted, there, strict=True))
        missing = [key for key, memory in found.items() if memory is None]
        if not missing:  # nearly always
            return cast("dict[int, Memory]", found)
        fresh = read(missing)
        for key, memory in fresh.items():
            held[key] = memory
        self._count += len(fresh)
        return {k: m for k, memory in found.items() if (m := memory or fresh.get(k)) is not None}

    def without(self, keys: Collection[int]) -> Decoded:
        """Another one: an older view may still be filling this one."""
        made = Decoded()
        made._held, made._count = self._held.copy(), self._count
        made._held[[key for key in keys if key < len(made._held)]] = None
        return made

    def _reaching(self, key: int) -> NDArray[np.object_]:
        """What is held, with room for a key. If two make room at the same time, what is then put into
        the one of them is read once more."""
        held = self._held
        if key < len(held):
            return held
        grown = np.empty(max(key + 1, len(held) * 5 // 4), np.object_)
        grown[: len(held)] = held
        self._held = grown
        return grown

"""The vectors of a bank that no index holds yet, kept by whoever writes many memories to it.

A bulk load looks for the neighbours of a few hundred memories at a time among those that came
before. Reading these anew for every batch would cost the server more than all its other work
for that batch. What this process wrote last it knows, and the bank's change sequence tells
whether anybody else has written since: then they are read again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from recollect.storage.base import Batch, Floats, Found, Keys
from recollect.storage.sqlite.nearest import nearest_in_slab, nearest_of_slabs
from recollect.types import State

SLAB = 8_192  # vectors read, and compared, at a time
# Vectors kept of a bank, 63 MB at 384 dimensions. Comparing with so many costs as much as asking
# an index: 0.5 ms a new memory. So of a bank no larger all are kept, whether indexed or not.
MOST = 40_960
BANKS = 2  # that are kept at once
_STILL_SEEN = (State.ACTIVE, State.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class Slab:
    keys: Keys  # ascending
    vectors: Floats

    def after(self, key: int) -> Slab:
        start = int(np.searchsorted(self.keys, key, "right"))
        return self if start == 0 else Slab(self.keys[start:].copy(), self.vectors[start:].copy())


@dataclass(frozen=True, slots=True)
class Tail:
    """Of every memory that search may see after a key: in the order of keys."""

    slabs: tuple[Slab, ...] = ()

    def __len__(self) -> int:
        return sum(len(slab.keys) for slab in self.slabs)

    def nearest(self, vectors: Floats, k: int, floor: float) -> list[Found]:
        found = [nearest_in_slab(vectors, s.keys, s.vectors, k, floor) for s in self.slabs]
        return nearest_of_slabs(found, len(vectors), k)

    def after(self, key: int) -> Tail:
        """Without what an index has taken over."""
        left = (slab.after(key) for slab in self.slabs)
        return Tail(tuple(slab for slab in left if len(slab.keys)))

    def plus(self, more: Slab) -> Tail:
        """Small ones are joined: many slabs cost more than the vectors in them."""
        if not len(more.keys):
            return self
        *full, last = self.slabs or (Slab(more.keys[:0], more.vectors[:0]),)
        if len(last.keys) + len(more.keys) > SLAB:
            return Tail((*self.slabs, more))
        keys = np.concatenate([last.keys, more.keys])
        return Tail((*full, Slab(keys, np.concatenate([last.vectors, more.vectors]))))

    def grown(self, batch: Batch) -> Tail | None:
        """As the bank is after `batch`; None when that cannot be told from it."""
        changed = batch.drop_documents or batch.drop_memories or batch.updates
        if changed or any(r.state not in _STILL_SEEN for r in batch.retire):
            return None
        seen = sorted(
            (m for m in batch.memories if m.memory.state in _STILL_SEEN), key=lambda m: m.key
        )
        vectors = [m.vector for m in seen if m.vector is not None]
        if len(vectors) < len(seen):  # a new version has its predecessor's
            return None
        if not vectors:
            return self
        # As they are stored: every store compares half precision with full.
        held = np.stack(vectors).astype(np.float16).astype(np.float32)
        return self.plus(Slab(np.array([m.key for m in seen], np.int64), held))


def start(size: int, indexed: int) -> int:
    """The key after which a bank's tail begins."""
    return indexed if size > MOST else 0


class Tails:
    """The tails of the banks written last, each as it was at one change sequence."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[int, int, Tail]] = OrderedDict()

    def get(self, bank: str, seq: int, after: int) -> Tail | None:
        with self._lock:
            known, start, tail = self._held.get(bank, (-1, 0, Tail()))
        return tail.after(after) if known == seq and start <= after else None

    def keep(self, bank: str, seq: int, after: int, tail: Tail | None) -> None:
        with self._lock:
            self._held.pop(bank, None)
            if tail is not None and len(tail) <= MOST:
                self._held[bank] = (seq, after, tail)
            while len(self._held) > BANKS:
                self._held.popitem(last=False)

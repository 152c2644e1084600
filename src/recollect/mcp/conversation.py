"""What a conversation was already given, so that it need not read it twice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable

from recollect.types import Memory

CONVERSATIONS = 1000  # kept at once on a server; the one unused for longest goes first
GIVEN = 5000  # memories kept for each


class Conversation:
    """One agent's conversation. A memory that was corrected since counts as not given."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: OrderedDict[str, tuple[str, object]] = OrderedDict()

    def has(self, memory: Memory) -> bool:
        with self._lock:
            return self._given.get(memory.id) == (memory.bank, _version(memory))

    def bank_of(self, memory_id: str) -> str | None:
        """Where a memory that was given came from: `load_memory` needs only its id."""
        with self._lock:
            held = self._given.get(memory_id)
        return None if held is None else held[0]

    def give(self, memories: Iterable[Memory]) -> None:
        with self._lock:
            for memory in memories:
                self._given[memory.id] = (memory.bank, _version(memory))
                self._given.move_to_end(memory.id)
            while len(self._given) > GIVEN:
                self._given.popitem(last=False)

    def start_over(self) -> None:
        with self._lock:
            self._given.clear()


class Conversations:
    """The conversations of a server, by what identifies them."""

    def __init__(self, most: int = CONVERSATIONS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, Conversation] = OrderedDict()

    def of(self, key: Hashable) -> Conversation:
        with self._lock:
            found = self._held.setdefault(key, Conversation())
            self._held.move_to_end(key)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
            return found


def _version(memory: Memory) -> object:
    return (memory.updated_at, memory.state, memory.text)

"""What a conversation was already given, so that it need not read it twice."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Protocol

from recollect.types import Memory

CONVERSATIONS = 1000  # kept at once on a server; the one unused for longest goes first
GIVEN = 5000  # memories kept for each
# Agents drop the beginning of a long conversation, and tell nobody: then it has to be given again.
GIVEN_S = 3600.0


@dataclass(frozen=True, slots=True)
class _Given:
    bank: str
    version: object
    at: float


class Conversing(Protocol):
    """What a call asks of its conversation, wherever that is stored."""

    def has(self, memory: Memory) -> bool: ...
    def bank_of(self, memory_id: str) -> str | None: ...
    def give(self, memories: Iterable[Memory]) -> None: ...
    def start_over(self) -> None: ...


class Meeting(Protocol):
    """The conversations of a server, by caller and name."""

    def of(self, key: tuple[bytes, str]) -> Conversing: ...


class Conversation:
    """One agent's conversation. A memory that was corrected since counts as not given, and so
    does one that was given long ago."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._given: OrderedDict[str, _Given] = OrderedDict()

    def has(self, memory: Memory) -> bool:
        with self._lock:
            held = self._given.get(memory.id)
        if held is None or self._clock() - held.at > GIVEN_S:
            return False
        return (held.bank, held.version) == (memory.bank, version(memory))

    def bank_of(self, memory_id: str) -> str | None:
        """Where a memory that was given came from: `load_memory` needs only its id."""
        with self._lock:
            held = self._given.get(memory_id)
        return None if held is None else held.bank

    def give(self, memories: Iterable[Memory]) -> None:
        with self._lock:
            for memory in memories:
                self._given[memory.id] = _Given(memory.bank, version(memory), self._clock())
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


def version(memory: Memory) -> object:
    return (memory.updated_at, memory.state, memory.text)

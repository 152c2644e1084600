"""The query cache: 100 entries, 30 seconds, dropped on any change of the bank (the bank's
change sequence is part of the key, so a stale entry can never be found)."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class QueryCache(Generic[T]):
    def __init__(self, entries: int, seconds: float) -> None:
        self._entries = entries
        self._seconds = seconds
        self._held: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        with self._lock:
            found = self._held.get(key)
            if found is None:
                return None
            if time.monotonic() - found[0] > self._seconds:
                del self._held[key]
                return None
            self._held.move_to_end(key)
            return found[1]

    def put(self, key: Hashable, value: T) -> None:
        with self._lock:
            self._held[key] = (time.monotonic(), value)
            self._held.move_to_end(key)
            while len(self._held) > self._entries:
                self._held.popitem(last=False)

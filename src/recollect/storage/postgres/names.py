"""The names that this process knows of banks, each caught up to the state that a view is of."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from recollect.storage.entities import EntityCache
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.session import Head, Session

KEPT = 256  # banks


class Names:
    """Calls `changed` with a bank when memories decoded earlier may show an outdated name."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._banks: OrderedDict[str, EntityCache] = OrderedDict()

    def of(self, bank: str, head: Head, session: Session) -> EntityCache:
        with self._lock:
            cache = self._banks.setdefault(bank, EntityCache())
            self._banks.move_to_end(bank)
            while len(self._banks) > KEPT:
                self._banks.popitem(last=False)
        with cache.lock:
            if cache.seq >= head.seq:
                return cache
            if cache.seq < head.forgot_seq and cache.seq >= 0:
                # What was forgotten may have taken names away; what is left is learnt anew.
                cache = EntityCache()
                with self._lock:
                    self._banks[bank] = cache
            anew = cache.seq < 0
            if head.size or not anew:
                given = {"bank": bank, "seq": cache.seq}
                renamed = cache.catch_up(session.fetch(query("changed_entities"), given))
                if renamed or anew:  # nobody can tell which names were others
                    self._changed(bank)
            cache.seq = head.seq
            return cache

    def drop(self, bank: str) -> None:
        with self._lock:
            self._banks.pop(bank, None)

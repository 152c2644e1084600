"""Banks held in this process: the index that a file's store makes of a bank, made of the server's rows.

A recall that asks the server has the server look at every vector, or walk an index, and send what is
known of some six hundred candidates. A process that recalls from a bank again and again does better
to read what search needs of it once. It stays true: every view begins with the bank's own row, and
what the change sequence there says is newer is read before anything is answered.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from recollect.errors import RecollectError
from recollect.storage.index.bank import Index
from recollect.storage.index.decoded import Decoded
from recollect.storage.index.record import POSTING, labels
from recollect.storage.index.slab import FeatureRow, Ragged, Slab
from recollect.storage.index.snapshot import Snapshot
from recollect.storage.postgres.connection import log
from recollect.storage.postgres.fetched import RECORD_ROW, blank_vector, row_type, unpacked
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.session import Head, Session

STEP = 4_096  # memories read by one statement
# What the server does for one search costs as much as reading so many memories: a bank is read when
# the searches so far would have paid for it, so nobody ever pays more than twice.
WORTH = 1_000
DECODED = 20_000  # memories kept of a bank, decoded
COUNTED = 4_096  # banks whose searches are counted


class Held(NamedTuple):
    """A bank as it is at one change sequence, and the memories that were decoded of it."""

    snapshot: Snapshot
    decoded: Decoded


class _Bank:
    def __init__(self, head: Head) -> None:
        self.lock = threading.RLock()
        self.model = head.model
        self.index = Index(head.dimensions, 0)
        self.decoded = Decoded()

    def follows(self, head: Head) -> bool:
        """Whether the server still keeps all changes since the state that is held."""
        return self.model == head.model and self.index.seq >= head.changes_since

    def read(self, bank: str, head: Head, session: Session) -> None:
        self.index.reserve(head.size)
        self.index.load(head.seq, _slabs(bank, 0, head.dimensions, session))

    def catch_up(self, bank: str, head: Head, session: Session) -> None:
        """Everything is read before any of it is applied, since the connection may be lost on
        the way."""
        held = self.index.snapshot().keys
        last = int(held[-1]) if len(held) else 0
        given = {"bank": bank, "seq": self.index.seq}
        touched = {key for (key,) in session.fetch(query("changed_keys"), given) if key <= last}
        given = {"bank": bank, "keys": list(touched)}
        blob = session.fetch(query("allowed_records"), given)[0][0] if touched else None
        changed = _records(unpacked(blob, RECORD_ROW))
        fresh: list[Slab] = []
        if last < head.next_key - 1:
            fresh = list(_slabs(bank, last, head.dimensions, session))
        gone = touched.difference(row[0] for row in changed)
        self.index.load(head.seq, fresh)
        self.index.catch_up(head.seq, [changed] if changed else [], gone)
        kept = self.decoded if len(self.decoded) <= DECODED else Decoded()
        self.decoded = kept.without(touched)


class Holding:
    """At most `most` memories; of banks that are held those unused longest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._banks: OrderedDict[str, _Bank] = OrderedDict()
        self._searches: OrderedDict[str, int] = OrderedDict()
        self._reading = threading.Lock()  # one bank at a time is read beside the traffic
        self._running: dict[str, threading.Thread] = {}

    def of(self, bank: str, head: Head, session: Session) -> Held | None:
        """The bank in the state of `head`, if it is held; newer changes are read first. None if
        `head` is older than what is held, as a replica's may be, or that of a view opened a
        moment ago."""
        with self._lock:
            held = self._banks.get(bank)
            if held is None:
                return None
            self._banks.move_to_end(bank)
        with held.lock:
            if not held.follows(head):
                self.drop(bank)
                return None
            if held.index.seq > head.seq:
                return None
            if held.index.seq < head.seq:
                held.catch_up(bank, head, session)
                self._make_room()
            return Held(held.index.snapshot(), held.decoded)

    def pays(self, bank: str, head: Head, searches: int = 1) -> bool:
        """Whether it is worth reading the bank after so many more searches. Never after the
        first one: many a process asks once and ends."""
        if head.size >= self._most:
            return False
        with self._lock:
            count = self._searches.pop(bank, 0) + searches
            self._searches[bank] = count
            while len(self._searches) > COUNTED:
                self._searches.popitem(last=False)
        return count > 1 and count * WORTH >= head.size

    def take(self, bank: str, head: Head, session: Session) -> Held | None:
        """Read the bank and hold it, unless it is as large as all that may be held."""
        if head.size >= self._most:
            return None
        taken = _Bank(head)
        taken.read(bank, head, session)
        with self._lock:
            self._banks[bank] = taken
            self._banks.move_to_end(bank)
            self._searches.pop(bank, None)
        self._make_room()
        return Held(taken.index.snapshot(), taken.decoded)

    def _make_room(self) -> None:
        """Views that still read a bank that is dropped keep all of it."""
        with self._lock:
            held = sum(bank.index.rows for bank in self._banks.values())
            while held > self._most:
                held -= self._banks.popitem(last=False)[1].index.rows

    def take_aside(self, bank: str, take: Callable[[str], object]) -> None:
        """The same on a thread of its own, while the server answers the caller."""

        def work() -> None:
            try:
                with self._reading:
                    take(bank)
            except RecollectError as error:  # the server goes on answering
                log.warning("bank %r could not be read into memory: %s", bank, error.message)

        with self._lock:
            running = self._running.get(bank)
            if running is not None and running.is_alive():
                return
            name = f"recollect-hold-{bank}"
            self._running[bank] = threading.Thread(target=work, name=name, daemon=True)
            self._running[bank].start()

    def wait(self, bank: str, timeout: float | None = None) -> None:
        """Wait until the bank that is being read is there, or has failed."""
        running = self._running.get(bank)
        if running is not None:
            running.join(timeout)

    def drop(self, bank: str) -> None:
        with self._lock:
            self._banks.pop(bank, None)

    def rename(self, bank: str) -> None:
        """Drop decoded memories: they show names of entities, and some have changed."""
        with self._lock:
            held = self._banks.get(bank)
        if held is not None:
            with held.lock:
                held.decoded = Decoded()


def _records(rows: NDArray[Any]) -> list[FeatureRow]:
    """Feature rows of memories that have nothing new but their record."""
    keys = rows["key"].tolist()
    return [
        (key, 0, row.tobytes(), None, b"", None, None)
        for key, row in zip(keys, rows["record"], strict=True)
    ]


def _slabs(bank: str, after: int, dimensions: int, session: Session) -> Iterator[Slab]:
    """Every memory after a key, in the order of keys."""
    fixed, blank = row_type(dimensions), blank_vector(dimensions)
    count = STEP
    while count == STEP:
        given = {"bank": bank, "after": after, "limit": STEP, "blank": blank}
        # Planned for this bank: the way to a small one's rows would read a large one over and over.
        found = session.fetch(query("index_slab"), given, prepare=False)
        joined, terms, lengths, tags, entities = found[0]
        rows = unpacked(joined, fixed)
        count = len(rows)
        if count:
            keys = rows["key"].astype(np.int64)
            after = int(keys[-1])
            yield Slab(
                keys,
                rows["record"],
                rows["vector"].astype(np.float16),
                Ragged(np.frombuffer(terms, POSTING), _lengths(lengths) // POSTING.itemsize),
                _labelled(orjson.loads(tags)),
                _listed(orjson.loads(entities)),
            )


def _lengths(told: str) -> NDArray[np.int64]:
    return np.array(orjson.loads(told), np.int64)


def _listed(lists: Sequence[Sequence[int]]) -> Ragged:
    values = [value for one in lists for value in one]
    return Ragged(np.array(values, np.int64), np.array([len(one) for one in lists], np.int64))


def _labelled(tags: Sequence[Sequence[str]]) -> Ragged:
    """Hashes of the tags, made once of each set of them."""
    known = {held: labels(held) or b"" for held in set(map(tuple, tags))}
    found = [known[tuple(held)] for held in tags]
    counts = np.array([len(one) // 8 for one in found], np.int64)
    return Ragged(np.frombuffer(b"".join(found), "<i8"), counts)

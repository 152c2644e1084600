"""How a memory is laid out for search: the packed record, terms, labels and entities that
the `features` table holds and the in-memory index is built from."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from struct import Struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.language.terms import counted, label_hash
from recollect.language.wishes import WISH, states_wish
from recollect.lifecycle import WINDOWS as LIFETIME_DAYS
from recollect.storage.base import NO_TIME, NewMemory
from recollect.storage.moments import happened, micros, recent
from recollect.storage.ranking import Field
from recollect.types import Memory, MemoryType, State

KEY_BITS = 40  # a row's number is bank << 40 | key
KEY_MASK = (1 << KEY_BITS) - 1
TYPES = tuple(MemoryType)
STATES = tuple(State)
TYPE_CODE = {t: i for i, t in enumerate(TYPES)}
STATE_CODE = {s: i for i, s in enumerate(STATES)}

RECORD = np.dtype(
    [
        ("happened_from", "<i8"),
        ("happened_until", "<i8"),
        ("recent", "<i8"),
        ("known_from", "<i8"),
        ("known_until", "<i8"),
        ("fresh_from", "<i8"),
        ("valid_until", "<i8"),
        ("statement", "<i8"),
        ("slot", "<i8"),
        ("before", "<i8"),
        ("lifetime_days", "<f4"),
        ("proof", "<i4"),
        ("tokens", "<i4"),
        ("type", "u1"),
        ("state", "u1"),
        ("labels", "<u2"),
    ]
)

POSTING = np.dtype([("term", "<i8"), ("length", "<u2"), ("tf", "u1"), ("field", "u1")])

# One row of each, made without an array; tests/storage/test_slab.py reads them back as arrays.
_pack_record = Struct("<10qfiiBBH").pack
_pack_posting = Struct("<qHBB").pack


class Unseen(NamedTuple):
    """What search knows of a memory that the memory itself does not show."""

    statement: int
    slot: int
    before: int
    known_from: int
    known_until: int | None

    def closed(self, state: State, at: int | None) -> Unseen:
        """In this state from `at` on. What did not count before has not counted since then."""
        if state is State.ACTIVE:
            return self._replace(known_until=None)
        times = [t for t in (self.known_until, at) if t is not None]
        return self._replace(known_until=min(times, default=None))


def record(memory: Memory, unseen: Unseen) -> bytes:
    """The columns of one memory, packed. `happened` is when it occurred, else when it was said."""
    start, end = happened(memory)
    fresh = [t for t in (memory.updated_at, memory.last_reviewed_at) if t is not None]
    return _pack_record(
        start,
        end,
        recent(memory, end),
        unseen.known_from,
        NO_TIME if unseen.known_until is None else unseen.known_until,
        micros(max(fresh) if fresh else None),
        micros(memory.valid_until),
        unseen.statement,
        unseen.slot,
        unseen.before,
        LIFETIME_DAYS.get(memory.kind or "", nan),
        memory.proof_count,
        memory.tokens,
        TYPE_CODE[memory.type],
        STATE_CODE[memory.state],
        len(memory.tags),
    )


def postings(memory: Memory) -> bytes:
    """Every (term, field) of a memory with its frequency and the field's length."""
    body = memory.text
    extra = [memory.speaker, memory.context]
    fields = {
        Field.BODY: "\n".join([x for x in extra if x] + [body]),
        Field.SUMMARY: memory.summary,
        Field.TOPIC: memory.topic_path,
        Field.TAGS: " ".join(memory.tags),
        Field.TITLE: memory.title,
        Field.RECALL_WHEN: "\n".join(memory.recall_when),
    }
    rows: list[bytes] = []
    for number, text in fields.items():
        if text:
            found = counted(text)
            length = min(sum(found.values()), 65535)
            if number == Field.BODY and states_wish(body, memory.speaker):
                found[WISH] = 1  # after the length was taken: it is no word of the text
            rows += [_pack_posting(t, length, min(tf, 255), number) for t, tf in found.items()]
    return b"".join(rows)


def labels(tags: Iterable[str]) -> bytes | None:
    hashes = sorted(label_hash(t) for t in tags)
    return np.array(hashes, "<i8").tobytes() if hashes else None


def ids_blob(ids: Iterable[int]) -> bytes | None:
    found = sorted(set(ids))
    return np.array(found, "<i8").tobytes() if found else None


def vector_blob(vector: NDArray[np.float32] | None) -> bytes | None:
    return None if vector is None else vector.astype("<f2").tobytes()


def features_row(bank: int, n: int, seq: int, new: NewMemory) -> tuple[object, ...]:
    unseen = Unseen(new.statement, new.slot, new.before, new.known_from, new.known_until)
    packed = record(new.memory, unseen)
    return (
        n,
        bank,
        seq,
        packed,
        vector_blob(new.vector),
        postings(new.memory),
        labels(new.memory.tags),
        ids_blob(new.entity_ids),
    )

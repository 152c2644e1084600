"""A correction as new versions of what it touches, under the bank's lock.

The corrected memory gets a version that is known from now on; the one before is closed and stays
what `as_of` shows of earlier times. A turn of a conversation is embedded together with the turn
it answers, so those that answer a corrected one get a version as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import NotFound
from recollect.language.dates import to_micros
from recollect.language.passage import Passage, memory_passage, said
from recollect.language.tokens import count_tokens
from recollect.models.base import Embedder
from recollect.models.late import to_codes
from recollect.retain.items import Fact, items
from recollect.retain.link import SEMANTIC_FLOOR, SEMANTIC_LINKS, semantic_links
from recollect.retain.naming import Naming
from recollect.retain.opinion import FIRST_CONFIDENCE
from recollect.retain.prepare import Prepared, grounded, statement_hash
from recollect.storage.base import (
    NO_TIME,
    Batch,
    Filter,
    Floats,
    Found,
    KeyLink,
    NewMemory,
    Retire,
    View,
    Writing,
)
from recollect.storage.ranking import dots
from recollect.types import Memory, MemoryType, State

_TIMED = ("occurred_start", "occurred_end", "occurred_grain", "recurrence", "duration_s")
_NAMING = {"text", "speaker", "entities"}


@dataclass(frozen=True, slots=True)
class Correction:
    memory_id: str
    ready: Prepared  # the memory as it will be
    changes: Mapping[str, Any]
    now: datetime
    becomes: State | None = None  # in place of the state it has
    by: str | None = None  # what it is replaced by then

    def applied(self, old: Memory) -> Memory:
        fact: Fact = self.ready.fact
        names = set(self.changes) - {"entities", "timestamp"}
        if {"text", "occurred_start", "occurred_end", "timestamp"} & set(self.changes):
            names |= {*_TIMED}  # as given, otherwise as the new wording says
        if "source_ids" in names:
            names.add("proof_count")
        kept: dict[str, Any] = {n: getattr(fact, n) for n in names}
        if "timestamp" in self.changes:
            kept |= _told(old, fact.said_at)
        if fact.type is MemoryType.OPINION and old.confidence is None:
            kept.setdefault("confidence", FIRST_CONFIDENCE)
        if names != {"last_reviewed_at"}:  # looked at is not changed
            kept["updated_at"] = self.now
        if self.becomes is not None:
            kept |= {"state": self.becomes, "superseded_by": self.by}
        return replace(old, **kept, tokens=count_tokens(fact.text))


def _told(old: Memory, at: datetime | None) -> dict[str, Any]:
    """When it was first told is corrected; when it was told again stays."""
    last = old.last_mentioned_at
    if last is None or last == old.mentioned_at:
        return {"mentioned_at": at, "last_mentioned_at": at}
    return {"mentioned_at": at, "last_mentioned_at": last if at is None else max(last, at)}


@dataclass(frozen=True, slots=True)
class _Vectors:
    vector: Floats
    tokens: NDArray[np.uint8] | None


class Versions:
    """Plans corrections. What the model has to read is read before the bank is locked
    (`foresee`); only what somebody changed in between is read under the lock."""

    def __init__(self, embedder: Embedder, agent_names: Sequence[str]) -> None:
        self._embedder = embedder
        self._agent_names = agent_names
        self._encoded: dict[tuple[str, tuple[int, int]], _Vectors] = {}

    def foresee(self, view: View, correction: Correction) -> None:
        key = current_key(view, correction.memory_id)
        old = view.load([key])[key]
        self._encode(list(_reworded(view, key, old, correction.applied(old)).values()))

    def plan(self, w: Writing, correction: Correction) -> Batch:
        key = current_key(w, correction.memory_id)
        old = w.load([key])[key]
        memory = correction.applied(old)
        passages = _reworded(w, key, old, memory)
        made = dict(zip(passages, self._encode(list(passages.values())), strict=True))
        keys = [key, *(k for k in passages if k != key)]
        naming = Naming(w)
        versions = [
            self._version(w, k, w.next_key + i, correction, made.get(k)) for i, k in enumerate(keys)
        ]
        versions[0] = replace(versions[0], memory=memory, sources=_source_keys(w, memory))
        if _NAMING & set(correction.changes):
            alone = "entities" in correction.changes
            numbers = naming.numbers(correction.ready, given_alone=alone)
            versions[0] = replace(versions[0], entity_ids=numbers)
        now = to_micros(correction.now)
        return Batch(
            memories=versions,
            retire=[Retire(k, State.REVISED, now) for k in keys],
            links=_links(w, versions, replaced=frozenset(keys)),
            entities=list(naming.entities.values()),
        )

    def _version(
        self,
        w: Writing,
        key: int,
        to: int,
        correction: Correction,
        vectors: _Vectors | None,
    ) -> NewMemory:
        """The next version of `key`, to stand at `to`: with these vectors if its wording or the
        turn it answers has changed, otherwise with those it has."""
        memory = w.load([key])[key]
        columns = w.columns(np.array([key], np.int64))
        closed = int(columns.known_until[0])
        reopened = correction.becomes is State.ACTIVE and memory.id == correction.memory_id
        ready = (
            correction.ready
            if memory.id == correction.memory_id
            else grounded([_fact(memory, correction.now)], w.resolver, self._agent_names)[0]
        )
        return NewMemory(
            to,
            memory,
            None if vectors is None else vectors.vector,
            None if vectors is None else vectors.tokens,
            tuple(w.entities_of(np.array([key], np.int64))[0]),
            statement_hash(ready.fact, memory.document_id),
            ready.slot_hash,
            to_micros(correction.now),
            None if closed == NO_TIME or reopened else closed,
            _source_keys(w, memory),
            int(columns.before[0]),
            replaces=key,
        )

    def _encode(self, passages: Sequence[Passage]) -> list[_Vectors]:
        missing = [p for p in passages if (p, p.muted) not in self._encoded]
        if missing:
            found = self._embedder.encode_passages(missing)
            for i, one in enumerate(missing):
                tokens = None if found.tokens is None else to_codes(found.tokens[i])
                self._encoded[one, one.muted] = _Vectors(found.vectors[i], tokens)
        return [self._encoded[p, p.muted] for p in passages]


def current_key(view: View, memory_id: str) -> int:
    key = view.key_of(memory_id)
    if key is None:
        raise NotFound(
            f"bank {view.bank!r} has no memory {memory_id!r}",
            hint="ids come from retain, recall and memories; it may have been forgotten meanwhile",
        )
    return key


def _reworded(view: View, key: int, old: Memory, new: Memory) -> dict[int, Passage]:
    """What the models are to read anew: the memory, if they were shown something else before, and
    the turns that answer it, if it says something else now."""
    before = view.standing(view.columns(np.array([key], np.int64)).before, Filter())
    turn = view.load(before.tolist()).get(int(before[0]))
    out: dict[int, Passage] = {}
    if memory_passage(new, turn) != memory_passage(old, turn):
        out[key] = memory_passage(new, turn)
    if said(new.speaker, new.text) != said(old.speaker, old.text):
        answers = view.load(k for k in view.following(key) if k != key)
        out |= {k: memory_passage(m, new) for k, m in answers.items()}
    return out


def _links(
    w: Writing, versions: Sequence[NewMemory], replaced: frozenset[int]
) -> Sequence[KeyLink]:
    """Semantic links of those with new vectors; the others inherit theirs."""
    made = [v for v in versions if v.vector is not None]
    if not made:
        return ()
    vectors = np.array([v.vector for v in made], np.float32)
    near = w.nearest(vectors, SEMANTIC_LINKS + len(replaced), SEMANTIC_FLOOR)
    keys = [v.key for v in made]
    kept = [_without(found, replaced) for found in near]
    return list(semantic_links(keys, dots(vectors, vectors), kept))


def _without(found: Found, keys: frozenset[int]) -> Found:
    keep = ~np.isin(found.keys, list(keys))
    return Found(found.keys[keep], found.scores[keep])


def _source_keys(w: Writing, memory: Memory) -> tuple[int, ...]:
    found = (w.key_of(i) for i in memory.source_ids)
    return tuple(k for k in found if k is not None)


def _fact(memory: Memory, now: datetime) -> Fact:
    return items(as_item(memory), {}, now)[0].facts[0]


def as_item(memory: Memory) -> dict[str, Any]:
    """A memory as the item that would have made it."""
    names = (
        "text", "context", "speaker", "title", "summary", "topic_path", "kind", "scope", "occurred_start",
        "occurred_end", "valid_until", "last_reviewed_at", "confidence",
    )  # fmt: skip
    out: dict[str, Any] = {n: getattr(memory, n) for n in names if getattr(memory, n) is not None}
    out |= {"tags": memory.tags, "metadata": memory.metadata, "recall_when": memory.recall_when}
    out |= {"source_ids": memory.source_ids, "proof_count": memory.proof_count}
    return out | {
        "type": memory.type.value,
        "timestamp": memory.mentioned_at or "unset",
        "entities": memory.entities,
    }

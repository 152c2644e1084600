"""Changing and deleting single memories and documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from recollect.config import Settings
from recollect.errors import InvalidInput, NotFound
from recollect.language.dates import to_micros
from recollect.language.tokens import count_tokens
from recollect.models.base import Embedder
from recollect.retain.items import Fact, items
from recollect.retain.link import SEMANTIC_FLOOR, SEMANTIC_LINKS, semantic_links
from recollect.retain.naming import Naming
from recollect.retain.opinion import FIRST_CONFIDENCE, moved
from recollect.retain.prepare import Prepared, prepare
from recollect.storage.base import NO_TIME, Batch, NewMemory, Retire, Store, View, Writing
from recollect.types import Evidence, Memory, MemoryType, State

# Searched by no arm: these change in place. Everything else makes a new version.
_IN_PLACE = {
    "metadata", "confidence", "valid_until", "last_reviewed_at", "kind", "scope", "source_ids", "proof_count",
}  # fmt: skip
_EDITABLE = _IN_PLACE | {
    "text", "context", "speaker", "title", "summary", "topic_path", "recall_when", "tags", "type",
    "occurred_start", "occurred_end", "entities",
}  # fmt: skip


def update(
    store: Store,
    embedder: Embedder,
    settings: Settings,
    bank: str,
    memory_id: str,
    changes: Mapping[str, Any],
    now: datetime,
) -> None:
    unknown = set(changes) - _EDITABLE
    if unknown or not changes:
        raise InvalidInput(
            f"cannot update {', '.join(sorted(unknown)) or 'nothing'}",
            hint="fields that can change: " + ", ".join(sorted(_EDITABLE)),
        )
    view = store.view(bank)
    old = _loaded(view, memory_id)
    fact = items(_changed(old, changes), {}, now)[0].facts[0]
    _check(view, old, fact, changes)
    if set(changes) <= _IN_PLACE:
        names = {*changes, "proof_count"} if "source_ids" in changes else set(changes)
        new_values = {name: getattr(fact, name) for name in names} | {"updated_at": now}
        store.commit(bank, lambda w: Batch(updates={_key(w, memory_id): new_values}))
        return
    (ready,) = prepare([fact], embedder, view.resolver, settings.agent_names)
    store.commit(bank, lambda w: _revision(w, memory_id, ready, changes, now))


def _changed(old: Memory, changes: Mapping[str, Any]) -> dict[str, Any]:
    item = _as_item(old)
    if "occurred_start" in changes and "occurred_end" not in changes:
        item.pop("occurred_end", None)
    if (
        "text" in changes
        and old.occurred_grain
        and not {"occurred_start", "occurred_end"} & set(changes)
    ):
        # The time was read from the old words; the new ones say their own.
        item.pop("occurred_start", None)
        item.pop("occurred_end", None)
    if "text" in changes and "entities" not in changes:
        # Names of the old wording go with it; what the caller had added stays.
        item["entities"] = [n for n in old.entities if n.casefold() not in old.text.casefold()]
    if "source_ids" in changes and "proof_count" not in changes:
        item["proof_count"] = max(1, len(changes["source_ids"] or ()))
    return {**item, **changes}


def _check(view: View, old: Memory, fact: Fact, changes: Mapping[str, Any]) -> None:
    if "confidence" in changes and fact.type is not MemoryType.OPINION:
        raise InvalidInput(
            f"memory {old.id} is a {old.type.value}; only opinions have a confidence",
            hint="change its type to opinion in the same call",
        )
    missing = [i for i in fact.source_ids if view.key_of(i) is None]
    if "source_ids" in changes and missing:
        raise InvalidInput(
            f"source {missing[0]!r} is not in bank {old.bank!r}",
            hint="source_ids name existing memories of the same bank",
        )


def _revision(
    w: Writing, memory_id: str, ready: Prepared, changes: Mapping[str, Any], now: datetime
) -> Batch:
    key = _key(w, memory_id)
    old = w.load([key])[key]
    fact = ready.fact
    kept: dict[str, Any] = {n: getattr(fact, n) for n in changes if n != "entities"}
    if fact.type is MemoryType.OPINION and old.confidence is None:
        kept.setdefault("confidence", FIRST_CONFIDENCE)
    if {"text", "occurred_start", "occurred_end"} & set(changes):
        # As given, otherwise as the new wording says.
        kept |= {
            n: getattr(fact, n)
            for n in (
                "occurred_start",
                "occurred_end",
                "occurred_grain",
                "recurrence",
                "duration_s",
            )
        }
    memory = replace(old, **kept, updated_at=now, tokens=count_tokens(fact.text))
    naming = Naming(w)
    numbers = naming.numbers(ready)
    vectors = np.array([ready.vector], np.float32)
    near = w.nearest(vectors, SEMANTIC_LINKS + 1, SEMANTIC_FLOOR)
    links = [
        link
        for link in semantic_links([w.next_key], np.ones((1, 1), np.float32), near)
        if link.target != key
    ]
    before = w.columns(np.array([key], np.int64))
    closed = int(before.known_until[0])
    new = NewMemory(
        w.next_key,
        memory,
        ready.vector,
        ready.tokens,
        numbers,
        ready.statement,
        ready.slot_hash,
        to_micros(now),
        None if closed == NO_TIME else closed,
        before=int(before.before[0]),
        replaces=key,
    )
    return Batch(
        memories=[new],
        retire=[Retire(key, State.REVISED, to_micros(now))],
        links=links,
        entities=list(naming.entities.values()),
    )


def annotate(store: Store, bank: str, memory_id: str, changes: Mapping[str, Any]) -> None:
    _loaded(store.view(bank), memory_id)
    store.commit(bank, lambda w: Batch(updates={_key(w, memory_id): changes}))


def reinforce(store: Store, bank: str, memory_id: str, evidence: Evidence, now: datetime) -> None:
    if evidence not in (
        "strong_support",
        "weak_support",
        "neutral",
        "contradiction",
        "strong_contradiction",
    ):
        raise InvalidInput(
            f"unknown evidence {evidence!r}",
            hint="use strong_support, weak_support, neutral, contradiction or strong_contradiction",
        )
    old = _loaded(store.view(bank), memory_id)
    if old.type is not MemoryType.OPINION or old.confidence is None:
        raise InvalidInput(
            f"memory {memory_id} is a {old.type.value}; only opinions have a confidence",
            hint="retain it with type='opinion'",
        )

    def plan(w: Writing) -> Batch:
        key = _key(w, memory_id)
        held = w.load([key])[key]
        changes = {
            "confidence": moved(held.confidence or 0.0, evidence),
            "weakened": held.weakened or evidence == "strong_contradiction",
            "updated_at": now,
        }
        return Batch(updates={key: changes})

    store.commit(bank, plan)


def retire(
    store: Store, bank: str, memory_id: str, state: State, by: str | None, now: datetime
) -> None:
    _loaded(store.view(bank), memory_id)
    store.commit(
        bank, lambda w: Batch(retire=[Retire(_key(w, memory_id), state, to_micros(now), by)])
    )


def forget(store: Store, bank: str, memory_id: str | None, document_id: str | None) -> int:
    before = _count(store, bank)
    if document_id is not None:
        if store.document(bank, document_id) is None:
            raise NotFound(
                f"bank {bank!r} has no document {document_id!r}", hint="`documents` lists them"
            )
        store.commit(bank, lambda _: Batch(drop_documents={document_id: frozenset()}))
    else:
        wanted = memory_id or ""
        _loaded(store.view(bank), wanted)
        store.commit(bank, lambda w: Batch(drop_memories=[_key(w, wanted)]))
    return before - _count(store, bank)


def _count(store: Store, bank: str) -> int:
    found = store.bank(bank)
    return 0 if found is None else found.memories


def _loaded(view: View, memory_id: str) -> Memory:
    key = view.key_of(memory_id)
    if key is None:
        raise NotFound(
            f"bank {view.bank!r} has no memory {memory_id!r}",
            hint="ids come from retain, recall and memories",
        )
    return view.load([key])[key]


def _key(w: Writing, memory_id: str) -> int:
    key = w.key_of(memory_id)
    if key is None:  # deleted by somebody else since it was read
        raise NotFound(
            f"bank {w.bank!r} has no memory {memory_id!r} any more",
            hint="it was forgotten meanwhile",
        )
    return key


def _as_item(memory: Memory) -> dict[str, Any]:
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

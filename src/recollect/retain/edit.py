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
from recollect.retain.items import items
from recollect.retain.link import SEMANTIC_FLOOR, SEMANTIC_LINKS, semantic_links
from recollect.retain.opinion import moved
from recollect.retain.prepare import Prepared, prepare
from recollect.storage.base import Batch, NewMemory, Retire, Store, Writing
from recollect.types import Entity, Evidence, Memory, MemoryType, State

# Searched by no arm: these change in place. Everything else makes a new version.
_IN_PLACE = {"metadata", "confidence", "valid_until", "last_reviewed_at", "kind", "scope"}
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
    fact = items({**_as_item(old), **changes}, {}, now)[0].facts[0]
    if set(changes) <= _IN_PLACE:
        new_values = {name: getattr(fact, name) for name in changes} | {"updated_at": now}
        store.commit(bank, lambda w: Batch(updates={_key(w, memory_id): new_values}))
        return
    (ready,) = prepare([fact], embedder, view.resolver, settings.agent_names)
    store.commit(bank, lambda w: _revision(w, memory_id, ready, changes, now))


def _revision(
    w: Writing, memory_id: str, ready: Prepared, changes: Mapping[str, Any], now: datetime
) -> Batch:
    key = _key(w, memory_id)
    old = w.load([key])[key]
    fact = ready.fact
    kept = {n: getattr(fact, n) for n in changes if n != "entities" and hasattr(old, n)}
    if "text" in changes and not {"occurred_start", "occurred_end"} & set(changes):
        kept |= {
            n: getattr(fact, n)
            for n in ("occurred_start", "occurred_end", "occurred_grain", "recurrence")
        }
    memory = replace(
        old, **kept, updated_at=now, tokens=count_tokens(fact.text), state=State.ACTIVE
    )
    entities, numbers = _entities(
        w, ready, fact.entities if "entities" in changes else old.entities
    )
    vectors = np.array([ready.vector], np.float32)
    near = w.nearest(vectors, SEMANTIC_LINKS + 1, SEMANTIC_FLOOR)
    links = [link for link in semantic_links([w.next_key], vectors, near) if link.target != key]
    new = NewMemory(
        w.next_key, memory, ready.vector, ready.tokens, numbers, ready.statement, ready.slot_hash, to_micros(now),
        replaces=key,
    )  # fmt: skip
    return Batch(
        memories=[new],
        retire=[Retire(key, State.REVISED, to_micros(now))],
        links=links,
        entities=entities,
    )


def _entities(
    w: Writing, ready: Prepared, given: tuple[str, ...]
) -> tuple[list[Entity], tuple[int, ...]]:
    """Names of the new wording, resolved against the bank."""
    out: dict[int, Entity] = {}
    number = w.next_entity
    for name, kind in [(n, "other") for n in given] + [(m.text, m.kind) for m in ready.mentions]:
        found = w.resolver.resolve(name, kind, tuple(out))
        if found.entity is None:
            if any(name.casefold() == e.name.casefold() for e in out.values()):
                continue
            out[number] = Entity(number, found.new_name, kind, tuple(sorted(found.new_aliases)), 1)
            number += 1
        else:
            e = found.entity
            out[e.id] = Entity(
                e.id, e.name, e.kind, tuple(sorted(e.aliases | found.new_aliases)), e.mentions
            )
    return list(out.values()), tuple(out)


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
    before = store.stats(bank).memories
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
    return before - store.stats(bank).memories


def _loaded(view: Any, memory_id: str) -> Memory:
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
    return out | {
        "type": memory.type.value,
        "timestamp": memory.mentioned_at or "unset",
        "entities": memory.entities,
    }

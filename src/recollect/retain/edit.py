"""Changing and deleting single memories and documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from recollect.config import Settings
from recollect.errors import InvalidInput, NotFound
from recollect.language.dates import to_micros
from recollect.models.base import Embedder
from recollect.options import MemoryChanges, names
from recollect.retain.decided import own_source
from recollect.retain.items import UNSET, Fact, items
from recollect.retain.opinion import moved
from recollect.retain.prepare import Prepared, grounded
from recollect.retain.revise import Correction, Versions, as_item, current_key
from recollect.storage.base import (
    EVERYTHING,
    Batch,
    Listing,
    NewDocument,
    Retire,
    Store,
    View,
    Writing,
)
from recollect.types import Evidence, Memory, MemoryType, State

_EDITABLE = names(MemoryChanges)


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
    text = changes.get("text", "unchanged")
    if text is None or (isinstance(text, str) and not text.replace("\x00", "").strip()):
        raise InvalidInput(
            "the text is empty", hint="give some text; to take the memory away, forget it"
        )
    with closing(store.view(bank)) as view:
        old = _loaded(view, memory_id)
        fact = _read(old, changes, now)
        _check(view, old, fact, changes)
        (ready,) = grounded([fact], view.resolver, settings.agent_names)
    _commit(store, embedder, settings, bank, Correction(memory_id, ready, changes, now))


def restore(
    store: Store,
    embedder: Embedder,
    settings: Settings,
    bank: str,
    memory_id: str,
    now: datetime,
) -> None:
    """What was withdrawn or replaced counts again from now on; between then and now it did not."""
    with closing(store.view(bank)) as view:
        old = _loaded(view, memory_id)
        if old.state is State.ACTIVE:
            return
        ready = _unchanged(view, old, settings, now)
    correction = Correction(memory_id, ready, {}, now, becomes=State.ACTIVE)
    _commit(store, embedder, settings, bank, correction)


def supersede_withdrawn(
    store: Store,
    embedder: Embedder,
    settings: Settings,
    bank: str,
    memory_id: str,
    by: str,
    now: datetime,
) -> None:
    """A replaced value is shown behind its successor, a withdrawn one not at all: what was
    withdrawn gets a version that is replaced from now on."""
    with closing(store.view(bank)) as view:
        ready = _unchanged(view, _loaded(view, memory_id), settings, now)
    correction = Correction(memory_id, ready, {}, now, becomes=State.SUPERSEDED, by=by)
    _commit(store, embedder, settings, bank, correction)


def _unchanged(view: View, old: Memory, settings: Settings, now: datetime) -> Prepared:
    fact = items(as_item(old), {}, now)[0].facts[0]
    (ready,) = grounded([fact], view.resolver, settings.agent_names)
    return ready


def _commit(
    store: Store, embedder: Embedder, settings: Settings, bank: str, correction: Correction
) -> None:
    versions = Versions(embedder, settings.agent_names)
    with closing(store.view(bank)) as view:
        versions.foresee(view, correction)

    def plan(w: Writing) -> Batch:
        if correction.by is not None:
            check_successor(w, correction.memory_id, correction.by)
        return versions.plan(w, correction)

    store.commit(bank, plan)


def _read(old: Memory, changes: Mapping[str, Any], now: datetime) -> Fact:
    try:
        return items(_changed(old, changes), {}, now)[0].facts[0]
    except InvalidInput as error:  # who corrects one memory gave no list of items
        raise InvalidInput(error.message.removeprefix("item 0: "), hint=error.hint) from error


def _changed(old: Memory, changes: Mapping[str, Any]) -> dict[str, Any]:
    item = as_item(old)
    if "occurred_start" in changes and "occurred_end" not in changes:
        item.pop("occurred_end", None)
    if "timestamp" in changes and changes["timestamp"] is None:
        changes = {**changes, "timestamp": UNSET}
    if (
        {"text", "timestamp"} & set(changes)
        and old.occurred_grain
        and not {"occurred_start", "occurred_end"} & set(changes)
    ):
        # The time was read from the old words, as of when they were told.
        item.pop("occurred_start", None)
        item.pop("occurred_end", None)
    if "text" in changes and "entities" not in changes:
        # Names of the old wording go with it; what the caller had added stays.
        item["entities"] = [n for n in old.entities if n.casefold() not in old.text.casefold()]
    if "source_ids" in changes and "proof_count" not in changes:
        given = changes["source_ids"] or ()
        item["proof_count"] = max(1, len(given)) if isinstance(given, Sized) else 1
    return {**item, **changes}


def _check(view: View, old: Memory, fact: Fact, changes: Mapping[str, Any]) -> None:
    if "confidence" in changes and fact.type is not MemoryType.OPINION:
        raise InvalidInput(
            f"memory {old.id} is a {old.type.value}; only opinions have a confidence",
            hint="change its type to opinion in the same call",
        )
    if "source_ids" in changes and old.id in fact.source_ids:
        raise own_source(old.id)
    missing = [i for i in fact.source_ids if view.key_of(i) is None]
    if "source_ids" in changes and missing:
        raise InvalidInput(
            f"source {missing[0]!r} is not in bank {old.bank!r}",
            hint="source_ids name existing memories of the same bank",
        )


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
    old = _held(store, bank, memory_id)
    if old.type is not MemoryType.OPINION or old.confidence is None:
        raise InvalidInput(
            f"memory {memory_id} is a {old.type.value}; only opinions have a confidence",
            hint="retain it with type='opinion'",
        )

    def plan(w: Writing) -> Batch:
        key = current_key(w, memory_id)
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
    _held(store, bank, memory_id)

    def plan(w: Writing) -> Batch:
        if by is not None:
            check_successor(w, memory_id, by)
        return Batch(retire=[Retire(current_key(w, memory_id), state, to_micros(now), by)])

    store.commit(bank, plan)


def check_successor(view: View, memory_id: str, by: str) -> None:
    """Memories that replace each other, at whatever remove, would leave none that holds."""
    if by == memory_id:
        raise InvalidInput(
            f"memory {memory_id} cannot replace itself",
            hint="name its successor; to withdraw it, invalidate it",
        )
    seen, after = {by}, _loaded(view, by).superseded_by
    while after is not None and after not in seen:  # a bank of old may hold such a circle
        if after == memory_id:
            raise InvalidInput(
                f"memory {by} cannot replace {memory_id}, which has replaced it",
                hint=f"restore {by} first, or name another successor",
            )
        seen.add(after)
        key = view.key_of(after)
        after = None if key is None else view.load([key])[key].superseded_by


def retag(store: Store, bank: str, document_id: str, tags: Iterable[str]) -> None:
    """New tags for the document itself; its memories are corrected one by one."""
    (item,) = items({"text": document_id, "tags": list(tags)}, {}, datetime.now(UTC))

    def plan(w: Writing) -> Batch:
        held, given = store.document(bank, document_id), w.document_hash(document_id)
        if held is None or given is None:
            raise _unknown_document(bank, document_id)
        new = NewDocument(
            document_id, given, held.context, item.shared.tags, held.metadata, chunks=()
        )
        return Batch(documents=[new])

    store.commit(bank, plan)


def _unknown_document(bank: str, document_id: str) -> NotFound:
    return NotFound(f"bank {bank!r} has no document {document_id!r}", hint="`documents` lists them")


def forget(store: Store, bank: str, memory_id: str | None, document_id: str | None) -> int:
    if document_id is not None:
        if store.document(bank, document_id) is None:
            raise _unknown_document(bank, document_id)
        return store.commit(bank, lambda _: Batch(drop_documents={document_id: frozenset()}))
    wanted = memory_id or ""
    _held(store, bank, wanted)
    return store.commit(bank, lambda w: Batch(drop_memories=[current_key(w, wanted)]))


def withdraw_document(store: Store, bank: str, document_id: str, heirs: Iterable[str]) -> None:
    if store.document(bank, document_id) is None:
        raise _unknown_document(bank, document_id)
    store.commit(bank, lambda _: Batch(withdraw_documents={document_id: frozenset(heirs)}))


def unread(store: Store, bank: str, documents: Sequence[str]) -> None:
    if documents:
        store.commit(bank, lambda _: Batch(unread=documents))


def clear(store: Store, bank: str, type: MemoryType | None) -> int:
    """Delete all memories, or all of a type; without one, the documents go too."""
    documents = store.documents(bank, EVERYTHING) if type is None else []
    loose = [m.id for m in store.memories(bank, Listing(type=type), EVERYTHING)]

    def plan(w: Writing) -> Batch:
        keys = [key for i in loose if (key := w.key_of(i)) is not None]
        return Batch(drop_documents={d.id: frozenset[int]() for d in documents}, drop_memories=keys)

    return store.commit(bank, plan)


def _held(store: Store, bank: str, memory_id: str) -> Memory:
    with closing(store.view(bank)) as view:
        return _loaded(view, memory_id)


def _loaded(view: View, memory_id: str) -> Memory:
    key = current_key(view, memory_id)
    return view.load([key])[key]

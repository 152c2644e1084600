"""The library's verbs as calls to a server: each yields what to ask and returns the same types."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import orjson

from recollect.client import decode
from recollect.client.call import Call, Steps, path, plain
from recollect.errors import InvalidInput
from recollect.ids import new_id
from recollect.recall.explain import Why
from recollect.recall.request import RECALL_OPTIONS, recall_request
from recollect.storage.base import BankStats
from recollect.types import (
    Bank,
    Chunk,
    Document,
    Entity,
    Evidence,
    Link,
    Memory,
    Operation,
    OperationState,
    RetainResult,
)

PAGE = 500
_SAME = frozenset({
    "types", "budget", "max_tokens", "trace", "query_timestamp", "tags", "tags_match", "tag_groups",
    "min_score", "min_scores", "verbosity", "as_of", "deadline_ms", "expand_hops", "explain",
    "prefer_observations",
})  # fmt: skip
_PARTS = {  # option → its part of `include`, and the option that bounds it
    "include_entities": ("entities", {"max_entity_tokens": "max_tokens"}),
    "include_chunks": ("chunks", {"max_chunk_tokens": "max_tokens"}),
    "include_source_facts": (
        "source_facts",
        {
            "max_source_fact_tokens": "max_tokens",
            "max_tokens_per_observation": "max_tokens_per_observation",
        },
    ),
}
_OF_PARTS = frozenset(name for _, bounds in _PARTS.values() for name in bounds)


# --- writing ---------------------------------------------------------------------------------


def retain(bank: str, content: Any, **shared: Any) -> Steps[RetainResult]:
    """Remember. `content` is a text, a dict (content, text or turns, with timestamp, context,
    document_id, tags, metadata, entities …) or a list of these; keyword arguments apply to
    every item. Durable and visible to the next recall when it returns, and retained once
    however often the request had to be sent."""
    body = {"items": _items(content, shared)}
    key = {"Idempotency-Key": new_id()}
    return decode.retained((yield Call("POST", path(bank, "memories"), body=body, headers=key)))


def submit(
    bank: str, content: Any, *, operation_id: str | None = None, **shared: Any
) -> Steps[Operation]:
    """Remember soon: durable when it returns, done a little later. `operation` says how it is."""
    named = operation_id or new_id()
    body = {"items": _items(content, shared), "async": True, "operation_id": named}
    yield Call("POST", path(bank, "memories"), body=body)
    return (yield from operation(bank, named))


def retain_file(bank: str, path: str | Path, **shared: Any) -> Steps[RetainResult]:
    """A Markdown or text file as one document, or JSONL with one item a line."""
    from recollect.retain.files import read_file

    return (yield from retain(bank, read_file(Path(path)), **shared))


def _items(content: Any, shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    entries: list[Any]
    if isinstance(content, str | Mapping):
        entries = [content]
    elif isinstance(content, Iterable):
        entries = list(cast("Iterable[Any]", content))
    else:
        raise InvalidInput(
            f"cannot retain a {type(content).__name__}",
            hint="give a text, a dict with content, text or turns, or a list of these",
        )
    out: list[dict[str, Any]] = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, str | Mapping):
            raise InvalidInput(
                f"item {number} is a {type(entry).__name__}, not a text or a dict",
                hint='for example {"content": "Alice joined Google", "timestamp": "2026-04-01"}',
            )
        said = {"content": entry} if isinstance(entry, str) else cast("Mapping[str, Any]", entry)
        out.append({**shared, **said})
    return out


def update(bank: str, memory_id: str, **changes: Any) -> Steps[Memory]:
    """Correct one memory. The earlier wording stays visible to `as_of` before now."""
    return (yield from _patch(bank, memory_id, changes=changes))


def reinforce(bank: str, memory_id: str, evidence: Evidence) -> Steps[Memory]:
    """Move an opinion's confidence by evidence for or against it."""
    return (yield from _patch(bank, memory_id, again=False, evidence=evidence))


def review(bank: str, memory_id: str) -> Steps[Memory]:
    """Mark as still true: its lifecycle starts anew."""
    return (yield from _patch(bank, memory_id, reviewed=True))


def invalidate(bank: str, memory_id: str) -> Steps[Memory]:
    """Withdraw without deleting: recall no longer returns it, `as_of` an earlier time does."""
    return (yield from _patch(bank, memory_id, state="invalidated"))


def supersede(bank: str, memory_id: str, by: str) -> Steps[Memory]:
    """Mark as replaced by another memory."""
    return (yield from _patch(bank, memory_id, state="superseded", superseded_by=by))


def restore(bank: str, memory_id: str) -> Steps[Memory]:
    """Take a withdrawal or a replacement back."""
    return (yield from _patch(bank, memory_id, state="valid"))


def _patch(bank: str, memory_id: str, *, again: bool = True, **body: Any) -> Steps[Memory]:
    given = yield Call("PATCH", path(bank, "memories", memory_id), body=body, again=again)
    return decode.memory(given, bank)


def forget(
    bank: str, memory_id: str | None = None, *, document_id: str | None = None
) -> Steps[int]:
    """Delete one memory, or one document, with everything derived only from it: text, vectors,
    terms, links. Gives the number of memories that went."""
    # Sent again it would find nothing, and say so of what it had deleted itself.
    if memory_id is not None and document_id is None:
        given = yield Call("DELETE", path(bank, "memories", memory_id), again=False)
        return given["deleted_count"]
    if document_id is not None and memory_id is None:
        given = yield Call("DELETE", path(bank, "documents", document_id), again=False)
        return given["memory_units_deleted"]
    raise InvalidInput("forget what?", hint="give a memory id, or document_id=…, not both")


def clear(bank: str, *, type: str | None = None) -> Steps[int]:
    """Delete all memories of a bank, or all of one type; the bank stays. Gives how many."""
    given = yield Call("DELETE", path(bank, "memories"), {"type": type}, again=False)
    return given["deleted_count"]


# --- reading ---------------------------------------------------------------------------------


def recall_body(query: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What to ask, checked as the library itself checks it."""
    known = _SAME | _PARTS.keys() | _OF_PARTS | {"temporal_window"}
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        hint = "options: " + ", ".join(sorted(known))
        if unknown in RECALL_OPTIONS:
            hint = "open the store itself for it: recollect.open(…)"
        raise InvalidInput(f"recall over HTTP has no option {unknown!r}", hint=hint)
    given = {name: value for name, value in options.items() if name != "explain"}
    request = recall_request(query, now=datetime.now(UTC), **given)
    body: dict[str, Any] = {name: options[name] for name in _SAME if options.get(name) is not None}
    if isinstance(body.get("types"), str):
        body["types"] = [body["types"]]
    if request.window is not None:
        start, end = request.window.start, request.window.end
        # The contract's window includes its end, the library's does not.
        last = None if end is None else end - timedelta(microseconds=1)
        body["temporal_window"] = {"start": start, "end": last}
    return {"query": query, "include": _include(options), "verbosity": "full", **body}


def _include(options: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"entities": None}
    for option, (part, bounds) in _PARTS.items():
        if options.get(option):
            out[part] = {
                there: -1 if options[here] is None else options[here]
                for here, there in bounds.items()
                if here in options
            }
    return out


def why(bank: str, query: str, memory_id: str, **options: Any) -> Steps[Why]:
    """Why a memory was, or was not, returned for a query: stage by stage."""
    body = {**recall_body(query, options), "memory_id": memory_id}
    return decode.why((yield Call("POST", path(bank, "memories", "why"), body=body)))


def load(bank: str, memory_id: str) -> Steps[Memory]:
    """One memory whole."""
    return decode.memory((yield Call("GET", path(bank, "memories", memory_id))), bank)


def links(bank: str, memory_id: str) -> Steps[list[Link]]:
    given = yield Call("GET", path(bank, "memories", memory_id, "links"))
    return [decode.link(k) for k in given["items"]]


def revisions(bank: str, memory_id: str) -> Steps[list[Memory]]:
    """Earlier wordings, oldest first."""
    return decode.memories((yield Call("GET", path(bank, "memories", memory_id, "history"))), bank)


# --- looking around --------------------------------------------------------------------------


def banks() -> Steps[list[Bank]]:
    found: list[Any] = yield from _pages(Call("GET", "/v1/default/banks"), "banks", None)
    return [decode.bank(b) for b in found]


def bank(bank: str) -> Steps[Bank]:
    return (yield from _bank(bank))


def create_bank(bank: str, config: Mapping[str, Any] | None = None) -> Steps[Bank]:
    return decode.bank((yield Call("PUT", path(bank), body=dict(config or {}))))


def configure_bank(bank: str, config: Mapping[str, Any]) -> Steps[Bank]:
    held = yield Call("GET", path(bank, "config"))
    updates = {**dict.fromkeys(held["overrides"]), **config}
    yield Call("PATCH", path(bank, "config"), body={"updates": updates})
    return (yield from _bank(bank))


def delete_bank(bank: str) -> Steps[None]:
    yield Call("DELETE", path(bank), again=False)


def memories(
    bank: str, *, limit: int = 100, after: str | None = None, offset: int = 0, **where: Any
) -> Steps[list[Memory]]:
    """Newest first; page on with after= the last id seen. Filters: type, state, document_id,
    contains, entity (an id), tags, tags_match, and time_field with since and until."""
    asked = Call("GET", path(bank, "memories", "list"), _filters(where, after, offset))
    return [decode.memory(m, bank) for m in (yield from _pages(asked, "items", limit))]


def documents(
    bank: str, *, limit: int = 100, after: str | None = None, offset: int = 0, **where: Any
) -> Steps[list[Document]]:
    """By id; page on with after= the last id seen."""
    asked = Call("GET", path(bank, "documents"), _filters(where, after, offset))
    return [decode.document(d) for d in (yield from _pages(asked, "items", limit))]


def document(bank: str, document_id: str) -> Steps[Document]:
    """A document with its text."""
    return decode.document((yield Call("GET", path(bank, "documents", document_id))))


def update_document(bank: str, document_id: str, *, tags: Iterable[str]) -> Steps[Document]:
    """New tags for a document and all its memories."""
    yield Call("PATCH", path(bank, "documents", document_id), body={"tags": list(tags)})
    return (yield from document(bank, document_id))


def chunks(bank: str, document_id: str) -> Steps[list[Chunk]]:
    asked = Call("GET", path(bank, "documents", document_id, "chunks"))
    return [decode.chunk(c) for c in (yield from _pages(asked, "items", None))]


def count(bank: str, **where: Any) -> Steps[int]:
    """How many memories a listing with these filters has."""
    asked = {**_filters(where, None, 0), "limit": 0}
    return (yield Call("GET", path(bank, "memories", "list"), asked))["total"]


def count_documents(bank: str, **where: Any) -> Steps[int]:
    asked = {**_filters(where, None, 0), "limit": 0}
    return (yield Call("GET", path(bank, "documents"), asked))["total"]


def tags(bank: str) -> Steps[Mapping[str, int]]:
    """Every tag and how many memories carry it, most used first."""
    found = yield from _pages(Call("GET", path(bank, "tags")), "items", None)
    return {t["tag"]: t["count"] for t in found}


def entities(bank: str, *, limit: int = 100) -> Steps[list[Entity]]:
    asked = Call("GET", path(bank, "entities"))
    return [decode.entity(e) for e in (yield from _pages(asked, "items", limit))]


def stats(bank: str) -> Steps[BankStats]:
    return decode.stats((yield Call("GET", path(bank, "stats"))))


_NAMES = {"contains": "q", "entity": "entity_id", "since": "start_date", "until": "end_date"}


def _filters(where: Mapping[str, Any], after: str | None, offset: int) -> dict[str, Any]:
    out = {_NAMES.get(name, name): value for name, value in where.items()}
    if after is not None:
        out["cursor"] = urlsafe_b64encode(f"a:{after}".encode()).decode()
    elif offset:
        out["offset"] = offset
    return out


def _pages(first: Call, items: str, limit: int | None) -> Steps[list[Any]]:
    """Everything, or so many, however the server cuts it."""
    out: list[Any] = []
    cursor: dict[str, Any] = {}
    while limit is None or len(out) < limit:
        size = PAGE if limit is None else min(PAGE, limit - len(out))
        given = yield Call(first.method, first.path, {**first.params, **cursor, "limit": size})
        out += given[items]
        if not given.get("next_cursor"):
            break
        cursor = {"cursor": given["next_cursor"], "offset": None}
    return out


# --- operations ------------------------------------------------------------------------------


def operation(bank: str, operation_id: str) -> Steps[Operation]:
    """How an accepted retain is doing."""
    return decode.operation((yield Call("GET", path(bank, "operations", operation_id))), bank)


def operations(
    bank: str, *, limit: int = 100, state: OperationState | None = None
) -> Steps[list[Operation]]:
    """Newest first."""
    name = next((n for n, s in decode.STATES.items() if s is state), None)
    asked = Call("GET", path(bank, "operations"), {"status": name})
    out: list[Any] = []
    cursor: str | None = None
    while len(out) < limit:
        size = min(100, limit - len(out))
        given = yield Call(
            asked.method, asked.path, {**asked.params, "limit": size, "cursor": cursor}
        )
        out += given["operations"]
        cursor = given.get("next_cursor")
        if cursor is None:
            break
    return [decode.operation(o, bank) for o in out]


def cancel(bank: str, operation_id: str) -> Steps[Operation]:
    """Only while it is pending."""
    yield Call("DELETE", path(bank, "operations", operation_id), again=False)
    return (yield from operation(bank, operation_id))


# --- moving ----------------------------------------------------------------------------------


def import_bank(lines: Iterable[Mapping[str, Any]], bank: str | None = None) -> Steps[Bank]:
    """A bank made again, exactly, from what `export` gave."""
    written = [orjson.dumps(line, default=plain) for line in lines]
    head: Any = orjson.loads(written[0]) if written else None
    name = bank or (str(head.get("bank") or "") if isinstance(head, dict) else "")  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    if not name:
        raise InvalidInput("this is not an exported bank", hint="make it with export(bank)")
    body = b"\n".join(written) + b"\n"
    kind = {"Content-Type": "application/x-ndjson"}
    yield Call("POST", path(name, "dump"), body=body, headers=kind, again=False)
    return (yield from _bank(name))


def _bank(name: str) -> Steps[Bank]:
    return decode.bank((yield Call("GET", path(name, "profile"))))

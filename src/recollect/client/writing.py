"""Verbs that write, as calls to a server: retain, correct, withdraw, forget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from recollect.client import decode
from recollect.client.call import Call, Steps, path
from recollect.client.looking import document
from recollect.client.operations import operation
from recollect.errors import InvalidInput
from recollect.ids import new_id
from recollect.options import Progress
from recollect.types import Document, Evidence, Memory, Operation, RetainResult

if TYPE_CHECKING:
    from recollect.options import ItemFields, MemoryChanges


def retain(
    bank: str,
    content: Any,
    *,
    progress: Progress | None = None,
    **shared: Unpack[ItemFields],
) -> Steps[RetainResult]:
    """Remember. `content` is a text, a dict (content, text or turns, with timestamp, context,
    document_id, tags, metadata, entities …) or a list of these; keyword arguments apply to
    every item. Durable and visible to the next recall when it returns, and retained once
    however often the request had to be sent."""
    items = _items(content, cast("Mapping[str, Any]", shared))
    key = {"Idempotency-Key": new_id()}
    sent = Call("POST", path(bank, "memories"), body={"items": items}, headers=key)
    done = decode.retained((yield sent))
    if progress:
        progress(len(items), len(items))
    return done


def submit(
    bank: str, content: Any, *, operation_id: str | None = None, **shared: Unpack[ItemFields]
) -> Steps[Operation]:
    """Remember soon: durable when it returns, done a little later. `operation` says how it is."""
    named = operation_id or new_id()
    body = {
        "items": _items(content, cast("Mapping[str, Any]", shared)),
        "async": True,
        "operation_id": named,
    }
    yield Call("POST", path(bank, "memories"), body=body)
    return (yield from operation(bank, named))


def retain_file(
    bank: str,
    path: str | Path,
    *,
    progress: Progress | None = None,
    **shared: Unpack[ItemFields],
) -> Steps[RetainResult]:
    """A Markdown or text file as one document, or JSONL with one item a line."""
    from recollect.retain.files import read_file

    return (yield from retain(bank, read_file(Path(path)), progress=progress, **shared))


def _items(content: Any, shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Checked as the library itself checks them."""
    from recollect.retain.items import entries

    return [{**shared, **entry} for entry in entries(content)]


def update(bank: str, memory_id: str, **changes: Unpack[MemoryChanges]) -> Steps[Memory]:
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


def relate(bank: str, links: Mapping[str, Mapping[str, float]]) -> Steps[None]:
    """The authored links of each memory named, by id, with a weight from 0 to 1; they take the
    place of those it had."""
    yield Call("PUT", path(bank, "links"), body={"links": links})


def update_document(bank: str, document_id: str, *, tags: Iterable[str]) -> Steps[Document]:
    """New tags for a document and all its memories."""
    yield Call("PATCH", path(bank, "documents", document_id), body={"tags": list(tags)})
    return (yield from document(bank, document_id))

"""Banks and memories as resources: what a person can attach to a conversation by hand.

`recollect://BANK` says what a bank holds, `recollect://BANK/ID` is one memory; names are
percent-encoded. The list is bounded: a bank may hold a million memories, a menu may not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

from recollect.errors import NotFound
from recollect.mcp import answers
from recollect.mcp.answers import Whole, title_of
from recollect.mcp.verbs import Call
from recollect.types import Bank, Memory

SCHEME = "recollect://"
BANKS = 100  # listed at most
NEWEST = 50  # memories of the default bank listed at most
SHOWN = 20  # memories a bank's own resource names


@dataclass(frozen=True, slots=True)
class Listed:
    uri: str
    name: str
    says: str
    mime: str = "text/plain"


@dataclass(frozen=True, slots=True)
class Template:
    uri: str
    name: str
    says: str
    mime: str


TEMPLATES = (
    Template(
        SCHEME + "{bank}", "bank", "What a bank holds, and its newest memories.", "application/json"
    ),
    Template(SCHEME + "{bank}/{id}", "memory", "One memory whole.", "text/plain"),
)


def uri_of(bank: str, memory_id: str | None = None) -> str:
    parts = [bank] if memory_id is None else [bank, memory_id]
    return SCHEME + "/".join(quote(part, safe="") for part in parts)


def listing(call: Call) -> Iterator[Listed]:
    banks = call.banks()
    for bank in banks[:BANKS]:
        yield Listed(uri_of(bank.id), bank.id, f"{bank.memories} memories", "application/json")
    if any(bank.id == call.bank for bank in banks):
        for memory in call.memory.memories(call.bank, limit=NEWEST):
            yield Listed(uri_of(call.bank, memory.id), title_of(memory), f"A memory of {call.bank}")


def read(call: Call, uri: str) -> tuple[str, str]:
    """(mime type, text) of what a URI names."""
    parts = [unquote(p) for p in uri.removeprefix(SCHEME).rstrip("/").split("/")]
    if not uri.startswith(SCHEME) or len(parts) > 2 or not parts[0]:
        raise NotFound(
            f"{uri!r} is no memory", hint=f"use {SCHEME}BANK or {SCHEME}BANK/ID, percent-encoded"
        )
    bank = call.to_read({"bank": parts[0]})
    if len(parts) == 1:
        newest = call.memory.memories(bank, limit=SHOWN)
        about = _about(call.memory.bank(bank), newest)
        return "application/json", json.dumps(about, indent=1, ensure_ascii=False)
    memory = call.memory.load(bank, parts[1])
    call.conversation.give([memory])
    return "text/plain", answers.loaded(Whole(memory), "lean").text


def _about(bank: Bank, newest: list[Memory]) -> dict[str, object]:
    return {
        "bank": bank.id,
        "memories": bank.memories,
        "documents": bank.documents,
        "updated_at": bank.updated_at.isoformat(),
        "newest": [{"uri": uri_of(m.bank, m.id), "title": title_of(m)} for m in newest],
    }

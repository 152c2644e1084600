"""Pages: Hindsight's clients count an offset, ours follow a cursor.

A cursor is opaque. It names where the page ended: the last id seen, where a listing is in an order
that stays (so that nothing is shown twice or left out when something is added), else a number.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recollect.errors import InvalidInput
from recollect.types import Document, Memory, Operation


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins."""

    offset: int = 0
    after: str | None = None


def place(cursor: str | None, offset: int) -> Place:
    if cursor is None:
        return Place(offset=offset)
    try:
        kind, _, value = urlsafe_b64decode(cursor.encode()).decode().partition(":")
        if kind == "a" and value:
            return Place(offset, value)
        if kind == "o":
            return Place(offset=max(0, min(int(value), 2**31)))
    except (ValueError, Error):  # what decodes to nothing is refused below
        pass
    raise InvalidInput(
        f"{cursor!r} is no cursor", hint="take next_cursor from the page before, as it is"
    )


def last(found: Sequence[Memory | Document | Operation], limit: int) -> str | None:
    """The cursor of the next page of a listing in an order that stays; a short page is the last."""
    if not 0 < limit == len(found):
        return None
    return urlsafe_b64encode(f"a:{found[-1].id}".encode()).decode()


def numbered(start: Place, shown: int, total: int) -> str | None:
    """The cursor of the next page of a listing that is counted."""
    seen = start.offset + shown
    return urlsafe_b64encode(f"o:{seen}".encode()).decode() if shown and seen < total else None


def page(
    items: Sequence[Any], total: int, limit: int, start: Place, following: str | None
) -> dict[str, Any]:
    """What every listing answers."""
    return {
        "items": items,
        "total": total,
        "limit": limit,
        "offset": start.offset,
        "next_cursor": following,
    }


def cut(found: Sequence[Any], limit: int, start: Place) -> dict[str, Any]:
    """A page of what is known whole."""
    shown = found[start.offset : start.offset + limit]
    return page(shown, len(found), limit, start, numbered(start, len(shown), len(found)))

"""Pages: Hindsight's clients count an offset, ours follow a cursor.

A cursor is opaque. It names where the page ended: the last id seen, where a listing is in an order
that stays (so that nothing is shown twice or left out when something is added), with its time where
what is seen may move; else a number.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends

from recollect.errors import InvalidInput
from recollect.language.dates import from_micros, to_micros
from recollect.server.schemas import Cursor, Limit, Offset
from recollect.types import Document, Memory, Operation


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins."""

    offset: int = 0
    after: str | None = None
    at: int | None = None  # the time by which that one was listed


@dataclass(frozen=True, slots=True)
class Paging:
    """Which page of a listing, as a URL says it."""

    limit: Limit = 100
    offset: Offset = 0
    cursor: Cursor = None

    @property
    def start(self) -> Place:
        return place(self.cursor, self.offset)

    @property
    def after(self) -> str | None:
        """The last id seen, of a listing that needs no time beside it."""
        if self.start.at is not None:
            raise self._other()
        return self.start.after

    @property
    def skipped(self) -> int:
        """Where a page of a listing that is counted begins; it has no last id to go on after."""
        if self.start.after is not None:
            raise self._other()
        return self.start.offset

    def _other(self) -> InvalidInput:
        return InvalidInput(
            f"{self.cursor!r} is the cursor of another listing",
            hint="take next_cursor from the page before of this one, or begin without",
        )


Page = Annotated[Paging, Depends()]


def place(cursor: str | None, offset: int) -> Place:
    if cursor is None:
        return Place(offset=offset)
    try:
        kind, _, value = urlsafe_b64decode(cursor.encode()).decode().partition(":")
        if "\x00" in value:
            raise ValueError
        if kind == "a" and value:
            return Place(offset, value)
        if kind == "t":
            at, _, value = value.partition(":")
            return Place(offset, value, to_micros(from_micros(int(at))))
        if kind == "o":
            return Place(offset=max(0, min(int(value), 2**31)))
    except (ValueError, OverflowError, Error):  # what decodes to nothing is refused below
        pass
    raise InvalidInput(
        f"{cursor!r} is no cursor", hint="take next_cursor from the page before, as it is"
    )


def last(found: Sequence[Memory | Operation], limit: int) -> str | None:
    """The cursor of the next page of a listing in an order that stays; a short page is the last."""
    return _cursor(f"a:{found[-1].id}") if 0 < limit == len(found) else None


def last_written(found: Sequence[Document], limit: int, axis: str) -> str | None:
    """The same of documents, which move when they are written."""
    if not 0 < limit == len(found):
        return None
    return _cursor(f"t:{to_micros(getattr(found[-1], axis))}:{found[-1].id}")


def numbered(skipped: int, shown: int, total: int) -> str | None:
    """The cursor of the next page of a listing that is counted."""
    seen = skipped + shown
    return _cursor(f"o:{seen}") if shown and seen < total else None


def _cursor(place: str) -> str:
    return urlsafe_b64encode(place.encode()).decode()


def shown(items: Sequence[Any], total: int, page: Paging, following: str | None) -> dict[str, Any]:
    """What every listing answers."""
    return {
        "items": items,
        "total": total,
        "limit": page.limit,
        "offset": page.start.offset,
        "next_cursor": following,
    }


def cut(found: Sequence[Any], page: Paging) -> dict[str, Any]:
    """A page of what is known whole."""
    skipped = page.skipped
    some = found[skipped : skipped + page.limit]
    return shown(some, len(found), page, numbered(skipped, len(some), len(found)))


def counted(items: Sequence[Any], total: int, page: Paging) -> dict[str, Any]:
    """A page of what somebody else cut and counted."""
    return shown(items, total, page, numbered(page.skipped, len(items), total))

"""Which memories a listing shows, as SQL over `memories m` and `features f`."""

from __future__ import annotations

from typing import Any

from recollect.storage.base import NO_TIME, Listing
from recollect.storage.postgres.filters import tagged
from recollect.storage.smalls import in_smalls
from recollect.types import State

# As the index `memories_mentioned` has it.
_MENTIONED = f"coalesce({{0}}.mentioned_at, '{NO_TIME}'::bigint)"


def conditions(where: Listing) -> tuple[str, dict[str, Any]]:
    parts: list[str] = []
    values: dict[str, Any] = {}
    for column in ("type", "state", "document_id"):
        value = getattr(where, column)
        if value is not None:
            values[column] = str(value)
            parts.append(f"m.{column} = %({column})s")
    if where.state is not State.REVISED:
        parts.append("m.state <> 'revised'")  # said in the words of the index
    if where.recallable:
        parts.append("m.state <> 'invalidated'")
    if where.contains:
        values |= in_smalls(where.contains)._asdict()
        # The same letters, whatever the locale of the database.
        small = 'translate(lower(m.{} COLLATE "C"), %(capitals)s, %(smalls)s)'.format
        holds = [f"strpos({small(c)}, %(wanted)s) > 0" for c in ("text", "context")]
        parts.append(f"({' OR '.join(holds)})")
    if where.keys is not None:
        values["only"] = sorted(where.keys)
        parts.append("m.key = ANY(%(only)s::bigint[])")
    if where.tags is not None:
        parts.append(tagged(where.tags, values))
    if where.axis is not None:
        parts.append(f"m.{where.axis} IS NOT NULL")
        for name, compare in (("since", ">="), ("until", "<")):
            if getattr(where, name) is not None:
                values[name] = getattr(where, name)
                parts.append(f"m.{where.axis} {compare} %({name})s")
    return " AND ".join(parts), values


def _columns(where: Listing, table: str) -> list[str]:
    if where.axis is None:
        return [_MENTIONED.format(table), f"{table}.created_at", f"{table}.key"]
    return [f"{table}.{where.axis}", f"{table}.key"]


def order(where: Listing) -> str:
    return ", ".join(f"{column} DESC" for column in _columns(where, "m"))


def beyond(where: Listing) -> str:
    """What comes after the memory of the key `below` in that order; each value by itself, since an
    index is begun by values only."""
    last = "FROM memories l WHERE l.bank_id = %(bank)s AND l.key = %(below)s"
    ended = ", ".join(f"(SELECT {column} {last})" for column in _columns(where, "l"))
    return f"({', '.join(_columns(where, 'm'))}) < ({ended})"

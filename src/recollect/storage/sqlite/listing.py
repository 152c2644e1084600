"""Which memories a listing shows, as SQL over the memories of one bank."""

from __future__ import annotations

from typing import Any

import orjson

from recollect.storage.base import Listing, TagExpression, TagLeaf
from recollect.storage.index.record import KEY_MASK

_TAGS = "json_each(memories.extra, '$.tags')"


def conditions(where: Listing) -> tuple[str, list[Any]]:
    """The WHERE clause (without the bank) and its arguments."""
    parts: list[str] = []
    arguments: list[Any] = []

    def add(sql: str, *given: Any) -> None:
        parts.append(sql)
        arguments.extend(given)

    for column in ("type", "state", "document_id"):
        value = getattr(where, column)
        if value is not None:
            add(f"{column} = ?", value)
    if where.state is None:
        add("state <> 'revised'")
    if where.recallable:
        add("state <> 'invalidated'")
    if where.contains:
        holds = "instr(lower({}), lower(?)) > 0".format
        add(f"({holds('text')} OR {holds('context')})", where.contains, where.contains)
    if where.keys is not None:
        add(f"n & {KEY_MASK} IN (SELECT value FROM json_each(?))", _json(sorted(where.keys)))
    if where.tags is not None:
        sql, given = _tags(where.tags)
        add(sql, *given)
    if where.axis is not None:
        add(f"{where.axis} IS NOT NULL")
        if where.since is not None:
            add(f"{where.axis} >= ?", where.since)
        if where.until is not None:
            add(f"{where.axis} < ?", where.until)
    return " AND ".join(parts), arguments


def order(where: Listing) -> str:
    return "n DESC" if where.axis is None else f"{where.axis} DESC, n DESC"


def beyond(where: Listing, row: int) -> tuple[str, list[Any]]:
    """What comes after the memory of this row in that order."""
    if where.axis is None:
        return "n < ?", [row]
    return f"({where.axis}, n) < (SELECT {where.axis}, n FROM memories WHERE n = ?)", [row]


def _tags(expression: TagExpression) -> tuple[str, list[Any]]:
    if isinstance(expression, TagLeaf):
        return _leaf(expression)
    made = [_tags(part) for part in expression.parts]
    arguments = [a for _, given in made for a in given]
    if expression.operator == "not":
        return f"NOT ({made[0][0]})", arguments
    return "(" + f" {expression.operator.upper()} ".join(sql for sql, _ in made) + ")", arguments


def _leaf(leaf: TagLeaf) -> tuple[str, list[Any]]:
    wanted = len(leaf.tags)
    held = f"(SELECT count(*) FROM {_TAGS})"
    matched = f"(SELECT count(*) FROM {_TAGS} WHERE value IN (SELECT value FROM json_each(?)))"
    strict = {
        "any": f"{matched} > 0",
        "all": f"{matched} = {wanted}",
        "exact": f"{matched} = {wanted} AND {held} = {wanted}",
    }[leaf.match.removesuffix("_strict")]
    open_ = leaf.match in ("any", "all")  # these let through what has no tags
    return f"({strict} OR {held} = 0)" if open_ else f"({strict})", [_json(leaf.tags)]


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()

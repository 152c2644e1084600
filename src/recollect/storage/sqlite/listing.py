"""Which memories a listing shows, as SQL over the memories of one bank."""

from __future__ import annotations

from typing import Any

import orjson

from recollect.storage.base import NO_TIME, Listing, TagExpression, TagLeaf
from recollect.storage.index.record import KEY_MASK
from recollect.storage.smalls import Smalls, in_smalls
from recollect.storage.sqlite.rows import row_span
from recollect.types import State

_MENTIONED = f"coalesce(mentioned_at, {NO_TIME})"  # as the index `memories_mentioned` has it
_TAGS = "json_each(memories.extra, '$.tags')"


def conditions(where: Listing, bank: int) -> tuple[str, list[Any]]:
    """The WHERE clause and its arguments. A bank is a range of rows, to be read through where each
    must be looked at; by the bank's number an index finds those that it can tell by itself."""
    looked_at = where.contains or where.keys is not None or where.tags is not None
    told = where.document_id is not None or where.axis in (None, "created_at")
    parts = ["bank = ?"] if told and not looked_at else ["n >= ? AND n < ?"]
    arguments: list[Any] = [bank] if told and not looked_at else [*row_span(bank)]

    def add(sql: str, *given: Any) -> None:
        parts.append(sql)
        arguments.extend(given)

    for column in ("type", "state", "document_id"):
        value = getattr(where, column)
        if value is not None:
            add(f"{column} = ?", value)
    if where.state is not State.REVISED:
        add("state <> 'revised'")  # said in the words of the index
    if where.recallable:
        add("state <> 'invalidated'")
    if where.contains:
        sql, given = _holds(in_smalls(where.contains))
        add(f"({sql.format('text')} OR {sql.format('context')})", *given, *given)
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


def _holds(words: Smalls) -> tuple[str, list[Any]]:
    if not words.capitals:  # SQLite knows the letters of ASCII, and is faster alone
        return "instr(lower({}), ?) > 0", [words.wanted]
    sql = "instr(translate(lower({}), ?, ?), ?) > 0"
    return sql, [words.capitals, words.smalls, words.wanted]


def _columns(where: Listing) -> list[str]:
    return [_MENTIONED, "created_at", "n"] if where.axis is None else [where.axis, "n"]


def order(where: Listing) -> str:
    by = ", ".join(f"{column} DESC" for column in _columns(where))
    # A document has few memories: they are found by it and sorted, not sought in order (the plus).
    return by if where.document_id is None else f"+{by}"


def beyond(where: Listing, row: int) -> tuple[str, list[Any]]:
    """What comes after the memory of this row in that order; the first column by itself as well,
    since SQLite begins in an index by that."""
    by = _columns(where)
    last, all_ = "FROM memories WHERE n = ?", ", ".join(by)
    return f"{by[0]} <= (SELECT {by[0]} {last}) AND ({all_}) < (SELECT {all_} {last})", [row, row]


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

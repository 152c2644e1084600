"""A filter as SQL over `features f`: it acts inside every arm."""

from __future__ import annotations

from typing import Any

from recollect.storage.base import Filter, TagExpression, TagLeaf
from recollect.storage.index.record import STATE_CODE, TYPE_CODE
from recollect.storage.postgres.queries import SEEN
from recollect.types import State

_SUPERSEDED = STATE_CODE[State.SUPERSEDED]
assert f"f.state <= {_SUPERSEDED}" == SEEN
assert (
    STATE_CODE[State.ACTIVE]
    < _SUPERSEDED
    < min(STATE_CODE[State.INVALIDATED], STATE_CODE[State.REVISED])
)


def clause(allowed: Filter) -> tuple[str, dict[str, Any]]:
    """The condition and its parameters. Values are parameters, so that one shape is one text."""
    values: dict[str, Any] = {}
    if allowed.as_of is None:
        parts = [SEEN]
    else:
        values["as_of"] = allowed.as_of
        parts = [
            "f.known_from <= %(as_of)s",
            f"(f.known_until IS NULL OR f.known_until > %(as_of)s OR f.state = {_SUPERSEDED})",
        ]
    if allowed.types is not None:
        values["types"] = sorted(TYPE_CODE[t] for t in allowed.types)
        parts.append("f.type = ANY(%(types)s::smallint[])")
    if allowed.tags is not None:
        parts.append(tagged(allowed.tags, values))
    return " AND ".join(parts), values


def tagged(expression: TagExpression, values: dict[str, Any]) -> str:
    if isinstance(expression, TagLeaf):
        return _leaf(expression, values)
    parts = [tagged(part, values) for part in expression.parts]
    if expression.operator == "not":
        return f"NOT {parts[0]}"
    return "(" + f" {expression.operator.upper()} ".join(parts) + ")"


def _leaf(leaf: TagLeaf, values: dict[str, Any]) -> str:
    wanted = list(dict.fromkeys(leaf.tags))
    name = f"tags_{len(values)}"
    values[name] = wanted
    if leaf.match == "exact":
        return f"(f.tags @> %({name})s::text[] AND cardinality(f.tags) = cardinality(%({name})s::text[]))"
    hit = f"f.tags {'&&' if leaf.match.startswith('any') else '@>'} %({name})s::text[]"
    return f"({hit})" if leaf.match.endswith("_strict") else f"({hit} OR cardinality(f.tags) = 0)"

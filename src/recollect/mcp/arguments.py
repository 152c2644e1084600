"""A tool's arguments: one table that is both the schema an agent reads and what checks its call.

Agents often send a list as JSON inside a string, or a number in quotes. What is meant is clear,
so it is taken; what is not clear is refused in words that say what to send instead.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from recollect.errors import InvalidInput

Kind = Literal["text", "texts", "whole", "number", "flag"]

_SCHEMAS: Mapping[Kind, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
}
_WANTED: Mapping[Kind, str] = {
    "text": "a text",
    "texts": 'a list of texts, for example ["a", "b"]',
    "whole": "a whole number",
    "number": "a number",
    "flag": "true or false",
}
# Names that agents try, having seen them elsewhere, and what they are called here.
_CALLED: Mapping[str, tuple[str, ...]] = {
    "limit": ("k",),
    "n": ("k",),
    "top_k": ("k",),
    "kind": ("type",),
    "text": ("content", "body"),
    "memory": ("content",),
    "content": ("body",),
    "memory_id": ("id",),
    "user_id": ("bank",),
    "bank_id": ("bank",),
    "group_id": ("bank",),
    "threshold": ("min_score",),
    "date": ("timestamp", "as_of"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    says: str
    kind: Kind = "text"
    required: bool = False
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    def schema(self) -> dict[str, Any]:
        out: dict[str, Any] = {**_SCHEMAS[self.kind], "description": self.says}
        if self.choices and self.kind == "texts":
            out["items"] = {"type": "string", "enum": list(self.choices)}
        elif self.choices:
            out["enum"] = list(self.choices)
        if self.least is not None:
            out["minimum"] = self.least
        if self.most is not None:
            out["maximum"] = self.most
        return out


Arguments = Mapping[str, Argument]


def schema_of(arguments: Arguments) -> dict[str, Any]:
    required = [name for name, argument in arguments.items() if argument.required]
    return {
        "type": "object",
        "properties": {name: argument.schema() for name, argument in arguments.items()},
        **({"required": required} if required else {}),  # older drafts know no empty list
        "additionalProperties": False,
    }


def checked(tool: str, arguments: Arguments, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, each value as its kind; an argument that is null was not given."""
    for name in given:
        if name not in arguments:
            meant = _meant(name, arguments)
            known = "arguments: " + ", ".join(arguments) if arguments else f"{tool} takes none"
            raise InvalidInput(
                f"{tool} has no argument {name!r}",
                hint=f"did you mean {meant!r}? {known}" if meant else known,
            )
    missing = [n for n, a in arguments.items() if a.required and given.get(n) is None]
    if missing:
        first = arguments[missing[0]]
        raise InvalidInput(
            f"{tool} needs {' and '.join(missing)}", hint=f"{missing[0]} is: {first.says}"
        )
    return {
        name: _value(name, arguments[name], value)
        for name, value in given.items()
        if value is not None
    }


def _meant(name: str, arguments: Arguments) -> str | None:
    """What other memories call it, or what it is spelt like."""
    called = next((ours for ours in _CALLED.get(name, ()) if ours in arguments), None)
    return called or next(iter(difflib.get_close_matches(name, list(arguments), 1, 0.7)), None)


def _value(name: str, argument: Argument, value: Any) -> Any:
    read = _read(argument.kind, value)
    if read is None:
        raise InvalidInput(
            f"{name} is {_short(value)}",
            hint=f"{name} is {_WANTED[argument.kind]}: {argument.says}",
        )
    for one in read if argument.kind == "texts" else [read]:
        if argument.choices and one not in argument.choices:
            near = difflib.get_close_matches(str(one), argument.choices, 1)
            choices = f"{name} is one of " + ", ".join(argument.choices)
            raise InvalidInput(
                f"{name} is {_short(one)}",
                hint=f"did you mean {near[0]!r}? {choices}" if near else choices,
            )
    if argument.least is not None and read < argument.least:
        raise InvalidInput(f"{name} is {read}", hint=f"{name} is {argument.least:g} or more")
    if argument.most is not None and read > argument.most:
        raise InvalidInput(f"{name} is {read}", hint=f"{name} is {argument.most:g} or less")
    return read


def _read(kind: Kind, value: Any) -> Any:
    """The value as its kind; None when it cannot be one."""
    if kind == "text":
        return value if isinstance(value, str) else None
    if kind == "texts":
        return _texts(value)
    if isinstance(value, str):
        value = _parsed(value)
    if kind == "flag":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if kind == "number":
        return value
    return int(value) if value == int(value) else None


def _texts(value: Any) -> list[str] | None:
    if isinstance(value, str):
        inside = _parsed(value)
        value = inside if isinstance(inside, list) else [value]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, list):
        return None
    entries = cast("list[Any]", value)
    return [*entries] if all(isinstance(entry, str) for entry in entries) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "…"

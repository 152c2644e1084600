"""Small edits in JSON that people wrote: comments, order and spacing stay as they are.

Editors' settings are JSON with comments and trailing commas. Reading such a file and writing it
back would throw away half of what its owner put there, so the text is scanned into nodes that
know where they stand, and only the part that changes is rewritten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recollect.errors import InvalidInput

_SKIPPED = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')
Path = Sequence[str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A member of an object, or an item of an array (then without a key)."""

    start: int
    key: str | None
    node: Node


@dataclass(frozen=True, slots=True)
class Node:
    start: int
    end: int
    value: Any
    entries: tuple[Entry, ...] = ()

    def entry(self, key: str) -> Entry | None:
        return next((e for e in self.entries if e.key == key), None)


def parse(text: str) -> Any:
    """The value that the text holds; an empty text is an empty object."""
    return scan(text).value if text.strip("\ufeff \r\n\t") else {}


def scan(text: str) -> Node:
    node = _node(text, _skip(text, 0))
    if _skip(text, node.end) != len(text):
        raise _broken(text, node.end, "something after the end")
    return node


def _node(text: str, at: int) -> Node:
    if text.startswith("{", at) or text.startswith("[", at):
        return _container(text, at, "}" if text[at] == "{" else "]")
    found = _SCALAR.match(text, at)
    if found is None:
        raise _broken(text, at, "a value was expected")
    try:
        return Node(at, found.end(), json.loads(found.group()))
    except ValueError as error:
        raise _broken(text, at, str(error)) from error


def _container(text: str, at: int, closing: str) -> Node:
    entries: list[Entry] = []
    here = _skip(text, at + 1)
    while not text.startswith(closing, here):
        start, key = here, None
        if closing == "}":
            name = _node(text, here)
            here = _skip(text, name.end)
            if not isinstance(name.value, str) or not text.startswith(":", here):
                raise _broken(text, start, 'a "key": was expected')
            key, here = name.value, _skip(text, here + 1)
        node = _node(text, here)
        entries.append(Entry(start, key, node))
        here = _skip(text, node.end)
        if text.startswith(",", here):
            here = _skip(text, here + 1)
        elif not text.startswith(closing, here):
            raise _broken(text, here, f"a comma or {closing} was expected")
    values = [e.node.value for e in entries]
    value = dict(zip((e.key for e in entries), values, strict=True)) if closing == "}" else values
    return Node(at, here + 1, value, tuple(entries))


def _skip(text: str, at: int) -> int:
    found = _SKIPPED.match(text, at)
    return at if found is None else found.end()


def _broken(text: str, at: int, says: str) -> InvalidInput:
    line = text.count("\n", 0, at) + 1
    return InvalidInput(f"line {line} is no JSON: {says}", hint="mend that line first")


# --- edits -----------------------------------------------------------------------------------


def with_member(text: str, path: Path, key: str, value: Any) -> str:
    """The text with `value` under `key` in the object at `path`; what is missing is made."""
    if not text.strip("\ufeff \r\n\t"):
        return json.dumps(_nested([*path, key], value), indent=2, ensure_ascii=False) + "\n"
    node = scan(text)
    for depth, name in enumerate(path):
        held = node.entry(name)
        if held is None:
            return _inserted(text, node, name, _nested([*path[depth + 1 :], key], value))
        node = held.node
    held = node.entry(key)
    if held is None:
        return _inserted(text, node, key, value)
    rendered = _rendered(text, value, _indent_at(text, held.start))
    return text[: held.node.start] + rendered + text[held.node.end :]


def with_item(text: str, path: Path, value: Any) -> str:
    """The text with `value` at the end of the array at `path`."""
    node = _at(scan(text), path) if text.strip("\ufeff \r\n\t") else None
    if node is None:
        return with_member(text, path[:-1], path[-1], [value])
    return _inserted(text, node, None, value)


def without(text: str, path: Path, key: str | int) -> str:
    """The text without a member, or an item, of what is at `path`."""
    node = _at(scan(text), path)
    if node is None:
        return text
    at = next((n for n, e in enumerate(node.entries) if key in (e.key, n)), None)
    return text if at is None else _removed(text, node, at)


def _at(node: Node, path: Path) -> Node | None:
    for name in path:
        held = node.entry(name)
        if held is None:
            return None
        node = held.node
    return node


def _nested(path: Path, value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _inserted(text: str, node: Node, key: str | None, value: Any) -> str:
    """After the last entry and whatever comment follows it."""
    if text[node.start] != ("[" if key is None else "{"):
        raise InvalidInput("it holds something else there", hint="mend it by hand first")
    closing = node.end - 1
    outer = _indent_at(text, node.start)
    indent = _indent_at(text, node.entries[-1].start) if _on_own_lines(text, node) else None
    indent = indent if indent is not None else outer + _unit(text)
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    line = _newline(text) + indent + name + _rendered(text, value, indent)
    held = text[:closing].rstrip()
    comma = ""
    if node.entries:
        last = node.entries[-1].node.end
        if not text.startswith(",", _skip(text, last)):
            comma = ","
        held = text[:last] + comma + held[last:]
    gap = text[len(text[:closing].rstrip()) : closing]
    tail = gap if "\n" in gap else _newline(text) + outer
    return held + line + tail + text[closing:]


def _removed(text: str, node: Node, at: int) -> str:
    """The text without one entry and its comma; comments before and after it stay."""
    entry, last = node.entries[at], len(node.entries) - 1
    before, after = text[: entry.start], text[_past_comma(text, entry.node.end) :]
    if last == 0:
        rest = text[node.end - 1 :]
        said = before[node.start + 1 :].strip() + after[: -len(rest)].strip()
        return before + after if said else text[: node.start + 1] + rest
    if at < last:
        line = before.rstrip(" \t")
        own_line = line.endswith("\n") and after.lstrip(" \t").startswith(("\n", "\r"))
        return line.rstrip("\r\n") + after if own_line else before + after.lstrip(" ")
    # The last one: now the one before it is, and needs no comma.
    end = node.entries[at - 1].node.end
    comma = _skip(text, end)
    said = text[comma + 1 : entry.start].rstrip()
    cut = "//" in said and not after.lstrip(" \t").startswith(("\n", "\r"))
    return text[:comma] + said + (_newline(text) if cut else "") + after


def _past_comma(text: str, at: int) -> int:
    """After the comma that follows, or right here when none does."""
    comma = _skip(text, at)
    return comma + 1 if text.startswith(",", comma) else at


def _rendered(text: str, value: Any, indent: str) -> str:
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return (_newline(text) + indent).join(lines)


def _on_own_lines(text: str, node: Node) -> bool:
    return bool(node.entries) and "\n" in text[node.start : node.entries[-1].start]


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found.group(1) if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"

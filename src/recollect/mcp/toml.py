"""One table in a TOML file, added, replaced or taken out; the rest of the text stays as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.errors import InvalidInput

_HEADER = re.compile(r"^[ \t]*\[\[?[ \t]*([^\]\n]+?)[ \t]*\]\]?[ \t]*(?:#.*)?$", re.MULTILINE)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"it is no TOML: {error}", hint="mend that line first") from error


def with_table(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """The text with this table: in its old place, or at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    name = ".".join(_key(part) for part in path)
    lines = [f"[{name}]", *(f"{_key(k)} = {_value(v)}" for k, v in values.items())]
    block = newline.join(lines) + newline
    spans = _spans(text, path)
    if not spans:
        held = text if not text or text.endswith("\n") else text + newline
        return held + (newline if held.strip() else "") + block
    for start, end in reversed(spans[1:]):  # what was below it is not part of the new one
        text = text[:start] + text[end:]
    start, end = spans[0]
    return text[:start] + block + text[end:]


def without_table(text: str, path: Sequence[str]) -> str:
    """The text without the table and those below it, and without the line that set it apart."""
    for start, end in reversed(_spans(text, path)):
        before = re.sub(r"(\r?\n)\r?\n\Z", r"\1", text[:start])
        text = before + text[end:]
    return text


def _spans(text: str, path: Sequence[str]) -> list[tuple[int, int]]:
    """Where the table and those below it stand. Comments before the next header belong to the
    next table."""
    headers = list(_HEADER.finditer(text))
    out: list[tuple[int, int]] = []
    for at, header in enumerate(headers):
        if _parts(header.group(1))[: len(path)] == list(path):
            end = headers[at + 1].start() if at + 1 < len(headers) else len(text)
            out.append((header.start(), header.start() + _own(text[header.start() : end])))
    return out


def _own(block: str) -> int:
    """The length of a table without the blank lines and comments that follow it."""
    lines = block.splitlines(keepends=True)
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return sum(map(len, lines))


def _parts(name: str) -> list[str]:
    """A dotted key as its parts: TOML itself reads it, as the name of a table."""
    try:
        value: Any = tomllib.loads(f"[{name}]")
    except tomllib.TOMLDecodeError:
        return []
    parts: list[str] = []
    while value:
        (part,) = value
        parts.append(part)
        value = value[part]
    return parts


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    """Texts, flags and lists of texts are written as in JSON."""
    return json.dumps(value, ensure_ascii=False)

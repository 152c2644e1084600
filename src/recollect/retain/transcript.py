"""A talk given as JSON in a text, as programs keep it: messages with who wrote them.

Read as prose it would be cut anywhere, and nobody would have said it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import orjson

__all__ = ["Line", "leaves", "line_of", "transcript"]

Entry = Mapping[str, Any]

_WHO = ("speaker", "role", "name", "author", "sender", "from", "user")
_WORDS = ("text", "content", "message", "body")
_WHEN = ("time", "timestamp", "created_at", "date", "datetime", "date_time", "sent_at")
_OF_LIST = (
    "_date_time"  # what tells when a list was said that lies beside it: "session_1_date_time"
)


@dataclass(frozen=True, slots=True)
class Line:
    speaker: str | None
    text: str
    stamp: str | None
    metadata: Entry  # what else is told of it


def transcript(text: str) -> list[Line] | None:
    """The turns of a talk; None where a text is no JSON, or says something else, too."""
    if text.lstrip()[:1] not in ("[", "{") or text.rstrip()[-1:] not in ("]", "}"):
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if isinstance(value, Mapping):
        return _talks(cast("Entry", value))
    return _lines(value) if _is_talk(value) else None


def _talks(value: Entry) -> list[Line] | None:
    """An object with a talk in it, or the sessions of one."""
    talks = {key: each for key, each in value.items() if _is_talk(each)}
    times = {f"{key}{_OF_LIST}" for key in talks} & value.keys()
    rest = {key: each for key, each in value.items() if key not in talks and key not in times}
    if not talks or any(isinstance(each, Mapping | list) for each in rest.values()):
        return None
    when = _first(rest, _WHEN)
    rest.pop(when or "", None)
    out: list[Line] = []
    for key, talk in talks.items():
        told = value.get(f"{key}{_OF_LIST}", value.get(when or ""))
        stamp = None if told is None else str(told)
        out += [
            replace(line, stamp=line.stamp or stamp, metadata={**rest, **line.metadata})
            for line in _lines(talk)
        ]
    return out


def _is_talk(value: Any) -> bool:
    """Objects that all say something, most of them somebody's."""
    if not isinstance(value, list) or not value:
        return False
    if not all(isinstance(each, Mapping) for each in cast("list[Any]", value)):
        return False
    entries = cast("list[Entry]", value)
    if not all(any(key in each for key in _WORDS) for each in entries):
        return False
    return any(line.text for line in map(line_of, entries)) and 2 * sum(
        _who(each) is not None for each in entries
    ) >= len(entries)


def _lines(entries: Sequence[Entry]) -> list[Line]:
    """Without those in which nothing was said: a call of a tool, a message that was taken back."""
    return [line for line in map(line_of, entries) if line.text]


def line_of(entry: Entry) -> Line:
    who, words, when = _who(entry), _first(entry, _WORDS), _first(entry, _WHEN)
    used = {key for key in (who, words, when) if key}
    return Line(
        speaker=None if who is None else entry[who],
        text="" if words is None else said(entry[words]).strip(),
        stamp=None if when is None else str(entry[when]),
        metadata={k: v for k, v in entry.items() if k not in used and v is not None},
    )


def _who(entry: Entry) -> str | None:
    """The key that tells who, by a name: {"name": "Ann", "role": "user"} is Ann's."""
    named = [key for key in _WHO if isinstance(entry.get(key), str) and entry[key].strip()]
    return "name" if named == ["role", "name"] else next(iter(named), None)


def _first(entry: Entry, keys: Sequence[str]) -> str | None:
    return next((key for key in keys if entry.get(key) not in (None, "")), None)


def said(value: Any) -> str:
    """Words, or parts of which some are a picture or the call of a tool."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        part = cast("Entry", value)
        if isinstance(part.get("text"), str):
            return part["text"]
        kind = str(part.get("type", "")).replace("_", " ")
        told = "; ".join(leaves({k: v for k, v in part.items() if k not in ("type", "id")}))
        return f"[{kind}: {told}]" if kind and told else f"[{kind or told}]" if kind or told else ""
    if isinstance(value, list):
        return "\n".join(part for part in map(said, cast("list[Any]", value)) if part)
    return "" if value is None else str(value)


def leaves(value: Any) -> Iterator[str]:
    """What is said somewhere inside: a poll's question and its answers, a place, an address."""
    if isinstance(value, Mapping):
        value = list(cast("Entry", value).values())
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from leaves(each)
    elif value is not None and not isinstance(value, bool) and value != "":
        yield str(value)

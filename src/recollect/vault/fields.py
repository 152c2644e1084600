"""What a note and a memory have in common: the same fields, read from either side.

Both sides give a flat dict of JSON values without empty ones, so that they can be compared,
hashed and merged field by field. `retired` is "invalidated" or the id of the successor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, cast

import orjson

from recollect.errors import InvalidInput
from recollect.language.dates import parse_when
from recollect.types import Memory, MemoryType, State
from recollect.vault.note import Note, plain

Fields = dict[str, Any]

WORDS = ("title", "summary", "scope", "topic_path", "kind", "type", "context", "speaker")
LISTS = ("tags", "recall_when")
DATES = ("valid_until", "last_reviewed_at", "occurred_start", "occurred_end")
META = "meta."
PATH = "note"  # the key of a memory's metadata that names its file
INVALIDATED = "invalidated"
# Keys of a note that mean something; all others are kept as metadata.
KNOWN = frozenset({
    "id", "title", "type", "kind", "memory_type", "scope", "summary", "tags", "tag", "topic_path", "recall_when",
    "related", "related_via", "valid_until", "last_reviewed_at", "superseded_by", "state", "obsolete", "created",
    "date", "updated", "context", "speaker", "occurred_start", "occurred_end", "conflict_of", PATH,
})  # fmt: skip
_TYPES = frozenset(t.value for t in MemoryType) | {"agent"}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def of_note(note: Note) -> tuple[Fields, list[str]]:
    """The fields, and what could not be read."""
    wrong: list[str] = []
    out: Fields = {"text": note.text or note.word("summary") or note.word("title") or ""}
    for key in ("title", "summary", "scope", "context", "speaker"):
        out[key] = note.word(key)
    out["title"] = out["title"] or note.heading or note.name
    out["topic_path"] = _topic(note)
    out["kind"], out["type"] = _kind_and_type(note)
    tags = [tag.lstrip("#") for tag in (*note.words("tags"), *note.words("tag"))]
    out["tags"] = sorted({t for t in (*tags, *note.inline_tags) if t})
    out["recall_when"] = note.words("recall_when")
    for key in DATES:
        out[key] = _date(note, key, wrong)
    out["retired"] = _retired(note)
    if out["type"] == "opinion":
        out["confidence"] = _unit(note.front.values.get("confidence"))
    for key, value in note.front.values.items():
        if key not in KNOWN and not (key == "confidence" and out["type"] == "opinion"):
            out[META + key] = value
    return _filled(out), wrong


def of_memory(memory: Memory) -> Fields:
    out: Fields = {name: getattr(memory, name) for name in WORDS if name != "type"}
    out["text"] = plain(memory.text)
    out["type"] = memory.type.value
    out["tags"] = sorted(memory.tags)
    out["recall_when"] = list(memory.recall_when)
    out |= {key: _stamp(getattr(memory, key)) for key in ("valid_until", "last_reviewed_at")}
    if memory.occurred_grain is None:  # otherwise it was read from the text
        out["occurred_start"] = _stamp(memory.occurred_start)
        out["occurred_end"] = _last(memory.occurred_start, memory.occurred_end)
    if memory.state is State.INVALIDATED:
        out["retired"] = INVALIDATED
    elif memory.state is State.SUPERSEDED:
        out["retired"] = memory.superseded_by or INVALIDATED
    if memory.type is MemoryType.OPINION:
        out["confidence"] = None if memory.confidence is None else round(memory.confidence, 4)
    own = KNOWN if memory.type is not MemoryType.OPINION else KNOWN | {"confidence"}
    for key, value in memory.metadata.items():
        if key not in own:  # in a note such a key would mean something else
            out[META + key] = value
    return _filled(out)


def metadata_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a note that mean nothing to us, under their own names."""
    return {k.removeprefix(META): v for k, v in fields.items() if k.startswith(META)}


def flat(text: str) -> str:
    """Its words alone: a document's text comes back from the bank with other line breaks."""
    return " ".join(text.split())


def _filled(fields: Mapping[str, Any]) -> Fields:
    return {k: v for k, v in fields.items() if v is not None and v != "" and v != [] and v != ()}


def _topic(note: Note) -> str | None:
    found = note.front.words.get("topic_path")
    if isinstance(found, list):
        return "/".join(str(v) for v in cast("list[Any]", found) if v is not None) or None
    return note.word("topic_path")


def _kind_and_type(note: Note) -> tuple[str | None, str | None]:
    """`type` is the author's class, which we call kind, unless it is one of our own types."""
    given, own = note.word("type"), note.word("memory_type")
    kind = note.word("kind")
    if given in _TYPES:
        own, given = own or given, None
    own = "experience" if own == "agent" else own if own in _TYPES else None
    return kind or given, own


def _date(note: Note, key: str, wrong: list[str]) -> str | None:
    word = note.word(key)
    if word is None:
        return None
    try:
        return _stamp(parse_when(word, key))
    except InvalidInput as error:
        wrong.append(error.message)
        return None


def _stamp(when: datetime | None) -> str | None:
    """To the second, as it is written into notes; a whole day as a date."""
    if when is None:
        return None
    when = when.astimezone(UTC).replace(microsecond=0)
    midnight = (when.hour, when.minute, when.second) == (0, 0, 0)
    return when.date().isoformat() if midnight else when.isoformat().replace("+00:00", "Z")


def _last(start: datetime | None, end: datetime | None) -> str | None:
    """As people write it: "until 5 January" includes that day, and one day needs no end."""
    shown = _stamp(end)
    if end is None or shown is None or "T" in shown:
        return shown
    last = _stamp(end - timedelta(days=1))
    return None if last == _stamp(start) else last


def _retired(note: Note) -> str | None:
    by = note.word("superseded_by")
    if by is not None:
        return by.strip("[]").split("|")[0]
    gone = note.word("state") in (INVALIDATED, "superseded", "obsolete")
    return INVALIDATED if gone or note.front.values.get("obsolete") is True else None


def _unit(value: Any) -> float | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return round(float(value), 4) if fits else None


def told_at(note: Note) -> str | None:
    """When the author says it was written; a daily note says so with its name."""
    for key in ("created", "date", "updated"):
        found = _date(note, key, [])
        if found is not None:
            return found
    day = _DAY.match(note.name)
    try:
        return None if day is None else _stamp(parse_when(day.group()))
    except InvalidInput:
        return None


def changed_at(note: Note) -> str | None:
    return _date(note, "updated", []) or _date(note, "created", [])


def digests(fields: Mapping[str, Any]) -> dict[str, str]:
    return {key: mark(value) for key, value in fields.items()}


def mark(value: Any) -> str:
    raw = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return blake2b(raw, digest_size=8).hexdigest()


# --- towards a note ------------------------------------------------------------------------


def as_frontmatter(note: Note, changed: Mapping[str, Any]) -> dict[str, Any]:
    """Changed fields (None = gone) as the keys that a note keeps them under."""
    out: dict[str, Any] = {}
    for key, value in changed.items():
        if key.startswith(META):
            out[key.removeprefix(META)] = value
        elif key == "retired":
            out |= _retiring(note, value)
        elif key == "tags":
            kept = set(cast("list[str]", value or []))
            out["tags"] = sorted(kept - set(note.inline_tags)) or None
        elif key == "topic_path" and isinstance(note.front.words.get("topic_path"), list):
            out["topic_path"] = None if value is None else str(value).split("/")
        elif key == "kind":
            out["kind" if "kind" in note.front.words else "type"] = value
        elif key == "type":
            taken = note.word("type") not in _TYPES and note.word("type") is not None
            out["memory_type" if taken or "memory_type" in note.front.words else "type"] = value
        elif key != "text":
            out[key] = value
    if "updated" in note.front.words and changed.keys() - {"last_reviewed_at", "retired"}:
        out["updated"] = _stamp(datetime.now(UTC))
    return out


def _retiring(note: Note, value: str | None) -> dict[str, Any]:
    if value is None:
        held = {k: None for k in ("superseded_by", "state") if k in note.front.words}
        return held | ({"obsolete": False} if note.front.values.get("obsolete") is True else {})
    return _retired_by(value)


def _retired_by(value: str) -> dict[str, Any]:
    return {"state": INVALIDATED} if value == INVALIDATED else {"superseded_by": value}


def of_new_note(fields: Fields, memory_id: str, told: datetime | None) -> dict[str, Any]:
    """The frontmatter of a note that is written for a memory, in the order people read it."""
    out: dict[str, Any] = {"id": memory_id, "title": fields.get("title")}
    kind, own = fields.get("kind"), fields.get("type")
    out["type"] = kind or own
    if kind and own and own != MemoryType.WORLD.value:
        out["memory_type"] = own
    for key in ("scope", "summary", "topic_path", "tags", "recall_when", "context", "speaker"):
        out[key] = fields.get(key)
    if out["topic_path"]:
        out["topic_path"] = str(out["topic_path"]).split("/")
    for key in ("confidence", *DATES):
        out[key] = fields.get(key)
    out["created"] = _stamp(told)
    retired = fields.get("retired")
    out |= {} if retired is None else _retired_by(retired)
    out |= metadata_of(fields)
    return {k: v for k, v in out.items() if v is not None}

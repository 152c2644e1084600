"""What callers may hand to retain, checked and brought into one form.

A text, a dict, or a list of them. A dict with `content` is text to be read; one with `text`
is a ready-made fact and stays whole; one with `turns` is a conversation, and so are messages with
`role` and `content`. Whatever cannot be understood is refused before anything is stored.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Any, cast

import orjson

from recollect.errors import InvalidInput
from recollect.language.dates import day_after, is_day, parse_when, zone_of
from recollect.options import ItemFields, names
from recollect.retain.talk import returning
from recollect.retain.transcript import line_of
from recollect.types import MemoryType
from recollect.types.making import maker

UNSET = "unset"
_FIELDS = names(ItemFields)
_RELATION = frozenset({"type", "target", "weight"})
_TURN = {"speaker", "text", "time", "timestamp", "role", "content", "metadata", "tags"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A causal (or authored) link a caller gave: to a memory id, or to another fact of the
    same call by position."""

    kind: str
    target: str | int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement on its way to being a memory; what is None is still to be found out."""

    text: str
    item: int = 0
    position: int | None = None  # in the list of facts it was given in
    id: str | None = None
    type: MemoryType | None = None
    context: str | None = None
    speaker: str | None = None
    said_at: datetime | None = None
    # Of the time the caller named; "yesterday" is a day there. No part of what was said.
    zone: tzinfo | None = field(default=None, repr=False)
    dated: bool = False  # the caller named the time; otherwise it is the time of the call
    occurred_start: datetime | None = None
    occurred_end: datetime | None = None
    occurred_grain: str | None = None
    recurrence: str | None = None
    duration_s: float | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    entities: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    related: tuple[str, ...] = ()
    confidence: float | None = None
    title: str | None = None
    summary: str | None = None
    topic_path: str | None = None
    recall_when: tuple[str, ...] = ()
    kind: str | None = None
    scope: str | None = None
    valid_until: datetime | None = None
    last_reviewed_at: datetime | None = None
    source_ids: tuple[str, ...] = ()
    proof_count: int | None = None
    # When its author last changed it; no part of what was said, so no part of a document's hash.
    updated_at: datetime | None = field(default=None, repr=False)
    previous: str | None = None  # the turn that this one answers
    # Who says it, where the text itself begins with that; read from what was given, so no part of it.
    label: str | None = field(default=None, repr=False)
    chunk: int | None = None  # position of its chunk in the document


_make_fact = maker(Fact)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing given: text to read, or facts that are ready."""

    number: int
    text: str | None
    facts: tuple[Fact, ...]
    shared: Fact  # defaults for every fact of the item: context, tags, time …
    document_id: str | None
    append: bool
    heard: frozenset[str] = frozenset()  # who speaks in what was given with it, a turn each


def items(content: Any, shared: Mapping[str, Any], now: datetime) -> list[Item]:
    """Everything given, checked. `shared` are the keyword arguments of the call."""
    _known_keys(shared, _FIELDS, "retain()")
    given = [_item(number, entry, shared, now) for number, entry in enumerate(entries(content))]
    _distinct_ids(given)
    return _heard(given)


def _heard(given: list[Item]) -> list[Item]:
    """Each with those who speak in texts of the call, where texts are turns."""
    heard = returning(item.text for item in given if item.text is not None)
    return [replace(item, heard=heard) for item in given] if heard else given


def entries(content: Any) -> list[Mapping[str, Any]]:
    """What is given as dicts, one for each thing; a text is one that is to be read."""
    if isinstance(content, str | Mapping):
        content = [content]
    elif not isinstance(content, Iterable) or isinstance(content, bytes | bytearray):
        raise InvalidInput(
            f"cannot retain a {type(content).__name__}",
            hint="give a text, a dict with content, text or turns, or a list of these",
        )
    given = [_entry(number, each) for number, each in enumerate(cast("Iterable[Any]", content))]
    return [{"turns": _messages(given)}] if _are_messages(given) else given


def _are_messages(given: Sequence[Mapping[str, Any]]) -> bool:
    """As programs send them to a language model: no item has a role."""
    return bool(given) and all("role" in entry and "content" in entry for entry in given)


def _messages(given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Those that say something, as turns."""
    told = (
        {"speaker": line.speaker, "text": line.text, "time": line.stamp, "metadata": line.metadata}
        for line in map(line_of, given)
        if line.text
    )
    return [{key: value for key, value in turn.items() if value} for turn in told]


def _entry(number: int, entry: Any) -> Mapping[str, Any]:
    if isinstance(entry, str):
        return {"content": entry}
    if not isinstance(entry, Mapping):
        raise InvalidInput(
            f"item {number} is a {type(entry).__name__}, not a text or a dict",
            hint='for example {"content": "Alice joined Google", "timestamp": "2026-04-01"}',
        )
    return cast("Mapping[str, Any]", entry)


def _distinct_ids(given: Sequence[Item]) -> None:
    seen: set[str] = set()
    for fact in (f for item in given for f in item.facts if f.id is not None):
        if fact.id in seen:
            raise InvalidInput(
                f"item {fact.item}: the id {fact.id!r} is given twice",
                hint="give each memory its own id, or none",
            )
        seen.add(fact.id or "")


def _item(number: int, entry: Mapping[str, Any], shared: Mapping[str, Any], now: datetime) -> Item:
    given: dict[str, Any] = {**shared, **entry}
    where = f"item {number}"
    forms = [form for form in ("content", "text", "turns", "facts") if given.get(form) is not None]
    if len(forms) != 1:
        raise InvalidInput(
            f"{where} has {' and '.join(forms) or 'nothing'} to retain",
            hint="give exactly one of content (text to read), text (a ready-made fact), turns or facts",
        )
    _known_keys(given, _FIELDS | {forms[0]}, where)
    if forms[0] != "text" and given.get("id") is not None:
        raise InvalidInput(
            f"{where}: one id for all that is read from {forms[0]}",
            hint="name it with document_id; an id belongs to one fact given as text",
        )
    base = _fact(number, "", given, now, where)
    mode = given.get("update_mode") or "replace"
    if mode not in ("replace", "append"):
        raise InvalidInput(f"{where}: update_mode {mode!r}", hint="use replace or append")
    return Item(
        number=number,
        text=_text(given["content"], where) if forms[0] == "content" else None,
        facts=_facts(forms[0], given, base, now, where),
        shared=base,
        document_id=_id(given.get("document_id"), "document_id", where),
        append=mode == "append",
    )


def _facts(
    form: str, given: Mapping[str, Any], base: Fact, now: datetime, where: str
) -> tuple[Fact, ...]:
    if form == "content":
        return ()
    if form == "text":
        return (replace(base, text=_text(given["text"], where)),)
    entries = given[form]
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise InvalidInput(f"{where}: {form} is not a list", hint=f"give {form} as a list of dicts")
    if not entries:
        raise InvalidInput(
            f"{where}: {form} is empty", hint="leave it out; to take a document away, forget it"
        )
    make = _turn if form == "turns" else _given_fact
    return tuple(
        replace(make(entry, given, base, now, f"{where}, {form[:-1]} {i}"), position=i)
        for i, entry in enumerate(cast("Sequence[Any]", entries))
    )


def _given_fact(
    entry: Any, given: Mapping[str, Any], base: Fact, now: datetime, where: str
) -> Fact:
    entry = {"text": entry} if isinstance(entry, str) else entry
    if not isinstance(entry, Mapping) or "text" not in entry:
        raise InvalidInput(
            f"{where} has no text", hint='for example {"text": "Alice works at Google"}'
        )
    fact = cast("Mapping[str, Any]", entry)
    _known_keys(fact, _FIELDS | {"text"}, where)
    outer = {k: v for k, v in given.items() if k not in ("facts", "turns")}
    return _fact(base.item, _text(fact["text"], where), {**outer, **fact}, now, where)


def _turn(entry: Any, given: Mapping[str, Any], base: Fact, now: datetime, where: str) -> Fact:
    if not isinstance(entry, Mapping):
        raise InvalidInput(
            f"{where} is not a dict", hint='for example {"speaker": "Alice", "text": "Hi"}'
        )
    turn = cast("Mapping[str, Any]", entry)
    _known_keys(turn, _TURN, where)
    text = _text(turn.get("text", turn.get("content")), where)
    speaker = turn.get("speaker", turn.get("role"))
    outer = {k: v for k, v in given.items() if k not in ("facts", "turns")}
    own = {k: turn[k] for k in ("metadata", "tags") if k in turn}
    when = turn.get("time", turn.get("timestamp", given.get("timestamp")))
    return _fact(
        base.item, text, {**outer, **own, "speaker": speaker, "timestamp": when}, now, where
    )


def _fact(number: int, text: str, given: Mapping[str, Any], now: datetime, where: str) -> Fact:
    stamp = given.get("timestamp")
    said_at = None if stamp == UNSET else parse_when(stamp, f"{where}: timestamp") or now
    start, end = _occurred(given, where)
    dated = stamp is not None and stamp != UNSET
    metadata = _metadata(given.get("metadata"), where)
    return _make_fact(
        text=text,
        item=number,
        id=_id(given.get("id"), "id", where),
        type=_type(given.get("type"), where),
        context=_optional(given.get("context"), "context", where),
        speaker=_optional(given.get("speaker"), "speaker", where) or _speaker_in(metadata),
        said_at=said_at,
        zone=zone_of(stamp) if dated else None,
        dated=dated,
        occurred_start=start,
        occurred_end=end,
        tags=_strings(given.get("tags"), "tags", where),
        metadata=metadata,
        entities=_entity_names(given.get("entities"), where),
        relations=_relations(given.get("causal_relations"), where),
        related=_strings(given.get("related"), "related", where),
        confidence=_unit(given.get("confidence"), "confidence", where),
        title=_optional(given.get("title"), "title", where),
        summary=_optional(given.get("summary"), "summary", where),
        topic_path=_optional(given.get("topic_path"), "topic_path", where),
        recall_when=_strings(given.get("recall_when"), "recall_when", where),
        kind=_optional(given.get("kind"), "kind", where),
        scope=_optional(given.get("scope"), "scope", where),
        valid_until=parse_when(given.get("valid_until"), f"{where}: valid_until"),
        last_reviewed_at=parse_when(given.get("last_reviewed_at"), f"{where}: last_reviewed_at"),
        source_ids=_strings(given.get("source_ids"), "source_ids", where),
        proof_count=_count(given.get("proof_count"), "proof_count", where),
        updated_at=parse_when(given.get("updated_at"), f"{where}: updated_at"),
    )


def _occurred(given: Mapping[str, Any], where: str) -> tuple[datetime | None, datetime | None]:
    start = parse_when(given.get("occurred_start"), f"{where}: occurred_start")
    end = parse_when(given.get("occurred_end"), f"{where}: occurred_end")
    if end is not None and is_day(given.get("occurred_end")):
        end = day_after(end)  # "until 30 June" includes 30 June
    elif start is not None and end is None and is_day(given.get("occurred_start")):
        end = day_after(start)
    if start is not None and end is not None and end < start:
        raise InvalidInput(f"{where}: occurred_end is before occurred_start", hint="swap them")
    return start, end


# --- single fields -------------------------------------------------------------------------


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{where}: the text is a {type(value).__name__}", hint="give a string")
    text = value.replace("\x00", "")
    if not text.strip():
        raise InvalidInput(f"{where} is empty", hint="leave it out, or give some text")
    return _writable(text, "the text", where)


def _writable(value: str, name: str, where: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{where}: {name} holds half a character at {error.start}",
            hint="it was cut or decoded wrongly; decode it with errors='replace'",
        ) from error
    return value


def _optional(value: Any, name: str, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return _writable(value, name, where) if value else None
    raise InvalidInput(
        f"{where}: {name} is a {type(value).__name__}", hint=f"give {name} as a string"
    )


def _id(value: Any, name: str, where: str) -> str | None:
    """By which it can be asked for, and forgotten: no verb takes one with a NUL in it."""
    if isinstance(value, str) and "\x00" in value:
        raise InvalidInput(f"{where}: {name} holds a NUL character", hint="leave it out")
    return _optional(value, name, where)


def _strings(value: Any, name: str, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(
            f"{where}: {name} is not a list", hint=f"give {name} as a list of strings"
        )
    out = list(cast("Iterable[Any]", value))
    if not all(isinstance(v, str) and v for v in out):
        raise InvalidInput(
            f"{where}: {name} holds something other than text",
            hint="give strings, none of them empty",
        )
    return tuple(dict.fromkeys(_writable(v, name, where) for v in out))


def _metadata(value: Any, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"{where}: metadata is not a dict", hint='for example {"source": "slack"}'
        )
    given = dict(cast("Mapping[str, Any]", value))
    try:
        written = orjson.dumps(given)
        if b"null" in written and not _finite(given):  # orjson would make nothing of it, silently
            raise TypeError("a number is infinite, or none")
        return orjson.loads(written)
    except TypeError as error:
        raise InvalidInput(
            f"{where}: metadata cannot be written as JSON: {error}",
            hint="use text, numbers, booleans, lists and dicts with text as keys",
        ) from error


def _speaker_in(metadata: Mapping[str, Any]) -> str | None:
    """Who speaks, where a client has no other place to say it: Hindsight's items have none."""
    speaker = metadata.get("speaker")
    return speaker if isinstance(speaker, str) and speaker.strip() else None


def _finite(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_finite, cast("Mapping[str, Any]", value).values()))
    if isinstance(value, list | tuple):
        return all(map(_finite, cast("Sequence[Any]", value)))
    return not isinstance(value, float) or math.isfinite(value)


def _entity_names(value: Any, where: str) -> tuple[str, ...]:
    """Names, or dicts with a text or name (the form Hindsight's clients send)."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        entries = cast("Sequence[Any]", value)
        value = [
            cast("Mapping[str, Any]", e).get("text") or cast("Mapping[str, Any]", e).get("name")
            if isinstance(e, Mapping)
            else e
            for e in entries
        ]
    return _strings(value, "entities", where)


def _type(value: Any, where: str) -> MemoryType | None:
    if value is None:
        return None
    if value == "agent":
        return MemoryType.EXPERIENCE
    try:
        return MemoryType(value)
    except ValueError as error:
        raise InvalidInput(
            f"{where}: unknown type {value!r}", hint="use world, experience, observation or opinion"
        ) from error


def _unit(value: Any, name: str, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{where}: {name} {value!r}", hint=f"{name} is a number from 0 to 1")
    return float(value)


def _count(value: Any, name: str, where: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**31:
        raise InvalidInput(f"{where}: {name} {value!r}", hint=f"{name} is a whole number from 1 on")
    return value


def _relations(value: Any, where: str) -> tuple[Relation, ...]:
    out: list[Relation] = []
    if value is not None and (isinstance(value, str) or not isinstance(value, Sequence)):
        raise InvalidInput(
            f"{where}: causal_relations is not a list",
            hint='for example [{"type": "caused_by", "target": 0, "weight": 0.9}]',
        )
    for entry in cast("Sequence[Any]", value or ()):
        if not isinstance(entry, Mapping) or "target" not in entry:
            raise InvalidInput(
                f"{where}: a causal relation needs a target",
                hint='for example {"type": "caused_by", "target": 0, "weight": 0.9}',
            )
        given = cast("Mapping[str, Any]", entry)
        _known_keys(given, _RELATION, f"{where}: causal relation")
        target = given["target"]
        if not isinstance(target, str | int) or isinstance(target, bool):
            raise InvalidInput(
                f"{where}: causal relation to {target!r}",
                hint="target is a memory id, or the position of a fact in the same list",
            )
        kind = given.get("type", "causes")
        if kind not in ("causes", "caused_by", "enables", "prevents"):
            raise InvalidInput(
                f"{where}: causal relation {kind!r}",
                hint="use causes, caused_by, enables or prevents",
            )
        weight = _unit(given.get("weight", 1.0), "weight", where)
        out.append(Relation(kind=kind, target=target, weight=1.0 if weight is None else weight))
    return tuple(out)


def _known_keys(given: Mapping[str, Any], known: AbstractSet[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise InvalidInput(f"{where}: unknown field {key!r}", hint=_meant(str(key), known))


def _meant(key: str, known: AbstractSet[str]) -> str:
    if key == "role":  # messages as they are given to services that chat
        return 'a conversation is one item: {"turns": [{"role": …, "content": …}, …]}'
    near = difflib.get_close_matches(key, known, 1)
    return f"did you mean {near[0]!r}?" if near else "known fields: " + ", ".join(sorted(known))

"""What the lines of an export must hold. A line that was damaged or made by hand must not get
into a store, where reading it would fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from math import isfinite
from typing import Any, cast

from recollect.storage.index.record import KEY_BITS
from recollect.types import LinkKind, Memory, MemoryType, State

Check = Callable[[Any], bool]
_KEYS = 1 << KEY_BITS  # keys of memories and entities are below
_LONG = 1 << 63
_SMALL = 1 << 31


def _whole(least: int, most: int) -> Check:
    return lambda value: type(value) is int and least <= value < most


def _text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value  # PostgreSQL's texts hold no NUL


def _number(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _listed(check: Check) -> Check:
    return lambda value: (
        isinstance(value, list | tuple) and all(map(check, cast("list[Any]", value)))
    )


def _object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


_key, _long, _count = _whole(0, _KEYS), _whole(-_LONG, _LONG), _whole(0, _SMALL)
_texts, _keys = _listed(_text), _listed(_key)
_ANNOTATED: Mapping[str, Check] = {
    "str": _text,
    "str | None": _optional(_text),
    "tuple[str, ...]": _texts,
    "datetime | None": _optional(_text),  # whoever reads it sees whether it is one
    "Mapping[str, Any]": _object,
    "float | None": _optional(_number),
    "bool": _flag,
    "int": _count,
    "MemoryType": lambda value: value in tuple(MemoryType),
    "State": lambda value: value in tuple(State),
}
_CHUNK: Mapping[str, Check] = {
    "id": _text,
    "document_id": _text,
    "position": _count,
    "text": _text,
}
REQUIRED: Mapping[str, Mapping[str, Check]] = {
    "document": {
        "id": _text,
        "hash": _text,
        "context": _optional(_text),
        "tags": _texts,
        "metadata": _object,
        "chunks": _listed(lambda value: _object(value) and not _wrong(_CHUNK, value)),
    },
    "entity": {"id": _key, "name": _text, "kind": _text, "aliases": _texts, "mentions": _count},
    "memory": {
        "id": _text,
        "text": _text,
        "type": _ANNOTATED["MemoryType"],
        "state": _ANNOTATED["State"],
        "created_at": _text,
        "updated_at": _text,
        "key": _key,
        "statement": _long,
        "slot": _long,
        "known_from": _long,
        "known_until": _optional(_long),
        "before": _key,
        "entity_ids": _keys,
        "source_keys": _keys,
    },
    "link": {
        "source": _key,
        "target": _key,
        "kind": lambda value: value in tuple(LinkKind),
        "weight": _number,
    },
    "evidence": {
        "key": _key,
        "at": _optional(_long),
        "document_id": _optional(_text),
        "chunk_id": _optional(_text),
        "text": _text,
    },
}
OPTIONAL: Mapping[str, Mapping[str, Check]] = {
    "document": {"created_at": _optional(_long), "updated_at": _optional(_long)},
    "memory": {
        **{f.name: _ANNOTATED[str(f.type)] for f in fields(Memory)},
        "vector": _text,
        "token_vectors": _text,
    },
}


def wrong_field(kind: str, given: Any) -> str | None:
    """The first field that is missing or holds what it cannot; "" when it is no object at all."""
    if not isinstance(given, Mapping):
        return ""
    found = cast("Mapping[str, Any]", given)
    missing = _wrong(REQUIRED[kind], found)
    if missing is not None:
        return missing
    known = OPTIONAL.get(kind, {})
    return _wrong({name: known[name] for name in known if name in found}, found)


def _wrong(checks: Mapping[str, Check], given: Mapping[str, Any]) -> str | None:
    return next((n for n, check in checks.items() if n not in given or not check(given[n])), None)

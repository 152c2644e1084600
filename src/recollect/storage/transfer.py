"""A bank as JSON objects and back, exactly: text, times, vectors, links, history.

One object a line. The first names the format, the last counts the others, so that a stream that
was cut short is not taken for a whole one. What they say is the `Store` protocol's own values and
nothing of any engine.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, cast

import numpy as np
import orjson
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.models.late import code_bytes
from recollect.options import Progress
from recollect.storage.arrival import begin, parts
from recollect.storage.base import (
    Batch,
    Dump,
    Floats,
    KeyLink,
    ModelIdentity,
    NewDocument,
    NewEvidence,
    NewMemory,
    Store,
)
from recollect.storage.shapes import wrong_field
from recollect.types import Chunk, Entity, LinkKind, Memory, MemoryType, State

FORMAT = 3
UNCODED = 2  # its token vectors have eight bits a dimension, not four
UNCOUNTED = 1  # nor does it say where it ends
KINDS = ("document", "entity", "memory", "link", "evidence")
Row = tuple[str, Any]  # its kind, and the value that a `Batch` takes
_TIMES = {f.name for f in fields(Memory) if "datetime" in str(f.type)}


def rows(dump: Dump) -> Iterator[Row]:
    """Everything in a bank, in the order in which it can be written again."""
    streams = (dump.documents, dump.entities, dump.memories, dump.links, dump.evidence)
    for kind, values in zip(KINDS, streams, strict=True):
        yield from ((kind, value) for value in values)


def line(kind: str, value: Any) -> dict[str, Any]:
    """A row as JSON values."""
    if kind == "document":
        return {**asdict(value), "hash": value.hash.hex()}
    return _memory_out(value) if kind == "memory" else asdict(value)


def batch_of(part: Sequence[Row]) -> Batch:
    found: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for kind, value in part:
        found[kind].append(value)
    return Batch(
        documents=found["document"],
        entities=found["entity"],
        memories=found["memory"],
        links=found["link"],
        mentions=found["evidence"],
    )


def export(store: Store, bank: str) -> Iterator[dict[str, Any]]:
    """The bank as objects, one a line: the head, every row, and how many there were of each kind."""
    dump = store.dump(bank)
    yield head(bank, dump)
    count = Counter[str]()
    for kind, value in rows(dump):
        count[kind] += 1
        yield {kind: line(kind, value)}
    yield {"end": {kind: count[kind] for kind in KINDS}}


def head(bank: str, dump: Dump) -> dict[str, Any]:
    name, dimensions, token_dimensions = dump.model
    return {
        "recollect": FORMAT,
        "bank": bank,
        "embedder": name,
        "dimensions": dimensions,
        "token_dimensions": token_dimensions,
        "config": dict(dump.config),
    }


def model_in(head: Mapping[str, Any]) -> ModelIdentity:
    """The model named in a checked head. Token vectors of earlier formats are not read."""
    kept = head["token_dimensions"] if head["recollect"] >= FORMAT else 0
    return head["embedder"], head["dimensions"], kept


def objects(lines: Iterable[bytes], where: str) -> Iterator[Mapping[str, Any]]:
    """An export as it was written, line by line: it may be larger than memory."""
    for number, said in enumerate(lines, 1):
        said = said.removeprefix(BOM_UTF8) if number == 1 else said  # as some editors write it
        if not said.strip():
            continue
        try:
            found = orjson.loads(said)
        except orjson.JSONDecodeError as error:
            raise InvalidInput(
                f"{where}, line {number} is not JSON: {error}",
                hint="was the export cut short? make it again",
            ) from error
        if not isinstance(found, dict):
            raise InvalidInput(
                f"{where}, line {number} is not an object", hint="is this an export?"
            )
        yield cast("dict[str, Any]", found)


def import_bank(
    store: Store,
    lines: Iterable[Mapping[str, Any]],
    bank: str | None,
    progress: Progress | None = None,
) -> str:
    """Nobody sees the bank before the last line is in it: a process that dies leaves nothing but
    what the next import of that bank takes away."""
    stream = iter(lines)
    head = checked_head(next(stream, None))
    name = bank or str(head["bank"])
    held = store.bank(name)
    if held is not None and held.memories:
        raise InvalidInput(
            f"bank {name!r} exists and is not empty",
            hint="import under another name, or delete it first",
        )
    if held is not None:  # empty, but perhaps of another model and with a history of its own
        store.delete_bank(name)
    arrival = begin(store, name, head.get("config") or {}, model_in(head))
    try:
        done = Counter[str]()
        for part in parts(
            _rows(stream, name, model_in(head), counted=head["recollect"] != UNCOUNTED)
        ):
            done.update(kind for kind, _ in part)
            arrival.bring(batch_of(part), done)
            if progress:
                progress(done.total(), 0)
        arrival.finish()
    except BaseException:
        arrival.abandon()  # a half is not a whole
        raise
    return name


def checked_head(head: Any) -> Mapping[str, Any]:
    hint = (
        "make it with `recollect export BANK`; to retain JSONL items use `recollect retain --file`"
    )
    named = {"bank", "embedder", "dimensions", "token_dimensions"}
    if not isinstance(head, Mapping) or "recollect" not in head:
        raise InvalidInput("this is not an exported bank", hint=hint)
    found = cast("Mapping[str, Any]", head)
    if found["recollect"] not in (FORMAT, UNCODED, UNCOUNTED):
        raise InvalidInput(
            f"this export has format {found['recollect']}, this recollect reads {FORMAT}", hint=hint
        )
    if not (
        named <= set(found)
        and isinstance(found["bank"], str)
        and isinstance(found["embedder"], str)
        and all(type(found[n]) is int for n in ("dimensions", "token_dimensions"))
        and isinstance(found.get("config") or {}, Mapping)
    ):
        raise InvalidInput("the first line of the export is not whole", hint="export it again")
    return found


def _rows(
    stream: Iterator[Mapping[str, Any]], bank: str, model: ModelIdentity, *, counted: bool
) -> Iterator[Row]:
    count = Counter[str]()
    for found in stream:
        if "end" in found:
            _check_end(found["end"], count)
            return
        row = row_of(found, bank, model)
        count[row[0]] += 1
        yield row
    if counted:
        raise InvalidInput(
            f"the export ends after {count.total()} lines, before its last one",
            hint="it was cut short; export the bank again",
        )


def _check_end(said: Any, count: Mapping[str, int]) -> None:
    if said != {kind: count.get(kind, 0) for kind in KINDS}:
        raise InvalidInput(
            f"the export says that it holds {said}, but it holds {dict(count)}",
            hint="some of it is missing; export the bank again",
        )


def row_of(found: Mapping[str, Any], bank: str, model: ModelIdentity) -> Row:
    """A line as the value it was written from."""
    kind = next((k for k in KINDS if k in found), None)
    if kind is None:
        raise InvalidInput(
            f"a line of the export is of no known kind: {sorted(found)[:3]}",
            hint="export it again",
        )
    wrong = wrong_field(kind, found[kind])
    try:
        if wrong is not None:
            raise ValueError(f"its {wrong} cannot be used" if wrong else "it is no object")
        return kind, _value(kind, found[kind], bank, model)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"a line of the export ({kind}) is not whole: {error}",
            hint="it was damaged or changed; export the bank again",
        ) from error


def _value(kind: str, given: Mapping[str, Any], bank: str, model: ModelIdentity) -> Any:
    match kind:
        case "document":
            return _document_in(given)
        case "entity":
            names = tuple(given["aliases"])
            return Entity(given["id"], given["name"], given["kind"], names, given["mentions"])
        case "memory":
            return _memory_in(given, bank, model)
        case "link":
            return KeyLink(
                given["source"], given["target"], LinkKind(given["kind"]), given["weight"]
            )
        case _:
            return NewEvidence(**given)


def _document_in(given: Mapping[str, Any]) -> NewDocument:
    return NewDocument(
        given["id"],
        bytes.fromhex(given["hash"]),
        given["context"],
        tuple(given["tags"]),
        given["metadata"],
        tuple(Chunk(**c) for c in given["chunks"]),
        given.get("created_at"),
        given.get("updated_at"),
    )


def _memory_out(new: NewMemory) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for f in fields(Memory):
        value = getattr(new.memory, f.name)
        if (
            f.name in ("bank", "entities")
            or value is None
            or value == ()
            or value == {}
            or value is False
        ):
            continue
        out[f.name] = value.isoformat() if isinstance(value, datetime) else value
    out |= {
        n: getattr(new, n)
        for n in ("key", "statement", "slot", "known_from", "known_until", "before")
    }
    out["entity_ids"], out["source_keys"] = list(new.entity_ids), list(new.sources)
    if new.vector is not None:
        out["vector"] = b64encode(new.vector.astype("<f2").tobytes()).decode()
    if new.tokens is not None:
        out["token_vectors"] = b64encode(new.tokens.tobytes()).decode()
    return out


def _memory_in(given: Mapping[str, Any], bank: str, model: ModelIdentity) -> NewMemory:
    names = {f.name for f in fields(Memory)} & set(given)
    values: dict[str, Any] = {n: given[n] for n in names}
    values |= {n: _moment(n, values[n]) for n in _TIMES & set(values)}
    values |= {n: tuple(values[n]) for n in ("tags", "recall_when", "source_ids") if n in values}
    values |= {"bank": bank, "type": MemoryType(given["type"]), "state": State(given["state"])}
    vector, tokens = _vectors(given, model)
    return NewMemory(
        given["key"],
        Memory(**values),
        vector,
        tokens,
        tuple(given["entity_ids"]),
        given["statement"],
        given["slot"],
        given["known_from"],
        given["known_until"],
        tuple(given["source_keys"]),
        given["before"],
    )


def _moment(name: str, told: str | None) -> datetime | None:
    found = None if told is None else datetime.fromisoformat(told)
    if found is not None and found.tzinfo is None:
        raise ValueError(f"its {name} names no time zone")
    return found


def _vectors(
    given: Mapping[str, Any], model: ModelIdentity
) -> tuple[Floats | None, NDArray[np.uint8] | None]:
    """Refused unless they have the size that the bank's model makes."""
    _, dimensions, token_dimensions = model
    vector = tokens = None
    if "vector" in given:
        vector = np.frombuffer(b64decode(given["vector"]), "<f2").astype(np.float32)
        if len(vector) != dimensions:
            raise ValueError(f"its vector has {len(vector)} dimensions, the bank's {dimensions}")
    if token_dimensions and "token_vectors" in given:
        tokens = np.frombuffer(b64decode(given["token_vectors"]), np.uint8)
        if len(tokens) % code_bytes(token_dimensions):
            raise ValueError("its token_vectors are not those of the bank's model")
    return vector, tokens

"""A bank as JSON objects and back, exactly: text, times, vectors, links, history.

One object a line, the first names the format. The same stream carries a bank from one store
to another, so what it says is the `Store` protocol's own values and nothing of any engine.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, cast

import numpy as np

from recollect.errors import InvalidInput
from recollect.storage.base import (
    Batch,
    KeyLink,
    NewDocument,
    NewEvidence,
    NewMemory,
    Store,
)
from recollect.types import Chunk, Entity, LinkKind, Memory, MemoryType, State

FORMAT = 1
GROUP = 500
_TIMES = {f.name for f in fields(Memory) if "datetime" in str(f.type)}


def export(store: Store, bank: str) -> Iterator[dict[str, Any]]:
    dump = store.dump(bank)
    name, dimensions, token_dimensions = dump.model
    yield {
        "recollect": FORMAT,
        "bank": bank,
        "embedder": name,
        "dimensions": dimensions,
        "token_dimensions": token_dimensions,
        "config": dict(dump.config),
    }
    for document in dump.documents:
        yield {"document": {**asdict(document), "hash": document.hash.hex()}}
    for entity in dump.entities:
        yield {"entity": asdict(entity)}
    for new in dump.memories:
        yield {"memory": _memory_out(new)}
    for link in dump.links:
        yield {"link": asdict(link)}
    for mention in dump.evidence:
        yield {"evidence": asdict(mention)}


def import_bank(
    store: Store, lines: Iterable[Mapping[str, Any]], bank: str | None, progress: Any = None
) -> str:
    stream = iter(lines)
    head = _head(next(stream, None))
    name = bank or str(head["bank"])
    held = store.bank(name)
    if held is not None and held.memories:
        raise InvalidInput(
            f"bank {name!r} exists and is not empty",
            hint="import under another name, or delete it first",
        )
    if held is not None:  # empty, but perhaps of another model and with a history of its own
        store.delete_bank(name)
    model = (str(head["embedder"]), int(head["dimensions"]), int(head["token_dimensions"]))
    store.create_bank(name, head.get("config") or {}, model)
    try:
        done = 0
        for group in _grouped(stream):
            batch = _batch(group, name)
            store.commit(name, lambda _, b=batch: b)
            done += len(group)
            if progress:
                progress(done, 0)
    except BaseException:
        store.delete_bank(name)  # a half is not a whole
        raise
    return name


def _head(head: Any) -> Mapping[str, Any]:
    hint = (
        "make it with `recollect export BANK`; to retain JSONL items use `recollect retain --file`"
    )
    named = {"bank", "embedder", "dimensions", "token_dimensions"}
    if not isinstance(head, Mapping) or "recollect" not in head:
        raise InvalidInput("this is not an exported bank", hint=hint)
    found = cast("Mapping[str, Any]", head)
    if found["recollect"] != FORMAT:
        raise InvalidInput(
            f"this export has format {found['recollect']}, this recollect reads {FORMAT}", hint=hint
        )
    if not named <= set(found):
        raise InvalidInput("the first line of the export is not whole", hint="export it again")
    return found


def _grouped(stream: Iterator[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    group: list[Mapping[str, Any]] = []
    for line in stream:
        group.append(line)
        if len(group) == GROUP:
            yield group
            group = []
    if group:
        yield group


def _batch(group: list[Mapping[str, Any]], bank: str) -> Batch:
    try:
        return _read(group, bank)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"a line of the export is not whole: {error!r}", hint="export it again"
        ) from error


def _read(group: list[Mapping[str, Any]], bank: str) -> Batch:
    found: dict[str, list[Any]] = {
        "document": [],
        "entity": [],
        "memory": [],
        "link": [],
        "evidence": [],
    }
    for line in group:
        kind = next((k for k in found if k in line), None)
        if kind is None:
            raise InvalidInput(
                f"a line of the export is of no known kind: {sorted(line)[:3]}",
                hint="export it again",
            )
        found[kind].append(line[kind])
    return Batch(
        documents=[_document_in(d) for d in found["document"]],
        entities=[
            Entity(e["id"], e["name"], e["kind"], tuple(e["aliases"]), e["mentions"])
            for e in found["entity"]
        ],
        memories=[_memory_in(m, bank) for m in found["memory"]],
        links=[
            KeyLink(k["source"], k["target"], LinkKind(k["kind"]), k["weight"])
            for k in found["link"]
        ],
        mentions=[NewEvidence(**e) for e in found["evidence"]],
    )


def _document_in(given: Mapping[str, Any]) -> NewDocument:
    return NewDocument(
        given["id"],
        bytes.fromhex(given["hash"]),
        given["context"],
        tuple(given["tags"]),
        given["metadata"],
        tuple(Chunk(**c) for c in given["chunks"]),
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


def _memory_in(given: Mapping[str, Any], bank: str) -> NewMemory:
    names = {f.name for f in fields(Memory)} & set(given)
    values: dict[str, Any] = {n: given[n] for n in names}
    values |= {n: datetime.fromisoformat(values[n]) for n in _TIMES & set(values)}
    values |= {n: tuple(values[n]) for n in ("tags", "recall_when", "source_ids") if n in values}
    values |= {"bank": bank, "type": MemoryType(given["type"]), "state": State(given["state"])}
    vector = (
        None
        if "vector" not in given
        else np.frombuffer(b64decode(given["vector"]), "<f2").astype(np.float32)
    )
    tokens = (
        None
        if "token_vectors" not in given
        else np.frombuffer(b64decode(given["token_vectors"]), np.int8)
    )
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

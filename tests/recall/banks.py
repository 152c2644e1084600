"""Small indexes and banks made without a model, for properties over many examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect import Memory, Recollect
from recollect.storage.base import NewMemory, View
from recollect.storage.index.bank import Index
from recollect.storage.index.record import features_row
from recollect.storage.index.snapshot import Snapshot


def snapshot(memories: Sequence[Memory], vectors: NDArray[np.float32] | None = None) -> Snapshot:
    """The index of a bank that holds exactly these, keys from 1."""
    dimensions = 4 if vectors is None else vectors.shape[1]
    index = Index(dimensions, 0)
    rows: list[Any] = []
    for number, memory in enumerate(memories, 1):
        vector = None if vectors is None else vectors[number - 1]
        new = NewMemory(number, memory, vector, None, (), 0, 0, 0)
        n, _, seq, *features = features_row(1, number, 1, new)
        rows.append((n, seq, *features))
    index.catch_up(1, [rows], [])
    return index.snapshot()


def plain(text: str, **given: Any) -> Memory:
    return Memory(id=text[:20], bank="b", text=text, **given)


def view_of(memory: Recollect, bank: str) -> View:
    return memory._store.view(bank)  # pyright: ignore[reportPrivateUsage]


def ids_of(view: View, keys: Iterable[int]) -> list[str]:
    return [found.id for found in view.load(int(k) for k in keys).values()]


def key_of(view: View, memory_id: str) -> int:
    key = view.key_of(memory_id)
    assert key is not None
    return key


def only(lines: Iterable[Mapping[str, Any]], keys: set[int]) -> list[Mapping[str, Any]]:
    """An export with nothing in it but the memories named, and the links among them."""
    kept = [line for line in lines if "end" not in line and _about(line, keys)]
    kinds = ("document", "entity", "memory", "link", "evidence")
    return [*kept, {"end": {k: sum(k in line for line in kept) for k in kinds}}]


def _about(line: Mapping[str, Any], keys: set[int]) -> bool:
    if "memory" in line:
        return line["memory"]["key"] in keys
    if "link" in line:
        return line["link"]["source"] in keys and line["link"]["target"] in keys
    if "evidence" in line:
        return line["evidence"]["key"] in keys
    return True

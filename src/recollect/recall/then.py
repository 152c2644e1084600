"""The bank as it was known at an earlier time, where a row tells of today: what was closed later
was still open, and what was told again later had not been."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from recollect.language.dates import from_micros
from recollect.storage.base import NO_TIME, Columns, Mentions, View
from recollect.storage.moments import happened, recent
from recollect.types import Memory, State

_ACTIVE = np.uint8(tuple(State).index(State.ACTIVE))


def columns_then(view: View, columns: Columns, as_of: int | None) -> Columns:
    if as_of is None:
        return columns
    still = (columns.known_until == NO_TIME) | (columns.known_until > as_of)
    columns = replace(columns, state=np.where(still, _ACTIVE, columns.state))
    told = view.mentions(columns.keys, as_of)
    return _untold(columns, _memories(view.load(told), told)) if told else columns


def load_then(view: View, keys: Collection[int], as_of: int | None) -> Mapping[int, Memory]:
    """Memories as they were known then."""
    if as_of is None:
        return view.load(keys)
    columns = columns_then(view, view.columns(np.array(sorted(keys), np.int64)), as_of)
    return memories_then(view, view.load(keys), columns, as_of)


def memories_then(
    view: View, loaded: Mapping[int, Memory], columns: Columns, as_of: int | None
) -> Mapping[int, Memory]:
    """Without the marks of what came later; `columns` are those of then."""
    if as_of is None:
        return loaded
    told = view.mentions(np.array(list(loaded), np.int64), as_of)
    active = dict(zip(columns.keys.tolist(), (columns.state == _ACTIVE).tolist(), strict=True))
    return {
        key: replace(memory, state=State.ACTIVE, superseded_by=None)
        if active[key] and memory.state is not State.ACTIVE
        else memory
        for key, memory in {**loaded, **_memories(loaded, told)}.items()
    }


def _memories(loaded: Mapping[int, Memory], told: Mapping[int, Mentions]) -> Mapping[int, Memory]:
    out: dict[int, Memory] = {}
    for key, mentions in told.items():
        if key not in loaded:
            continue
        memory = loaded[key]
        last = None if mentions.last is None else from_micros(mentions.last)
        times = [t for t in (memory.mentioned_at, last) if t is not None]
        out[key] = replace(
            memory,
            proof_count=max(1, memory.proof_count - mentions.later),
            last_mentioned_at=max(times, default=None),
        )
    return out


def _untold(columns: Columns, memories: Mapping[int, Memory]) -> Columns:
    names = ("happened_from", "happened_until", "recent", "proof")
    changed = {name: getattr(columns, name).copy() for name in names}
    for row, key in enumerate(columns.keys.tolist()):
        if key in memories:
            start, end = happened(memories[key])
            found = (start, end, recent(memories[key], end), memories[key].proof_count)
            for name, value in zip(names, found, strict=True):
                changed[name][row] = value
    return replace(columns, **changed)

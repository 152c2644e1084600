"""The bank as it was known at an earlier time, where a row tells of today: what was closed later
was still open, and what was told again later had not been."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recollect.language.dates import from_micros
from recollect.storage.base import NO_TIME, Columns, Mentions, View
from recollect.storage.moments import happened, recent
from recollect.types import Memory, State

_STATES = tuple(State)
_ACTIVE, _SUPERSEDED, _REVISED = (
    np.uint8(_STATES.index(s)) for s in (State.ACTIVE, State.SUPERSEDED, State.REVISED)
)


def columns_then(view: View, columns: Columns, as_of: int | None) -> Columns:
    if as_of is None:
        return columns
    still = (columns.known_until == NO_TIME) | (columns.known_until > as_of)
    replaced = _replaced(view, columns, still)
    columns = replace(
        columns,
        state=np.where(replaced, _SUPERSEDED, np.where(still, _ACTIVE, columns.state)),
        known_until=np.where(replaced, columns.known_from, columns.known_until),
    )
    told = view.mentions(columns.keys, as_of)
    return _untold(columns, _memories(view.load(told), told)) if told else columns


def _replaced(view: View, columns: Columns, still: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Versions that were replaced for as long as they stood: they say by what."""
    out = np.zeros(len(columns.keys), np.bool_)
    rows = np.flatnonzero(still & (columns.state == _REVISED))
    if not len(rows):
        return out
    held = view.load(columns.keys[rows].tolist())
    for row in rows.tolist():
        memory = held.get(int(columns.keys[row]))
        out[row] = memory is not None and memory.superseded_by is not None
    return out


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
    states: dict[int, int] = dict(zip(columns.keys.tolist(), columns.state.tolist(), strict=True))
    return {
        key: _in_state(memory, _STATES[states[key]])
        for key, memory in {**loaded, **_memories(loaded, told)}.items()
    }


def _in_state(memory: Memory, state: State) -> Memory:
    if memory.state is state:
        return memory
    by = memory.superseded_by if state is State.SUPERSEDED else None
    return replace(memory, state=state, superseded_by=by)


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

"""Which memories are due for a review: found with the same factor that ranking gives them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from recollect.language.dates import to_micros
from recollect.lifecycle import Age, Freshness, age
from recollect.recall.boost import lifecycle
from recollect.storage.base import Filter, View
from recollect.types import Memory, State

DUE = (Freshness.AGING, Freshness.STALE, Freshness.EXPIRED)
_ACTIVE = tuple(State).index(State.ACTIVE)


@dataclass(frozen=True, slots=True)
class Due:
    """A memory that is no longer fresh. `overdue_days` counts from when it became stale or stopped
    being valid; before that it is negative."""

    memory: Memory
    age: Age
    overdue_days: float

    @property
    def freshness(self) -> Freshness:
        return self.age.freshness

    def as_dict(self) -> dict[str, Any]:
        memory, held = self.memory, self.age
        return {
            "id": memory.id,
            "bank": memory.bank,
            "freshness": held.freshness.value,
            "factor": held.factor,
            "kind": memory.kind,
            "window_days": held.window_days,
            "age_days": round(held.days, 1),
            "used": round(held.used, 3),
            "due_at": held.due_at,
            "overdue_days": round(self.overdue_days, 1),
            "valid_until": memory.valid_until,
            "last_reviewed_at": memory.last_reviewed_at,
            "title": memory.title,
            "text": memory.text,
        }


def due(view: View, now: datetime, states: Collection[Freshness], limit: int) -> list[Due]:
    """The most overdue first."""
    newest = view.newest()
    last = None if newest is None else view.key_of(newest.id)
    if last is None:
        return []
    keys = np.arange(1, last + 1, dtype=np.int64)
    keys = keys[view.allows(keys, Filter())]
    columns = view.columns(keys)
    aged = (lifecycle(columns, to_micros(now)) < 1) & (columns.state == _ACTIVE)
    found = (
        Due(memory, held, held.overdue_days(now))
        for memory in view.load(keys[aged].tolist()).values()
        if (held := age(memory, now)).freshness in states
    )
    return sorted(found, key=lambda d: (-d.overdue_days, d.memory.id))[:limit]

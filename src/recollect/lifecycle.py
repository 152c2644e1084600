"""How memories grow old: the one place that says which kinds do, when, and what it costs them.

A kind has a window in days. A memory is *aging* when three quarters of its window are used up,
*stale* when all of it is, *expired* at one and a half or when its `valid_until` has passed. Age
counts from the later of the last update and the last review.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from recollect.types import Memory


class Freshness(StrEnum):
    FRESH = "fresh"
    AGING = "aging"
    STALE = "stale"
    EXPIRED = "expired"


# Days; a kind that is not named here never ages.
WINDOWS: Mapping[str, float] = {
    "lesson": 180.0,
    "decision": 365.0,
    "project-fact": 90.0,
    "meta-working": 365.0,
    "workflow": 180.0,
}
# The share of its window from which a memory counts as that, and what its score is multiplied by.
FROM: Mapping[Freshness, float] = {
    Freshness.EXPIRED: 1.5,
    Freshness.STALE: 1.0,
    Freshness.AGING: 0.75,
    Freshness.FRESH: 0.0,
}
FACTOR: Mapping[Freshness, float] = {
    Freshness.FRESH: 1.0,
    Freshness.AGING: 0.85,
    Freshness.STALE: 0.5,
    Freshness.EXPIRED: 0.2,
}


@dataclass(frozen=True, slots=True)
class Age:
    """Where a memory stands in its lifecycle. `window_days` is None when its kind never ages."""

    freshness: Freshness
    factor: float
    used: float  # share of the window; 0 without one
    days: float  # since it was last changed or reviewed
    window_days: float | None
    due_at: datetime | None  # when it becomes (or became) stale, or stops being valid

    def overdue_days(self, now: datetime) -> float:
        return 0.0 if self.due_at is None else (now - self.due_at).total_seconds() / 86_400


def age(memory: Memory, now: datetime) -> Age:
    held = [t for t in (memory.updated_at, memory.last_reviewed_at) if t is not None]
    since = max(held) if held else None
    days = 0.0 if since is None else max(0.0, (now - since).total_seconds() / 86_400)
    window = WINDOWS.get(memory.kind or "")
    used = 0.0 if window is None or since is None else days / window
    freshness = next(f for f, share in FROM.items() if used >= share)
    over = memory.valid_until is not None and memory.valid_until <= now
    ends = [memory.valid_until] if memory.valid_until is not None else []
    if window is not None and since is not None:
        ends.append(since + timedelta(days=window))
    freshness = Freshness.EXPIRED if over else freshness
    return Age(freshness, FACTOR[freshness], used, days, window, min(ends, default=None))

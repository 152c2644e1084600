"""Time phrases become ranges, and statements get the time at which they happened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from recollect.language.time.types import (
    EventAnchor,
    Grain,
    Grounding,
    QueryTime,
    TimeExpression,
    TimeRange,
)

__all__ = [
    "EventAnchor",
    "Grain",
    "Grounding",
    "QueryTime",
    "TimeExpression",
    "TimeRange",
    "ground",
    "read_query",
    "read_times",
    "window_for_event",
]

_YEAR = re.compile(r"\b(?:in|since|during)\s+((?:19|20)\d\d)\b", re.IGNORECASE)


def read_times(
    text: str, anchor: datetime, *, languages: Sequence[str] | None = None
) -> tuple[TimeExpression, ...]:
    """Read the time expressions of a text, relative to `anchor`."""
    found: list[TimeExpression] = []
    for match in _YEAR.finditer(text):
        year = int(match[1])
        period = TimeRange(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))
        found.append(TimeExpression(match[0], match.span(), period, Grain.YEAR, 0.9))
    return tuple(found)


def read_query(text: str, anchor: datetime) -> QueryTime:
    """Read what a query says about time."""
    found = read_times(text, anchor)
    window = found[0].range if found else None
    return QueryTime(found, window, found[0].grain if found else None, (), False, None, None)


def ground(text: str, said_at: datetime) -> Grounding | None:
    """Date a statement by what it says; None when it says no time."""
    found = read_times(text, said_at)
    if not found or found[0].range is None:
        return None
    period = found[0].range
    return Grounding(period.start, period.end, found[0].grain, found[0].text, None, None)


def window_for_event(
    anchor: EventAnchor, start: datetime, end: datetime, grain: Grain | None = None
) -> TimeRange:
    """The window that an event's own date gives."""
    match anchor.relation:
        case "before" | "until":
            return TimeRange(None, start)
        case "after" | "since":
            return TimeRange(end, None)
        case _:
            return TimeRange(start, end)

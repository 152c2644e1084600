"""The values that reading time gives: ranges, expressions, query windows, groundings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

Relation = Literal["before", "after", "around", "during", "since", "until"]
Order = Literal["earliest", "latest"]


class Grain(StrEnum):
    """How finely a time is known, from fine to coarse."""

    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    SEASON = "season"
    YEAR = "year"
    DECADE = "decade"
    CENTURY = "century"


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Half-open `[start, end)` in UTC; `None` is an open end."""

    start: datetime | None
    end: datetime | None


@dataclass(frozen=True, slots=True)
class EventAnchor:
    """A time told by an event ("before Alice joined Google"), to be looked up in a bank."""

    text: str
    relation: Relation
    offset: timedelta | None
    span: tuple[int, int]
    within: bool = False  # all of the offset, "the week after", rather than where it ends


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """One time expression of a text. `range` is None for durations, recurrences and events."""

    text: str
    span: tuple[int, int]
    range: TimeRange | None
    grain: Grain | None
    confidence: float
    negated: bool = False
    recurrence: str | None = None
    duration: timedelta | None = None
    event: EventAnchor | None = None
    clock: bool = False  # a time of day, of whichever day: "at 5pm", "until noon"


@dataclass(frozen=True, slots=True)
class QueryTime:
    """What a query says about time. The window is open on both sides where parts that are ("before 2020 and
    after 2022") leave out what lies between."""

    expressions: tuple[TimeExpression, ...]
    window: TimeRange | None
    grain: Grain | None
    excluded: tuple[TimeRange, ...]
    asks_when: bool
    order: Order | None
    events: tuple[EventAnchor, ...]  # two for "between the outage and the rollback"
    parts: tuple[TimeRange, ...] = ()  # the times asked about, where the window spans several


@dataclass(frozen=True, slots=True)
class Grounding:
    """When a retained statement happened.

    `start`, `end` and `grain` are None when the statement tells only how often
    ("every Monday") or how long ("for three hours"), and `start` or `end` alone is None
    when that side is open ("since 2021").
    """

    start: datetime | None
    end: datetime | None
    grain: Grain | None
    text: str
    recurrence: str | None
    duration: timedelta | None

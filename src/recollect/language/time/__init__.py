"""Time phrases become ranges, and statements get the time at which they happened.

`read_times` reads every time expression of a text, `read_query` sums up what a query asks,
`ground` dates a statement, and `window_for_event` bounds "before Alice joined" once the date
of the event is known. See `docs/time.md` for what is read and how it is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

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
    "without_asking",
]


# The reader is imported on first use: many processes import recollect and read no time.


def read_times(
    text: str, anchor: datetime, *, languages: Sequence[str] | None = None
) -> tuple[TimeExpression, ...]:
    """Read the time expressions of a text, as said at `anchor` (UTC when it has no zone).

    Without `languages` the text is read in English and in the language its words show.
    """
    from recollect.language.time.reader import read

    return read(text, anchor, languages)


def read_query(text: str, anchor: datetime) -> QueryTime:
    """Read what a query says about time, from the moment it is asked."""
    from recollect.language.time import query

    return query.read_query(text, anchor)


def without_asking(rest: str, text: str) -> str:
    """A part of a query without the words that only ask, in the languages of the query besides English."""
    from recollect.language.time import query

    return query.without_asking(rest, text)


def ground(text: str, said_at: datetime) -> Grounding | None:
    """Date a statement by what it says; None when it tells no time (see `Grounding`)."""
    from recollect.language.time import grounding

    return grounding.ground(text, said_at)


def window_for_event(
    anchor: EventAnchor, start: datetime, end: datetime, grain: Grain | None = None
) -> TimeRange:
    """The window that an event gives once its own `[start, end)` is known."""
    from recollect.language.time import events

    return events.window_for_event(anchor, start, end, grain)

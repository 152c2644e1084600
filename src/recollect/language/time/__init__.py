"""Time phrases become ranges, and statements get the time at which they happened.

`read_times` reads every time expression of a text, `read_query` sums up what a query asks,
`ground` dates a statement, and `window_for_event` bounds "before Alice joined" once the date
of the event is known. See `docs/time.md` for what is read and how it is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recollect.language.time.events import window_for_event
from recollect.language.time.grounding import ground
from recollect.language.time.query import read_query
from recollect.language.time.reader import read
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


def read_times(
    text: str, anchor: datetime, *, languages: Sequence[str] | None = None
) -> tuple[TimeExpression, ...]:
    """Read the time expressions of a text, as said at `anchor` (UTC when it has no zone).

    Without `languages` the text is read in English and in the language its words show.
    """
    return read(text, anchor, languages)

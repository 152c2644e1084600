"""When a retained statement happened, by its own words."""

from __future__ import annotations

from datetime import datetime

from recollect.language.time.query import whole_period
from recollect.language.time.reader import read_statement
from recollect.language.time.types import Grounding


def ground(text: str, said_at: datetime) -> Grounding | None:
    """Date a statement by what it says, from the moment it was said.

    The first time that is not negated dates it; a time of day alone does not, as it is of any
    day ("I work until 6 pm"). A statement that tells only how often or how long keeps that, with
    no dates; one that tells no time at all gives None.
    """
    expressions = read_statement(text, said_at)
    dates = (each for each in expressions if each.range and not (each.negated or each.clock))
    dated = next(dates, None)
    recurrence = next((each.recurrence for each in expressions if each.recurrence), None)
    duration = next((each.duration for each in expressions if each.duration), None)
    if dated is None and recurrence is None and duration is None:
        return None
    period = whole_period(dated, said_at) if dated else None
    said = dated or next(each for each in expressions if each.recurrence or each.duration)
    return Grounding(
        start=period.start if period else None,
        end=period.end if period else None,
        grain=dated.grain if dated else None,
        text=said.text,
        recurrence=recurrence,
        duration=duration,
    )

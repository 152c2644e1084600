"""When a retained statement happened, by its own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from recollect.language.time.query import whole_period
from recollect.language.time.reader import read_statement
from recollect.language.time.types import Grounding, TimeExpression, TimeRange

_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*(?:[-*+•–]|\(?\d{1,3}[.)])[ \t]+\S.*$", re.MULTILINE)
_ROW_OR_ITEM = re.compile(rf"{_ROW.pattern}|{_ITEM.pattern}", re.MULTILINE)


def ground(text: str, said_at: datetime) -> Grounding | None:
    """Date a statement by what it says, from the moment it was said.

    The first time that is not negated dates it; a time of day alone does not, as it is of any
    day ("I work until 6 pm"). A statement that tells only how often or how long keeps that, with
    no dates; one that tells no time at all gives None. What a table's cells or several items of a list name
    is of them, not of the whole.
    """
    expressions = _of_the_whole(text, read_statement(text, said_at))
    dates = (each for each in expressions if each.range and not (each.negated or each.clock))
    dated = next(dates, None)
    recurrence = next((each.recurrence for each in expressions if each.recurrence), None)
    duration = next((each.duration for each in expressions if each.duration), None)
    if dated is None and recurrence is None and duration is None:
        return None
    period = whole_period(dated, said_at) if dated else None
    said = dated or next(each for each in expressions if each.recurrence or each.duration)
    return Grounding(
        start=_begun(period, said_at) if period else None,
        end=period.end if period else None,
        grain=dated.grain if dated else None,
        text=said.text,
        recurrence=recurrence,
        duration=duration,
    )


def _begun(period: TimeRange, said_at: datetime) -> datetime | None:
    """What lasts until a time to come, or is due by then, holds as it is said; nothing tells of earlier times."""
    ahead = period.start is None and period.end is not None and period.end > said_at
    return said_at.astimezone(UTC) if ahead else period.start


def _of_the_whole(text: str, found: Sequence[TimeExpression]) -> Sequence[TimeExpression]:
    """A plan with a month a row is of none of these months. A list whose items name one and the same time is of
    that."""
    if not found or not _ROW_OR_ITEM.search(text):
        return found
    cells, items = _inside(_ROW, text, found), _inside(_ITEM, text, found)
    apart = cells if len({each.range for each in items}) < 2 else cells + items
    return [each for each in found if each not in apart]


def _inside(
    lines: re.Pattern[str], text: str, found: Sequence[TimeExpression]
) -> list[TimeExpression]:
    spans = [match.span() for match in lines.finditer(text)]
    return [each for each in found if each.range and any(a <= each.span[0] < b for a, b in spans)]

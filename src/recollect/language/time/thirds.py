"""Parts of periods: early, mid and late; halves; the rest."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from recollect.language.time.calendar import Span, add
from recollect.language.time.period import Period
from recollect.language.time.types import Grain

# Where the early part ends, the middle begins and ends, and the late part begins, in the unit
# that people count a period by: "early June" is its first ten days, "the early 2010s" are
# 2010 to 2013. Wednesday is early in the week and in its middle.
_CUTS: dict[Grain, tuple[Grain, int, int, int, int]] = {
    Grain.CENTURY: (Grain.YEAR, 33, 33, 67, 67),
    Grain.DECADE: (Grain.YEAR, 4, 4, 7, 7),
    Grain.YEAR: (Grain.MONTH, 4, 4, 8, 8),
    Grain.QUARTER: (Grain.MONTH, 1, 1, 2, 2),
    Grain.SEASON: (Grain.MONTH, 1, 1, 2, 2),
    Grain.MONTH: (Grain.DAY, 10, 10, 20, 20),
    Grain.WEEK: (Grain.DAY, 3, 2, 4, 4),
    Grain.DAY: (Grain.HOUR, 12, 10, 14, 12),
}
_FINER = {Grain.CENTURY: Grain.DECADE, Grain.DECADE: Grain.YEAR, Grain.YEAR: Grain.MONTH}


def part(period: Period, which: str) -> Period:
    """The early, mid or late part of a fixed period."""
    start, end = period.bounds()
    if period.grain not in _CUTS or period.kind == "part":
        return _of_hours(period, start, end, which)
    grain, *places = _CUTS[period.grain]
    # A weekend, a range of days: not the unit its grain says, so cut it in equal thirds.
    if end != add(start, period.grain, 1):
        third = (end - start) / 3
        cuts = [start + third, start + third, start + 2 * third, start + 2 * third]
    else:
        cuts = [add(start, grain, place) for place in places]
    span: Span = {
        "early": (start, cuts[0]),
        "mid": (cuts[1], cuts[2]),
        "late": (cuts[3], end),
    }[which]
    finer = _FINER.get(period.grain, Grain.DAY)
    return replace(period, kind="edge", grain=finer, start=span[0], end=span[1], weak=None)


def _of_hours(period: Period, start: datetime, end: datetime, which: str) -> Period:
    half = (end - start) / 2
    quarter = (end - start) / 4
    span = {
        "early": (start, start + half),
        "mid": (start + quarter, end - quarter),
        "late": (start + half, end),
    }[which]
    return replace(period, kind="edge", start=span[0], end=span[1], weak=None)


def half(period: Period, nth: int) -> Period:
    """The first or the second half; a year's in months, a month's in days."""
    start, end = period.bounds()
    if period.grain in (Grain.YEAR, Grain.DECADE, Grain.CENTURY):
        years = {Grain.YEAR: 0.5, Grain.DECADE: 5, Grain.CENTURY: 50}[period.grain]
        middle = add(start, Grain.YEAR, years)
    elif period.grain is Grain.MONTH:
        middle = start + timedelta(days=15)
    else:
        middle = start + (end - start) / 2
    span = (start, middle) if nth == 1 else (middle, end)
    finer = _FINER.get(period.grain, Grain.DAY)
    return replace(period, kind="edge", grain=finer, start=span[0], end=span[1], weak=None)

"""Periods: what the grammar computes with.

A period is either *fixed* (it has a start and an end) or a *series* ("June", "Monday",
"5 pm"): a function that lists its occurrences. Narrowing one by another ("Monday of next
week", "June 2019") and settling a series on one occurrence are all that composition needs.
All datetimes here are naive, in the anchor's own clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from recollect.language.time.calendar import (
    ORDER,
    Span,
    add,
    days_in,
    floor,
    midnight,
    unit,
    units,
)
from recollect.language.time.types import Grain

Series = Callable[[datetime, datetime], list[Span]]
# Of a statement that does not say, "near" takes the nearest month or date; "never" takes none.
Direction = Literal["past", "future", "near", "never"]
# How far to look for an occurrence: nearly always within a year; 29 February within eight;
# a weekday on a date ("Friday 29 February") within forty.
_ONCE = frozenset(
    {"weekday", "weekend", "clock", "clockrange", "clockdate", "part", "daypart", "day"}
)
# How long before a moment a period around it may have begun.
_LONGEST = {
    Grain.WEEK: timedelta(days=8),
    Grain.MONTH: timedelta(days=32),
    Grain.QUARTER: timedelta(days=93),
    Grain.SEASON: timedelta(days=93),
    Grain.YEAR: timedelta(days=366),
    Grain.DECADE: timedelta(days=3660),
    Grain.CENTURY: timedelta(days=36600),
}
_REACH = tuple(timedelta(days=days) for days in (400, 3300, 15000))


class NoSuchTime(ValueError):
    """The words name a time that does not exist, such as 30 February."""


@dataclass(frozen=True, slots=True)
class Context:
    """The moment a text is read from, and where to look when the words leave it open."""

    now: datetime
    direction: Direction
    # Of now, in minutes: hours from now are counted in it, also past a change of the clocks.
    offset: int | None = None

    @property
    def today(self) -> datetime:
        return midnight(self.now)


@dataclass(frozen=True, slots=True)
class Period:
    """A fixed range, or a series of them.

    `kind` says what the words named (a weekday, a clock time …); `weak` why the words need
    support from their neighbours before they count as a time ("may", a bare number);
    `loose` is the wider range in which a clock time still belongs to a part of the day;
    `zone` is the offset in minutes that a named time zone gives.
    """

    kind: str
    grain: Grain
    start: datetime | None = None
    end: datetime | None = None
    series: Series | None = None
    weak: str | None = None
    loose: Span | None = None
    zone: int | None = None
    confidence: float = 1.0
    within: frozenset[str] = frozenset()  # kinds of the periods it was narrowed by

    @property
    def fixed(self) -> bool:
        return self.series is None

    def bounds(self) -> Span:
        """Both ends; raises when one is open."""
        if self.start is None or self.end is None:
            raise NoSuchTime("an open range has no bounds")
        return self.start, self.end


def fixed(kind: str, grain: Grain, span: Span) -> Period:
    return Period(kind, grain, span[0], span[1])


def unit_at(moment: datetime, grain: Grain, kind: str = "unit") -> Period:
    return fixed(kind, grain, unit(moment, grain))


def year(number: int) -> Period:
    if not 1 <= number < 9999:
        raise NoSuchTime(f"year {number}")
    return unit_at(datetime(number, 1, 1), Grain.YEAR, "year")


def every_year(
    kind: str, grain: Grain, occurrence: Callable[[int], Span], weak: str | None = None
) -> Period:
    """A series with at most one occurrence a year; years without one raise ValueError."""

    def series(lo: datetime, hi: datetime) -> list[Span]:
        found: list[Span] = []
        for number in range(max(1, lo.year - 1), min(9998, hi.year) + 1):
            try:
                span = occurrence(number)
            except ValueError:
                continue
            if lo <= span[0] < hi:
                found.append(span)
        return found

    return Period(kind, grain, series=series, weak=weak)


def months(first: int, count: int, kind: str, grain: Grain) -> Period:
    """The months from `first` on in every year: a month, a quarter, a season, a half."""

    def occurrence(number: int) -> Span:
        start = datetime(number, first, 1)
        return start, add(start, Grain.MONTH, count)

    return every_year(kind, grain, occurrence)


def month_day(month: int, day: int) -> Period:
    if not 1 <= month <= 12 or not 1 <= day <= days_in(2000, month):
        raise NoSuchTime(f"{month}-{day}")
    return every_year(
        "date", Grain.DAY, lambda number: unit(datetime(number, month, day), Grain.DAY)
    )


def each(
    kind: str, grain: Grain, keep: Callable[[datetime], bool], weak: str | None = None
) -> Period:
    """The units of a grain whose beginning passes a test: Mondays, the 15th of each month."""

    def series(lo: datetime, hi: datetime) -> list[Span]:
        return [span for span in units(lo, hi, grain) if keep(span[0])]

    return Period(kind, grain, series=series, weak=weak)


def weekday(number: int) -> Period:
    def series(lo: datetime, hi: datetime) -> list[Span]:
        day = midnight(lo)
        if day < lo:
            day += timedelta(days=1)
        day += timedelta(days=(number - day.weekday()) % 7)
        found: list[Span] = []
        while day < hi:
            found.append((day, day + timedelta(days=1)))
            day += timedelta(days=7)
        return found

    return Period("weekday", Grain.DAY, series=series)


def weekend() -> Period:
    saturday = weekday(5).series

    def series(lo: datetime, hi: datetime) -> list[Span]:
        days = saturday(lo, hi) if saturday else []
        return [(start, start + timedelta(days=2)) for start, _ in days]

    return Period("weekend", Grain.DAY, series=series)


def day_of_year(number: int, month: int, day: int) -> Period:
    """A date; of a day that its month does not have (29 February 2023) the month is left."""
    whole = year(number)
    if 1 <= month <= 12 and days_in(number, month) < day <= 31:
        return narrow(whole, months(month, 1, "month", Grain.MONTH))
    return narrow(whole, month_day(month, day))


def day_of_month(number: int) -> Period:
    if not 1 <= number <= 31:
        raise NoSuchTime(f"day {number}")

    def series(lo: datetime, hi: datetime) -> list[Span]:
        firsts = [span[0] for span in units(floor(lo, Grain.MONTH), hi, Grain.MONTH)]
        days = [
            first.replace(day=number)
            for first in firsts
            if number <= days_in(first.year, first.month)
        ]
        return [(day, day + timedelta(days=1)) for day in days if lo <= day < hi]

    return Period("day", Grain.DAY, series=series, weak="day")


def daily(kind: str, grain: Grain, spans: list[tuple[timedelta, timedelta]]) -> Period:
    """Hours that come every day: a clock time, the morning, 8 to 10 o'clock."""

    def series(lo: datetime, hi: datetime) -> list[Span]:
        found: list[Span] = []
        day = midnight(lo)
        while day < hi:
            for start, end in spans:
                if lo <= day + start < hi:
                    found.append((day + start, day + end))
            day += timedelta(days=1)
        return found

    return Period(kind, grain, series=series)


def _within(period: Period, lo: datetime, hi: datetime) -> list[Span]:
    """Occurrences that lie wholly in `[lo, hi)`."""
    if period.series is None:
        start, end = period.bounds()
        return [(start, end)] if lo <= start and end <= hi else []
    spans = period.series(lo, hi)
    # The winter of a year is the one that begins in it.
    return spans if period.kind == "season" else [span for span in spans if span[1] <= hi]


def narrow(outer: Period, inner: Period) -> Period:
    """The inner period where it falls in the outer one ("June" in "2019").

    No weekday falls in another, and to look for one through the centuries, for every pair in
    "Monday, Tuesday, Wednesday at nine", would take as long.
    """
    kinds = (outer.within | {outer.kind}, inner.within | {inner.kind})
    if kinds[0] & kinds[1] & _ONCE:
        raise NoSuchTime(f"{outer.kind} in {inner.kind}")
    zone = inner.zone if inner.zone is not None else outer.zone
    clock = inner.kind.startswith("clock")
    made = replace(
        inner,
        kind="clockdate" if clock else inner.kind,
        weak=None,
        zone=zone,
        confidence=min(outer.confidence, inner.confidence),
        within=kinds[0] | kinds[1],
    )
    if outer.series is None:
        lo, hi = outer.loose if outer.loose and clock else outer.bounds()
        spans = _within(inner, lo, hi)
        if not spans:
            raise NoSuchTime("no such time in the outer period")
        loose = _shifted_loose(inner, spans[0])
        return replace(made, start=spans[0][0], end=spans[0][1], series=None, loose=loose)
    whole, longest = outer.series, _LONGEST.get(outer.grain, timedelta(days=2))

    def series(lo: datetime, hi: datetime) -> list[Span]:
        found: list[Span] = []
        for around in whole(lo - longest, hi):
            spans = _within(inner, *around)
            # "at five" twice a day: the hour as it is written comes first.
            found += spans[:1] if clock else spans
        return [span for span in found if lo <= span[0] < hi]

    return replace(made, series=series)


def _shifted_loose(inner: Period, span: Span) -> Span | None:
    if inner.loose is None:
        return None
    day = midnight(span[0])
    base = datetime(2000, 1, 1)
    return day + (inner.loose[0] - base), day + (inner.loose[1] - base)


def coarser(left: Period, right: Period) -> bool:
    """Whether the left period can hold the right one."""
    if left.kind == right.kind and left.kind != "date":
        return False
    fine = ("part", "clock", "clockrange")
    rank_left = -fine.index(left.kind) if left.kind in fine else 1 + ORDER[left.grain]
    rank_right = -fine.index(right.kind) if right.kind in fine else 1 + ORDER[right.grain]
    return rank_left >= rank_right


def settle(period: Period, context: Context) -> Period:
    """One occurrence of a series: the latest that has begun, or the next one to come."""
    if period.series is None:
        return period
    dated = "weekday" in period.within and not period.within.isdisjoint(("date", "day"))
    if period.kind == "pinned" or dated:
        # A weekday with its date ("Friday the 26th") pins a time near by, past or to come.
        near = timedelta(days=31)
        spans = period.series(context.today - near, context.today + near)
        if spans:
            start, end = min(spans, key=lambda span: abs(span[0] - context.today))
            return replace(period, start=start, end=end, series=None)
    if context.direction == "never":
        raise NoSuchTime("a habit is of no one time")
    if context.direction == "near":
        return _nearer(period, context)
    for reach in _REACH:
        span = _nearest(period, period.series, context, reach)
        if span:
            return replace(period, start=span[0], end=span[1], series=None)
    raise NoSuchTime("no occurrence within reach")


def _nearer(period: Period, context: Context) -> Period:
    """The occurrence nearest to now, of what comes once a year; a weekday is as near before."""
    dated = period.kind != "weekday" and not period.within.isdisjoint(("date", "holiday"))
    if not dated and (period.kind in _ONCE or ORDER[period.grain] < ORDER[Grain.DAY]):
        raise NoSuchTime("before or after is left open")
    last = settle(period, replace(context, direction="past"))
    coming = settle(period, replace(context, direction="future"))
    since, until = context.now - last.bounds()[1], coming.bounds()[0] - context.now
    return last if since < until else coming


def _nearest(period: Period, series: Series, context: Context, reach: timedelta) -> Span | None:
    now = context.now
    # "on Monday", said on a Monday, is not today: people say "today".
    skips_today = period.kind == "weekday"
    try:
        if context.direction == "past":
            last = context.today if skips_today else now + timedelta(microseconds=1)
            spans = series(max(now - reach, datetime(2, 1, 1)), last)
            return spans[-1] if spans else None
        if period.kind.startswith("clock"):
            first = now
        else:
            first = context.today + timedelta(days=1 if skips_today else 0)
        spans = series(first - timedelta(days=400), min(now + reach, datetime(9990, 1, 1)))
    except OverflowError as error:
        raise NoSuchTime(str(error)) from error
    for span in spans:
        begun = span[0] <= now < span[1] and not skips_today
        if span[0] >= first or (begun and not period.kind.startswith("clock")):
            return span
    return None


def before(period: Period, moment: datetime, *, finished: bool = True) -> Period:
    """The last occurrence that ends by the moment (or only begins before it)."""
    if period.series is None:
        raise NoSuchTime("not a series")
    for reach in _REACH:
        spans = period.series(moment - reach, moment)
        spans = [span for span in spans if not finished or span[1] <= moment]
        if spans:
            return replace(period, start=spans[-1][0], end=spans[-1][1], series=None, weak=None)
    raise NoSuchTime("no earlier occurrence")


def after(period: Period, moment: datetime) -> Period:
    """The first occurrence that begins at the moment or later."""
    if period.series is None:
        raise NoSuchTime("not a series")
    for reach in _REACH:
        spans = period.series(moment, moment + reach)
        if spans:
            return replace(period, start=spans[0][0], end=spans[0][1], series=None, weak=None)
    raise NoSuchTime("no later occurrence")


def beside(period: Period, other: Period) -> Period:
    """The occurrence in the year of another time, a weekday in its week; where it would come after that
    time, the nearer one ("December and January 2023")."""
    start = other.bounds()[0]
    whole = unit(start, Grain.WEEK if period.kind == "weekday" else Grain.YEAR)
    spans = [] if period.series is None else period.series(*whole)
    if spans and spans[0][0] <= start:
        return replace(period, start=spans[0][0], end=spans[0][1], series=None)
    near = before(period, start, finished=False), after(period, start)
    best = min(near, key=lambda each: abs(each.bounds()[0] - start))
    return replace(best, weak=period.weak)


def shift(period: Period, grain: Grain, count: float) -> Period:
    """The same day (or moment), so many units on."""
    start, end = period.bounds()
    moved = add(start, grain, count)
    return replace(period, kind="point", start=moved, end=moved + (end - start), weak=None)

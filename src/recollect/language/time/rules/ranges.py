"""Ranges with two ends, and with one."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from recollect.language.time.calendar import ORDER, add
from recollect.language.time.grammar import rule
from recollect.language.time.period import (
    Context,
    NoSuchTime,
    Period,
    after,
    before,
    beside,
    day_of_month,
    month_day,
    narrow,
    settle,
    shift,
    year,
)
from recollect.language.time.rules.dates import MonthDay
from recollect.language.time.rules.numbers import Duration
from recollect.language.time.shapes import Clock, Num, clock_period
from recollect.language.time.types import Grain

_NAMES = ("name", "feast", "season", "dayname", "weekend")
_SINGLE = ("open", "interval", "clockrange")


def join(start: Period, end: Period, context: Context) -> Period:
    """From one period through another. An end that is left open in the calendar ("March to
    May 2024") takes the nearest place to the other."""
    if start.kind in _SINGLE or end.kind in _SINGLE or start.weak == "part" or end.weak == "part":
        raise NoSuchTime("not two ends")
    if (start.kind == "clock") != (end.kind == "clock") and end.kind == "clock":
        raise NoSuchTime("a day and an hour")
    if start.fixed and end.fixed:
        first, last = start, end
    elif end.fixed:
        first, last = before(start, end.bounds()[1], finished=False), end
    elif start.fixed:
        first, last = start, after(end, start.bounds()[0])
    elif start.kind == "day" and end.kind in ("date", "day"):  # "the 13th to 15 July"
        last = settle(end, context)
        first = before(start, last.bounds()[0])
    else:
        first = settle(start, context)
        last = after(end, first.bounds()[0])
    if last.bounds()[0] < first.bounds()[0] and start.kind == end.kind == "date":
        last = shift(last, Grain.WEEK, 1)  # "this Friday to this Monday"
    lo, hi = first.bounds()[0], last.bounds()[1]
    if first.kind == "now" and ORDER[last.grain] >= ORDER[Grain.DAY]:
        lo = context.today
    if last.kind == "now" and ORDER[first.grain] >= ORDER[Grain.DAY]:
        return Period("interval", first.grain, lo, context.today + timedelta(days=1))
    if hi <= lo or last.bounds()[0] < lo:
        raise NoSuchTime("ends before it starts")
    if last.kind in ("clock", "clockdate", "now"):
        hi = last.bounds()[0]
    if hi <= lo:
        raise NoSuchTime("an empty range")
    zone = last.zone if last.zone is not None else first.zone
    bare = "years" if start.weak == end.weak == "year" else None  # "between 1500 and 2000"
    hours = frozenset({"clock"} if start.kind == end.kind == "clock" else ())
    return Period("interval", end.grain, lo, hi, zone=zone, weak=bare, within=hours)


@rule(
    "T",
    "from T range the? T",
    "T range the? T",
    "between the? T andto the? T",
    "from the T range the? T",
)
def from_to(context: Context, start: Period, end: Period) -> Period | None:
    if start.weak == end.weak and start.weak in ("day", "dayord", "dash"):
        return None
    if start.weak == "never" or end.weak == "never":
        return None
    return join(start, end, context)


@rule("T", "T comma? from T range T", "T comma? between T andto T")
def between_in(context: Context, outer: Period, start: Period, end: Period) -> Period | None:
    """Next week between Wednesday and Friday."""
    if outer.kind != "unit" or start.kind != "weekday" or end.kind != "weekday":
        return None
    return join(narrow(outer, start), narrow(outer, end), context)


@rule("T", "between the? T and the? T", "from the? T range the? T")
def between_days(context: Context, start: Period, end: Period) -> Period | None:
    return join(start, end, context) if start.kind == end.kind == "day" else None


def _day(value: Num | int) -> int:
    if isinstance(value, int):
        return value
    if value.digits > 2 or value.value != value.whole or not 1 <= value.value <= 31:
        raise NoSuchTime("not a day")
    return value.whole


_OPENING = ("from|between? the? NUM range|andto the? ", "from|between? the? ORD range|andto the? ")


@rule("DD", *(opening + end for opening in _OPENING for end in ("NUM", "ORD")))
def days(_: Context, first: Num | int, last: Num | int) -> tuple[int, int]:
    if _day(first) >= _day(last):
        raise NoSuchTime("not a rising range")
    return _day(first), _day(last)


@rule("T", "DD ofonly|comma|in? the? MONTH", "DD ofonly|comma|in? the? MONTH comma|ofonly|in? YEAR")
def days_of_month(context: Context, said: tuple[int, int], month: int, number: int = 0) -> Period:
    """3 to 5 June, between 3 and 12 of September 2019."""
    first, last = month_day(month, said[0]), month_day(month, said[1])
    if number:
        first, last = narrow(year(number), first), narrow(year(number), last)
    return join(first, last, context)


@rule("T", "MONTH dash? DD", "MONTH dash? DD comma|ofonly|in? YEAR", "YEAR MONTH DD")
def month_and_days(context: Context, *said: int | tuple[int, int]) -> Period:
    span = next(value for value in said if isinstance(value, tuple))
    numbers = [value for value in said if isinstance(value, int)]
    month = next(value for value in numbers if value <= 12)
    return days_of_month(context, span, month, next((n for n in numbers if n > 12), 0))


@rule("T", "DD of|comma? the? T")
def days_of(context: Context, said: tuple[int, int], whole: Period) -> Period | None:
    """From 4 to 22 this month."""
    if whole.grain is not Grain.MONTH or not whole.fixed:
        return None
    first, last = (narrow(whole, replace(day_of_month(day), weak=None)) for day in said)
    return join(first, last, context)


@rule(
    "T",
    "from? MD range the? NUM",
    "from? MD range the? ORD",
    "between MD and the? ORD",
    "between MD and NUM",
)
def date_to_day(context: Context, said: MonthDay, last: Num | int) -> Period:
    first = settle(month_day(*said), context)
    return join(first, after(day_of_month(_day(last)), first.bounds()[0]), context)


@rule(
    "T",
    "from? MD range the? NUM comma|ofonly? YEAR",
    "from? MD range the? ORD comma|ofonly? YEAR",
)
def date_to_day_of_year(_: Context, said: MonthDay, last: Num | int, number: int) -> Period:
    first = narrow(year(number), month_day(*said))
    start = first.bounds()[0]
    final = after(day_of_month(_day(last)), start).bounds()[1]
    return Period("interval", Grain.DAY, start, final)


@rule("T", "from NUM range MD comma? YEAR", "from NUM dot? range the? T")
def day_to_date(
    context: Context, first: Num, last: MonthDay | Period, number: int = 0
) -> Period | None:
    """From 4 to January 22, 1995."""
    if isinstance(last, tuple):
        final = narrow(year(number), month_day(*last))
    elif last.kind == "date":
        final = settle(last, context)
    else:
        return None
    start = before(day_of_month(_day(first)), final.bounds()[0])
    return join(start, final, context)


def _end(context: Context, said: Period) -> Period:
    if said.kind in ("open", "interval", "clockrange") or said.weak in ("part", "dash"):
        raise NoSuchTime("an end that has no end")
    if said.weak == "never" and said.kind != "now":
        raise NoSuchTime("not a time by itself")
    return settle(said, context)


@rule("T", "since the? T")
def since(context: Context, said: Period) -> Period:
    end = _end(context, said)
    return _opened(end, said, end.start, None)


def _opened(end: Period, said: Period, lo: datetime | None, hi: datetime | None) -> Period:
    """A range with one end; it remembers what kind of time that is."""
    return replace(
        end, kind="open", start=lo, end=hi, weak=_kept(said), within=frozenset({end.kind})
    )


def _kept(said: Period) -> str | None:
    """A word that may be a name stays doubtful after "since" or "by", and figures after "up to"."""
    if said.weak == "year":
        return "years"
    return (
        said.weak
        if said.weak in ("name", "feast", "season", "clock", "slash", "dayname", "weekend")
        else None
    )


@rule("T", "by the? T")
def by_time(context: Context, said: Period) -> Period | None:
    """By June, when the text looks forward; "written by June" names a person."""
    doubtful = said.weak in _NAMES and context.direction == "past"
    return None if doubtful else until(context, said)


@rule("T", "until the? T")
def until(context: Context, said: Period) -> Period:
    """Until March: through its last day; until 5 pm: up to it."""
    end = _end(context, said)
    hi = end.bounds()[0] if end.kind in ("clock", "clockdate", "now") else end.bounds()[1]
    return _opened(end, said, None, hi)


@rule("T", "before the? T")
def before_time(context: Context, said: Period) -> Period:
    end = _end(context, said)
    # "before the end of the year" means its very end.
    hi = end.bounds()[1] if end.kind == "edge" else end.bounds()[0]
    return _opened(end, said, None, hi)


@rule("T", "after the? T")
def after_time(context: Context, said: Period) -> Period:
    end = _end(context, said)
    point = end.kind in ("clock", "clockdate", "now")
    return _opened(end, said, end.bounds()[0 if point else 1], None)


@rule("T", "T orlater")
def or_later(context: Context, said: Period) -> Period:
    return replace(since(context, said), weak="tail")


@rule("T", "since|fromonly T onword")
def from_on(context: Context, said: Period) -> Period:
    return since(context, said)


@rule("T", "T orearlier")
def or_earlier(context: Context, said: Period) -> Period:
    return replace(until(context, said), weak="tail")


@rule("T", "T orword T")
def either_month(context: Context, first: Period, second: Period) -> Period | None:
    """In April or May: together they are months, each alone may be a name; nor is one in "May and
    June 2023", of that year."""
    if first.weak != "name" or first.kind != "month":
        return None
    if second.fixed and second.kind == "month" and "month" in second.within:
        made = join(beside(first, second), second, context)
        return replace(made, weak="name", within=second.within)
    if second.weak != "name":
        return None
    return replace(join(first, second, context), weak="name")


_SLACK = {
    Grain.DAY: timedelta(days=3),
    Grain.WEEK: timedelta(days=7),
}


@rule("T", "around the? T")
def around(context: Context, said: Period) -> Period | None:
    """Around Christmas: some days either side; around 2015: a year either side."""
    if said.kind in ("open", "interval", "part") or said.weak in (
        "never",
        "part",
    ):
        return None
    if (
        said.kind == "clockdate"
        or said.loose
        or said.grain in (Grain.HOUR, Grain.MINUTE, Grain.SECOND)
    ):
        return said if said.fixed and said.weak is None else None
    lo, hi = settle(said, context).bounds()
    if said.grain in _SLACK:
        lo, hi = lo - _SLACK[said.grain], hi + _SLACK[said.grain]
    else:
        lo, hi = add(lo, said.grain, -1), add(hi, said.grain, 1)
    return Period("interval", said.grain, lo, hi, confidence=0.7, weak=_kept(said))


@rule("T", "for DUR comma? from T", "for DUR comma? fromonly T")
def lasting_from(context: Context, said: Duration, start: Period) -> Period | None:
    """For three days from today."""
    if start.kind not in ("date", "dayword", "weekday", "clock", "holiday"):
        return None
    lo = settle(start, context).bounds()[0]
    return Period("interval", said.grain, lo, said.shift(lo, 1))


@rule("T", "T for DUR")
def lasting_after(context: Context, start: Period, said: Duration) -> Period | None:
    """18 December for 10 days."""
    if start.kind not in ("date", "dayword", "holiday") or ORDER[said.grain] < ORDER[Grain.DAY]:
        return None
    lo = settle(start, context).bounds()[0]
    return Period("interval", said.grain, lo, said.shift(lo, 1))


_DAYS = ("date", "dayword", "weekday", "holiday", "pinned")


@rule("T", "T before|until|by CLOCK")
def day_before_clock(context: Context, day: Period, clock: Clock) -> Period | None:
    """Thursday before 5 pm: that day, up to the hour."""
    if day.kind not in _DAYS:
        return None
    whole = settle(day, context)
    hour = narrow(whole, clock_period(clock)).bounds()[0]
    return Period("clockdate", clock.grain, whole.bounds()[0], hour, zone=clock.zone)


@rule("T", "T after|since CLOCK")
def day_after_clock(context: Context, day: Period, clock: Clock) -> Period | None:
    if day.kind not in _DAYS:
        return None
    whole = settle(day, context)
    hour = narrow(whole, clock_period(clock)).bounds()[0]
    return Period("clockdate", clock.grain, hour, whole.bounds()[1], zone=clock.zone)


@rule("T", "since T until T")
def since_until(context: Context, start: Period, end: Period) -> Period:
    return join(start, end, context)

"""Calendar dates and the parts of calendar periods."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from recollect.language.time.calendar import SEASON_START, Span, add, iso_week, unit, units
from recollect.language.time.grammar import rule
from recollect.language.time.period import (
    Context,
    NoSuchTime,
    Period,
    after,
    coarser,
    day_of_month,
    day_of_year,
    fixed,
    month_day,
    months,
    narrow,
    settle,
    unit_at,
    weekday,
    weekend,
    year,
)
from recollect.language.time.rules.numbers import FEW
from recollect.language.time.shapes import Dotted, Num, decade_year, full_year, quarter_of
from recollect.language.time.thirds import half, part
from recollect.language.time.types import Grain

MonthDay = tuple[int, int]
_POINTED = ("open", "interval")


def _day(value: Num | int) -> int:
    if isinstance(value, int):
        return value
    if value.digits > 2 or value.value != value.whole:
        raise NoSuchTime("not a day of a month")
    return value.whole


@rule("MD", "MONTH dash|comma|dot? NUM", "MONTH dash? the? ORD", "MONTH dash|dot? the NUM")
def month_then_day(_: Context, month: int, day: Num | int) -> MonthDay:
    return month, _day(day)


@rule("MD", "NUM dash|dot? ofonly? the? MONTH", "ORD dash? ofonly? the? MONTH", "NTH in the? MONTH")
def day_then_month(_: Context, day: Num | int, month: int) -> MonthDay:
    return month, _day(day)


@rule("T", "MD")
def date(_: Context, said: MonthDay) -> Period:
    return month_day(*said)


@rule("T", "MD comma|ofonly|in|dash? YEAR", "MD comma|ofonly|in|dash? yearword YEAR")
def date_of_year(_: Context, said: MonthDay, number: int) -> Period:
    return day_of_year(number, *said)


@rule("T", "MD comma|ofonly|in|dash? FARYEAR")
def date_of_far_year(_: Context, said: MonthDay, number: int) -> Period:
    return unit_at(datetime(number, *said), Grain.DAY, "date")


@rule("T", "MONTH comma|ofonly|in? FARYEAR")
def month_of_far_year(_: Context, month: int, number: int) -> Period:
    return unit_at(datetime(number, month, 1), Grain.MONTH, "month")


@rule("T", "MD comma|dash NUM")
def date_of_last_century(context: Context, said: MonthDay, number: Num) -> Period | None:
    """31-Oct-74; after a comma or dash a smaller number is another day or a count."""
    return date_of_short_year(context, said, number) if number.value > 31 else None


@rule("T", "MD ofonly? NUM")
def date_of_short_year(_: Context, said: MonthDay, number: Num) -> Period | None:
    if number.digits != 2:
        return None
    return day_of_year(full_year(f"{number.whole:02}"), *said)


@rule("T", "YEAR dash? MD")
def year_then_date(_: Context, number: int, said: MonthDay) -> Period:
    return day_of_year(number, *said)


@rule("T", "YEAR dash NUM dash MONTH", "NUM dash YEAR dash MONTH", "MONTH dash YEAR dash NUM")
def mixed_date(_: Context, *said: int | Num) -> Period:
    day = next(value for value in said if isinstance(value, Num))
    number, month = sorted((value for value in said if isinstance(value, int)), reverse=True)
    return day_of_year(number, month, _day(day))


@rule("T", "YEAR")
def plain_year(_: Context, number: int) -> Period:
    return replace(year(number), weak="year")


@rule("T", "yearword ofonly? YEAR")
def named_year(_: Context, number: int) -> Period:
    return year(number)


@rule("T", "yearword ofonly? NUM ce?")
def early_year(_: Context, number: Num) -> Period | None:
    return year(number.whole) if number.value >= 100 or not number.digits else None


@rule("T", "fiscal YEAR", "fiscal ofonly YEAR")
def fiscal_year(_: Context, number: int) -> Period:
    return replace(year(number), kind="fiscal", confidence=0.7)


@rule("T", "MONTH dash|comma|ofonly? YEAR", "MONTH in YEAR")
def month_of_year(_: Context, month: int, number: int) -> Period:
    return narrow(year(number), months(month, 1, "month", Grain.MONTH))


@rule("T", "MONTH ofonly? NUM")
def month_of_short_year(context: Context, month: int, number: Num) -> Period | None:
    if number.digits != 2 or number.value <= 31:
        return None
    return month_of_year(context, month, full_year(f"{number.whole:02}"))


@rule("T", "SEASON ofonly? YEAR dash NUM", "SEASON ofonly? YEAR dash YEAR")
def season_over_new_year(_: Context, name: str, first: int, __: Num | int) -> Period | None:
    """Winter 2010-11: the one that begins in the first of the two years."""
    if name != "winter":
        return None
    return narrow(year(first), months(SEASON_START[name], 3, "season", Grain.SEASON))


@rule("T", "the NTH", "the NUM", "NTH")
def day_alone(_: Context, day: Num | int) -> Period | None:
    """The 12th, the 12; "the two of us" are no day."""
    return None if isinstance(day, Num) and not day.digits else day_of_month(_day(day))


@rule("T", "ononly NUM")
def on_number(_: Context, day: Num) -> Period | None:
    """On 15: a day only where nothing that it could count follows."""
    return replace(day_of_month(_day(day)), weak="tail") if day.digits == 2 else None


@rule("T", "the ORD")
def day_in_words(_: Context, day: int) -> Period:
    """The second: more often a choice than a day."""
    return replace(day_of_month(day), weak="dayord")


@rule("T", "ORD WEEKDAY", "the ORD WEEKDAY")
def nth_weekday_of_this_month(context: Context, nth: int, day: int) -> Period:
    spans = spans_of("day", unit(context.now, Grain.MONTH))
    days = [span for span in spans if span[0].weekday() == day]
    return replace(fixed("date", Grain.DAY, _pick(days, nth)), confidence=0.7)


@rule("T", "NUM ofonly the? T")
def day_of_unit(_: Context, day: Num, whole: Period) -> Period | None:
    """20 of next month."""
    if whole.kind != "unit" or whole.grain is not Grain.MONTH:
        return None
    return narrow(whole, day_of_month(_day(day)))


@rule("T", "WEEKDAY comma? the? ORD", "WEEKDAY comma? the NUM")
def weekday_and_day(_: Context, number: int, day: Num | int) -> Period:
    made = narrow(day_of_month(_day(day)), weekday(number))
    return replace(made, kind="pinned")


@rule("T", "WEEKDAY NUM")
def weekday_and_number(context: Context, number: int, day: Num) -> Period | None:
    """Monday 21."""
    return weekday_and_day(context, number, day) if day.digits == 2 else None


@rule("T", "YEAR dash T")
def year_and_quarter(_: Context, number: int, inner: Period) -> Period | None:
    """2017-Q1."""
    return narrow(year(number), inner) if inner.kind in ("quarter", "half") else None


@rule("T", "T T", "T the T", "T comma the? T")
def adjacent(context: Context, left: Period, right: Period) -> Period | None:
    if left.weak in ("day", "dayord"):
        return None
    return _narrowed(context, left, right)


@rule("T", "T of the? T", "T on the? T", "T comma on the? T")
def narrowed(context: Context, left: Period, right: Period) -> Period | None:
    """Tuesday of next week, tomorrow at five; but "we spent 1800 in May" tells no year."""
    return None if left.weak == "year" else _narrowed(context, left, right)


def _narrowed(context: Context, left: Period, right: Period) -> Period | None:
    if left.kind in _POINTED or right.kind in _POINTED or left.kind == right.kind:
        return None
    if left.kind == "weekend" and right.grain is Grain.DAY:
        return None
    if left.kind == "part" and right.weak == "dayname":  # "the afternoon sun"
        return None
    if "point" in (left.kind, right.kind) and not (
        left.kind.startswith("clock") or right.kind.startswith("clock")
    ):
        return None
    if {left.weak, right.weak} <= {"name", "feast"} or (left.fixed and right.fixed):
        return None
    if any(each.kind == "clockdate" and each.fixed for each in (left, right)):
        return None
    if right.weak == "dash" and not _near(context, left, right):
        return None
    outer, inner = (left, right) if coarser(left, right) else (right, left)
    if inner.fixed or not coarser(outer, inner):
        return None
    made = narrow(outer, inner)
    pinned = {outer.kind, inner.kind} == {"weekday", "date"}
    return replace(made, kind="pinned") if pinned else made


def _near(context: Context, left: Period, right: Period) -> bool:
    """Whether "Friday 7-6" can be a date: that day must be a Friday within weeks."""
    if left.kind != "weekday":
        return False
    series = narrow(right, left).series
    year_off = timedelta(days=60)
    return bool(series and series(context.now - year_off, context.now + year_off))


def spans_of(name: str, lo_hi: Span) -> list[Span]:
    """The units in a span. A week belongs where its Thursday is, as in ISO 8601."""
    lo, hi = lo_hi
    if name == "weekend":
        series = weekend().series
        return series(lo, hi) if series else []
    if name == "week":
        reach = timedelta(days=3)
        return [span for span in units(lo - reach, hi, Grain.WEEK) if lo <= span[0] + reach < hi]
    grain = Grain(name)
    return [span for span in units(lo, hi, grain) if span[1] <= hi]


def _pick(spans: list[Span], nth: int) -> Span:
    if not 1 <= abs(nth) <= len(spans):
        raise NoSuchTime("not so many")
    return spans[nth - 1 if nth > 0 else nth]


@rule("T", "monthof T")
def month_of(_: Context, said: Period) -> Period | None:
    """The month of May."""
    return replace(said, weak=None) if said.kind == "month" else None


@rule("T", "T of? ORD dash? UNIT")
def unit_of_owner(context: Context, whole: Period, nth: int, name: str) -> Period | None:
    """Next year's third quarter."""
    return nth_unit(context, nth, name, whole) if whole.grain is Grain.YEAR else None


@rule("T", "ORD dash? ONE of|comma? the? T", "the ORD dash? ONE of|comma? the? T")
def nth_unit(context: Context, nth: int, name: str, whole: Period) -> Period:
    if whole.kind in ("clock", "part", "weekday"):
        raise NoSuchTime("too fine")
    grain = Grain.DAY if name == "weekend" else Grain(name)
    span = _pick(spans_of(name, settle(whole, context).bounds()), nth)
    return fixed("unit", grain, span)


@rule("T", "ORD dash? UNIT", "the ORD dash? UNIT")
def nth_quarter(_: Context, nth: int, name: str) -> Period | None:
    return quarter_of(nth) if name == "quarter" and nth <= 4 else None


@rule("T", "REL ONE of the? T")
def last_unit(context: Context, rel: int, name: str, whole: Period) -> Period | None:
    return nth_unit(context, -1, name, whole) if rel < 0 and whole.kind != "clock" else None


@rule("T", "ORD last UNIT of the? T", "the ORD last UNIT of the? T")
def nth_last_unit(context: Context, nth: int, name: str, whole: Period) -> Period:
    return nth_unit(context, -nth, name, whole)


@rule("T", "REL NUM UNIT of the? T", "the? ORD NUM UNIT of the? T")
def run_of_units(
    context: Context, which: int, count: Num, name: str, whole: Period
) -> Period | None:
    """The last three weeks of this year, the first two months of 2020."""
    if which not in (-1, 1):
        return None
    spans = spans_of(name, settle(whole, context).bounds())
    chosen = spans[: count.whole] if which == 1 else spans[-count.whole :]
    return fixed("interval", Grain(name), (chosen[0][0], chosen[-1][1])) if chosen else None


@rule("T", "REL UNITS of the? T", "RELS UNIT of the? T", "the? ORD UNITS of the? T")
def few_of_units(context: Context, which: int, name: str, whole: Period) -> Period | None:
    """The last days of May, the first weeks of the year."""
    if whole.kind == "clock" or name == "weekend":
        return None
    return run_of_units(context, which, Num(FEW), name, whole)


@rule("T", "ORD T of|in the? T", "the ORD T of|in the? T")
def nth_series(context: Context, nth: int, inner: Period, whole: Period) -> Period | None:
    """The first Monday of next month."""
    if inner.series is None or inner.grain in (Grain.MONTH, Grain.YEAR) or inner.kind == "day":
        return None
    if whole.kind in ("clock", "part", "weekday"):
        return None
    lo, hi = settle(whole, context).bounds()
    return replace(fixed("date", inner.grain, _pick(inner.series(lo, hi), nth)), zone=inner.zone)


@rule("T", "REL T of|in the? T")
def last_series(context: Context, rel: int, inner: Period, whole: Period) -> Period | None:
    return nth_series(context, -1, inner, whole) if rel < 0 else None


@rule("T", "EDGE dash? the? T", "EDGE dash? ofonly? the? T")
def edge_of(context: Context, which: str, whole: Period) -> Period | None:
    if whole.kind in ("clock", "open", "date"):
        return None
    if whole.series is not None and whole.kind == "part":
        return None
    return part(settle(whole, context), which)


@rule("T", "EDGE the? UNIT")
def edge_of_unit(context: Context, which: str, name: str) -> Period | None:
    if name in ("weekend", "fortnight", "workday", "second", "minute", "hour"):
        return None
    return part(unit_at(context.now, Grain(name)), which)


@rule("T", "HALF the? T", "HALF ofonly the? T")
def half_of(context: Context, nth: int, whole: Period) -> Period | None:
    return None if whole.kind in ("clock", "open") else half(settle(whole, context), nth)


@rule("T", "week NUM", "week NUM of? the? T")
def numbered_week(context: Context, number: Num, whole: Period | None = None) -> Period | None:
    if whole is not None and whole.kind != "year":
        return None
    within = whole.bounds()[0] if whole else context.now
    if number.digits > 2:
        return None
    return unit_at(iso_week(within.year, number.whole), Grain.WEEK)


def _dotted(said: Dotted) -> Period:
    """Month first, as with a slash, where the language has no other habit."""
    day, month = said.first, said.second
    if not said.day_first and day <= 12:
        day, month = month, day
    return month_day(month, day)


@rule("T", "on|of DOTTED")
def dotted_date(_: Context, said: Dotted) -> Period:
    """On 4.22; not "for 2.8 kilometres"."""
    return replace(_dotted(said), weak="tail")


@rule("T", "ononly DOTTED")
def on_dotted_day(_: Context, said: Dotted) -> Period | None:
    """Am 8.11: nothing else is on it."""
    return _dotted(said) if said.day_first else None


@rule("T", "WEEKDAY DOTTED")
def weekday_dotted(_: Context, __: int, said: Dotted) -> Period:
    return _dotted(said)


@rule("T", "WEEKENDWORD", "the WEEKENDWORD")
def plain_weekend(_: Context, __: str) -> Period:
    return replace(weekend(), weak="weekend")


@rule("T", "weekof the? T")
def week_of(context: Context, day: Period) -> Period | None:
    if day.grain is not Grain.DAY or day.kind == "weekday":
        return None
    return unit_at(settle(day, context).bounds()[0], Grain.WEEK)


@rule("T", "weekendof the? T", "T ofonly? WEEKENDWORD")
def weekend_of(context: Context, day: Period, _: str = "") -> Period | None:
    if day.grain is not Grain.DAY:
        return None
    start, end = settle(day, context).bounds()
    two = after(weekend(), start - timedelta(days=3))
    # A holiday beside the weekend makes it a long one.
    lo, hi = two.bounds()
    if start.weekday() in (0, 3, 4):
        lo, hi = min(lo, start), max(hi, end)
    return replace(two, start=lo, end=hi)


@rule("T", "DECADE", "theonly DECADE")
def named_decade(_: Context, number: int) -> Period:
    start = year(decade_year(number)).bounds()[0]
    return replace(fixed("decade", Grain.DECADE, unit(start, Grain.DECADE)), weak="decade")


@rule("T", "NUM DECADE", "the NUM DECADE")
def century_and_decade(_: Context, century: Num, number: int) -> Period | None:
    if not 10 <= century.value <= 20:
        return None
    start = year(century.whole * 100 + number).bounds()[0]
    return fixed("decade", Grain.DECADE, unit(start, Grain.DECADE))


@rule("T", "ORD century", "the ORD century")
def nth_century(_: Context, nth: int) -> Period:
    start = year(max(1, (nth - 1) * 100)).bounds()[0]
    return fixed("century", Grain.CENTURY, (start, add(start, Grain.CENTURY, 1)))

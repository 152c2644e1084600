"""Word orders that English does not have: what follows the time instead of going before it."""

from __future__ import annotations

from recollect.language.time.calendar import unit
from recollect.language.time.grammar import rule
from recollect.language.time.period import Context, Period, months, narrow, weekday, year
from recollect.language.time.rules.dates import (
    MonthDay,
    date_of_far_year,
    edge_of,
    month_of_far_year,
)
from recollect.language.time.rules.ranges import after_time, before_time, join, since, until
from recollect.language.time.rules.relative import few_units, relative_series, unit_from_now
from recollect.language.time.shapes import Num, decade_year
from recollect.language.time.types import Grain


@rule("T", "ONE RELPOST")
def unit_relative(context: Context, name: str, rel: int) -> Period:
    """La semaine dernière."""
    return unit_from_now(context, name, rel)


@rule("T", "UNITS RELPOST")
def units_relative(context: Context, name: str, rel: int) -> Period | None:
    """Las semanas pasadas."""
    return few_units(context, rel, name)


@rule("T", "T RELPOST")
def series_relative(context: Context, series: Period, rel: int) -> Period | None:
    """L'été dernier."""
    return relative_series(context, rel, series)


@rule("T", "UNITREL")
def one_word(context: Context, said: str) -> Period:
    """去年, 先週."""
    name, rel = said.split()
    return unit_from_now(context, name, int(rel))


@rule("T", "UNITREL NUM", "UNITREL UNIT")
def weekday_by_number(context: Context, said: str, day: Num | str) -> Period | None:
    """上周五: the fifth day of last week; 上周日 its Sunday."""
    name, rel = said.split()
    if name != "week" or day not in ("day", *(Num(number) for number in range(1, 7))):
        return None
    number = 6 if isinstance(day, str) else day.whole - 1
    return narrow(unit_from_now(context, name, int(rel)), weekday(number))


@rule("ORD", "ordprefix NUM", "NUM ordsuffix")
def marked_ordinal(_: Context, number: Num) -> int:
    return number.whole


@rule("T", "YEAR yearpost")
def marked_year(_: Context, number: int) -> Period:
    return year(number)


@rule("T", "FARYEAR yearpost MD")
def marked_far_date(context: Context, number: int, said: MonthDay) -> Period:
    return date_of_far_year(context, said, number)


@rule("T", "FARYEAR yearpost MONTHN")
def marked_far_month(context: Context, number: int, month: int) -> Period:
    """Never 3000年 alone, which are mostly 3,000 years."""
    return month_of_far_year(context, month, number)


@rule("MONTHN", "NUM monthpost")
def marked_month(_: Context, number: Num) -> int | None:
    return number.whole if 1 <= number.value <= 12 else None


@rule("T", "MONTHN")
def month_by_number(_: Context, number: int) -> Period:
    return months(number, 1, "month", Grain.MONTH)


@rule("MD", "MONTHN NUM daypost")
def marked_date(_: Context, month: int, day: Num) -> MonthDay | None:
    return (month, day.whole) if 1 <= day.value <= 31 else None


@rule("T", "T sincepost")
def since_after(context: Context, said: Period) -> Period:
    return since(context, said)


@rule("T", "T untilpost")
def until_after(context: Context, said: Period) -> Period:
    return until(context, said)


@rule("T", "T beforepost")
def before_after(context: Context, said: Period) -> Period:
    return before_time(context, said)


@rule("T", "T afterpost")
def after_after(context: Context, said: Period) -> Period:
    return after_time(context, said)


@rule("T", "T range T untilpost")
def until_at_end(context: Context, start: Period, end: Period) -> Period:
    return join(start, end, context)


@rule("T", "NUM decadepost", "decadepre NUM")
def marked_decade(_: Context, number: Num) -> Period | None:
    """90年代, 90er Jahre, les années 90."""
    if number.digits not in (2, 4) or number.whole % 10:
        return None
    first = decade_year(number.whole) if number.digits == 2 else number.whole
    start = year(first).bounds()[0]
    return Period("decade", Grain.DECADE, *unit(start, Grain.DECADE))


@rule("T", "T EDGEPOST")
def edge_after(context: Context, whole: Period, which: str) -> Period | None:
    """去年底, 6月末."""
    return edge_of(context, which, whole) if whole.kind in ("unit", "month", "year") else None

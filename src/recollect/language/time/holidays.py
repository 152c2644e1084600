"""Named days: the little rules of the data files become series."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files

from recollect.language.time.calendar import (
    Span,
    easter,
    islamic,
    nth_weekday,
    orthodox_easter,
)
from recollect.language.time.period import Period, each, every_year, month_day
from recollect.language.time.types import Grain


@cache
def holiday(rule: str) -> Period:
    """The series of a rule such as `12-25`, `nth 4 3 11 +1`, `easter -2`, `islamic 9 1 30` or
    `table lunar-new-year -1`."""
    name, *arguments = rule.split()
    if name == "islamic":
        return _islamic(*(int(argument) for argument in arguments))
    if name == "table":
        return _table(arguments[0], sum(int(later) for later in arguments[1:]))
    if name in _YEARLY:
        return every_year("holiday", Grain.DAY, lambda year: _YEARLY[name](year, arguments))
    month, day = name.split("-")
    made = month_day(int(month), int(day))
    return Period("holiday", made.grain, series=made.series)


def _days(start: datetime, count: int = 1) -> Span:
    return start, start + timedelta(days=count)


def _nth(year: int, arguments: list[str]) -> Span:
    nth, weekday, month, *later = (int(argument) for argument in arguments)
    return _days(nth_weekday(year, month, weekday, nth) + timedelta(days=sum(later)))


def _counted(feast: Callable[[int], datetime]) -> Callable[[int, list[str]], Span]:
    def span(year: int, arguments: list[str]) -> Span:
        offset, count = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 1
        return _days(feast(year) + timedelta(days=offset), count)

    return span


def _elapsed(year: int) -> int:
    """Days from the Hebrew epoch to the molad-based new year of a Hebrew year."""
    months = (235 * year - 234) // 19
    day = 29 * months + (12084 + 13753 * months) // 25920
    return day + 1 if 3 * (day + 1) % 7 < 3 else day


def hebrew_new_year(year: int) -> datetime:
    """Rosh Hashanah in a Gregorian year: the molad with its four postponements."""
    hebrew = year + 3761
    previous, this, following = (_elapsed(hebrew + step) for step in (-1, 0, 1))
    delay = 2 if following - this == 356 else 1 if this - previous == 382 else 0
    return datetime(1, 1, 1) + timedelta(days=this + delay - 1373429)


def _hebrew(year: int, arguments: list[str]) -> Span:
    count = int(arguments[1]) if len(arguments) > 1 else 1
    start = hebrew_new_year(year)
    match arguments[0]:
        case "passover":
            start -= timedelta(days=163)
        case "purim":
            start -= timedelta(days=193)
        case "shavuot":
            start -= timedelta(days=113)
        case "hanukkah":
            # Heshvan has 30 days only in the long years, of 355 or 385 days.
            long = (hebrew_new_year(year + 1) - start).days % 10 == 5
            start += timedelta(days=84 if long else 83)
        case offset:
            start += timedelta(days=int(offset))
    return _days(start, count)


_YEARLY: dict[str, Callable[[int, list[str]], Span]] = {
    "nth": _nth,
    "easter": _counted(easter),
    "orthodox": _counted(orthodox_easter),
    "hebrew": _hebrew,
}


def _islamic(month: int, day: int, count: int = 1) -> Period:
    def series(lo: datetime, hi: datetime) -> list[Span]:
        # The Islamic year is 354 or 355 days, so a Gregorian year can hold a feast twice.
        first = int((lo.year - 622) * 33 / 32) - 1
        last = int((hi.year - 622) * 33 / 32) + 2
        spans = [_days(islamic(year, month, day), count) for year in range(max(first, 1), last + 1)]
        return [span for span in spans if lo <= span[0] < hi]

    return Period("holiday", Grain.DAY, series=series)


@cache
def _tables() -> dict[str, list[str]]:
    source = files("recollect.language.time") / "data" / "tables.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _table(name: str, later: int = 0) -> Period:
    days = {datetime.fromisoformat(day) + timedelta(days=later) for day in _tables()[name]}
    return each("holiday", Grain.DAY, days.__contains__)

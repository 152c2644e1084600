"""Times that are written in figures: dates, clock times, decades, quarters, ISO weeks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from recollect.language.time.calendar import iso_week, unit
from recollect.language.time.period import (
    NoSuchTime,
    Period,
    daily,
    fixed,
    month_day,
    months,
    unit_at,
    year,
)
from recollect.language.time.types import Grain

Made = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Num:
    """A number; `digits` is how many figures it was written with, 0 for words."""

    value: float
    digits: int = 0

    @property
    def whole(self) -> int:
        return int(self.value)


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day. `open12` when the words leave open whether it is am or pm."""

    hour: int
    minute: int = 0
    second: int = 0
    grain: Grain = Grain.HOUR
    open12: bool = False
    zone: int | None = None
    meridiem: bool = False

    def __post_init__(self) -> None:
        if not (0 <= self.hour <= 24 and 0 <= self.minute < 60 and 0 <= self.second < 60):
            raise NoSuchTime("no such time of day")

    @property
    def offset(self) -> timedelta:
        return timedelta(hours=self.hour, minutes=self.minute, seconds=self.second)

    def later12(self) -> Clock:
        return replace(self, hour=self.hour + 12)


def clock_period(clock: Clock, weak: str | None = None) -> Period:
    """The clock time on every day, twice a day when am or pm is open."""
    step = {
        Grain.HOUR: timedelta(hours=1),
        Grain.MINUTE: timedelta(minutes=1),
        Grain.SECOND: timedelta(seconds=1),
    }[clock.grain]
    starts = [clock.offset]
    if clock.open12 and clock.hour <= 12:
        other = timedelta(hours=12) if clock.hour < 12 else -timedelta(hours=12)
        starts.append(clock.offset + other)
        if clock.hour == 12:
            starts.append(clock.offset + timedelta(hours=12))
    made = daily("clock", clock.grain, [(start, start + step) for start in starts])
    return replace(made, zone=clock.zone, weak=weak)


def full_year(figures: str) -> int:
    """Two figures are a year of this century up to '29, of the last one from '30 on."""
    number = int(figures)
    if len(figures) > 2:
        return number
    return number + (2000 if number < 30 else 1900)


def _date(number: int, month: int, day: int, weak: str | None = None) -> Made:
    return "T", replace(unit_at(datetime(number, month, day), Grain.DAY, "date"), weak=weak)


def _iso_datetime(match: re.Match[str]) -> Made:
    moment = datetime(
        int(match[1]),
        int(match[2]),
        int(match[3]),
        int(match[4]),
        int(match[5]),
        int(match[6] or 0),
    )
    grain = Grain.SECOND if match[6] else Grain.MINUTE
    return "T", replace(unit_at(moment, grain, "clockdate"), zone=offset(match[7]))


def offset(text: str | None) -> int | None:
    """Minutes east of UTC, from `z`, `+0530` or `-05:00`."""
    if not text:
        return None
    if text == "z":
        return 0
    figures = re.sub(r"\D", "", text).ljust(2, "0")
    hours, minutes = (figures[:-2], figures[-2:]) if len(figures) > 2 else (figures, "0")
    return (-1 if text[0] == "-" else 1) * (int(hours) * 60 + int(minutes))


def _ymd(match: re.Match[str]) -> Made:
    month, day = int(match[2]), int(match[3])
    return _date(int(match[1]), *((day, month) if month > 12 else (month, day)))


def _compact(match: re.Match[str]) -> Made:
    return _date(int(match[1]), int(match[2]), int(match[3]))


def _mdy(match: re.Match[str]) -> Made:
    """Month first, as most English text; day first where a month of that number is none."""
    first, second = int(match[1]), int(match[3])
    if first > 12:
        first, second = second, first
    return _date(full_year(match[4]), first, second)


def _dmy_dots(match: re.Match[str]) -> Made:
    """Dots are a day-first habit, unless that gives no date."""
    day, month = int(match[1]), int(match[2])
    if month > 12:
        day, month = month, day
    return _date(full_year(match[3]), month, day)


def _md(match: re.Match[str]) -> Made:
    first, second = int(match[1]), int(match[2])
    if first > 12:
        first, second = second, first
    weak = "slash" if "/" in match[0] else "dash"
    return "T", replace(month_day(first, second), weak=weak)


def _dmy(match: re.Match[str]) -> Made:
    day, month = int(match[1]), int(match[3])
    return _date(full_year(match[4]), *((month, day) if month <= 12 else (day, month)))


def _dm(match: re.Match[str]) -> Made:
    day, month = int(match[1]), int(match[2])
    made = month_day(*((month, day) if month <= 12 else (day, month)))
    return "T", replace(made, weak="slash" if "/" in match[0] else "dash")


_Make = Callable[["re.Match[str]"], Made]


def _ym(match: re.Match[str]) -> Made:
    return "T", unit_at(datetime(int(match[1]), int(match[2]), 1), Grain.MONTH, "month")


def _my(match: re.Match[str]) -> Made:
    return "T", unit_at(datetime(int(match[2]), int(match[1]), 1), Grain.MONTH, "month")


def _week_date(match: re.Match[str]) -> Made:
    start = iso_week(int(match[1]), int(match[2]))
    if match[3]:
        return "T", unit_at(start + timedelta(days=int(match[3]) - 1), Grain.DAY, "date")
    return "T", unit_at(start, Grain.WEEK)


def _clock(match: re.Match[str]) -> Made:
    hour, minute = int(match[1]), int(match[2] or 0)
    meridiem = (match[4] or "").strip()[:1]
    grain = Grain.SECOND if match[3] else Grain.MINUTE if match[2] else Grain.HOUR
    if meridiem and not 1 <= hour <= 12:
        if hour > 23 or meridiem == "a":
            raise NoSuchTime("no such hour")
        meridiem = ""
        return "CLOCK", Clock(hour, minute, int(match[3] or 0), grain)
    if meridiem:
        hour = hour % 12 + (12 if meridiem == "p" else 0)
    open12 = not meridiem and 1 <= hour <= 12 and not match[1].startswith("0")
    return "CLOCK", Clock(hour, minute, int(match[3] or 0), grain, open12, None, bool(meridiem))


def _military(match: re.Match[str]) -> Made:
    hour, minute = int(match[1]), int(match[2])
    if match[3].strip()[0] == "p" and hour < 12:
        hour += 12
    return "CLOCK", Clock(hour, minute, 0, Grain.MINUTE)


def _h_clock(match: re.Match[str]) -> Made:
    return "CLOCK", Clock(int(match[1]), int(match[2] or 0), 0, Grain.MINUTE)


def _decade(match: re.Match[str]) -> Made:
    figures = match[1]
    number = int(figures) if len(figures) == 4 else decade_year(int(figures))
    if number % 10:
        raise NoSuchTime("no decade begins so")
    grain = Grain.DECADE
    span = unit(datetime(number, 1, 1), grain)
    return "T", replace(fixed("decade", grain, span), weak="decade" if len(figures) == 2 else None)


def decade_year(number: int) -> int:
    """'the 20s' are the 2020s by now; 'the 30s' are still the 1930s."""
    return number + (2000 if number < 30 else 1900)


def _quarter(match: re.Match[str]) -> Made:
    quarter = months(3 * int(match[1] or match[2]) - 2, 3, "quarter", Grain.QUARTER)
    return "T", quarter


def _half_year(match: re.Match[str]) -> Made:
    half = months(6 * int(match[1]) - 5, 6, "half", Grain.QUARTER)
    return "T", replace(half, weak="half")


def _fiscal(match: re.Match[str]) -> Made:
    """A fiscal year is read as the calendar year of its number, for want of its first month."""
    return "T", replace(year(full_year(match[1])), kind="fiscal", confidence=0.7)


def _short_year(match: re.Match[str]) -> Made:
    return "YEAR", full_year(match[1])


@dataclass(frozen=True, slots=True)
class Dotted:
    """Half past two in some places, a day in others: the words around it decide."""

    first: int
    second: int
    day_first: bool = False


def _dotted(match: re.Match[str]) -> Made:
    return "DOTTED", Dotted(int(match[1]), int(match[2]))


def _dotted_day(match: re.Match[str]) -> Made:
    return "DOTTED", Dotted(int(match[1]), int(match[2]), day_first=True)


def _dotted_ordinals(match: re.Match[str]) -> Made:
    """A dot after each makes ordinals of day and month: "8.11.", "8. 11. 2026", "8.11.26"."""
    day, month = int(match[1]), int(match[2])
    if figures := match[3] or match[4]:
        return _date(full_year(figures), month, day, weak=None if match[3] else "ordinals")
    return "T", replace(month_day(month, day), weak="ordinals")


def _ordinal(match: re.Match[str]) -> Made:
    return "NTH", int(match[1])


def _number(match: re.Match[str]) -> Made:
    return "NUM", Num(float(match[0].replace(",", "")), len(match[0]))


def _fraction(match: re.Match[str]) -> Made:
    return "NUM", Num(int(match[1]) / int(match[2]), 1)


def _year(match: re.Match[str]) -> Made:
    return "YEAR", int(match[0])


def _far_year(match: re.Match[str]) -> Made:
    return "FARYEAR", int(match[0])


def _signed(match: re.Match[str]) -> Made:
    return "SIGN", 1 if match[0] == "+" else -1


_DAY_FIRST: dict[_Make, _Make] = {_mdy: _dmy, _md: _dm, _dotted: _dotted_day}
_ONLY_DAY_FIRST: frozenset[_Make] = frozenset({_dotted_ordinals})

# Of so many of anything, what is counted comes next. A year ends what is said, or 年 follows, or what nobody counts. "In
# May 3000 and in June 4000" are counts; of 9999, which stands for ever, nobody counts so many.
_ENDED = r"\s?年|\s*(?:[.,;:!?)\]]+(?:\s|$)|$)"
_UNCOUNTED = (
    "with|mit|avec|con|com|the|i|we|you|he|she|it|they|unless|because|when|while|if|though|although"
)
_LINKS = "and|or|at|in|on|for|by|to|from|as|und|oder|bis|et|ou|y|o|e"
_AMPM = r"((?:\s?[ap]\.?\s?m\b\.?)|(?<=\d)[ap]\b)"
_Shape = tuple[re.Pattern[str], Callable[[re.Match[str]], Made]]
_SHAPES: list[tuple[str, Callable[[re.Match[str]], Made]]] = [
    (
        r"(\d{4})-(\d\d?)-(\d\d?)(?:t|\s+)(\d\d?):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s?(z\b|[+-]\d\d:?\d\d\b)?",
        _iso_datetime,
    ),
    (r"(\d{4})\s?-\s?w(\d\d)(?:-(\d))?\b", _week_date),
    (r"(\d{4})([0-1]\d)([0-3]\d)\b(?!\s?[\d.,]*\d)", _compact),
    (r"(\d{4}) (0[1-9]|1[0-2]) ([0-3]\d)\b", _ymd),
    (r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?![\d./]*\d)", _ymd),
    (r"(\d\d?)\s?([-/])\s?(\d\d?)\s?\2\s?(\d{4}|\d\d)(?!\d)", _mdy),
    (r"(\d\d?)\.(\d\d?)\.(\d{4})(?!\d)", _dmy_dots),
    (r"(\d\d?)\.\s?(\d\d?)\.(?:\s?(\d{4})|(\d\d))?(?![.:]?\d)", _dotted_ordinals),
    (r"(\d{4})\s?[-/]\s?(1[0-2]|0?[1-9])(?![\d:/.-]*\d)", _ym),
    (r"(1[0-2]|0?[1-9])\s?[-/]\s?(\d{4})\b", _my),
    (r"(\d\d?)\s?/\s?(\d\d?)(?![\d/:]|\.\d)", _md),
    (r"(\d\d?)\s?-\s?(\d\d?)(?![-\d/:]|\.\d|\s?[ap]\.?m)", _md),
    (r"(\d\d?)\.(\d\d?)(?![\d.:])", _dotted),
    (rf"(\d\d?)(?:[:.](\d\d)(?:[:.](\d\d))?)?(?:ish)?{_AMPM}", _clock),
    (rf"(\d\d?)([0-5]\d){_AMPM}", _military),
    (r"(\d\d?):(\d\d)(?::(\d\d))?()(?![:\d])", _clock),
    (r"(\d\d?)h(\d\d)?\b", _h_clock),
    (r"'?(\d{4}|\d0)\s?'?s\b", _decade),
    (r"'(\d0)s\b", _decade),
    (r"'(\d\d)(?!\d|s)\b", _short_year),
    (r"(\d\d?)\s?(?:st|nd|rd|th|º|ª|°)(?!\w)", _ordinal),
    (r"q([1-4])\b|([1-4])q\b", _quarter),
    (r"h([12])\b(?!\w)", _half_year),
    (r"(?:fy|cy|fiscal year|financial year)\s?'?(\d{4}|\d\d)\b", _fiscal),
    (
        r"[1-9]/[2-9](?=\s?(?:of an\s)?h)",
        lambda match: _fraction(re.match(r"(\d)/(\d)", match[0]) or match),
    ),
    (r"\d+(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d+", _number),
    (r"[12]\d{3}(?!:?\d|[.,]\d)", _year),
    (rf"[3-9]\d{{3}}(?={_ENDED}|\s+(?:{_UNCOUNTED})\b)|9999(?=\s+(?:{_LINKS})\b)", _far_year),
    (r"[+-](?=\s?\d)", _signed),
]
_PERIODS = frozenset({"q", "h", "fy", "cy", "fiscal", "financial"})
_LETTERS = _PERIODS | {"'", "+", "-"}


@cache
def _compiled() -> list[_Shape]:
    return [(re.compile(pattern), make) for pattern, make in _SHAPES]


def begins_period(word: str) -> bool:
    """What may be a time by its figures: "3", "Q" of "Q3"."""
    return word[0].isdigit() or word in _PERIODS


def begins_shape(word: str) -> bool:
    return word[0].isdigit() or word in _LETTERS


def shapes_at(
    folded: str, start: int, word: str, day_first: bool = False
) -> list[tuple[Made, int]]:
    """All that the figures at a place can be, with where each ends."""
    if not begins_shape(word):
        return []
    found: list[tuple[Made, int]] = []
    dated = 0  # where a date with its year first ends: that year is no hour ("at 2026-11-08")
    for pattern, make in _compiled():
        match = pattern.match(folded, start)
        if match is None or match.end() < dated or (make in _ONLY_DAY_FIRST and not day_first):
            continue
        if make is _ymd:
            dated = match.end()
        try:
            if day_first:
                make = _DAY_FIRST.get(make, make)
            found.append((make(match), match.end()))
        except ValueError:
            continue  # figures that are no date, such as 24/7
    return found


def quarter_of(number: int) -> Period:
    return months(3 * number - 2, 3, "quarter", Grain.QUARTER)

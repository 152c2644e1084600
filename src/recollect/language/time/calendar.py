"""Calendar arithmetic on naive datetimes: units, their beginnings, movable feasts."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from recollect.language.time.types import Grain

Span = tuple[datetime, datetime]

_MONTHS = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.SEASON: 3}
_YEARS = {Grain.YEAR: 1, Grain.DECADE: 10, Grain.CENTURY: 100}
_FIXED = {
    Grain.SECOND: timedelta(seconds=1),
    Grain.MINUTE: timedelta(minutes=1),
    Grain.HOUR: timedelta(hours=1),
    Grain.DAY: timedelta(days=1),
    Grain.WEEK: timedelta(weeks=1),
}
# Mean lengths: only to order grains and to give a duration of months a length.
DAYS = {Grain.MONTH: 30, Grain.QUARTER: 91, Grain.SEASON: 91, Grain.YEAR: 365}
ORDER = {grain: place for place, grain in enumerate(Grain)}
SEASON_START = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def add_months(moment: datetime, months: int) -> datetime:
    """Move by months; the 31st becomes the last day of a shorter month."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, days_in(year, month + 1)))


def days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def add(moment: datetime, grain: Grain, count: float) -> datetime:
    """Move by a number of units; halves are told in the next finer unit."""
    if grain in _FIXED:
        return moment + _FIXED[grain] * count
    months = count * _MONTHS[grain] if grain in _MONTHS else count * _YEARS[grain] * 12
    whole = int(months)
    moved = add_months(moment, whole)
    return moved if whole == months else moved + timedelta(days=round((months - whole) * 30))


def length(grain: Grain, count: float) -> timedelta:
    """How long a duration is; months count 30 days and years 365."""
    if grain in _FIXED:
        return _FIXED[grain] * count
    days = DAYS[grain] if grain in DAYS else DAYS[Grain.YEAR] * _YEARS[grain]
    return timedelta(days=days * count)


def floor(moment: datetime, grain: Grain) -> datetime:
    """The beginning of the unit that holds the moment."""
    if grain is Grain.SECOND:
        return moment.replace(microsecond=0)
    if grain is Grain.MINUTE:
        return moment.replace(second=0, microsecond=0)
    if grain is Grain.HOUR:
        return moment.replace(minute=0, second=0, microsecond=0)
    day = midnight(moment)
    if grain is Grain.DAY:
        return day
    if grain is Grain.WEEK:
        return day - timedelta(days=day.weekday())
    first = day.replace(day=1)
    if grain is Grain.MONTH:
        return first
    if grain is Grain.QUARTER:
        return first.replace(month=(first.month - 1) // 3 * 3 + 1)
    if grain is Grain.SEASON:
        return add_months(first, -(first.month % 3))
    size = _YEARS[grain]
    return first.replace(month=1, year=max(1, first.year // size * size))


def unit(moment: datetime, grain: Grain) -> Span:
    """The calendar unit that holds the moment. The last day, which is how many write "for good", ends
    with the calendar."""
    start = floor(moment, grain)
    try:
        return start, add(start, grain, 1)
    except (OverflowError, ValueError):  # of days and of months
        return start, datetime.max


def units(lo: datetime, hi: datetime, grain: Grain) -> list[Span]:
    """The calendar units that begin in `[lo, hi)`."""
    start = floor(lo, grain)
    if start < lo:
        start = add(start, grain, 1)
    found: list[Span] = []
    while start < hi:
        end = add(start, grain, 1)
        found.append((start, end))
        start = end
    return found


def nth_weekday(year: int, month: int, weekday: int, nth: int) -> datetime:
    """The nth weekday of a month; from the end when nth is negative."""
    if nth > 0:
        first = datetime(year, month, 1)
        day = 1 + (weekday - first.weekday()) % 7 + 7 * (nth - 1)
    else:
        final = datetime(year, month, days_in(year, month))
        day = final.day - (final.weekday() - weekday) % 7 + 7 * (nth + 1)
    return datetime(year, month, day)


def easter(year: int) -> datetime:
    """Western Easter by the anonymous Gregorian computus."""
    golden, century, rest = year % 19, year // 100, year % 100
    skipped = century - century // 4 - (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + skipped + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return datetime(year, month, day + 1)


def orthodox_easter(year: int) -> datetime:
    """Eastern Easter: the Julian computus, told in the Gregorian calendar."""
    epact = (19 * (year % 19) + 15) % 30
    weekday = (2 * (year % 4) + 4 * (year % 7) - epact + 34) % 7
    month, day = divmod(epact + weekday + 114, 31)
    return datetime(year, month, day + 1) + timedelta(days=year // 100 - year // 400 - 2)


def iso_week(year: int, week: int) -> datetime:
    start = date.fromisocalendar(year, week, 1)
    return datetime(start.year, start.month, start.day)


def islamic(year: int, month: int, day: int) -> datetime:
    """A day of the tabular Islamic calendar; a sighting may move it by a day."""
    days = (11 * year + 3) // 30 + 354 * year + 30 * month - (month - 1) // 2 + day - 385
    return datetime(1, 1, 1) + timedelta(days=days + 1948440 - 1721426)

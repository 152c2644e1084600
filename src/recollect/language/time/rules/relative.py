"""Times told from now, or from another time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from recollect.language.time.calendar import ORDER, SEASON_START, add, floor, unit
from recollect.language.time.grammar import rule
from recollect.language.time.period import (
    Context,
    NoSuchTime,
    Period,
    after,
    before,
    fixed,
    months,
    narrow,
    shift,
    unit_at,
    weekday,
)
from recollect.language.time.rules.numbers import FEW, Duration, duration
from recollect.language.time.shapes import Num
from recollect.language.time.thirds import part
from recollect.language.time.types import Grain

_DAY = timedelta(days=1)
# How finely people mean a distance: a week to the day, decades to the year.
_SPOKEN = {Grain.DECADE: Grain.YEAR, Grain.CENTURY: Grain.DECADE}
_YEARLY = ("month", "season", "quarter", "holiday", "date")  # what comes once a year
_CALENDAR = (Grain.QUARTER, Grain.SEASON, Grain.DECADE, Grain.CENTURY)


def _sign(rel: int) -> int:
    """2 is "the coming one": for units the same as the next."""
    return min(rel, 1)


def unit_from_now(context: Context, name: str, count: int) -> Period:
    """The calendar unit so many units from the present one."""
    if name == "weekend":
        monday = floor(context.now, Grain.WEEK) + timedelta(weeks=count)
        return fixed("weekend", Grain.DAY, (monday + 5 * _DAY, monday + 7 * _DAY))
    if name == "fortnight":
        monday = floor(context.now, Grain.WEEK) + timedelta(weeks=2 * count)
        return fixed("unit", Grain.WEEK, (monday, monday + 14 * _DAY))
    if name == "workday":
        return _workdays(context, count, 1)
    grain = Grain(name)
    start = add(floor(context.now, grain), grain, count)
    return unit_at(start, grain, "dayword" if grain is Grain.DAY else "unit")


@rule("T", "REL ONE", "REL more UNIT")
def relative_unit(context: Context, rel: int, name: str) -> Period | None:
    if name in ("second", "minute"):
        return None
    return unit_from_now(context, name, _sign(rel))


@rule("T", "ROLLING ONE")
def rolling_unit(context: Context, rel: int, name: str) -> Period | None:
    """In the past year: the twelve months up to now. Quarters and seasons stay whole."""
    said = duration(name, 1)
    if said is None or said.grain in (Grain.QUARTER, Grain.SEASON):
        return unit_from_now(context, name, rel)
    if said.grain is Grain.DECADE and rel > 0:
        return unit_from_now(context, name, 1)
    if said.grain is Grain.DECADE:
        said = Duration(((Grain.YEAR, 10),))
    return rolling(context, rel, said)


@rule("T", "ROLLING UNITS", "RELS UNIT")
def few_units(context: Context, rel: int, name: str) -> Period | None:
    """In the last weeks, over the past months: as many as "a few", up to now."""
    said = duration(name, FEW)
    if said is not None and said.grain is Grain.DECADE:
        said = Duration(((Grain.YEAR, 10 * FEW),))
    made = rolling(context, rel, said) if said else None
    return replace(made, weak="units") if made else None


@rule("T", "recent UNITS", "UNITS recent")
def recent_units(context: Context, name: str) -> Period | None:
    """In recent weeks."""
    return few_units(context, -1, name)


@rule("T", "REL UNITS")
def relative_units(context: Context, rel: int, name: str) -> Period | None:
    """The last weeks."""
    return few_units(context, rel, name) if name not in ("second", "minute") else None


@rule("T", "REL UNITS")
def owning_unit(context: Context, rel: int, name: str) -> Period | None:
    """Last weeks meeting: an apostrophe is missing."""
    made = relative_unit(context, rel, name)
    return replace(made, weak="owner") if made and rel else made


@rule("T", "within the? REL DUR")
def within_next(context: Context, rel: int, said: Duration) -> Period | None:
    return within(context, said) if rel > 0 else rolling(context, rel, said)


@rule("T", "within the? REL ONE")
def within_next_unit(context: Context, rel: int, name: str) -> Period | None:
    said = duration(name, 1)
    return within_next(context, rel, said) if said else None


@rule("T", "within the? REL UNITS")
def within_next_units(context: Context, rel: int, name: str) -> Period | None:
    said = duration(name, FEW)
    return within_next(context, rel, said) if said else None


@rule("T", "ROLLING DUR", "REL DUR", "RELS DUR", "all REL DUR", "of the? REL DUR")
def rolling(context: Context, rel: int, said: Duration) -> Period | None:
    """The last six months: from that day on, through today."""
    rel = _sign(rel)
    if rel == 0:
        return None
    if said.workdays:
        return _workdays(context, rel, int(said.amounts[0][1]))
    grain = said.grain
    if len(said.amounts) == 1 and grain in _CALENDAR and grain is not Grain.CENTURY:
        return _whole_units(context, rel, grain, said.amounts[0][1])
    if ORDER[grain] < ORDER[Grain.DAY]:
        now = floor(context.now, Grain.SECOND)
        ends = sorted((now, said.shift(now, rel)))
        return replace(fixed("interval", grain, (ends[0], ends[1])), zone=context.offset)
    tomorrow = context.today + _DAY
    if rel < 0:
        return fixed("interval", grain, (said.shift(context.today, -1), tomorrow))
    return fixed("interval", grain, (tomorrow, said.shift(tomorrow, 1)))


def _whole_units(context: Context, rel: int, grain: Grain, count: float) -> Period:
    start = floor(context.now, grain)
    if rel < 0:
        return fixed("interval", grain, (add(start, grain, -count), start))
    first = add(start, grain, 1)
    return fixed("interval", grain, (first, add(first, grain, count)))


def _workdays(context: Context, rel: int, count: int) -> Period:
    """The next or last so many days that are no Saturday or Sunday."""
    if not 1 <= count <= 1000 or rel == 0:
        raise NoSuchTime("no such run of workdays")
    day, found = context.today, [context.today]
    found.clear()
    while len(found) < count:
        day += _DAY * rel
        if day.weekday() < 5:
            found.append(day)
    return fixed("interval", Grain.DAY, (min(found), max(found) + _DAY))


@rule("T", "the? NUM REL|RELS UNIT", "AMOUNT REL|RELS UNIT")
def counted_relative(context: Context, count: Num | int, rel: int, name: str) -> Period | None:
    """The three last months; but "we looked at three last month" counts something else."""
    said = duration(name, count if isinstance(count, int) else count.value)
    made = rolling(context, rel, said) if said else None
    return replace(made, weak="plural") if made else None


@rule("T", "REL T")
def relative_series(context: Context, rel: int, series: Period) -> Period | None:
    """Last spring, this Friday, next May."""
    if series.kind == "weekday":
        return _relative_weekday(context, rel, series)
    if series.series is None or series.kind in ("part", "day") or series.kind.startswith("clock"):
        return None
    if series.weak == "dash":  # "the last 10-15 minutes"
        return None
    # "This may be wrong": a word that is also a verb or a name stays in doubt.
    doubt = "relname" if series.weak in ("name", "feast") else None
    if rel < 0:
        return replace(before(series, context.today), weak=doubt)
    if rel > 0:
        return replace(after(series, context.today + _DAY), weak=doubt)
    lo, hi = unit(context.now, Grain.YEAR)
    year = Period("unit", Grain.YEAR, lo, hi + timedelta(days=62))
    return replace(narrow(year, series), weak=doubt)


def _relative_weekday(context: Context, rel: int, series: Period) -> Period:
    """Last Friday is the one before today; this and next Friday go by the week."""
    if rel < 0:
        return before(series, context.today)
    if rel == 2:
        return replace(after(series, context.today + _DAY), kind="date")
    week = floor(context.now, Grain.WEEK) + timedelta(weeks=rel)
    return replace(after(series, week), kind="date")


@rule("T", "UNIT after next", "UNIT after the next")
def unit_after_next(context: Context, name: str) -> Period | None:
    return unit_from_now(context, name, 2) if name not in ("second", "minute") else None


@rule("T", "UNIT before last", "UNIT before the last")
def unit_before_last(context: Context, name: str) -> Period | None:
    return unit_from_now(context, name, -2) if name not in ("second", "minute") else None


@rule("T", "T after next")
def series_after_next(context: Context, series: Period) -> Period | None:
    if series.series is None:
        return None
    following = after(series, context.today + _DAY)
    return after(series, following.bounds()[1])


@rule("T", "T before last")
def series_before_last(context: Context, series: Period) -> Period | None:
    if series.series is None:
        return None
    return before(series, before(series, context.today).bounds()[0])


def at_distance(context: Context, said: Duration, sign: int) -> Period:
    """That long from now: a moment for hours and minutes, else a day."""
    grain = said.grain
    if ORDER[grain] < ORDER[Grain.DAY]:
        moment = floor(said.shift(context.now, sign), Grain.SECOND)
        fine = grain if grain is Grain.SECOND else Grain.MINUTE
        return replace(unit_at(moment, fine, "point"), zone=context.offset)
    day = said.shift(context.today, sign)
    fine = _SPOKEN.get(grain, grain)
    if said.amounts == ((Grain.WEEK, 1),):
        fine = Grain.DAY
    if any(count != int(count) for _, count in said.amounts):  # "half a year ago"
        fine = Grain.MONTH if ORDER[grain] > ORDER[Grain.MONTH] else Grain.DAY
    return Period("point", fine, day, day + _DAY)


@rule("T", "DUR ago")
def ago(context: Context, said: Duration) -> Period:
    """Three days ago; "three days before" may yet say before what."""
    return replace(at_distance(context, said, -1), weak="ago")


@rule("T", "DUR ago DAY")
def ago_from_day(_: Context, said: Duration, day: int) -> Period:
    """A week ago today."""
    start = said.shift(_.today + _DAY * day, -1)
    return Period("point", Grain.DAY, start, start + _DAY)


@rule("T", "DUR ago WEEKDAY", "DUR ago on WEEKDAY")
def ago_from_weekday(context: Context, said: Duration, day: int) -> Period | None:
    """A week ago Tuesday."""
    if said.grain is not Grain.WEEK:
        return None
    start = said.shift(before(weekday(day), context.today).bounds()[0], -1)
    return Period("point", Grain.DAY, start, start + _DAY)


@rule("T", "T comma? DUR agoonly", "T comma? preago DUR")
def series_ago(context: Context, series: Period, said: Duration) -> Period | None:
    """June two years ago, Friday two weeks ago; "May two years ago" may still be somebody's name."""
    made = _of_then(context, said, series)
    named = series.weak in ("name", "feast", "dayname")
    return replace(made, weak=series.weak if named else "ago") if made else None


@rule("T", "DUR agoonly comma? in|at|of|on the? T", "preago DUR comma? in|at|of|on the? T")
def ago_in_series(context: Context, said: Duration, series: Period) -> Period | None:
    """Two years ago in June, two months ago on the 5th."""
    return _of_then(context, said, series)


def _of_then(context: Context, said: Duration, series: Period) -> Period | None:
    """What comes once a year in the year of so long ago, a day of the month in its month."""
    if series.fixed:
        return None
    if said.grain is Grain.WEEK and series.kind == "weekday":
        return shift(before(series, context.today), Grain.DAY, -said.length.days)
    then = at_distance(context, said, -1).bounds()[0]
    if said.grain is Grain.YEAR and series.kind in _YEARLY:
        return narrow(unit_at(then, Grain.YEAR), series)
    if said.grain is Grain.MONTH and series.kind == "day":
        return narrow(unit_at(then, Grain.MONTH), series)
    return None


@rule("T", "TODATE")
def to_date(context: Context, name: str) -> Period:
    """Year to date."""
    start = floor(context.now, Grain(name))
    return fixed("interval", Grain.DAY, (start, context.today + _DAY))


@rule("T", "DUR hence")
def from_now(context: Context, said: Duration) -> Period:
    return at_distance(context, said, 1)


@rule("T", "in DUR")
def in_time(context: Context, said: Duration) -> Period:
    """In three days; after a past verb that is how long something took."""
    return replace(at_distance(context, said, 1), weak="ahead")


@rule("T", "preago DUR")
def ago_before(context: Context, said: Duration) -> Period:
    """vor zwei Wochen, il y a deux semaines."""
    return at_distance(context, said, -1)


@rule("T", "within DUR")
def within(context: Context, said: Duration) -> Period:
    fine = ORDER[said.grain] < ORDER[Grain.DAY]
    start = floor(context.now, Grain.SECOND) if fine else context.today
    made = fixed("interval", said.grain, (start, said.shift(start, 1)))
    return replace(made, zone=context.offset) if fine else made


@rule("T", "in lessthan DUR")
def in_less_than(context: Context, said: Duration) -> Period:
    return within(context, said)


@rule("T", "NUM WEEKDAYS ago", "AMOUNT WEEKDAYS ago")
def weekdays_ago(context: Context, count: Num | int, days: str) -> Period | None:
    times = count if isinstance(count, int) else count.whole
    if days == "5,6" and times <= 1000:
        return unit_from_now(context, "weekend", -times)
    if not days.isdigit() or not 1 <= times <= 1000:
        return None
    last = before(weekday(int(days)), context.today)
    return replace(shift(last, Grain.WEEK, 1 - times), kind="date")


@rule("T", "NUM SEASONS ago", "AMOUNT SEASONS ago")
def seasons_ago(context: Context, count: Num | int, name: str) -> Period | None:
    """Two summers ago: of the finished ones, the last but one."""
    times = count if isinstance(count, int) else count.whole
    if not 1 <= times <= 1000:
        return None
    then = add(context.today, Grain.YEAR, 1 - times)
    return before(months(SEASON_START[name], 3, "season", Grain.SEASON), then)


@rule("T", "NUM WEEKDAYS hence", "AMOUNT WEEKDAYS hence")
def weekdays_hence(context: Context, count: Num | int, days: str) -> Period | None:
    times = count if isinstance(count, int) else count.whole
    if not days.isdigit() or not 1 <= times <= 1000:
        return None
    first = after(weekday(int(days)), context.today + _DAY)
    return replace(shift(first, Grain.WEEK, times - 1), kind="date")


@rule("T", "morethan DUR ago")
def longer_ago(context: Context, said: Duration) -> Period:
    return replace(
        at_distance(context, said, -1),
        kind="open",
        start=None,
        end=at_distance(context, said, -1).start,
    )


@rule("T", "lessthan DUR ago")
def shortly_ago(context: Context, said: Duration) -> Period | None:
    return rolling(context, -1, said)


@rule("T", "SIGN DUR")
def signed_from_now(context: Context, sign: int, said: Duration) -> Period:
    return replace(at_distance(context, said, sign), weak="never")


@rule("T", "rest the? UNIT", "rest REL UNIT")
def rest_of(context: Context, *said: int | str) -> Period | None:
    name, rel = said[-1], said[0] if len(said) > 1 else 0
    if rel != 0 or not isinstance(name, str) or name in ("weekend", "fortnight", "workday"):
        return None
    end = unit(context.now, Grain(name))[1]
    start = floor(context.now, Grain.SECOND) if name == "day" else context.today
    return fixed("interval", Grain.DAY, (start, end))


@rule("T", "earlier the? UNIT", "earlier REL UNIT")
def earlier_in(context: Context, *said: int | str) -> Period | None:
    """Earlier this year: what is past of it."""
    return _side(context, said, past=True)


@rule("T", "later the? UNIT", "later REL UNIT")
def later_in(context: Context, *said: int | str) -> Period | None:
    return _side(context, said, past=False)


def _side(context: Context, said: tuple[int | str, ...], *, past: bool) -> Period | None:
    name, rel = said[-1], said[0] if len(said) > 1 else 0
    if not isinstance(name, str) or not isinstance(rel, int) or name in ("weekend", "workday"):
        return None
    whole = unit_from_now(context, name, rel)
    if rel:
        return part(whole, "early" if past else "late")
    start, end = whole.bounds()
    now = context.today + _DAY if past else context.today
    return fixed("interval", Grain.DAY, (start, now) if past else (now, end))


@rule("T", "all? the UNIT", "all UNIT")
def present_unit(context: Context, name: str) -> Period | None:
    """The month, the year: only inside other phrases ("the first Monday of the month")."""
    if name in ("second", "minute", "hour"):
        return None
    return replace(unit_from_now(context, name, 0), weak="never")


@rule("T", "all T", "all the T")
def whole(_: Context, said: Period) -> Period:
    return said


@rule("T", "ENDOF", "the ENDOF")
def end_of(context: Context, name: str) -> Period:
    return part(unit_at(context.now, Grain(name)), "late")


@rule("T", "BEGINOF", "the BEGINOF")
def beginning_of(context: Context, name: str) -> Period:
    made = part(unit_at(context.now, Grain(name)), "early")
    return replace(made, weak="never")

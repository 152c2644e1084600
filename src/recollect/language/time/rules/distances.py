"""Distances from another time: two weeks before Easter, the week before Christmas."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from recollect.language.time.calendar import ORDER, add
from recollect.language.time.grammar import rule
from recollect.language.time.period import (
    Context,
    NoSuchTime,
    Period,
    after,
    before,
    fixed,
    settle,
    unit_at,
    weekend,
)
from recollect.language.time.rules.numbers import FEW, Duration, duration
from recollect.language.time.rules.relative import at_distance
from recollect.language.time.types import Grain

_DAY = timedelta(days=1)


def _based(context: Context, base: Period) -> Period:
    if base.kind in ("open", "interval", "part", "now", "clock", "clockdate") or base.weak in (
        "year",
        "never",
    ):
        raise NoSuchTime("nothing to count from")
    return settle(base, context)


_UNITS = frozenset({"day", "week", "month", "quarter", "year"})
# What "this time" means a year, a month or a week ago.
_ABOUT = {Grain.YEAR: Grain.MONTH, Grain.MONTH: Grain.WEEK, Grain.WEEK: Grain.DAY}


@rule("T", "REL ONE comma? REL ONE")
def this_unit_of_another(
    context: Context, rel: int, name: str, other: int, whole: str
) -> Period | None:
    """This month last year; last year, this week."""
    if rel and not other:
        rel, name, other, whole = other, whole, rel, name
    if rel or not other or not _UNITS.issuperset((name, whole)):
        return None
    if ORDER[Grain(name)] >= ORDER[Grain(whole)]:
        return None
    return unit_at(add(context.now, Grain(whole), min(other, 1)), Grain(name))


@rule("T", "thistime REL ONE")
def this_time_of_another(context: Context, other: int, whole: str) -> Period | None:
    """This time last year: about then, a month of it."""
    about = next((fine for grain, fine in _ABOUT.items() if grain.value == whole), None)
    if about is None or not other:
        return None
    return unit_at(add(context.now, Grain(whole), min(other, 1)), about)


@rule("T", "REL ONE comma? DUR agoonly")
def unit_of_then(context: Context, rel: int, name: str, said: Duration) -> Period | None:
    """This day two years ago."""
    if name not in _UNITS or ORDER[Grain(name)] >= ORDER[said.grain]:
        return None
    return unit_at(add(said.shift(context.now, -1), Grain(name), min(rel, 1)), Grain(name))


@rule("T", "DUR agoonly REL ONE")
def then_in_unit(context: Context, said: Duration, rel: int, name: str) -> Period | None:
    """A year ago this month, a year ago last week."""
    return unit_of_then(context, rel, name, said)


@rule("T", "thistime DUR agoonly")
def this_time_then(context: Context, said: Duration) -> Period | None:
    """This time two years ago."""
    about = _ABOUT.get(said.grain)
    return unit_at(said.shift(context.now, -1), about) if about else None


@rule("T", "DAY preago DUR")
def day_then(context: Context, day: int, said: Duration) -> Period:
    """Heute vor einem Jahr."""
    start = said.shift(context.today + _DAY * day, -1)
    return Period("point", Grain.DAY, start, start + _DAY)


@rule("T", "DUR before_ the? T")
def long_before(context: Context, said: Duration, base: Period) -> Period:
    """Two weeks before Easter."""
    return _moved(context, said, base, -1)


@rule("T", "DUR after_ the? T")
def long_after(context: Context, said: Duration, base: Period) -> Period:
    return _moved(context, said, base, 1)


@rule("T", "morethan DUR before_ the? T")
def longer_before(context: Context, said: Duration, base: Period) -> Period:
    return replace(
        _moved(context, said, base, -1),
        kind="open",
        start=None,
        end=_moved(context, said, base, -1).start,
    )


@rule("T", "morethan DUR after_ the? T")
def longer_after(context: Context, said: Duration, base: Period) -> Period:
    return replace(_moved(context, said, base, 1), kind="open", end=None)


@rule("T", "lessthan DUR after_ the? T")
def shortly_after(context: Context, said: Duration, base: Period) -> Period:
    start = _based(context, base).bounds()[0]
    return fixed("interval", Grain.DAY, (start, said.shift(start, 1)))


@rule("T", "lessthan DUR before_ the? T")
def shortly_before(context: Context, said: Duration, base: Period) -> Period:
    end = _based(context, base).bounds()[0]
    return fixed("interval", Grain.DAY, (said.shift(end, -1), end))


@rule("T", "T SIGN DUR")
def signed_shift(context: Context, base: Period, sign: int, said: Duration) -> Period | None:
    if base.kind == "now":
        return at_distance(context, said, sign)
    return _moved(context, said, base, sign) if base.grain is Grain.DAY else None


def _moved(context: Context, said: Duration, base: Period, sign: int) -> Period:
    start, end = _based(context, base).bounds()
    moved = said.shift(start, sign)
    fine = base.grain if ORDER[base.grain] < ORDER[Grain.DAY] else Grain.DAY
    return Period("point", fine, moved, moved + min(end - start, _DAY), zone=base.zone)


@rule("T", "ONE before_ the? T")
def unit_before(context: Context, name: str, base: Period) -> Period | None:
    """The week before Christmas: the seven days up to it."""
    if name == "weekend":
        return before(weekend(), _based(context, base).bounds()[0])
    return _up_to(context, duration(name, 1), base)


@rule("T", "ONE after_ the? T")
def unit_after(context: Context, name: str, base: Period) -> Period | None:
    if name == "weekend":
        return after(weekend(), _based(context, base).bounds()[1])
    return _from(context, duration(name, 1), base)


@rule("T", "UNITS before_ the? T")
def units_before(context: Context, name: str, base: Period) -> Period | None:
    """The weeks before Christmas: as many as "a few"."""
    return _up_to(context, duration(name, FEW), base)


@rule("T", "UNITS after_ the? T")
def units_after(context: Context, name: str, base: Period) -> Period | None:
    return _from(context, duration(name, FEW), base)


def _up_to(context: Context, said: Duration | None, base: Period) -> Period | None:
    if said is None or ORDER[said.grain] < ORDER[Grain.DAY]:
        return None
    start = _based(context, base).bounds()[0]
    return fixed("unit", said.grain, (said.shift(start, -1), start))


def _from(context: Context, said: Duration | None, base: Period) -> Period | None:
    if said is None or ORDER[said.grain] < ORDER[Grain.DAY]:
        return None
    end = _based(context, base).bounds()[1]
    return fixed("unit", said.grain, (end, said.shift(end, 1)))


@rule("T", "T before_ the? T")
def series_before(context: Context, series: Period, base: Period) -> Period | None:
    """The Friday before Christmas."""
    if series.kind != "weekday":
        return None
    return before(series, _based(context, base).bounds()[0])


@rule("T", "T after_ the? T")
def series_after(context: Context, series: Period, base: Period) -> Period | None:
    if series.kind != "weekday" or base.kind == "clock":
        return None
    return after(series, _based(context, base).bounds()[1])

"""Times of day."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from recollect.language.time.calendar import Span
from recollect.language.time.grammar import rule
from recollect.language.time.period import Context, Period, daily, narrow
from recollect.language.time.rules.numbers import Duration
from recollect.language.time.shapes import Clock, Dotted, Num, clock_period
from recollect.language.time.thirds import part
from recollect.language.time.types import Grain

# Hours of the parts of a day, and in brackets the wider hours in which a clock time still
# belongs to it: "tonight at 11", "3 in the morning".
_PARTS = {
    "forenoon": (6, 9, 0, 12),
    "morning": (6, 12, 0, 12),
    "lunch": (12, 14, 11, 15),
    "afternoon": (12, 18, 12, 24),
    "evening": (18, 24, 12, 24),
    "dinner": (18, 21, 17, 24),
    "night": (18, 24, 17, 30),
}
_DAYLIKE = ("pinned", "date", "weekday", "day", "holiday", "point", "dayword", "daypart", "part")


def part_of_day(name: str) -> Period:
    start, end, loose_start, loose_end = _PARTS[name]
    made = daily("part", Grain.HOUR, [(timedelta(hours=start), timedelta(hours=end))])
    base = datetime(2000, 1, 1)
    loose = (base + timedelta(hours=loose_start), base + timedelta(hours=loose_end))
    return replace(made, loose=loose, weak="part")


def part_on(context: Context, day: int, name: str) -> Period:
    """A part of a day so many days from today."""
    start = context.today + timedelta(days=day)
    whole = Period("dayword", Grain.DAY, start, start + timedelta(days=1))
    return replace(narrow(whole, part_of_day(name)), kind="daypart")


@rule("T", "REL PART")
def this_part(context: Context, rel: int, name: str) -> Period:
    return part_on(context, rel, name)


@rule("T", "PART RELPOST")
def part_relative(context: Context, name: str, rel: int) -> Period | None:
    """La nuit dernière; "le matin suivant" is that of a story."""
    return part_on(context, rel, name) if rel == -1 and name in ("night", "evening") else None


@rule("T", "DUR agoonly of|in the? PART")
def part_days_ago(context: Context, said: Duration, name: str) -> Period | None:
    """Three days ago in the morning, 三日前の朝."""
    days = said.length.days
    return part_on(context, -days, name) if said.grain is Grain.DAY else None


@rule("T", "T MERIDIEM")
def half_of_day(context: Context, day: Period, meridiem: str) -> Period | None:
    """Tuesday pm."""
    if day.kind not in ("weekday", "dayword", "date"):
        return None
    return narrow(day, part_of_day("morning" if meridiem == "am" else "afternoon"))


@rule("T", "EDGE dash? PART")
def edge_of_part(_: Context, which: str, name: str) -> Period | None:
    made = part_of_day(name)
    series = made.series
    if series is None:
        return None

    def edges(lo: datetime, hi: datetime) -> list[Span]:
        spans = series(lo, hi)
        return [part(Period("part", Grain.HOUR, *span), which).bounds() for span in spans]

    return replace(made, series=edges)


def _hour(value: Num) -> Clock | None:
    if value.digits > 2 or value.value != value.whole or value.value > 24:
        return None
    return Clock(value.whole, open12=1 <= value.value <= 12)


@rule("CLOCK", "NUM oclock", "NUM ish")
def on_the_hour(_: Context, hour: Num) -> Clock | None:
    return _hour(hour)


@rule("CLOCK", "CLOCK ish", "CLOCK oclock")
def about_clock(_: Context, clock: Clock) -> Clock:
    return clock


@rule("CLOCK", "CLOCKWORD")
def named_clock(_: Context, words: str) -> Clock:
    hour, minute = words.split(":")
    return Clock(int(hour), int(minute))


@rule("CLOCK", "NUM MERIDIEM", "CLOCK MERIDIEM")
def with_meridiem(_: Context, hour: Num | Clock, meridiem: str) -> Clock | None:
    clock = _hour(hour) if isinstance(hour, Num) else hour
    if clock is None or not clock.open12:
        return clock if isinstance(hour, Clock) else None
    return replace(
        clock, hour=clock.hour % 12 + (12 if meridiem == "pm" else 0), open12=False, meridiem=True
    )


@rule("CLOCK", "NUM dash NUM", "NUM dash? zero dash? NUM")
def spoken_dashed_clock(context: Context, hour: Num, minutes: Num) -> Clock | None:
    return None if hour.digits else spoken_clock(context, hour, minutes)


@rule("CLOCK", "at DOTTED")
def dotted_clock(_: Context, said: Dotted) -> Clock:
    return Clock(said.first, said.second, 0, Grain.MINUTE, 1 <= said.first <= 12)


@rule("CLOCK", "NUM NUM")
def spoken_clock(_: Context, hour: Num, minutes: Num) -> Clock | None:
    """ten thirty; twelve oh three."""
    if bool(hour.digits) != bool(minutes.digits) or minutes.digits not in (0, 2):
        return None
    if not 1 <= hour.value <= 12 or not 1 <= minutes.value < 60 or hour.digits > 2:
        return None
    return Clock(hour.whole, minutes.whole, 0, Grain.MINUTE, True)


@rule("CLOCK", "CLOCK UNIT")
def clock_minutes(_: Context, clock: Clock, name: str) -> Clock | None:
    return clock if name == "minute" and clock.grain is Grain.MINUTE else None


def _moved(clock: Clock, minutes: int) -> Clock:
    total = (clock.hour * 60 + clock.minute + minutes) % (24 * 60)
    return replace(clock, hour=total // 60, minute=total % 60, grain=Grain.MINUTE)


def _to_clock(value: Num | Clock) -> Clock | None:
    return _hour(value) if isinstance(value, Num) else value


@rule("CLOCK", "quarterword pastword CLOCK", "quarterword pastword NUM")
def quarter_past(_: Context, hour: Num | Clock) -> Clock | None:
    clock = _to_clock(hour)
    return _moved(clock, 15) if clock else None


@rule("CLOCK", "quarterword toword CLOCK", "quarterword toword NUM")
def quarter_to(_: Context, hour: Num | Clock) -> Clock | None:
    clock = _to_clock(hour)
    return _moved(clock, -15) if clock else None


@rule("CLOCK", "half pastword CLOCK", "half pastword NUM")
def half_past(_: Context, hour: Num | Clock) -> Clock | None:
    clock = _to_clock(hour)
    return _moved(clock, 30) if clock else None


@rule("CLOCK", "NUM pastword CLOCK", "NUM minutes pastword CLOCK", "NUM minutes pastword NUM")
def minutes_past(_: Context, minutes: Num, hour: Num | Clock) -> Clock | None:
    clock = _to_clock(hour)
    return _moved(clock, minutes.whole) if clock and 1 <= minutes.value < 60 else None


@rule("CLOCK", "NUM toword CLOCK", "NUM minutes toword CLOCK", "NUM minutes toword NUM")
def minutes_to(_: Context, minutes: Num, hour: Num | Clock) -> Clock | None:
    clock = _to_clock(hour)
    if clock is None or clock.minute or not 1 <= minutes.value < 60:
        return None
    if minutes.value < (clock.hour - 1) % 12 + 1:  # "5 to 6 pm" is a range
        return None
    return _moved(clock, -minutes.whole)


@rule("CLOCK", "CLOCK ZONE")
def in_zone(_: Context, clock: Clock, minutes: int) -> Clock:
    return replace(clock, zone=minutes)


@rule("CLOCK", "CLOCK ZONE SIGN NUM")
def in_numbered_zone(_: Context, clock: Clock, minutes: int, sign: int, hours: Num) -> Clock | None:
    if hours.value > 14:
        return None
    return replace(clock, zone=minutes + sign * hours.whole * 60)


@rule("T", "CLOCK")
def clock_alone(_: Context, clock: Clock) -> Period:
    doubtful = clock.open12 or (clock.grain is Grain.HOUR and not clock.meridiem)
    return clock_period(clock, "clock" if doubtful else None)


@rule("T", "T dash|dot|colon CLOCK")
def day_dash_clock(_: Context, day: Period, clock: Clock) -> Period | None:
    """6 January 2017 - 6:37 am."""
    if day.kind != "date" or clock.grain is Grain.HOUR:
        return None
    return _on_day(day, clock)


@rule("CLOCK", "at NUM")
def at_four_figures(_: Context, said: Num) -> Clock | None:
    """At 1030; not at 1984."""
    if said.digits not in (3, 4) or said.value != said.whole:
        return None
    return Clock(said.whole // 100, said.whole % 100, 0, Grain.MINUTE, said.whole < 1300)


@rule("T", "T NUM")
def figures_tonight(_: Context, day: Period, said: Num) -> Period | None:
    clock = at_four_figures(_, said)
    return _on_day(day, clock) if clock and day.kind == "daypart" else None


@rule("T", "T comma? at NUM ZONE")
def at_hour_in_zone(_: Context, day: Period, hour: Num, zone: int) -> Period | None:
    made = at_hour(_, day, hour)
    return replace(made, zone=zone) if made else None


@rule("T", "T comma? at NUM", "T comma? at about NUM", "T comma? around NUM")
def at_hour(_: Context, day: Period, hour: Num) -> Period | None:
    """Tomorrow at 5. Only after a day: "at 5" alone is too little to go by."""
    clock = _hour(hour)
    if clock is None or day.kind not in _DAYLIKE or day.weak == "part":
        return None
    return _on_day(day, clock)


def _on_day(day: Period, clock: Clock) -> Period:
    return narrow(day, clock_period(clock))


@rule("T", "NUM comma? T")
def hour_then_part(_: Context, hour: Num, day: Period) -> Period | None:
    """Eight tonight; but "2 day before yesterday" is no hour."""
    return hour_then_day(_, hour, day) if day.kind in ("daypart", "part") else None


@rule("T", "at NUM comma|on? the? T")
def hour_then_day(_: Context, hour: Num, day: Period) -> Period | None:
    """Eight tonight, 9 tomorrow evening, at 8 on Sunday."""
    clock = _hour(hour)
    if clock is None or not clock.open12 or day.series is not None:
        return None
    if day.kind not in ("daypart", "dayword", "part"):
        return None
    return _on_day(day, clock)


@rule("T", "NUM of the? PART", "at NUM on? PART")
def hour_of_part(_: Context, hour: Num, name: str) -> Period | None:
    """3 in the afternoon."""
    clock = _hour(hour)
    if clock is None or not clock.open12:
        return None
    early = name in ("morning", "forenoon") or (name == "night" and clock.hour < 6)
    hour24 = clock.hour % 12 + (0 if early else 12)
    return clock_period(replace(clock, hour=hour24, open12=False))


@rule("T", "CLOCK of|on? the? PART")
def clock_of_part(_: Context, clock: Clock, name: str) -> Period | None:
    if not clock.open12:
        return clock_period(clock) if name != "lunch" else None
    early = name in ("morning", "forenoon") or (name == "night" and clock.hour < 6)
    return clock_period(replace(clock, hour=clock.hour % 12 + (0 if early else 12), open12=False))


def clock_range(start: Clock, end: Clock) -> Period:
    """From one clock time to another; an open half of the day follows the other end."""
    if start.open12 and end.meridiem and start.offset + timedelta(hours=12) < end.offset:
        start = replace(start, hour=start.hour % 12 + 12)
    if start.open12 and not end.open12 and start.hour == 12 and end.hour < 12:
        start = replace(start, hour=0)
    first, last = start.offset, end.offset
    if end.open12 and last <= first and last + timedelta(hours=12) > first:
        last += timedelta(hours=12)
    if last <= first:
        last += timedelta(days=1)
    spans = [(first, last)]
    if start.open12 and end.open12 and start.hour < 12:
        spans.append((first + timedelta(hours=12), last + timedelta(hours=12)))
    grain = Grain.MINUTE if Grain.MINUTE in (start.grain, end.grain) else Grain.HOUR
    if Grain.SECOND in (start.grain, end.grain):
        grain = Grain.SECOND
    made = daily("clockrange", grain, spans)
    return replace(made, weak="clock", zone=end.zone if end.zone is not None else start.zone)


@rule("CR", "from? CLOCK range CLOCK", "between CLOCK andto CLOCK", "between? CLOCK andto? CLOCK")
def clock_to_clock(_: Context, start: Clock, end: Clock) -> Period:
    return clock_range(start, end)


@rule("CR", "from? NUM range CLOCK", "between NUM andto CLOCK")
def hour_to_clock(_: Context, start: Num, end: Clock) -> Period | None:
    first = _hour(start)
    if first is None or first.hour == 0:
        return None
    return clock_range(first, end)


@rule("CR", "from? CLOCK range NUM", "between CLOCK andto NUM")
def clock_to_hour(_: Context, start: Clock, end: Num) -> Period | None:
    last = _hour(end)
    return clock_range(start, last) if last else None


@rule("T", "CR")
def range_of_day(_: Context, hours: Period) -> Period:
    return hours


@rule("HR", "from? NUM range NUM", "between NUM andto NUM")
def hours_between(_: Context, start: Num, end: Num) -> Period | None:
    first, last = _hour(start), _hour(end)
    if first is None or last is None or not (first.open12 and last.open12):
        return None
    return clock_range(first, last)


@rule("T", "T comma|on? HR")
def day_and_hours(_: Context, day: Period, hours: Period) -> Period | None:
    """Monday 11-4; last night between 7 and 9."""
    if day.kind not in _DAYLIKE or day.weak == "day":
        return None
    return narrow(day, hours)


@rule("T", "HR comma? of|on? the? T")
def hours_and_day(_: Context, hours: Period, day: Period) -> Period | None:
    if day.kind not in _DAYLIKE or day.weak == "day":
        return None
    return narrow(day, hours)


@rule("T", "from CLOCK for DUR", "CLOCK for DUR")
def clock_and_duration(_: Context, start: Clock, lasting: Duration) -> Period | None:
    if lasting.length > timedelta(hours=24):
        return None
    made = daily("clockrange", Grain.MINUTE, [(start.offset, start.offset + lasting.length)])
    return replace(made, weak="clock")

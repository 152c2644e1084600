"""Numbers in words, years in words, and durations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from recollect.language.time.calendar import ORDER, add, length
from recollect.language.time.grammar import rule
from recollect.language.time.period import Context
from recollect.language.time.shapes import Num
from recollect.language.time.types import Grain

FEW = 3  # what a plural without a number counts, as "a few" does
_COUNTED = {"fortnight": (Grain.WEEK, 2), "workday": (Grain.DAY, 1)}


@dataclass(frozen=True, slots=True)
class Duration:
    """Amounts of units, as said: "1 month and 21 days"."""

    amounts: tuple[tuple[Grain, float], ...]
    workdays: bool = False

    @property
    def grain(self) -> Grain:
        """The finest unit named."""
        return min((grain for grain, _ in self.amounts), key=ORDER.__getitem__)

    def shift(self, moment: datetime, sign: int) -> datetime:
        """Coarse units first, so that "1 month 21 days" counts days from the month's end."""
        for grain, count in sorted(self.amounts, key=lambda amount: -ORDER[amount[0]]):
            moment = add(moment, grain, sign * count)
        return moment

    @property
    def length(self) -> timedelta:
        return sum((length(grain, count) for grain, count in self.amounts), timedelta())


def duration(unit: str, count: float) -> Duration | None:
    """A duration of a unit; a weekend is not one."""
    if unit == "weekend" or count > 100_000:
        return None
    grain, times = _COUNTED.get(unit, (None, 1))
    return Duration(((grain or Grain(unit), count * times),), unit == "workday")


@rule("NUM", "NUM dash? NUM")
def tens_and_ones(_: Context, tens: Num, ones: Num) -> Num | None:
    if tens.digits or ones.digits or tens.value % 10 or not 20 <= tens.value < 100:
        return None
    return Num(tens.value + ones.value) if ones.value < 10 else None


@rule("NUM", "NUM SCALE", "NUM SCALE and? NUM")
def scaled(_: Context, count: Num, scale: int, rest: Num | None = None) -> Num | None:
    if count.digits or count.value >= 100 or (rest and (rest.digits or rest.value >= scale)):
        return None
    return Num(count.value * scale + (rest.value if rest else 0))


@rule("ORD", "NUM dash? ORD")
def tens_and_ordinal(_: Context, tens: Num, ones: int) -> int | None:
    return None if tens.digits or tens.value not in (20, 30) or ones > 9 else tens.whole + ones


@rule("ORD", "ORDINAL", "NTH")
def ordinal(_: Context, value: int) -> int:
    return value


@rule("NUM", "NUMBER")
def number(_: Context, value: int) -> Num:
    return Num(value)


@rule("YEAR", "NUM zero NUM")
def year_with_zero(_: Context, century: Num, years: Num) -> int | None:
    """nineteen oh one."""
    if century.digits or years.digits or not 13 <= century.value <= 20 or years.value > 9:
        return None
    return century.whole * 100 + years.whole


@rule("YEAR", "NUM dash? NUM")
def year_in_pairs(_: Context, century: Num, years: Num) -> int | None:
    """nineteen ninety-six."""
    if century.digits or years.digits or not 13 <= century.value <= 20:
        return None
    return century.whole * 100 + years.whole if 10 <= years.value < 100 else None


@rule("YEAR", "NUM")
def year_in_words(_: Context, value: Num) -> int | None:
    return value.whole if not value.digits and 1000 <= value.value < 2200 else None


@rule("DUR", "NUM dash? UNIT", "NUM more UNIT")
def counted_units(_: Context, count: Num, unit: str) -> Duration | None:
    return duration(unit, count.value)


@rule("DUR", "AMOUNT UNIT", "AMOUNT more UNIT")
def some_units(_: Context, count: int, unit: str) -> Duration | None:
    return duration(unit, count)


@rule("DUR", "NUM LETTER")
def lettered(_: Context, count: Num, unit: str) -> Duration | None:
    return duration(unit, count.value) if 1 <= count.digits <= 3 else None


@rule("DUR", "half AMOUNT UNIT", "AMOUNT half UNIT")
def half_unit(_: Context, one: int, unit: str) -> Duration | None:
    return duration(unit, 0.5) if one == 1 else None


@rule("DUR", "NUM and AMOUNT half UNIT")
def and_a_half(_: Context, count: Num, one: int, unit: str) -> Duration | None:
    return duration(unit, count.value + 0.5) if one == 1 else None


@rule("DUR", "DUR and AMOUNT half")
def unit_and_a_half(_: Context, whole: Duration, one: int) -> Duration | None:
    if one != 1 or len(whole.amounts) != 1:
        return None
    return Duration(((whole.amounts[0][0], whole.amounts[0][1] + 0.5),))


@rule("DUR", "DUR comma? and? DUR")
def sum_of_durations(_: Context, first: Duration, second: Duration) -> Duration | None:
    units = [grain for grain, _ in (*first.amounts, *second.amounts)]
    return Duration((*first.amounts, *second.amounts)) if len(set(units)) == len(units) else None


@rule("DUR", "about DUR")
def about(_: Context, said: Duration) -> Duration:
    return said

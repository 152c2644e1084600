"""Repeated times as RRULE strings, and durations that stand alone."""

from __future__ import annotations

from recollect.language.time.grammar import rule
from recollect.language.time.period import Context
from recollect.language.time.rules.numbers import Duration
from recollect.language.time.shapes import Clock, Num
from recollect.language.time.types import Grain

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FREQ = {
    "second": "SECONDLY", "minute": "MINUTELY", "hour": "HOURLY", "day": "DAILY",
    "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY",
    "fortnight": "WEEKLY;INTERVAL=2", "quarter": "MONTHLY;INTERVAL=3", "season": "MONTHLY;INTERVAL=3",
    "decade": "YEARLY;INTERVAL=10", "century": "YEARLY;INTERVAL=100",
    "workday": "WEEKLY;BYDAY=MO,TU,WE,TH,FR", "weekend": "WEEKLY;BYDAY=SA,SU",
}  # fmt: skip
_SEASONS = {"spring": "3,4,5", "summer": "6,7,8", "autumn": "9,10,11", "winter": "12,1,2"}


@rule("REC", "every UNIT", "all every UNIT")
def every_unit(_: Context, name: str) -> str:
    return f"FREQ={_FREQ[name]}"


@rule("REC", "every other UNIT")
def every_other(_: Context, name: str) -> str | None:
    return None if "=" in _FREQ[name] else f"FREQ={_FREQ[name]};INTERVAL=2"


@rule("REC", "every NUM UNIT", "every AMOUNT UNIT")
def every_few(_: Context, count: Num | int, name: str) -> str | None:
    times = count if isinstance(count, int) else count.whole
    return None if "=" in _FREQ[name] or times < 1 else f"FREQ={_FREQ[name]};INTERVAL={times}"


@rule("REC", "every WEEKDAY")
def every_weekday(_: Context, day: int) -> str:
    return f"FREQ=WEEKLY;BYDAY={DAYS[day]}"


@rule("REC", "every WEEKDAY and WEEKDAY")
def every_two_weekdays(_: Context, first: int, second: int) -> str:
    return f"FREQ=WEEKLY;BYDAY={DAYS[first]},{DAYS[second]}"


@rule("REC", "every other WEEKDAY")
def every_other_weekday(_: Context, day: int) -> str:
    return f"FREQ=WEEKLY;INTERVAL=2;BYDAY={DAYS[day]}"


@rule("REC", "every MONTH")
def every_month(_: Context, month: int) -> str:
    return f"FREQ=YEARLY;BYMONTH={month}"


@rule("REC", "every MD")
def every_date(_: Context, said: tuple[int, int]) -> str:
    return f"FREQ=YEARLY;BYMONTH={said[0]};BYMONTHDAY={said[1]}"


@rule("REC", "every SEASON")
def every_season(_: Context, name: str) -> str:
    return f"FREQ=YEARLY;BYMONTH={_SEASONS[name]}"


@rule("REC", "every PART", "every HOLIDAY")
def every_named(_: Context, name: str) -> str | None:
    if name[0].isalpha() and " " not in name:
        return "FREQ=DAILY"
    if name[0].isdigit():
        month, day = name.split("-")
        return f"FREQ=YEARLY;BYMONTH={month};BYMONTHDAY={day}"
    return "FREQ=YEARLY"


@rule("REC", "every ORD WEEKDAY of the UNIT", "the ORD WEEKDAY of every UNIT", "every ORD WEEKDAY")
def nth_weekday_monthly(_: Context, nth: int, day: int, name: str = "month") -> str | None:
    return f"FREQ=MONTHLY;BYDAY={nth}{DAYS[day]}" if name == "month" else None


@rule("REC", "WEEKDAYS", "on WEEKDAYS", "every WEEKDAYS", "on the WEEKDAYS")
def plural_weekdays(_: Context, days: str) -> str:
    return "FREQ=WEEKLY;BYDAY=" + ",".join(DAYS[int(day)] for day in days.split(","))


@rule("REC", "WEEKDAYS and WEEKDAYS", "on WEEKDAYS and WEEKDAYS")
def two_plural_weekdays(_: Context, first: str, second: str) -> str:
    return plural_weekdays(_, f"{first},{second}")


@rule("REC", "FREQ")
def adverb(_: Context, frequency: str) -> str:
    return f"FREQ={frequency}"


@rule("REC", "TIMES per UNIT")
def times_per(_: Context, times: str, name: str) -> str | None:
    """Twice a week: how often, though not on which days."""
    if "=" in _FREQ[name]:
        return None
    return f"FREQ={_FREQ[name]};X-TIMES={times}"


@rule("REC", "NUM time per UNIT")
def counted_times_per(_: Context, times: Num, name: str) -> str | None:
    return times_per(_, str(times.whole), name)


@rule("REC", "REC at? CLOCK")
def repeated_at(_: Context, repeated: str, clock: Clock) -> str:
    minute = f";BYMINUTE={clock.minute}" if clock.minute else ""
    return f"{repeated};BYHOUR={clock.hour}{minute}"


@rule("REC", "CLOCK REC", "at CLOCK REC")
def at_repeated(_: Context, clock: Clock, repeated: str) -> str:
    return repeated_at(_, repeated, clock)


@rule("REC", "REC PART", "REC in? the? PART")
def repeated_part(_: Context, repeated: str, name: str) -> str:
    return repeated


@rule("LEN", "for DUR", "for the? DUR")
def lasting(_: Context, said: Duration) -> Duration | None:
    return said if said.amounts[0][0] is not Grain.CENTURY else None

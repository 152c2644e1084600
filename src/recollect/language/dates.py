"""Dates as recollect keeps them: aware, UTC, whole microseconds."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from time import time_ns

from recollect.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_END = datetime.max.replace(tzinfo=UTC)


def to_micros(when: datetime) -> int:
    return (when - _EPOCH) // _MICROSECOND


def now_micros() -> int:
    return time_ns() // 1000


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def utc(when: datetime) -> datetime:
    """A naive time is taken as UTC."""
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def read_iso(text: str) -> datetime:
    """ISO 8601. Python takes any sign for what stands between day and time, a digit as well: the milliseconds
    "1711121300000" would be a day in 1711."""
    text = text.strip()
    if text[:9].isdigit() and len(text) > len("20260315"):
        raise ValueError(f"{text!r} has more digits than a day")
    return datetime.fromisoformat(text)


def parse_when(value: str | date | datetime | None, name: str = "timestamp") -> datetime | None:
    """A caller's date or time: ISO 8601 text, date or datetime, or None."""
    if value is None:
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time(), UTC)
    try:
        return utc(value if isinstance(value, datetime) else read_iso(value))
    except (ValueError, AttributeError, OverflowError, TypeError) as error:
        raise InvalidInput(
            f"{name} {value!r} is not a date",
            hint="use ISO 8601, for example 2026-11-15 or 2026-11-15T09:30:00Z",
        ) from error


def zone_of(value: str | date | datetime | None) -> tzinfo | None:
    """The zone a caller's time was given in: his yesterday begins at his midnight."""
    if isinstance(value, str):
        value = read_iso(value)
    return value.tzinfo if isinstance(value, datetime) else None


def is_day(value: str | date | datetime | None) -> bool:
    """Whether the caller named a whole day rather than an instant."""
    if isinstance(value, str):
        return len(value.strip().replace("-", "")) == len("20260315")
    return isinstance(value, date) and not isinstance(value, datetime)


def day_after(when: datetime) -> datetime:
    """A day later; the calendar has a last day, too, and "9999-12-31" is how many write "for good"."""
    return when + _DAY if when < _END - _DAY else _END


def short_date(when: datetime) -> str:
    """As the models read it: "June 5, 2022"."""
    return f"{when:%B} {when.day}, {when.year}"

"""Times as the public data sets write them."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.eval.trouble import DatasetError
from recollect.language.dates import read_iso

_WEEKDAY = re.compile(r"\s*\([A-Za-z]+\)")
_MONTH = re.compile(r"^(\d{4})-(\d{2})$")
_FORMATS = ("%Y/%m/%d %H:%M", "%Y/%m/%d", "%I:%M %p on %d %B, %Y", "%I:%M %p on %B %d, %Y")


def read_time(value: Any, *, end: bool = False) -> datetime | None:
    """A time in UTC where none is named; `end` takes the last instant of a bare day or month."""
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return _aware(value)
    text = _WEEKDAY.sub("", str(value)).strip()
    if month := _MONTH.match(text):
        return _month(int(month[1]), int(month[2]), end=end)
    moment = _aware(_parse(text))
    return moment + timedelta(days=1, microseconds=-1) if end and _is_bare_day(text) else moment


def _month(year: int, month: int, *, end: bool) -> datetime:
    start = datetime(year, month, 1, tzinfo=UTC)
    days = calendar.monthrange(year, month)[1]
    return start + timedelta(days=days, microseconds=-1) if end else start


def _parse(text: str) -> datetime:
    try:
        return read_iso(text)
    except ValueError:
        pass  # not ISO; the formats below are what LoCoMo and LongMemEval write
    for form in _FORMATS:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    raise DatasetError(f"{text!r} is not a time", hint="write ISO 8601, e.g. 2024-05-02T10:30:00Z")


def _is_bare_day(text: str) -> bool:
    return re.fullmatch(r"\d{4}([-/]?\d{2}[-/]?\d{2}|/\d{1,2}/\d{1,2})", text) is not None


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

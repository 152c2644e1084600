"""Dates that texts are laid out by.

Dated lines one below the other ("March 2023: moved to Lisbon.", "May 3: started at Acme.") are a memory each. One
that leaves its year out is of the year that those above it are in, or the heading is. Below a day that stands alone
on a line, in a heading or as the date of a letter, is what was told on that day.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime

from recollect.language.time import Grain, TimeExpression, read_times

__all__ = ["date_of", "dates", "day_alone", "day_in_talk", "day_of_letter", "day_of_title"]

_MARKS, _CLOSED = r"[*_\[(]{0,3}", r"[*_\])]{0,3}"
_DATE = r"(?P<date>\w[\w ,./'’–-]{2,27}?)"
_OPENS = (
    re.compile(rf"\s*{_MARKS}{_DATE}{_CLOSED}[:：]{_CLOSED}\s+(?=\S)"),
    re.compile(rf"\s*{_MARKS}{_DATE}{_CLOSED}\s+[-–—]\s+(?=\S)"),
    re.compile(rf"\s*[\[(]{_DATE}[\])]\s+(?=\S)"),
    re.compile(
        rf"\s*{_MARKS}{_DATE}{_CLOSED}:?{_CLOSED}[ \t\r]*(?:\n|$)"
    ),  # and what happened below
    # In figures it needs no sign after it; lines with a time of day are what programs log.
    re.compile(
        r"\s*(?P<date>\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4})[ \t]+(?=\S)(?!\d?\d[:.]\d\d)"
    ),
)
_ALONE = re.compile(r"[\s\-–—─=*_\[(]{0,20}(?P<date>\w[\w ,./:'’-]{3,39}?)[\s\-–—─=*_\]):.]*$")
_SENT = re.compile(
    r"\s*(?:\*\*)?(?i:date|sent|datum|gesendet|fecha|data|envoyé)(?:\*\*)?:(?:\*\*)?\s*(?P<date>\w.{5,39}?)\s*$"
)
_OF_A_DAY = (Grain.DAY, Grain.HOUR, Grain.MINUTE, Grain.SECOND)
# Of figures alone "1/2" is rather a half. A weekday alone is rather of every week.
_TELLS = re.compile(r"(?=.*\d)(?=.*(?:[^\W\d_]{3}|[年月]|\d{4}))|(?i:yesterday|today|tomorrow)$")
_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)|['’]\d\d(?!\d)|\d[./-]\d{1,2}[./-]\d\d$")
_HALF_A_YEAR = timedelta(days=183)
_ANY = datetime(2000, 1, 1, tzinfo=UTC)


def date_of(line: str) -> str | None:
    """The date that a line opens with, and tells of."""
    for opens in _OPENS:
        match = opens.match(line)
        if match and _read(match["date"], _ANY) is not None:
            return match["date"]
    return None


def day_alone(line: str) -> str | None:
    """The day, with its year, that is all that a line says."""
    match = _ALONE.match(line)
    return match["date"] if match and _is_day(match["date"]) else None


def day_in_talk(line: str) -> str | None:
    """The same, also without a year: people talk on days that are over."""
    match = _ALONE.match(line)
    read = _read(match["date"], _ANY) if match else None
    return match["date"] if match and read and read.grain is Grain.DAY else day_alone(line)


def day_of_title(title: str) -> str | None:
    """The day that a heading is, or opens with: "2024-03-12: Standup"."""
    opens = day_alone(title) or date_of(title)
    return opens if opens and _is_day(opens) else None


def day_of_letter(line: str) -> str | None:
    """Of "Date: Mon, 4 Mar 2024 10:32:00 +0100", as letters have it above what they say."""
    match = _SENT.match(line)
    if match is None:
        return None
    try:
        return parsedate_to_datetime(match["date"]).isoformat()
    except (ValueError, OverflowError):  # not as e-mail has it
        return match["date"] if _is_day(match["date"]) else None


def dates(told: Sequence[tuple[str, str]], zone: tzinfo) -> list[TimeExpression | None]:
    """When each of these happened that does not tell its year by itself; texts with their headings."""
    found = [date_of(text) for text, _ in told]
    # A year alone may be a title ("2001: A Space Odyssey"); several are a list of years.
    years = Counter(
        heading for (_, heading), date in zip(told, found, strict=True) if _is_year(date)
    )
    runs: dict[str, _Run] = {}
    out: list[TimeExpression | None] = []
    for (_, heading), date in zip(told, found, strict=True):
        run = runs.setdefault(heading, _Run(heading, zone))
        followed = None if date is None else run.follow(date)
        alone = _is_year(date) and years[heading] < 2
        out.append(None if alone else followed)
    return out


class _Run:
    """Dated lines below one heading: the last moment they came to, and whether they go back in time."""

    def __init__(self, heading: str, zone: tzinfo) -> None:
        title = heading.rpartition(" > ")[2]
        self._zone = zone
        self._whole = self._from(title, 1999) if _YEAR.search(title) else None
        self._last = _start(self._whole)
        self._falls = False

    def follow(self, date: str) -> TimeExpression | None:
        """With the year that it leaves out; nothing where its own words will do."""
        if _YEAR.search(date):
            read = self._from(date, 1999)
            self._went_to(_start(read))
            return read if _is_year(date) else None
        # A weekday tells the year: it is the same, whenever it is read. "Today" counts from another day.
        told = date.isalpha() or self._from(date, 1999) == self._from(date, 1998)
        if self._last is None or told:
            return None
        read = self._in_its_year(date, self._last)
        self._went_to(_start(read))
        return read

    def _in_its_year(self, date: str, last: datetime) -> TimeExpression | None:
        """The same year as the line above; another where that would be a leap over new year."""
        same = self._from(date, last.year)
        start = _start(same)
        if start is None or (self._whole is not None and self._whole.grain is Grain.YEAR):
            return same
        if self._falls and start - last > _HALF_A_YEAR:
            return self._from(date, last.year - 1)
        if not self._falls and last - start > _HALF_A_YEAR:
            return self._from(date, last.year + 1)
        return same

    def _from(self, date: str, year: int) -> TimeExpression | None:
        return _read(date, datetime(year, 12, 31, 23, 59, tzinfo=self._zone))

    def _went_to(self, start: datetime | None) -> None:
        if start is not None and self._last is not None and start != self._last:
            self._falls = start < self._last
        self._last = start or self._last


def _read(date: str, seen: datetime) -> TimeExpression | None:
    """The whole of it, as days, months or what names a year; the latest that has begun by then."""
    if not _TELLS.match(date):
        return None
    times = read_times(date, seen)
    if len(times) != 1 or len(times[0].text) < len(date.strip(" .,")):
        return None
    read = times[0]
    fits = read.grain in (Grain.DAY, Grain.MONTH) or _YEAR.search(date)
    return read if read.range and fits and not (read.clock or read.negated) else None


def _is_day(date: str) -> bool:
    read = _read(date, _ANY) if _YEAR.search(date) else None
    return read is not None and read.grain in _OF_A_DAY


def _start(read: TimeExpression | None) -> datetime | None:
    return read.range.start if read and read.range else None


def _is_year(date: str | None) -> bool:
    return date is not None and len(date) == 4 and date.isdigit()

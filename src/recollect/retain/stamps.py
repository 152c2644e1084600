"""When turns were said, as the stamps before them say: "[2023-05-08 13:56]", "13/05/2023, 22:31 - "."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from recollect.errors import InvalidInput
from recollect.language.dates import parse_when
from recollect.language.time import Grain, read_times

_ANY = datetime(2000, 1, 1, tzinfo=UTC)  # what is read with its year is the same seen from any day
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_NUMBERS = re.compile(r"(?<!\d)(\d{1,2})([/.-])(\d{1,2})[/.-](\d{4}|\d{2})(?!\d)")
_SHORT_YEAR = re.compile(r"(?<!\d)(\d{1,2})-([A-Z][a-z]{2})-(\d\d)(?!\d)")
_AMERICAN = re.compile(r"[1-9]\d?/[1-9]\d?/\d\d,?\s\d{1,2}:\d\d(?::\d\d)?\s[AP]M")
_DAY_NAMED = re.compile(r"[^\W\d_]{3,}")
_EXACT = (Grain.SECOND, Grain.MINUTE, Grain.HOUR, Grain.DAY)
_MONTHS = 12
_CENTURY = 70  # of a year in two digits: from then on it is one of the last century


@dataclass(frozen=True, slots=True)
class Stamps:
    """The stamps of one talk: whoever wrote 13/05/2023 in it wrote 08/05/2023 for a day in May, too."""

    day_first: bool | None  # None: nothing tells

    @classmethod
    def of(cls, stamps: Iterable[str | None]) -> Stamps:
        found = [_NUMBERS.search(stamp) for stamp in set(stamps) if stamp]
        days = [(int(m.group(1)), m.group(2), int(m.group(3))) for m in found if m]
        first = any(one > _MONTHS or between == "." for one, between, _ in days)
        second = any(other > _MONTHS for _, _, other in days)
        if not first and not second:
            return cls(False if _american([m for m in found if m]) else None)
        return cls(None if first == second else first)

    def said_at(self, stamp: str | None, seen: datetime | None = None) -> datetime | None:
        """A clock time alone, or a day that may be another, says nothing: the item's own time stands. "Today at 2:05 PM"
        is told from the day it was `seen`, where that is known."""
        if stamp is None:
            return None
        try:
            return parse_when(stamp)
        except InvalidInput:
            plain = _NUMBERS.sub(self._in_order, _SHORT_YEAR.sub(r"\1 \2 20\3", stamp))
        around = _ANY if _YEAR.search(plain) else seen if _DAY_NAMED.search(plain) else None
        if around is None:
            return None
        around = around.replace(hour=23, minute=59)  # "March 4th 2:05 PM" may be of that very day
        times = [each for each in read_times(plain, around) if each.range and each.grain in _EXACT]
        return times[0].range.start if len(times) == 1 and times[0].range else None

    def _in_order(self, day: re.Match[str]) -> str:
        """As 2023-05-13, which can be read in one way only; without a year where that is not known."""
        one, _, other, year = day.groups()
        if self.day_first is None and one != other:
            return ""
        month, number = (other, one) if self.day_first else (one, other)
        if len(year) == 2:
            year = f"{'19' if int(year) >= _CENTURY else '20'}{year}"
        return f"{year}-{int(month):02}-{int(number):02}"


def _american(days: list[re.Match[str]]) -> bool:
    """Whether all are written as "3/4/24, 10:32 AM" is: where the day comes first, it has two figures, or the year
    four, or "am" is in small letters."""
    alike = all(_AMERICAN.fullmatch(day.string.strip()) for day in days)
    return alike and any(len(day[1]) == 1 or len(day[3]) == 1 for day in days)

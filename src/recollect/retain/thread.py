"""What earlier lines of a chat say of later ones: who goes on speaking, and the day of times that name none."""

from __future__ import annotations

import re

from recollect.retain.chats import CLOCK, CLOCK_ALONE, HOURS, MONTH
from recollect.retain.speakers import Said

__all__ = ["Thread"]

_LOGGED_DAY = re.compile(
    rf"(?:Log opened|Log closed|Day changed(?: to)?|(?:BEGIN|END)\w* LOGGING AT)\s+(?:\w{{3}},? )?"
    rf"(?:(?P<month>{MONTH}) (?P<number>\d{{1,2}})|(?P<first>\d{{1,2}}) (?P<second>{MONTH}))"
    r"(?: \d\d:\d\d:\d\d)?,? (?P<year>\d{4})"
)
_YEARLESS = re.compile(rf"^({MONTH}) (\d{{1,2}}) ({CLOCK})$")
_HALF = re.compile(r"\s?([AaPp])\.?[Mm]\b\.?")


class Thread:
    """Is shown the turns of one text, in their order."""

    def __init__(self) -> None:
        self._last = Said(None, None, 0)
        self._day: str | None = None
        self._year: str | None = None

    def follow(self, turn: Said, words: str) -> Said:
        last = self._last
        self._learn(turn, words)
        if turn.again:
            turn = turn._replace(speaker=last.speaker)
            if turn.stamp and last.stamp:
                clock = _in_its_half(turn.stamp, last.stamp)
                turn = turn._replace(stamp=CLOCK_ALONE.sub(clock, last.stamp))
        elif turn.stamp:
            turn = turn._replace(stamp=self._dated(turn.stamp))
        self._last = turn
        return turn

    def _learn(self, turn: Said, words: str) -> None:
        told = None if turn.speaker else _day_told(words)
        if told is not None:
            self._day, self._year = " ".join(told), told[1]
        elif turn.day is not None:
            self._day = turn.day

    def _dated(self, stamp: str) -> str:
        if self._day and CLOCK_ALONE.fullmatch(stamp):
            return f"{self._day} {stamp}"
        return _YEARLESS.sub(rf"\2 \1 {self._year} \3", stamp) if self._year else stamp


def _in_its_half(clock: str, last: str) -> str:
    """Slack says of a message that goes on neither AM nor PM: it is the next such time."""
    half = _HALF.search(last)
    if half is None or _HALF.search(clock):
        return clock
    before, after = (_minutes(each) for each in (last[: half.start()], clock))
    morning = (half[1].upper() == "A") != (after < before)
    return f"{clock} {'AM' if morning else 'PM'}"


def _minutes(clock: str) -> int:
    """Of half a day, which begins at twelve."""
    hours, minutes = HOURS.findall(clock)[-1]
    return int(hours) % 12 * 60 + int(minutes)


def _day_told(words: str) -> tuple[str, str] | None:
    """The day that a log says begins: "Day changed Wed Mar 13 2024"."""
    match = _LOGGED_DAY.search(words)
    if match is None:
        return None
    number, month = match["number"] or match["first"], match["month"] or match["second"]
    return f"{number} {month}", match["year"]

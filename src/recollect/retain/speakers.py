"""Who may speak: how a line opens a turn, and which of the words before it are somebody's name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from recollect.language.entities.gazetteer import known_names, usage

__all__ = [
    "ROLES",
    "Said",
    "is_note",
    "is_role",
    "is_titled",
    "may_speak",
    "months",
    "nicks",
    "speaks",
    "word_set",
]


class Said(NamedTuple):
    """How a line opens a turn: who speaks (nobody in what a messenger says itself), when, and where the
    words begin, which may be on a line below."""

    speaker: str | None
    stamp: str | None
    begins: int
    lines: int = 1  # that are no words yet: a name may stand above the time
    again: bool = False  # whoever spoke last goes on
    day: str | None = None  # that stands above it: the day of the times below
    closing: str = ""  # what stands behind the words


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TITLES = word_set("mr mrs ms miss mx dr prof professor sir madam herr frau m mme sr sra")
ROLES = word_set("user assistant system agent ai bot human me you customer support")
# Labels of notes, not of people.
_NOT_SPEAKERS = word_set("""note notes warning todo fixme example examples summary status address subject from to cc
    date time title name email phone tags topic context result results answer question q a
    update important tip hint error usage input output goal goals plan step problem solution
    cause effect http https key value type location price cost total deadline owner priority
    description decision decisions action actions agenda attendees reminder fact lesson
    ps nb fyi eta tldr url monday tuesday wednesday thursday friday saturday sunday""")
# As programs call whoever copies a chat out of them.
_COPYING = word_set("you me")
_NICK = 5  # letters that a word has to have: a shorter one may be short for anything

# 'Ann said: "I quit."' tells of Ann.
_SAYING = word_set("""said says say asked asks wrote writes replied replies answered answers added adds told tells texted
    explained explains suggested suggests thinks thought""")
# "Vet for Pika: October 2" and "Will about Rome: …" say what is noted, whatever name they begin with.
_ABOUT = word_set("for about with")

# "May 3: dentist" and "April 2023: moved to Rome" tell when; April alone may well speak.
_MONTH = (
    r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august"
    r"|september|october|november|december)\.?"
)
_DATE = re.compile(rf"{_MONTH} (?:\d\d?(?:st|nd|rd|th)?(?: \d{{4}})?|\d{{4}})", re.IGNORECASE)
_MONTH_ALONE = re.compile(_MONTH, re.IGNORECASE)


def is_role(speaker: str | None) -> bool:
    """Whether it is a part in a chat ("Assistant") rather than somebody's name."""
    return speaker is not None and speaker.lower() in ROLES


def is_note(label: str) -> bool:
    first, *rest = label.split()
    if first.lower() in _NOT_SPEAKERS or label.lower() in _NOT_SPEAKERS:
        return True
    return _DATE.fullmatch(label) is not None or not (_SAYING | _ABOUT).isdisjoint(rest)


def months(labels: Iterable[str]) -> frozenset[str]:
    """Those that are months, where several are: "Jan: 100" and "Feb: 120" are figures, April alone is a name."""
    named = frozenset(label for label in labels if _MONTH_ALONE.fullmatch(label))
    return named if len(named) > 1 else frozenset()


def may_speak(label: str) -> bool:
    return not (is_note(label) or label[0].islower())


def nicks(labels: Mapping[str, int], *, whole: bool) -> set[str]:
    """Words in small letters that speak beside "You". "wifi: …" stands in messages as well: so it has to be no
    everyday word, or to come back, and where not every line is somebody's (`whole`), both."""
    if _COPYING.isdisjoint(label.lower() for label in labels):
        return set()
    return {
        label
        for label, times in labels.items()
        if label[0].islower()
        and " " not in label
        and not is_note(label)
        and _is_nick(label) + (times > 1) >= (1 if whole else 2)
    }


def _is_nick(label: str) -> bool:
    return len(label) >= _NICK and usage(label) is None and label not in _known()


@cache
def _known() -> frozenset[str]:
    """Places, firms and products, as whoever types in haste writes them."""
    return frozenset(name.lower() for name, _ in known_names())


def is_titled(label: str) -> bool:
    title, *name = label.split()
    return title.lower().rstrip(".") in _TITLES and bool(name) and name[-1][0].isupper()


def speaks(label: str, times: int, labels: int, names: frozenset[str]) -> bool:
    first = label.split()[0].lower()
    if is_note(label):
        return False
    if label.lower() in ROLES or first == "speaker":
        return True
    if label[0].islower() and first not in names:
        return False
    return first in names or (times > 1 and labels > 1)

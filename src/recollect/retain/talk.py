"""Who speaks in a text: lines such as "Ann: …", "[2023-05-08 13:56] Ann: …", and a messenger's log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from recollect.language.entities.gazetteer import given_names, name_like_words

__all__ = ["Said", "Talk", "is_role", "label_end", "speaker_of", "talk_in"]

# "[2023-05-08 13:56] ", or as messengers write it: "13/05/2023, 22:31 - ", "5/13/23, 10:31 PM - ".
_STAMP = r"[\[(](?P<stamp>[^\])\n]{3,40})[\])]\s*"
_LOGGED = (
    r"(?P<logged>\d{1,4}[./-]\d{1,2}[./-]\d{2,4},?\s\d{1,2}[:.]\d\d(?:[:.]\d\d)?"
    r"(?:\s?[AaPp]\.?[Mm]\.?)?)(?:\s[-–])?\s"
)
_BEFORE = r"[\s\u200e\ufeff]*"
_TURN = re.compile(
    rf"{_BEFORE}(?:{_STAMP}|{_LOGGED})?(?:\*\*)?(?P<label>[^\W\d_][\w.'’-]*(?: [\w.'’-]+){{0,2}})(?:\*\*)?"
    r"(?: ?[\[(](?P<late>[^\])\n]{1,40})[\])])?(?:\*\*)?\s?(?::(?:\*\*)?\s|：(?:\*\*)?)\s*(?=\S)"
)
# A line of a log: who speaks may be a number, or have any sign in the name; or nobody does ("Ann added Bob").
_ENTRY = re.compile(
    rf"{_BEFORE}(?:{_STAMP}|{_LOGGED})(?:(?P<label>[^\s:：\"“”„]+(?: [^\s:：\"“”„]+){{0,3}})(?::\s|：)\s*)?(?=\S)"
)
_CLOCK = re.compile(r"\d[:.]\d\d")
_AROUND = (
    " ~*\u00a0\u202f\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069"  # as logs write names
)
_SPACES = re.compile(r"[\u00a0\u202f]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TITLES = _words("mr mrs ms miss mx dr prof professor sir madam herr frau m mme sr sra")
_ROLES = _words("user assistant system agent ai bot human me you customer support")
# Labels of notes, not of people.
_NOT_SPEAKERS = _words("""note notes warning todo fixme example examples summary status address subject from to cc
    date time title name email phone tags topic context result results answer question q a
    update important tip hint error usage input output goal goals plan step problem solution
    cause effect http https key value type location price cost total deadline owner priority
    description decision decisions action actions agenda attendees reminder fact lesson""")


class Said(NamedTuple):
    """How a line opens a turn: who speaks (nobody in what a messenger says itself), when, and where the
    words begin."""

    speaker: str | None
    stamp: str | None
    begins: int


@dataclass(frozen=True, slots=True)
class Talk:
    """Those who speak, and how lines are stamped where it is a log: "stamp" in brackets, or "logged"."""

    speakers: frozenset[str] = frozenset()
    stamped: frozenset[str] = frozenset()

    def opens(self, line: str) -> Said | None:
        if not self.speakers:
            return None
        match = _TURN.match(line)
        if match and match.group("label") in self.speakers:
            return Said(match.group("label"), _told(match), match.end())
        return self._entry(line) if self.stamped else None

    def _entry(self, line: str) -> Said | None:
        """In a log every stamp begins something else, whoever's it is: nobody said what another did."""
        match = _ENTRY.match(_SPACES.sub(" ", line))
        kind = None if match is None else _full_stamp(match)
        if match is None or kind not in self.stamped:
            return None
        label = (match.group("label") or "").strip(_AROUND)
        if not label or _is_note(label):
            return Said(None, match.group(kind), match.end(kind) + _after(line, match.end(kind)))
        return Said(label, match.group(kind), match.end())


def talk_in(lines: Iterable[str]) -> Talk:
    """Labels that speak: a role, a given name, or one that comes back in the text."""
    labels: Counter[str] = Counter()
    sure: set[str] = set()
    kinds: dict[str, set[str]] = {}
    spoken = list(filter(str.strip, lines))
    for line in spoken:
        match = _TURN.match(line) if ":" in line or "：" in line else None
        if match:
            label, kind = match.group("label"), _full_stamp(match)
            labels[label] += 1
            sure |= set() if _doubtful(match) else {label}
            kinds.setdefault(label, set()).update({kind} if kind else ())
    if not labels:
        return Talk()
    names = given_names()
    speaking = {
        label for label, times in labels.items() if _speaks(label, times, len(labels), names)
    }
    if not any(label in sure or labels[label] > 1 for label in speaking):
        return Talk()
    # Where every line is somebody's, and somebody's again, those who speak once do so, too; and titles are people's.
    alike = len(labels) < labels.total() == len(spoken)
    speaking |= {each for each in labels if _is_titled(each) or (alike and _may_speak(each))}
    return Talk(frozenset(speaking), frozenset(kind for each in speaking for kind in kinds[each]))


def speaker_of(text: str) -> str | None:
    """Who says a text that opens with "Ann: …", if that is a role or a given name."""
    match = _TURN.match(text) if ":" in text or "：" in text else None
    if match is None or _doubtful(match):
        return None
    return match.group("label") if _speaks(match.group("label"), 1, 1, given_names()) else None


def label_end(line: str) -> int:
    """Where the words begin, if somebody's name is before them."""
    match = _TURN.match(line)
    return match.end() if match else 0


def is_role(speaker: str | None) -> bool:
    """Whether it is a part in a chat ("Assistant") rather than somebody's name."""
    return speaker is not None and speaker.lower() in _ROLES


def _told(match: re.Match[str]) -> str | None:
    return match.group("stamp") or match.group("logged") or match.group("late")


def _full_stamp(match: re.Match[str]) -> str | None:
    """Which of the stamps it has, if that tells the time of day."""
    for kind in ("stamp", "logged"):
        if match.group(kind) and _CLOCK.search(match.group(kind)):
            return kind
    return None


def _after(line: str, stamp: int) -> int:
    """How much stands between a stamp and what follows it: a bracket, a dash, spaces."""
    rest = line[stamp:]
    return len(rest) - len(rest.lstrip("]) \t-–" + _AROUND))


def _doubtful(match: re.Match[str]) -> bool:
    """Whether a line by itself may be no turn: where brackets tell of who is named rather than when ("Bob
    (the plumber): 555-1234"), and where a word is a name as well ("mark: this as important")."""
    label, told = match.group("label"), _told(match)
    if told is not None:
        return not any(c.isdigit() for c in told)
    everyday = label[0].islower() and label.split()[0] in name_like_words()
    return everyday and label not in _ROLES


def _is_note(label: str) -> bool:
    return label.split()[0].lower() in _NOT_SPEAKERS or label.lower() in _NOT_SPEAKERS


def _may_speak(label: str) -> bool:
    return not (_is_note(label) or label[0].islower())


def _is_titled(label: str) -> bool:
    title, *name = label.split()
    return title.lower().rstrip(".") in _TITLES and bool(name) and name[-1][0].isupper()


def _speaks(label: str, times: int, labels: int, names: frozenset[str]) -> bool:
    first = label.split()[0].lower()
    if _is_note(label):
        return False
    if label.lower() in _ROLES or first == "speaker":
        return True
    if label[0].islower() and first not in names:
        return False
    return first in names or (times > 1 and labels > 1)

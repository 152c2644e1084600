"""Who speaks in a text: lines such as "Ann: …", "[2023-05-08 13:56] Ann: …", and a messenger's log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from recollect.language.entities.gazetteer import given_names, name_like_words
from recollect.retain.chats import Form, chat_in
from recollect.retain.speakers import (
    ROLES,
    Said,
    is_note,
    is_role,
    is_titled,
    may_speak,
    months,
    nicks,
    speaks,
)

__all__ = ["Talk", "label_end", "label_of", "returning", "speaker_of", "talk_in"]

# "[2023-05-08 13:56] ", or as messengers write it: "13/05/2023, 22:31 - ", "5/13/23, 10:31 PM - ".
_STAMP = r"[\[(](?P<stamp>[^\])\n]{3,40})[\])]\s*"
_LOGGED = (
    r"(?P<logged>\d{1,4}[./-]\d{1,2}[./-]\d{2,4},?\s\d{1,2}[:.]\d\d(?:[:.]\d\d)?"
    r"(?:\s?[AaPp]\.?[Mm]\.?)?)(?:\s[-–])?\s"
)
_BEFORE = r"[\s\u200e\ufeff]*"
_LABEL = (
    rf"{_BEFORE}(?:{_STAMP}|{_LOGGED})?(?:\*\*)?(?P<label>[^\W\d_][\w.'’-]*(?: [\w.'’-]+){{0,2}})(?:\*\*)?"
    r"(?: ?[\[(](?P<late>[^\])\n]{1,40})[\])])?(?:\*\*)?\s?"
)
_TURN = re.compile(rf"{_LABEL}(?::(?:\*\*)?\s|：(?:\*\*)?)\s*(?=\S)")
# 'Ann said, "…"': a turn where that comes back, or tells of Ann.
_QUOTING = re.compile(
    r"[\s\u200e\ufeff]*(?P<label>[^\W\d_][\w.'’-]*(?: [\w.'’-]+){0,2}?)"
    r" (?:said|asked|replied|answered|wrote|says)[,:]? ?[\"“„«]"
)
_ABOVE = re.compile(rf"{_LABEL}[:：](?:\*\*)?\s*$")  # what is said stands below
# A line of a log: who speaks may be a number, or have any sign in the name; or nobody does ("Ann added Bob").
_ENTRY = re.compile(
    rf"{_BEFORE}(?:{_STAMP}|{_LOGGED})(?:(?P<label>[^\s:：\"“”„]+(?: [^\s:：\"“”„]+){{0,3}})(?::\s|：)\s*)?(?=\S)"
)
_CLOCK = re.compile(r"\d[:.]\d\d")
_AROUND = (
    " ~*\u00a0\u202f\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069"  # as logs write names
)
_SPACES = re.compile(r"[\u00a0\u202f]")


@dataclass(frozen=True, slots=True)
class Talk:
    """Those who speak, and how lines are stamped where it is a log: "stamp" in brackets, or "logged"; or the
    form of the chat program it is from."""

    speakers: frozenset[str] = frozenset()
    stamped: frozenset[str] = frozenset()
    form: Form | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing but who speaks next ends what is said."""
        return self.form is not None and self.form.whole

    def opens(self, line: str, below: str = "") -> Said | None:
        """`below` are the lines after it: there are names that stand above what they said."""
        if self.form is not None:
            return self.form.opens(line, below)
        if not self.speakers:
            return None
        match = _TURN.match(line)
        if match and match.group("label") in self.speakers:
            return Said(match.group("label"), _told(match), match.end())
        above = _ABOVE.match(line)
        if above and self._takes_part(above.group("label")):
            return Said(above.group("label"), _told(above), above.end())
        return self._entry(line) if self.stamped else None

    def _takes_part(self, label: str) -> bool:
        """Whoever speaks elsewhere, too; and the other side of a chat, or a person, who only here does."""
        if label in self.speakers or label[0].islower():
            return label in self.speakers
        sides = is_role(label) and any(map(is_role, self.speakers))
        return sides or label.lower() in given_names()

    def _entry(self, line: str) -> Said | None:
        """In a log every stamp begins something else, whoever's it is: nobody said what another did."""
        match = _ENTRY.match(_SPACES.sub(" ", line))
        kind = None if match is None else _full_stamp(match)
        if match is None or kind not in self.stamped:
            return None
        label = (match.group("label") or "").strip(_AROUND)
        if not label or is_note(label):
            return Said(None, match.group(kind), match.end(kind) + _after(line, match.end(kind)))
        return Said(label, match.group(kind), match.end())


def talk_in(lines: Sequence[str], heard: AbstractSet[str] = frozenset()) -> Talk:
    """Who speaks; `heard` are known to. What opens first decides: a chat may be quoted in a talk, and who is quoted
    in a chat ("Ann: …") speaks in somebody's message."""
    chat, talk = chat_in(lines), _labelled(lines, heard)
    if chat is None:
        return talk
    form, first = chat
    return talk if any(map(talk.opens, lines[:first])) else Talk(form=form)


def _labelled(lines: Iterable[str], heard: AbstractSet[str]) -> Talk:
    """Labels that speak: a role, a given name, one that was heard, or one that comes back in the text."""
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
    for month in months(labels):
        del labels[month]
    if not labels:
        return Talk()
    names = given_names()
    speaking = {
        label for label, times in labels.items() if speaks(label, times, len(labels), names)
    } | (heard & labels.keys())
    if not any(label in sure or labels[label] > 1 for label in speaking):
        return Talk()
    whole = labels.total() == len(spoken)
    speaking |= nicks(labels, whole=whole)
    # Where every line is somebody's, and somebody's again, those who speak once do so, too; and titles are people's.
    alike = whole and len(labels) < len(spoken)
    speaking |= {each for each in labels if is_titled(each) or (alike and may_speak(each))}
    return Talk(frozenset(speaking), frozenset(kind for each in speaking for kind in kinds[each]))


def label_of(text: str) -> str | None:
    """The words before what a text says, "Ann" of "Ann: …" and 'Ann said, "…"', which may be somebody's name."""
    quoting = _QUOTING.match(text)
    return quoting.group("label") if quoting else _before_colon(text)


def speaker_of(text: str) -> str | None:
    """Who says a text that opens with "Ann: …", if that is a role or a given name."""
    label = _before_colon(text)
    return label if label and speaks(label, 1, 1, given_names()) else None


def _before_colon(text: str) -> str | None:
    match = _TURN.match(text) if ":" in text or "：" in text else None
    return None if match is None or _doubtful(match) else match.group("label")


def returning(texts: Iterable[str]) -> frozenset[str]:
    """Who speaks where texts are turns, one by one: labels that come back beside others, if most texts have one."""
    found = [label_of(text) for text in texts]
    labels = Counter(label for label in found if label and may_speak(label))
    if 2 * labels.total() < len(found) or months(labels):
        return frozenset()
    return frozenset(each for each, times in labels.items() if times > 1 and len(labels) > 1)


def label_end(line: str) -> int:
    """Where the words begin, if somebody's name is before them."""
    match = _TURN.match(line)
    return match.end() if match else 0


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
    return everyday and label not in ROLES

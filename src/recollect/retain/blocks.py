"""The blocks of a text: headings, turns of a conversation, list items, tables, code, prose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from recollect.language.entities.gazetteer import given_names, name_like_words

__all__ = ["Block", "blocks"]

Kind = Literal["paragraph", "turn", "item", "table", "code"]

_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.+?)(?:\s+#+)?\s*$")
_UNDERLINE = re.compile(r"\s{0,3}(=+|-{3,})\s*$")
_ITEM = re.compile(r"(\s*)(?:[-*+•–]|\(?\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(?=\S)")
_TABLE = re.compile(r"\s*\|.*\|\s*$")
# "[2023-05-08 13:56] ", or as messengers write it: "13/05/2023, 22:31 - ", "5/13/23, 10:31 PM - ".
_STAMP = r"[\[(](?P<stamp>[^\])\n]{3,40})[\])]\s*"
_LOGGED = (
    r"(?P<logged>\d{1,4}[./-]\d{1,2}[./-]\d{2,4},?\s\d{1,2}[:.]\d\d(?:[:.]\d\d)?"
    r"(?:\s?[AaPp]\.?[Mm]\.?)?)\s[-–]\s"
)
_TURN = re.compile(
    rf"[\s\u200e\ufeff]*(?:{_STAMP}|{_LOGGED})?(?:\*\*)?(?P<label>[^\W\d_][\w.'’-]*(?: [\w.'’-]+){{0,2}})(?:\*\*)?"
    r"(?: ?[\[(](?P<late>[^\])\n]{1,40})[\])])?(?:\*\*)?\s?[:：](?:\*\*)?\s+(?=\S)"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ROLES = _words("user assistant system agent ai bot human me you customer support")
# Labels of notes, not of people.
_NOT_SPEAKERS = _words("""note notes warning todo fixme example examples summary status address subject from to cc
    date time title name email phone tags topic context result results answer question q a
    update important tip hint error usage input output goal goals plan step problem solution
    cause effect http https key value type location price cost total deadline owner priority
    description decision decisions action actions agenda attendees reminder fact lesson""")


@dataclass(frozen=True, slots=True)
class Block:
    """``span`` is all of the block, ``body`` the part that is its text."""

    kind: Kind
    span: tuple[int, int]
    body: tuple[int, int]
    heading: str = ""
    speaker: str | None = None
    stamp: str | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text.rstrip())

    @property
    def blank(self) -> bool:
        return not self.text.strip()


class _Headings:
    """The headings in force, and the last one as long as nothing stands below it."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self.unused: tuple[int, int] | None = None

    def enter(self, level: int, title: str, span: tuple[int, int]) -> None:
        self._open = [(other, name) for other, name in self._open if other < level]
        self._open.append((level, title))
        self.unused = span

    def use(self) -> str:
        self.unused = None
        return " > ".join(name for _, name in self._open)

    @property
    def level(self) -> int:
        return self._open[-1][0] if self._open else 0

    def parent(self) -> str:
        return " > ".join(name for _, name in self._open[:-1])


def blocks(text: str) -> Iterator[Block]:
    """Every non-blank line is part of one block, or of a heading that a block carries."""
    lines = _lines(text)
    speakers = _speakers(lines)
    headings = _Headings()
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.blank:
            index += 1
            continue
        heading = _heading(lines, index)
        if heading:
            level, title, after = heading
            if level <= headings.level:
                yield from _orphan(headings)
            headings.enter(level, title, (line.start, lines[after - 1].end))
            index = after
            continue
        block, index = _read(text, lines, index, speakers)
        yield Block(block.kind, block.span, block.body, headings.use(), block.speaker, block.stamp)
    yield from _orphan(headings)


def _orphan(headings: _Headings) -> Iterator[Block]:
    """A heading with nothing below it is a statement of its own, so that it is not lost."""
    if headings.unused:
        start, end = headings.unused
        yield Block("paragraph", (start, end), (start, end), headings.parent())
        headings.unused = None


def _lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    start = 0
    for line in text.split("\n"):
        found.append(_Line(line, start))
        start += len(line) + 1
    return found


def _heading(lines: list[_Line], index: int) -> tuple[int, str, int] | None:
    line = lines[index]
    match = _HEADING.match(line.text)
    if match:
        return len(match.group(1)), match.group(2), index + 1
    if index + 1 < len(lines) and _opens(line) == "paragraph":
        under = _UNDERLINE.match(lines[index + 1].text)
        if under and (index == 0 or lines[index - 1].blank):
            return (1 if under.group(1)[0] == "=" else 2), line.text.strip(), index + 2
    return None


def _opens(line: _Line) -> Kind:
    if _FENCE.match(line.text):
        return "code"
    if _TABLE.match(line.text):
        return "table"
    if _ITEM.match(line.text):
        return "item"
    return "paragraph"


def _speakers(lines: list[_Line]) -> frozenset[str]:
    """Labels that speak: a role, a given name, or one that comes back in the text."""
    labels: Counter[str] = Counter()
    sure: set[str] = set()
    for line in lines:
        match = _TURN.match(line.text) if ":" in line.text or "：" in line.text else None
        if match:
            labels[match.group("label")] += 1
            sure |= set() if _doubtful(match) else {match.group("label")}
    if not labels:
        return frozenset()
    names = given_names()
    speaking = {
        label for label, times in labels.items() if _speaks(label, times, len(labels), names)
    }
    talk = any(label in sure or labels[label] > 1 for label in speaking)
    return frozenset(speaking) if talk else frozenset()


def speaker_of(text: str) -> str | None:
    """Who says a text that opens with "Ann: …", if that is a role or a given name."""
    match = _TURN.match(text) if ":" in text or "：" in text else None
    if match is None or _doubtful(match):
        return None
    return match.group("label") if _speaks(match.group("label"), 1, 1, given_names()) else None


def _told(match: re.Match[str]) -> str | None:
    return match.group("stamp") or match.group("logged") or match.group("late")


def _doubtful(match: re.Match[str]) -> bool:
    """Whether a line by itself may be no turn: where brackets tell of who is named rather than when ("Bob
    (the plumber): 555-1234"), and where a word is a name as well ("mark: this as important")."""
    label, told = match.group("label"), _told(match)
    if told is not None:
        return not any(c.isdigit() for c in told)
    everyday = label[0].islower() and label.split()[0] in name_like_words()
    return everyday and label not in _ROLES


def _speaks(label: str, times: int, labels: int, names: frozenset[str]) -> bool:
    first = label.split()[0].lower()
    if first in _NOT_SPEAKERS or label.lower() in _NOT_SPEAKERS:
        return False
    if label.lower() in _ROLES or first == "speaker":
        return True
    if not label[0].isupper() and first not in names:
        return False
    return first in names or (times > 1 and labels > 1)


def _read(text: str, lines: list[_Line], index: int, speakers: frozenset[str]) -> tuple[Block, int]:
    turn = _turn(lines[index], speakers)
    if turn:
        return _read_turn(lines, index, turn, speakers)
    kind = _opens(lines[index])
    if kind == "code":
        after = _after_fence(lines, index)
    elif kind == "table":
        after = _while(lines, index + 1, lambda line: bool(_TABLE.match(line.text)))
    elif kind == "item":
        after = _while(lines, index + 1, lambda line: _continues(line, speakers, indented=True))
    else:
        after = _while(lines, index + 1, lambda line: _continues(line, speakers, indented=False))
    start, end = lines[index].start, lines[after - 1].end
    start += len(text[start:end]) - len(text[start:end].lstrip())
    marker = _ITEM.match(lines[index].text) if kind == "item" else None
    body = lines[index].start + marker.end() if marker else start
    return Block(kind, (start, end), (body, end)), after


def _while(lines: list[_Line], index: int, holds: Callable[[_Line], bool]) -> int:
    while index < len(lines) and not lines[index].blank and holds(lines[index]):
        index += 1
    return index


def _continues(line: _Line, speakers: frozenset[str], *, indented: bool) -> bool:
    if _opens(line) != "paragraph" or _HEADING.match(line.text) or _turn(line, speakers):
        return False
    return not indented or line.text[:1].isspace()


def _after_fence(lines: list[_Line], index: int) -> int:
    opening = _FENCE.match(lines[index].text)
    mark = opening.group(1) if opening else "```"
    for after in range(index + 1, len(lines)):
        if lines[after].text.strip().startswith(mark):
            return after + 1
    return len(lines)


def _turn(line: _Line, speakers: frozenset[str]) -> re.Match[str] | None:
    if not speakers:
        return None
    match = _TURN.match(line.text)
    return match if match and match.group("label") in speakers else None


def _read_turn(
    lines: list[_Line], index: int, turn: re.Match[str], speakers: frozenset[str]
) -> tuple[Block, int]:
    """A turn goes on, over blank lines and lists, to the next turn or heading."""
    after = last = index + 1
    while after < len(lines):
        line = lines[after]
        if not line.blank:
            if _HEADING.match(line.text) or _turn(line, speakers):
                break
            last = after + 1
        after += 1
    start = lines[index].start
    start += len(turn.string) - len(turn.string.lstrip())
    end = lines[last - 1].end
    stamp = _told(turn)
    body = (lines[index].start + turn.end(), end)
    return Block("turn", (start, end), body, "", turn.group("label"), stamp), last

"""The blocks of a text: headings, turns of a conversation, list items, tables, code, prose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from typing import Literal

from recollect.retain.entries import (
    date_of,
    day_alone,
    day_in_talk,
    day_of_letter,
    day_of_title,
)
from recollect.retain.speakers import Said, is_role
from recollect.retain.talk import Talk, label_end, talk_in
from recollect.retain.thread import Thread

__all__ = ["Block", "blocks"]

Kind = Literal["paragraph", "turn", "item", "table", "code"]

DEEPEST = 7  # the level of a heading that is a day alone
BELOW = 4  # lines: a day, an empty one, a name, a time
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.+?)(?:\s+#+)?\s*$")
_UNDERLINE = re.compile(r"\s{0,3}(=+|-{3,})\s*$")
# The box of a task stays in its text: it says whether the task is done.
_ITEM = re.compile(r"(\s*)(?:[-*+•–]|\(?\d{1,3}[.)])\s+(?=\S)")
# "3. März" is a day: its number begins no item of a list.
_DAY = re.compile(
    r"\s*\d{1,2}\.\s+(?:Jan(?:uar|\.)|Jänner|Feb(?:ruar|\.)|März|Mai|Juni|Juli|Okt(?:ober|\.)|Dez(?:ember|\.)"
    r"|(?:April|August|September|November)[\s,:]+(?:19|20)\d\d)(?!\w)"
)
_TABLE = re.compile(r"\s*\|.*\|\s*$")
_OPENING = re.compile(r"\s*(```+|~~~+)[^`]*$")


@dataclass(frozen=True, slots=True)
class Block:
    """``span`` is all of the block, ``body`` the part that is its text."""

    kind: Kind
    span: tuple[int, int]
    body: tuple[int, int]
    heading: str = ""
    speaker: str | None = None
    stamp: str | None = None
    day: str | None = None  # that stands above it


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int
    code: bool = False  # between fences: nothing in it is a heading, nor does anybody speak
    below: str = ""  # the lines after it, where a form of chat is read
    dated: bool = False  # one of several of a paragraph that open with a date

    @property
    def end(self) -> int:
        return self.start + len(self.text.rstrip())

    @property
    def blank(self) -> bool:
        return not self.text.strip()


class _Headings:
    """The headings in force, and the last one as long as nothing stands below it."""

    def __init__(self, day: str | None) -> None:
        self._open: list[tuple[int, str]] = []
        self._days: list[str | None] = [day]  # of the whole text, and as of each heading
        self.unused: tuple[int, int] | None = None

    def enter(self, level: int, title: str, span: tuple[int, int]) -> None:
        self._open = [(other, name) for other, name in self._open if other < level]
        self._days = self._days[: len(self._open) + 1]
        self._open.append((level, title))
        self._days.append((title if level == DEEPEST else day_of_title(title)) or self.day)
        self.unused = span

    @property
    def day(self) -> str | None:
        return self._days[-1]

    def use(self) -> str:
        self.unused = None
        return " > ".join(name for _, name in self._open)

    @property
    def level(self) -> int:
        return self._open[-1][0] if self._open else 0

    def parent(self) -> str:
        return " > ".join(name for _, name in self._open[:-1])


def blocks(text: str, heard: AbstractSet[str] = frozenset()) -> Iterator[Block]:
    """Every non-blank line is part of one block, or of a heading that a block carries. `heard` are those
    who are known to speak."""
    lines = _lines(text)
    talk = talk_in([line.text for line in lines if not line.code], heard)
    if talk.form is not None:
        texts = [line.text for line in lines]
        lines = [
            replace(line, below="\n".join(texts[n + 1 : n + 1 + BELOW]))
            for n, line in enumerate(lines)
        ]
    headings, thread = _Headings(_day_of_letter(lines)), Thread()
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.blank:
            index += 1
            continue
        speaks = talk.whole and _turn(line, talk) is not None  # "## User"
        heading = None if speaks else _heading(lines, index) or _day(lines, index, talk)
        if heading:
            level, title, after = heading
            if level <= headings.level:
                yield from _orphan(headings)
            headings.enter(level, title, (line.start, lines[after - 1].end))
            index = after
            continue
        block, index, turn = _read(text, lines, index, talk)
        if turn is not None:
            turn = thread.follow(turn, text[slice(*block.body)])
        speaker, stamp = turn[:2] if turn else (None, None)
        title = headings.use()
        yield Block(block.kind, block.span, block.body, title, speaker, stamp, headings.day)
    yield from _orphan(headings)


def _orphan(headings: _Headings) -> Iterator[Block]:
    """A heading with nothing below it is a statement of its own, so that it is not lost."""
    if headings.unused:
        start, end = headings.unused
        yield Block("paragraph", (start, end), (start, end), headings.parent())
        headings.unused = None


def _lines(text: str) -> list[_Line]:
    found = text.split("\n")
    code, dated = _fenced(found), _dated(found)
    lines: list[_Line] = []
    start = 0
    for number, line in enumerate(found):
        lines.append(_Line(line, start, number in code, dated=number in dated))
        start += len(line) + 1
    return lines


def _fenced(lines: list[str]) -> set[int]:
    """The lines between fences, also of a fence that opens right after a name. One that is never
    closed was no fence: a talk goes on after it."""
    found: set[int] = set()
    opened, mark = 0, ""
    for number, line in enumerate(lines):
        bare = line.strip()
        if mark and bare.startswith(mark) and not bare.strip(mark[0]):
            found.update(range(opened + 1, number + 1))
            mark = ""
        elif not mark and ("```" in line or "~~~" in line):
            opening = _OPENING.match(line, label_end(line))
            opened, mark = number, opening.group(1) if opening else ""
    return found


def _dated(lines: list[str]) -> set[int]:
    """The lines that open with a date, where a paragraph has several: a single one may be where prose was wrapped."""
    found: set[int] = set()
    paragraph: set[int] = set()
    for number, line in enumerate([*lines, ""]):
        if line.strip():
            paragraph |= {number} if date_of(line) else set()
        else:
            found |= paragraph if len(paragraph) > 1 else set()
            paragraph = set()
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


def _day(lines: list[_Line], index: int, talk: Talk) -> tuple[int, str, int] | None:
    """A day alone on a line, as a heading below all others; programs that chat have forms for it. Where prose was
    wrapped, a line may be a day by chance."""
    line, after = lines[index], index + 1
    apart, spoken = index == 0 or lines[index - 1].blank, bool(talk.speakers)
    if talk.form is not None or line.code or after == len(lines):
        return None
    if not apart and not line.dated and not spoken:
        return None
    day = day_in_talk(line.text) if apart and spoken else day_alone(line.text)
    return None if day is None else (DEEPEST, day, after)


def _day_of_letter(lines: list[_Line]) -> str | None:
    """Of what stands above the first empty line: "From: Ann", "Date: Mon, 4 Mar 2024"."""
    head = takewhile(lambda line: not line.blank, dropwhile(lambda line: line.blank, lines))
    return next((day for line in head if (day := day_of_letter(line.text))), None)


def _opens(line: _Line) -> Kind:
    if _FENCE.match(line.text):
        return "code"
    if _TABLE.match(line.text):
        return "table"
    if _ITEM.match(line.text) and not _DAY.match(line.text):
        return "item"
    return "paragraph"


def _read(text: str, lines: list[_Line], index: int, talk: Talk) -> tuple[Block, int, Said | None]:
    turn = _turn(lines[index], talk)
    if turn:
        return _read_turn(text, lines, index, turn, talk)
    kind = _opens(lines[index])
    if kind == "code":
        after = _after_fence(lines, index)
    elif kind == "table":
        after = _while(lines, index + 1, lambda line: bool(_TABLE.match(line.text)))
    elif kind == "item":
        after = _while(lines, index + 1, lambda line: _continues(line, talk, indented=True))
    else:
        after = _while(lines, index + 1, lambda line: _continues(line, talk, indented=False))
    start, end = _stripped(text, lines[index].start, lines[after - 1].end)
    marker = _ITEM.match(lines[index].text) if kind == "item" else None
    body = lines[index].start + marker.end() if marker else start
    return Block(kind, (start, end), (body, end)), after, None


def _while(lines: list[_Line], index: int, holds: Callable[[_Line], bool]) -> int:
    while index < len(lines) and not lines[index].blank and holds(lines[index]):
        index += 1
    return index


def _continues(line: _Line, talk: Talk, *, indented: bool) -> bool:
    if _opens(line) != "paragraph" or _HEADING.match(line.text) or _turn(line, talk):
        return False
    return line.text[:1].isspace() if indented else not line.dated


def _after_fence(lines: list[_Line], index: int) -> int:
    opening = _FENCE.match(lines[index].text)
    mark = opening.group(1) if opening else "```"
    for after in range(index + 1, len(lines)):
        if lines[after].text.strip().startswith(mark):
            return after + 1
    return len(lines)


def _turn(line: _Line, talk: Talk) -> Said | None:
    return None if line.code else talk.opens(line.text, line.below)


def _read_turn(
    text: str, lines: list[_Line], index: int, turn: Said, talk: Talk
) -> tuple[Block, int, Said]:
    """A turn goes on, over blank lines and lists, to the next turn or heading; an assistant's answer has
    headings of its own."""
    after = last = index + turn.lines
    while after < len(lines):
        line = lines[after]
        if not line.blank:
            opened = _turn(line, talk)
            # A day right below a name is what was said: "Today".
            said = opened is not None and opened.day is not None and last == index + turn.lines
            if (opened and not said) or _ends(lines, after, turn, talk):
                break
            last = after + 1
        after += 1
    start, end = _stripped(text, lines[index].start, lines[last - 1].end)
    body, _ = _stripped(text, lines[index].start + turn.begins, end)
    words = end - len(turn.closing) if text.endswith(turn.closing, body, end) else end
    if body >= words:  # a picture, say: that something was sent is kept, in nobody's words
        body, words, turn = start, end, turn._replace(speaker=None, again=False)
    return Block("turn", (start, end), (body, words)), last, turn


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    return start + len(text[start:end]) - len(text[start:end].lstrip()), max(start, end)


def _ends(lines: list[_Line], index: int, turn: Said, talk: Talk) -> bool:
    """Whether a heading stands here, and not one inside of what is said: the next line is somebody's turn, or
    it is people who talk."""
    if lines[index].code or talk.whole:
        return False
    heads = _HEADING.match(lines[index].text) or _day(lines, index, talk)
    if not heads:
        return False
    after = (lines[at] for at in range(index + 1, len(lines)))
    below = next((line for line in after if not line.blank), None)
    return not is_role(turn.speaker) or below is None or _turn(below, talk) is not None

"""How chat programs write a talk: IRC and WeeChat a message a line, Telegram, Discord, Slack and Teams with the name above it.

Much that is no talk looks like one: what a program logs, schedules, notes with a date above them. So every form
says itself what convinces of it, and what the program tells ("Ann has joined") is nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from recollect.language.entities.gazetteer import given_names, name_like_words
from recollect.retain.speakers import Said, is_note, word_set

__all__ = ["CLOCK", "CLOCK_ALONE", "HOURS", "MONTH", "Form", "chat_in"]

_BEFORE = r"[ \t\u200e\ufeff]*"
CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,6})?)?Z?(?:\s?[AaPp]\.?[Mm]\b\.?)?"
MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_DAY = (
    rf"(?:\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{2,4}}|\d{{1,2}}[ -]{MONTH}[ -]\d{{2,4}}"
    rf"|{MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?"
    r"|(?i:today|yesterday|(?:last )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|heute|gestern|hoy|ayer"
    r"|aujourd['’]hui|hier|oggi|ieri|hoje|ontem))"
)
_FULL = rf"{_DAY}(?:T|,?\s(?:at |um |à |a las |alle |às )?){CLOCK}(?: Uhr)?"
_MOMENT = rf"(?:{_FULL}|{CLOCK})"
_STAMP = rf"[\[(]?(?P<stamp>{_MOMENT})[\])]?"
_NICK = r"(?:[^\W\d]|[\[\]\\`^{}])[\w\[\]\\`^{}|-]{0,31}"
_NAME = r"(?P<label>[^\W_][^\n:|<>\[\]{}\"“”,;]{0,40}?)"
_FULL_NAME = r"(?P<label>[^\W_][^\n:|<>\[\]{}\"“”;]{0,60}?)"  # also "Doe, Jane"
_MONTH_AND_DAY = r"\d{1,2}/\d{1,2}"
_GAP = r"[^\S\n]"
_BADGE = rf"(?:{_GAP}*:[\w+-]+:|{_GAP}?APP|{_GAP}?WORKFLOW)?"  # a status, and what is no person
_END = r"[ \t\r]*(?:\n|$)"
# What a program tells by itself begins with one of these, and so does what somebody does ("* ann waves").
_MARK = r"(?:-!-|\*{1,4}|-->|<--|---?|=-=)"
_TOLD = re.compile(rf"{_BEFORE}{_STAMP}\s+(?:{_MARK}\s+(?:[|│]\s+)?)?(?=\S)|{_MARK}\s+(?=\S)")
_DONE = re.compile(
    r"(?:has |have )?(?:joined|left|archived|renamed|unarchived) (?:#|the (?:channel|group|conversation|chat|server))"
    r"|was (?:added to|removed from) #|(?:set|cleared|changed) the channel|pinned a message|added an integration"
)
_MONTH_FIRST = re.compile(
    r"^(0?[1-9]|1[0-2])/(\d{1,2})(?:/(\d{4}|\d\d))?(?=,? \d{1,2}:\d\d [AP]M$)"
)
_DAY_FIRST = re.compile(r"^(?:1[3-9]|[23]\d)/\d")
# The day above the messages of that day, which tell the time alone: "Monday, March 4th", "Today".
_WEEKDAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? "
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
_LINE = r"(?:[-–—─=]+[ \t\r]*)?"
_DIVIDER = re.compile(
    rf"{_BEFORE}{_LINE}(?P<day>(?=[A-Z\d])"
    rf"(?:(?:{_WEEKDAY})?(?:{MONTH} {_NTH}|{_NTH} {MONTH})(?:,? \d{{4}})?|{_DAY}))"
    rf"[ \t\r]*{_LINE}\n(?:[ \t\r]*\n|New[ \t\r]*\n)*"
)
# What stands where a name would in what programs log.
_LOGGERS = word_set("""info debug warn warning error err fatal trace notice critical crit severe verbose emerg alert panic log
    main module worker server client kernel system init none null unknown anonymous root stdin stdout stderr
    request response input output http sql event job task thread process""")
_ASKING = word_set("you user human me")
_ANSWERING = word_set("assistant ai bot chatgpt claude gemini copilot")
_WORDS = 5  # of a name; a longer one is a sentence


class _Head(NamedTuple):
    line: int
    label: str
    stamp: str
    lines: int


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a message. `above` says that the words stand below who said them, `told`, that any other
    stamp begins something nobody said, and `again` is how whoever spoke last goes on."""

    said: re.Pattern[str]
    convinces: Callable[[Sequence[_Head], Sequence[str]], bool]
    above: bool = False
    told: bool = False
    again: re.Pattern[str] | None = None
    month_first: bool = False
    closing: str = ""  # what stands behind the words
    whole: bool = (
        False  # only who speaks next ends what is said: answers have headings of their own
    )

    def opens(self, line: str, below: str) -> Said | None:
        """`below` are the lines after it."""
        whole = f"{line}\n{below}" if self.above else line
        match = self.said.match(whole)
        if match is None:
            return self._divided(whole) or self._besides(line, whole)
        label, stamp = _called(match.group("label")), match.groupdict().get("stamp")
        if stamp and self.month_first:
            stamp = _MONTH_FIRST.sub(_in_order, stamp)
        if self.above and (not _is_name(label) or _DONE.match(whole[match.end() :].lstrip())):
            return Said(None, stamp, match.start("label"), _lines(match))
        return Said(label, stamp, match.end(), _lines(match), closing=self.closing)

    def _divided(self, whole: str) -> Said | None:
        """Below a day, which is no words of whoever spoke before."""
        divider = _DIVIDER.match(whole) if self.above else None
        if divider is None or not self.said.match(whole, divider.end()):
            return None
        first, _, rest = whole[divider.end() :].partition("\n")
        said = self.opens(first, rest)
        above = divider.group().count("\n")
        return said and said._replace(
            begins=said.begins + divider.end(), lines=said.lines + above, day=divider["day"]
        )

    def _besides(self, line: str, whole: str) -> Said | None:
        told = _TOLD.match(line) if self.told else None
        if told:
            return Said(None, told.group("stamp"), told.end())
        again = self.again.match(whole) if self.again else None
        if again is None:
            return None
        clock = again.groupdict().get("clock")
        return Said(None, clock, again.end(), _lines(again), again=True, closing=self.closing)

    def heads(self, lines: Sequence[str], among: Iterable[int]) -> list[_Head]:
        found: list[_Head] = []
        for number in among:
            line = "\n".join(lines[number : number + 3]) if self.above else lines[number]
            match = self.said.match(line)
            label = _called(match.group("label")) if match else ""
            if match and (not self.above or _is_name(label)):
                stamp = match.groupdict().get("stamp") or ""
                found.append(_Head(number, label, stamp, _lines(match)))
        return found


def chat_in(lines: Sequence[str]) -> tuple[Form, int] | None:
    """The form that a text is written in, and the first line that is; None where it is no chat."""
    clocked = [number for number, line in enumerate(lines) if ":" in line and _ANY_CLOCK(line)]
    if clocked:  # on the line, or below a name
        among = sorted({*clocked, *(number - 1 for number in clocked if number)})
        for form in _FORMS:
            found = form.heads(lines, among)
            if found and form.convinces(found, lines):
                day_first = any(_DAY_FIRST.match(head.stamp) for head in found)
                return replace(form, month_first=form.month_first and not day_first), found[0].line
    headed = [n for n, line in enumerate(lines) if line.rstrip()[-1:] in ":*" or line[:1] == "#"]
    found = _WITH_ROLES.heads(lines, headed)
    if found and _WITH_ROLES.convinces(found, lines):
        return _WITH_ROLES, found[0].line
    tagged = [n for n, line in enumerate(lines) if "<" in line and line.lstrip().startswith("<")]
    found = _TIMELESS.heads(lines, tagged)
    if found and _TIMELESS.convinces(found, lines):
        return _TIMELESS, tagged[0]
    quoting = [number for number, line in enumerate(lines) if " said" in line and '"' in line]
    found = _QUOTING.heads(lines, quoting)
    return (_QUOTING, found[0].line) if found and _QUOTING.convinces(found, lines) else None


_ANY_CLOCK = re.compile(r"\d:\d\d").search


def _lines(match: re.Match[str]) -> int:
    """How many lines stand above the words."""
    return 1 + match.group().rstrip().count("\n")


def _is_name(label: str) -> bool:
    return (
        len(label.split()) <= _WORDS
        and label[-1] not in ".!?…;,"
        and label[0] not in "#-*>|+•`"
        and not is_note(label)
    )


def _called(label: str) -> str:
    """Without what a program says of somebody, and in the order in which people say it: "Doe, Jane (Guest)"."""
    name = _ASIDE.sub("", label.strip())
    surname, comma, given = name.partition(", ")
    turned = f"{given} {surname}"
    return turned if comma and "," not in given and _is_full_name(turned) else name


def _in_order(day: re.Match[str]) -> str:
    month, number, year = day.groups()
    if year is None:
        return f"{date(2000, int(month), 1):%B} {number}"
    return f"{year if len(year) == 4 else '20' + year}-{int(month):02}-{int(number):02}"


# --- what convinces -------------------------------------------------------------------------------


def _named(found: Sequence[_Head]) -> float:
    """The share of those who speak that is called as people are."""
    labels = {head.label for head in found}
    return sum(map(_is_person, labels)) / len(labels)


def _is_person(label: str) -> bool:
    if label == "You":  # as programs call whoever copies a chat
        return True
    first, *rest = label.partition("#")[0].split()  # "ann#1234"
    if first.lower() not in given_names() or (first.islower() and first in name_like_words()):
        return False
    return not any(word[0].islower() for word in rest)


def _is_full_name(label: str) -> bool:
    first, *rest = label.split()
    return bool(rest) and all(word[0].isupper() for word in (first, *rest))


def _returns(found: Sequence[_Head]) -> bool:
    """Whether several speak, and one of them again."""
    return 1 < len({head.label for head in found}) < len(found)


def _answers(found: Sequence[_Head]) -> bool:
    """Whether somebody speaks on the day that another did: notes are headed by days, too."""
    days = [(head.label, re.sub(CLOCK, "", head.stamp)) for head in found]
    return any(a[0] != b[0] and a[1] == b[1] for a, b in pairwise(days))


def _by_the_minute(found: Sequence[_Head]) -> bool:
    """Whether a time is not as round as those of appointments are."""
    return any(int(clock[1]) % 5 for head in found for clock in HOURS.findall(head.stamp)[-1:])


def _has_words(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    """Whether half of the heads have something below them that is no head itself: a list of appointments has not."""
    at = {head.line for head in found}
    below = (range(head.line + head.lines, len(lines)) for head in found)
    after = (next((n for n in each if lines[n].strip()), None) for each in below)
    return 2 * sum(n is not None and n not in at for n in after) >= len(at)


def _by_people(found: Sequence[_Head]) -> bool:
    return not any(head.label.lower() in _LOGGERS for head in found)


def _brackets_convince(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    """Programs write what they log about in brackets, too ("<request>")."""
    if len(found) < 2 or not _by_people(found):
        return False
    return _returns(found) or _named(found) > 0


def _bare_brackets_convince(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    """ "<ann> …" is a tag as well: every line has to be somebody's."""
    whole = sum(1 for line in lines if line.strip() and not _TOLD.match(line))
    tags = any("</" in line or "/>" in line for line in lines)
    return whole == len(found) and _returns(found) and _by_people(found) and not tags


def _quotes_convince(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    """In a story something is told between what people say."""
    return _returns(found) and len(found) == sum(map(bool, map(str.strip, lines)))


def _roles_convince(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    """Somebody asks and a program answers; in a manual other headings stand between "User" and "Agent"."""
    labels = {head.label.lower() for head in found}
    if labels.isdisjoint(_ASKING) or labels.isdisjoint(_ANSWERING):
        return False
    marks = {lines[head.line].split()[0] for head in found if lines[head.line][:1] == "#"}
    alike = sum(line.split(maxsplit=1)[0] in marks for line in lines if line[:1] == "#")
    return _has_words(found, lines) and alike == sum(lines[h.line][:1] == "#" for h in found)


def _columns_convince(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    """Whoever logs writes a time, a word and a text. In a talk people come and go, or address each other."""
    labels = {head.label.lower() for head in found}
    if len(found) < 2 or not _by_people(found):
        return False
    if any(_COMES.match(line) for line in lines):
        return True
    said = (re.search(rf"\s{re.escape(h.label)}\s+(?:[|│]\s)?(.*)", lines[h.line]) for h in found)
    spoken = [match.group(1).lower() for match in said if match]
    return any(
        text.startswith(f"{each}{sign} ") for text in spoken for each in labels for sign in ":,"
    )


def _clocks_convince(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    """A diary, a schedule and what a program logs are written alike: half of the names have to be people's, one to
    come back, and the times not round."""
    if not _by_people(found) or 2 * _named(found) < 1:
        return False
    return _returns(found) and _by_the_minute(found)


def _telegram_convinces(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    return True  # a name, and a day and a time in brackets, alone on a line


def _voices_convince(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    return True  # below the times of a cue a tag says who speaks


def _subtitles_convince(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    return _named(found) > 0 or _returns(found)


def _discord_convinces(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    if not _has_words(found, lines):
        return False
    if any(CLOCK_ALONE.fullmatch(head.stamp) for head in found):
        return 2 * _named(found) >= 1 and _returns(found)
    return _named(found) > 0 or (_returns(found) and _answers(found))


def _exporter_convinces(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    apart = all(head.line == 0 or not lines[head.line - 1].strip() for head in found)
    return len(found) > 1 and apart and (_named(found) > 0 or _returns(found))


def _spaces_convince(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    """A schedule is written alike: half of the names have to be people's, and one to come back; or all are full
    names, and the times not round."""
    if 2 * _named(found) < 1 or not _has_words(found, lines):
        return False
    full = all(_is_full_name(head.label) for head in found)
    return _returns(found) or (len(found) > 1 and full and _by_the_minute(found))


def _slack_convinces(found: Sequence[_Head], lines: Sequence[str]) -> bool:
    return len(found) > 1 and 2 * _named(found) >= 1 and _has_words(found, lines)


CLOCK_ALONE = re.compile(CLOCK)
HOURS = re.compile(r"(\d{1,2}):(\d\d)")
_ASIDE = re.compile(r"\s+\((?:Guest|External|Unverified|Gast|Extern|Invité|Invitado)\)$")
_COMES = re.compile(rf"{_BEFORE}{_STAMP}\s+(?:-->|<--)\s+(?:[|│]\s+)?[^\W\d]")
_BRACKETED = re.compile(rf"\[(?P<clock>{CLOCK})\] ?(?=\S)")
_BARE = re.compile(rf"\s*\[?(?P<clock>{CLOCK})(?:\] ?|[ \t\r]*\n\s*)(?=\S)")
_CAPITAL = r"[^\W\d_a-zß-ÿ][^\s:<>]*"
_CUE = r"(?:[\w/-]{1,60}[ \t\r]*\n)?[ \t]*(?:\d\d:)?\d\d:\d\d[.,]\d{3} --> [^\n]*\n"
_FORMS = (
    Form(  # IRC
        re.compile(rf"{_BEFORE}{_STAMP}\s*<[ @+%&~!]?(?P<label>{_NICK})>\s+(?=\S)"),
        _brackets_convince, told=True,
    ),
    Form(  # Telegram
        re.compile(rf"{_BEFORE}{_NAME}, \[(?P<stamp>{_FULL})\]:?{_END}"),
        _telegram_convinces, above=True,
    ),
    Form(  # WebVTT that says who speaks, as Teams and others write calls down
        re.compile(rf"{_BEFORE}(?:{_CUE})?<v(?:\.[\w.-]+)?[ \t](?P<label>[^\n<>]{{1,60}})>[ \t]*(?=\S)"),
        _voices_convince, above=True, again=re.compile(rf"{_BEFORE}{_CUE}(?=\S)"), closing="</v>",
    ),
    Form(  # subtitles, and what is said in a call
        re.compile(rf"{_BEFORE}{_CUE}(?P<label>{_CAPITAL}(?: {_CAPITAL}){{0,4}}): (?=\S)"),
        _subtitles_convince, above=True, again=re.compile(rf"{_BEFORE}{_CUE}(?=\S)"),
    ),
    Form(  # Discord
        re.compile(rf"{_BEFORE}(?P<label>\S[^\n]{{0,120}}?){_GAP}+[—–]{_GAP}+(?P<stamp>{_MOMENT}){_END}"),
        _discord_convinces, above=True, again=_BRACKETED, month_first=True,
    ),
    Form(  # a Discord channel exported as text
        re.compile(rf"{_BEFORE}\[(?P<stamp>{_FULL})\] {_NAME}{_END}(?=\S)"),
        _exporter_convinces, above=True, month_first=True,
    ),
    Form(  # Slack: old, new, and between
        re.compile(rf"{_NAME}{_BADGE}{_GAP}+\[(?P<stamp>{_MOMENT})\]{_END}"),
        _slack_convinces, above=True, again=_BARE,
    ),
    Form(
        re.compile(rf"{_NAME}{_BADGE}[ \t\r]*\n(?:APP)?{_GAP}+(?P<stamp>{_MOMENT}){_END}"),
        _slack_convinces, above=True, again=_BARE,
    ),
    Form(
        re.compile(rf"{_NAME}{_BADGE}{_GAP}{{2,}}(?P<stamp>{_MOMENT}){_END}"),
        _spaces_convince, above=True, again=_BARE, month_first=True,
    ),
    Form(  # Teams, where the line above is not Slack's
        re.compile(rf"{_BEFORE}\[(?P<stamp>{_MOMENT}|{_MONTH_AND_DAY} {CLOCK})\] {_FULL_NAME}{_END}"),
        _spaces_convince, above=True, month_first=True,
    ),
    Form(
        re.compile(rf"{_FULL_NAME},?{_GAP}+(?P<stamp>{_FULL}){_END}"),
        _spaces_convince, above=True, month_first=True,
    ),
    Form(  # WeeChat: its file, its screen, and a file that lost its tabs
        re.compile(rf"{_BEFORE}{_STAMP}\t[ @+%&~]?(?P<label>{_NICK})\t\s*(?=\S)"),
        _columns_convince, told=True,
    ),
    Form(
        re.compile(rf"{_BEFORE}{_STAMP}\s+[@+%&~]?(?P<label>{_NICK})\s+[|│]\s+(?=\S)"),
        _columns_convince, told=True,
    ),
    Form(
        re.compile(rf"{_BEFORE}(?P<stamp>{_FULL})\s+[@+%&~]?(?P<label>{_NICK})\s+(?=\S)"),
        _columns_convince, told=True,
    ),
    Form(  # "10:32 Ann: hello"
        re.compile(rf"{_BEFORE}(?P<stamp>{CLOCK})(?: [-–])?{_GAP}+{_NAME}: +(?=\S)"),
        _clocks_convince, told=True,
    ),
)  # fmt: skip
_WITH_ROLES = Form(  # copied or exported from an assistant: "## User", "**Assistant:**", "ChatGPT said:"
    re.compile(
        rf"(?:#{{1,6}} +|(?=\**[A-Z][^\n]*[:*][ \t\r]*(?:\n|$)))(?:\*\*)?(?P<label>(?i:{'|'.join(sorted(_ASKING | _ANSWERING))}|system))"
        rf"(?: said)?[:*]{{0,3}}{_END}"
    ),
    _roles_convince, above=True, whole=True,
)  # fmt: skip
_QUOTING = Form(  # 'Ann said, "hello"', as conversations are put into prompts
    re.compile(rf'{_BEFORE}(?P<label>{_CAPITAL}(?: {_CAPITAL}){{0,2}}) said[,:]? ?"(?=\S)'),
    _quotes_convince,
    closing='"',
)
_TIMELESS = Form(  # IRC without times
    re.compile(rf"{_BEFORE}<[ @+%&~]?(?P<label>{_NICK})>\s+(?=\S)"),
    _bare_brackets_convince,
    told=True,
)

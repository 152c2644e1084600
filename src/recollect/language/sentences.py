"""Where sentences begin and end.

A rule-based splitter: every mark that *can* end a sentence is a candidate, and a candidate is
dropped when what stands before it (an abbreviation, an initial, a list number) or after it
(a lower-case letter) says that the sentence goes on.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["sentences"]

_CLOSERS = "\"'”’»)\\]*_"

# A run of dots or blanks is looked at once, from its beginning: from each of its signs it would take
# minutes where there are a hundred thousand.
_CANDIDATE = re.compile(
    rf"(?P<stop>(?<![.!?…])[.!?…]++[{_CLOSERS}]*+)(?=\s|$)"
    r"|(?P<cjk>[。！？｡]+[」』”’）】]*)"
    r"|(?P<line>(?<![ \t])[ \t]*+\n\s*)"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Always followed by a name or number, never the end of a sentence.
_TITLES = _words(
    "mr mrs ms mx dr prof rev hon pres gov sen rep gen col capt cmdr lt sgt maj st mt ft "
    "messrs mme mlle vs fig eq eqs cf al approx ca viz ed eds trans pp vol ch sec"
)
# May stand at the end of a sentence, so the next word decides.
_ABBREVIATIONS = _words(
    "inc ltd co corp llc bros dept univ assn jr sr etc e.g i.e a.m p.m u.s u.k u.s.a d.c u.n e.u "
    "ph.d m.d b.a m.a b.sc m.sc ave blvd rd jan feb mar apr jun jul aug sep sept oct nov dec mon "
    "tue tues wed thu thurs fri sat sun est min max tel ext misc dist ref op"
)
_BEFORE_NUMBER = _words("no nr nos p art para")

# "am 3. Dezember": the dot makes an ordinal of the day.
_BEFORE_DAY = _words("am vom zum dem den der des bis seit ab und oder auf für")
_MONTHS = _words(
    "januar jänner februar märz april mai juni juli august september oktober november dezember"
)

_STARTERS = _words(
    "the a an he she it i we they you this that these those there here but and so or then when "
    "while after before however also my his her our their your its what who why how where in on "
    "at for if as no yes not it's i'm i've he's she's we're they're that's there's"
)

_WORD_BEFORE = re.compile(r"[^\s\"'“‘(\[]+$")
_NEXT_WORD = re.compile(r"[\s\"'“‘(\[*_-]*([^\s,;:.!?]*)")
_INITIAL = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_ITEM = re.compile(r"(?:[-*•–+]|\(?\d{1,3}[.)]|[A-Za-z][.)]|#{1,6}|\|)\s|```|[^\s:]{1,30}:\s")

# A line shorter than this was not broken by a text wrap: its end was meant.
_WRAP_WIDTH = 50
_SHORT = 2000  # characters: what is worth keeping for a moment


def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """The spans of the sentences in ``text``, without the white space around them."""
    return _remembered(text) if len(text) < _SHORT else _spans(text)


@lru_cache(maxsize=64)
def _remembered(text: str) -> tuple[tuple[int, int], ...]:
    """Whoever reads a text for one thing soon reads it for another."""
    return _spans(text)


def _spans(text: str) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _CANDIDATE.finditer(text):
        if match.end() <= start:
            continue
        if _ends_sentence(text, start, match):
            _append(spans, text, start, match.end())
            start = match.end()
    _append(spans, text, start, len(text))
    return tuple(spans)


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        spans.append((start, end))


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    if match.lastgroup == "cjk":
        return True
    if match.lastgroup == "line":
        return _line_ends(text, start, match)
    stop = match.group()
    following = _NEXT_WORD.match(text, match.end())
    next_word = following.group(1) if following else ""
    if not next_word or text.startswith("\n", match.end()):
        return not _is_item_number(text, start, match)
    if "!" in stop or "?" in stop:
        # "Yahoo! is", "who knows? he said": a lower-case word goes on after a quotation mark.
        return not next_word[0].islower() or stop[-1] in ".!?"
    if next_word[0].islower():
        return False
    if stop[0] == "." and not stop.startswith(".."):
        return _full_stop_ends(text, start, match.start(), next_word)
    return True


def _full_stop_ends(text: str, start: int, dot: int, next_word: str) -> bool:
    found = _WORD_BEFORE.search(text, max(start, dot - 30), dot)
    word = found.group() if found else ""
    lower = word.lower()
    if lower in _TITLES:
        return False
    if lower in _BEFORE_NUMBER and next_word[:1].isdigit():
        return False
    before = text[start : dot - len(word)].rstrip()
    if not before and word.isdigit():
        return False
    if word.isdigit() and next_word.lower() in _MONTHS:
        return before.rpartition(" ")[2].lower() not in _BEFORE_DAY
    if lower in _ABBREVIATIONS:
        return next_word.lower() in _STARTERS
    if _INITIAL.fullmatch(word):
        # "A. Chen", "J. R. R. Tolkien"; yet "so am I. Then", "vitamin C. The".
        return bool(before) and before[-1].isalpha() and next_word.lower() in _STARTERS
    return True


def _is_item_number(text: str, start: int, match: re.Match[str]) -> bool:
    return match.group() == "." and text[start : match.start()].strip().isdigit()


def _line_ends(text: str, start: int, match: re.Match[str]) -> bool:
    if match.group().count("\n") > 1 or _ITEM.match(text, match.end()):
        return True
    line_start = max(text.rfind("\n", 0, match.start()) + 1, start)
    if _ITEM.match(text, line_start) and not text[line_start].isalpha():
        # The wrapped rest of a list item is indented, the next thing is not.
        return not match.group().endswith((" ", "\t"))
    rest = text[match.end() : match.end() + 1]
    return match.start() - line_start < _WRAP_WIDTH and not rest.islower()

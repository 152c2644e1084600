"""Finding the names in a text.

Four sources, in order of trust: names the bank knows, names with a tell-tale form (paths,
versions, identifiers), well-known names, and runs of capitalised words. Given names are also
found in lower case. A capital that only opens a sentence counts for nothing by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from recollect.language.sentences import sentences
from recollect.retain.entities.capitals import capital_runs
from recollect.retain.entities.gazetteer import (
    common_words,
    given_names,
    known_names,
    name_like_words,
)
from recollect.retain.entities.kinds import looks_like_person
from recollect.retain.entities.lexicon import CALENDAR, FUNCTION_WORDS
from recollect.retain.entities.matcher import NameMatcher, Word
from recollect.retain.entities.technical import technical_spans
from recollect.retain.entities.text import CJK, WORD, bare, without_possessive

__all__ = ["Mention", "find_entities", "words_of"]

Span = tuple[int, int]

_KATAKANA = re.compile(r"[\u30a0-\u30ff]{2,}(?:・[\u30a0-\u30ff]+)*")


@dataclass(frozen=True, slots=True)
class Mention:
    text: str
    span: Span
    kind: str


@cache
def _well_known() -> NameMatcher:
    return NameMatcher(known_names())


def find_entities(
    text: str,
    *,
    speaker: str | None = None,
    known: NameMatcher | Iterable[str] = (),
) -> tuple[Mention, ...]:
    """The names in ``text`` in order, without overlap; a named speaker is not a mention."""
    matcher = known if isinstance(known, NameMatcher) else _matcher(known)
    words = words_of(text)
    taken = _Taken(text)
    for start, end in technical_spans(text):
        taken.add(start, end, "technical")
    if len(matcher):
        _match(matcher, words, taken, replace=True)
    _match(_well_known(), words, taken, replace=True)
    for run, kind in capital_runs(text, words):
        taken.add(run[0].start, run[-1].end, kind)
    _lower_case_names(words, taken)
    if not text.isascii() and CJK.search(text):
        for match in _KATAKANA.finditer(text):
            taken.add(*match.span(), "other")
    return taken.mentions(speaker)


def _matcher(known: Iterable[str]) -> NameMatcher:
    return NameMatcher((name, "other") for name in known)


class _Taken:
    """Spans claimed so far; a later, less trusted source only fills what is free."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans: dict[Span, str] = {}

    def add(self, start: int, end: int, kind: str, *, replace: bool = False) -> None:
        clashes = [span for span in self._spans if span[0] < end and start < span[1]]
        for span in clashes:
            inside = start <= span[0] and span[1] <= end
            if not (
                inside and (replace or span != (start, end)) and end - start >= span[1] - span[0]
            ):
                return
        for span in clashes:
            del self._spans[span]
        self._spans[start, end] = kind

    def mentions(self, speaker: str | None) -> tuple[Mention, ...]:
        del speaker
        return tuple(
            Mention(self._text[start:end], (start, end), kind)
            for (start, end), kind in sorted(self._spans.items())
        )


def words_of(text: str) -> list[Word]:
    """The words of ``text`` with their folded forms; sentence openers are marked."""
    openers = {start for start, _ in sentences(text)}
    found: list[Word] = []
    opens = False
    last = 0
    for match in WORD.finditer(text):
        start, end = match.span()
        # The opener is the first word after a sentence start, whatever quotes stand between.
        opens = any(last <= place <= start for place in openers)
        word = match.group()
        name = without_possessive(word)
        stop = start + len(name)
        found.append(Word(name, bare(word), start, stop, len(name) < len(word), opens))
        last = end
    return found


def _match(matcher: NameMatcher, words: list[Word], taken: _Taken, *, replace: bool) -> None:
    index = 0
    while index < len(words):
        hit = matcher.at(words, index)
        if hit is None:
            index += 1
            continue
        size, kind = hit
        if kind == "other":
            kind = "person" if looks_like_person(words, index, size) else "other"
        taken.add(words[index].start, words[index + size - 1].end, kind, replace=replace)
        index += size


def _lower_case_names(words: list[Word], taken: _Taken) -> None:
    names = given_names()
    for index, word in enumerate(words):
        if word.text != word.folded or word.folded not in names or len(word.folded) < 3:
            continue
        if word.folded in FUNCTION_WORDS or word.folded in CALENDAR:
            continue
        if word.folded not in name_like_words() or looks_like_person(words, index, 1):
            last = words[index + 1] if _has_surname(words, index) else word
            taken.add(word.start, last.end, "person")


def _has_surname(words: list[Word], index: int) -> bool:
    """Whether the word after a lower-case given name is no word of the language: "bob ziegler"."""
    if index + 1 >= len(words) or words[index].possessive:
        return False
    after = words[index + 1]
    return (
        after.start == words[index].end + 1
        and after.text == after.folded
        and after.text.isalpha()
        and len(after.text) > 3
        and after.folded not in common_words()
        and after.folded not in FUNCTION_WORDS
        and after.folded not in given_names()
    )

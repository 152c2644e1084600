"""Finding the names in a text.

Four sources, in order of trust: names the bank knows, names with a tell-tale form (paths,
versions, identifiers), well-known names, and runs of capitalised words. Given names are also
found in lower case. A capital that only opens a sentence counts for nothing by itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from recollect.language.entities.capitals import capital_runs
from recollect.language.entities.gazetteer import (
    common_words,
    given_names,
    known_names,
    name_like_words,
    usage,
)
from recollect.language.entities.kinds import addressed, looks_like_person
from recollect.language.entities.lexicon import CALENDAR, FUNCTION_WORDS
from recollect.language.entities.matcher import NameMatcher, Word
from recollect.language.entities.technical import technical_spans
from recollect.language.entities.text import bare, has_cjk, without_possessive, words_in
from recollect.language.sentences import sentences

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
    """The names in ``text`` in order, without overlap.

    ``known`` are names of the bank: a prepared matcher where there are many. The ``speaker``'s
    name counts as known, as a person's; that somebody speaks is by itself no mention.
    """
    matcher = known if isinstance(known, NameMatcher) else _matcher(known)
    words = words_of(text)
    taken = _Taken(text)
    for start, end in technical_spans(text):
        if usage(text[start:end].lower()) is None:  # `notes` in quotes is no name
            taken.add(start, end, "technical")
    _match(text, _well_known(), words, taken)
    if speaker:
        _match(text, _speaker(speaker), words, taken)
    if len(matcher):
        _match(text, matcher, words, taken)
    for run, kind in capital_runs(text, words):
        taken.add(run[0].start, run[-1].end, kind)
    _lower_case_names(words, taken)
    if has_cjk(text):
        for match in _KATAKANA.finditer(text):
            taken.add(*match.span(), "other")
    return taken.mentions()


@lru_cache(maxsize=256)
def _speaker(name: str) -> NameMatcher:
    return NameMatcher([(name, "person")])


def _matcher(known: Iterable[str]) -> NameMatcher:
    return NameMatcher((name, "other") for name in known)


class _Taken:
    """Spans claimed so far, in order; a less trusted source only fills what is free."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans: list[Span] = []
        self._kinds: dict[Span, str] = {}

    def add(self, start: int, end: int, kind: str, *, replace: bool = False) -> None:
        """Claim a span. It displaces shorter ones inside it, and an equal one on ``replace``."""
        low = bisect_left(self._spans, (start, start))
        if low and self._spans[low - 1][1] > start:
            low -= 1
        high = low
        while high < len(self._spans) and self._spans[high][0] < end:
            other = self._spans[high]
            inside = start <= other[0] and other[1] <= end
            if not inside or (other == (start, end) and not replace):
                return
            high += 1
        self._spans[low:high] = [(start, end)]
        self._kinds[start, end] = kind

    def mentions(self) -> tuple[Mention, ...]:
        return tuple(
            Mention(self._text[start:end], (start, end), self._kinds[start, end])
            for start, end in self._spans
        )


def words_of(text: str) -> list[Word]:
    """The words of ``text`` with their folded forms; sentence openers are marked."""
    openers = iter(start for start, _ in sentences(text))
    opener = next(openers, None)
    found: list[Word] = []
    for match in words_in(text):
        start = match.start()
        # The opener is the first word after a sentence start, whatever quotes stand between.
        opens = opener is not None and opener <= start
        while opener is not None and opener <= start:
            opener = next(openers, None)
        word = match.group()
        if word.isalpha() and word.isascii():  # most words: nothing to take off
            found.append(Word(word, word.lower(), start, match.end(), False, opens))
            continue
        name = without_possessive(word)
        stop = start + len(name)
        found.append(Word(name, bare(word), start, stop, len(name) < len(word), opens))
    return found


def _match(text: str, matcher: NameMatcher, words: list[Word], taken: _Taken) -> None:
    for index, size, kind in matcher.runs(text, words):
        if kind == "other":
            kind = "person" if looks_like_person(words, index, size) else "other"
        taken.add(words[index].start, words[index + size - 1].end, kind, replace=True)


def _lower_case_names(words: list[Word], taken: _Taken) -> None:
    names = given_names()
    for index, word in enumerate(words):
        if word.text != word.folded or word.folded not in names or len(word.folded) < 3:
            continue
        if word.folded in FUNCTION_WORDS or word.folded in CALENDAR:
            continue
        if word.folded not in name_like_words() or addressed(words, index):
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

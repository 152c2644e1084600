"""Runs of capitalised words, without the capitals that only grammar or shouting gave."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from recollect.retain.entities.gazetteer import common_words, given_names
from recollect.retain.entities.kinds import kind_of
from recollect.retain.entities.lexicon import (
    CALENDAR,
    FUNCTION_WORDS,
    NUMBERED,
    OF_HEADS,
    TITLES,
)
from recollect.retain.entities.matcher import Word

__all__ = ["capital_runs"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What may stand between two words of one name.
_JOINED = re.compile(r" |\. |-|/|  ")
_AMPERSAND = re.compile(r" ?& ?")
_PARTICLES = _words("de da di del della van von der den la le el al bin ibn dos das du ten")


def capital_runs(text: str, words: Sequence[Word]) -> Iterator[tuple[Sequence[Word], str]]:
    """Each run that is a name, and its kind."""
    shouting = _shouting(words)
    index = 0
    while index < len(words):
        if not _capital(words[index]):
            index += 1
            continue
        end = _run_end(text, words, index)
        start, stop = _trim(words, index, end, shouting)
        if start < stop:
            yield words[start:stop], kind_of(words, start, stop - start)
        index = end


def _capital(word: Word) -> bool:
    return word.text[0].isupper() or (len(word.text) > 1 and word.text[1].isupper())


def _run_end(text: str, words: Sequence[Word], index: int) -> int:
    """One past the last word of the run that begins at ``index``."""
    end = index + 1
    while end < len(words) and not words[end - 1].possessive:
        word = words[end]
        gap = text[words[end - 1].end : word.start]
        if _capital(word) and not word.opens and _joins(gap, words[end - 1], word):
            end += 1
        elif gap == " " and word.text.isdigit() and _takes_number(words[end - 1]):
            return end + 1
        else:
            bridge = _bridge(text, words, index, end) if gap == " " else 0
            if not bridge:
                break
            end += bridge
    return end


def _joins(gap: str, before: Word, word: Word) -> bool:
    if gap == " ":
        return word.folded not in FUNCTION_WORDS
    if gap == ". ":
        return (
            len(before.text) == 1 or before.folded in TITLES or before.folded in ("st", "mt", "ft")
        )
    return bool(_AMPERSAND.fullmatch(gap))


def _takes_number(word: Word) -> bool:
    return word.folded in NUMBERED


def _bridge(text: str, words: Sequence[Word], index: int, end: int) -> int:
    """How many words a small word and the capital after it add: "of the Rings", "van Gogh"."""
    small = words[end].folded
    size = 1
    if small == "of":
        if words[end - 1].folded not in OF_HEADS:
            return 0
        if end + 1 < len(words) and words[end + 1].folded == "the":
            size = 2
    elif small not in _PARTICLES:
        return 0
    after = end + size
    if after >= len(words) or not _capital(words[after]) or words[after].folded in FUNCTION_WORDS:
        return 0
    return size + 1 if text[words[after - 1].end : words[after].start] == " " else 0


def _shouting(words: Sequence[Word]) -> bool:
    """Whether capitals say nothing here: a line in upper case, or a headline."""
    long = [word for word in words if len(word.text) > 3]
    if len(long) < 4:
        return False
    capitals = sum(word.text[0].isupper() for word in long)
    return capitals > 0.8 * len(long)


def _trim(words: Sequence[Word], start: int, end: int, shouting: bool) -> tuple[int, int]:
    """The run without the words at its ends that are no part of a name."""
    common = common_words()
    while start < end and _no_name(words[start], end - start, common, shouting):
        start += 1
    while end > start and (
        words[end - 1].folded in FUNCTION_WORDS or words[end - 1].folded in CALENDAR
    ):
        end -= 1
    if end - start > 1 and words[start].folded in TITLES and words[start].folded not in ("lord",):
        # The title is not the name, but it shows that a person follows.
        start += 1
    return start, end


def _no_name(word: Word, size: int, common: dict[str, bool], shouting: bool) -> bool:
    if word.folded in FUNCTION_WORDS or word.folded in CALENDAR or len(word.text) < 2:
        return len(word.text) > 1 or size == 1 or word.folded in ("i", "a")
    if size == 1 and word.folded in TITLES:
        return True
    often = common.get(word.folded)
    if often is None or (word.folded in given_names() and not shouting):
        return False
    if word.opens or shouting:
        # A word that is sometimes part of a name ("Red Hat") keeps its place before a capital.
        return size == 1 or not often
    return not often and size == 1

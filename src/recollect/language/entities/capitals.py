"""Runs of capitalised words, without the capitals that only grammar or shouting gave."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from recollect.language.entities.gazetteer import (
    common_words,
    foreign_openers,
    given_names,
    name_like_words,
    usage,
)
from recollect.language.entities.kinds import kind_of, looks_like_person
from recollect.language.entities.lexicon import (
    CALENDAR,
    CALLED,
    FUNCTION_WORDS,
    GERMAN_CALENDAR,
    GROUPS,
    NO_OF,
    NUMBERED,
    RELATIONS,
    ROMAN,
    TITLES,
)
from recollect.language.entities.matcher import Word

__all__ = ["capital_runs"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AMPERSAND = re.compile(r" ?& ?")
_PARTICLES = _words("de da di del della van von der den la le el al bin ibn dos das du ten")


def capital_runs(text: str, words: Sequence[Word]) -> Iterator[tuple[Sequence[Word], str]]:
    """Each run that is a name, and its kind."""
    shouting = _shouting(words)
    index = 0
    while index < len(words):
        if not _capital(words[index]) or text[words[index].start - 1 : words[index].start] == "#":
            index += 1
            continue
        end = _run_end(text, words, index, shouting)
        start, stop = _trim(text, words, index, end, shouting)
        if start < stop:
            yield words[start:stop], kind_of(words, start, stop - start)
        index = end


def _capital(word: Word) -> bool:
    return word.text[0].isupper() or (len(word.text) > 1 and word.text[1].isupper())


def _initial(text: str, word: Word) -> bool:
    return len(word.text) == 1 and text.startswith(".", word.end)


def _run_end(text: str, words: Sequence[Word], index: int, shouting: bool) -> int:
    """One past the last word of the run that begins at ``index``."""
    end = index + 1
    while end < len(words) and not words[end - 1].possessive:
        word = words[end]
        gap = text[words[end - 1].end : word.start]
        if shouting and (word.folded in common_words() or words[end - 1].folded in common_words()):
            break
        if _capital(word) and not word.opens and _joins(text, gap, words[end - 1], word):
            end += 1
        elif gap == " " and word.text.isdigit() and words[end - 1].folded in NUMBERED:
            return end + 1
        else:
            bridge = _bridge(text, words, index, end) if gap == " " else 0
            if not bridge:
                break
            end += bridge
    return end


def _joins(text: str, gap: str, before: Word, word: Word) -> bool:
    if gap == " ":
        return word.folded not in FUNCTION_WORDS or _initial(text, word)
    if gap == ". ":
        return len(before.text) == 1 or before.folded in TITLES or before.folded in _DOTTED
    return bool(_AMPERSAND.fullmatch(gap))


_DOTTED = frozenset({"st", "mt", "ft", "jr", "sr"})


def _bridge(text: str, words: Sequence[Word], index: int, end: int) -> int:
    """How many words a small word and the capital after it add: "of the Rings", "van Gogh"."""
    small = words[end].folded
    size = 1
    if small == "of":
        if words[end - 1].folded in NO_OF or end - index > 4:
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


def _trim(
    text: str, words: Sequence[Word], start: int, end: int, shouting: bool
) -> tuple[int, int]:
    """The run without the words at its ends that are no part of a name."""
    while start < end and _no_name(text, words, start, end - start, shouting):
        start += 1
    while end > start and _no_end(text, words[end - 1]):
        end -= 1
    # A title is not the name, but it shows that a person follows: "Major General John Corder".
    for index in range(start, end - 1):
        following = words[index + 1].folded
        if words[index].folded in TITLES and (index == start or following in given_names()):
            start = index + 1
    if end - start == 1 and words[start].folded in ROMAN:
        return end, end
    if end - start > 1 and _headline(text, words[start:end]):
        called = words[end - 1].folded in GROUPS and _determined(words, start)
        return (start, end) if called and not shouting else (end, end)
    return start, end


def _headline(text: str, run: Sequence[Word]) -> bool:
    """Whether a run is everyday words, most of which no name is made of: "Training Schedule"."""
    marks = [usage(word.folded) for word in run]
    if None in marks:
        return False
    label = text[run[0].start - 1 : run[0].start] in ("【", "[")
    return label or 2 * marks.count(False) >= len(marks)


def _no_end(text: str, word: Word) -> bool:
    if _initial(text, word) or word.folded in ROMAN:
        return False
    return (
        word.folded in FUNCTION_WORDS
        or word.folded in CALENDAR
        or (_loud(word) and word.folded in common_words())
    )


def _loud(word: Word) -> bool:
    return len(word.text) > 1 and word.text.isupper()


def _no_name(text: str, words: Sequence[Word], index: int, size: int, shouting: bool) -> bool:
    """Whether the first word of a run of ``size`` words is no part of a name."""
    word = words[index]
    if size > 1 and _initial(text, word):
        return False
    if size > 1 and word.folded in NUMBERED and words[index + 1].text.isdigit():
        return False  # "Room 102 is closed": the number shows that the capital is not grammar's
    if word.folded in FUNCTION_WORDS or word.folded in CALENDAR or len(word.text) < 2:
        return True
    if size == 1 and (word.folded in TITLES or word.text.lower() in GERMAN_CALENDAR):
        return True
    if word.opens and not _loud(word):
        begins = foreign_openers().get(word.text.lower())
        if begins is not None and (size == 1 or not begins):
            return True  # "Wir ziehen um", "Quand Camille arrive"
    often = usage(word.folded)
    if word.folded in given_names() and not shouting:
        if often is None and word.folded not in name_like_words():
            return False
        # "Grace is here", "Mark said"; not "See the note", "Mark the page".
        return (word.opens or often is False) and size == 1 and not _acts(words, index)
    if often is None:
        return word.opens and size == 1 and bool(_INTERJECTION.fullmatch(word.folded))
    if _loud(word):
        return True
    alone = size == 1 and not word.opens and not shouting
    if alone and (_calls(words, index) or _introduced(words, index)):
        return False  # "the Meridian group", "a cat called Pepper", whatever else these are
    if word.opens or shouting:
        # A word that is sometimes part of a name ("Red Hat") keeps its place before a capital.
        return size == 1 or not often
    return size == 1


def _calls(words: Sequence[Word], index: int) -> bool:
    """Whether a capitalised word says which team or project is meant."""
    after = words[index + 1] if index + 1 < len(words) else None
    return _determined(words, index) and after is not None and after.text in GROUPS


def _determined(words: Sequence[Word], index: int) -> bool:
    return index > 0 and (words[index - 1].folded in _WHICH or words[index - 1].possessive)


def _introduced(words: Sequence[Word], index: int) -> bool:
    """Whether a name is announced: "a cat called Pepper", "my friend Mats", "her boss is Brook"."""
    before = [word.text for word in words[max(index - 2, 0) : index]]
    if before[-1:] in (["is"], ["was"]):
        return before[0] in RELATIONS
    return bool(before) and (before[-1] in CALLED or before[-1] in RELATIONS)


_WHICH = frozenset({"the", "our", "my", "your", "their", "his", "her"})
# "Uhh", "Whoo", "Heh".
_INTERJECTION = re.compile(
    r"[aeouhmwy]{2,7}|h+e+h+|w+h?o+a?h*|(?:ha|he|la|na)+h?|u+g+h+|p+[fs]+t+|s+h+|g+r+|g'night"
)
_AFTER_NAME = frozenset({"is", "was", "has", "and", "will", "can", "had", "does", "did", "would"})


def _acts(words: Sequence[Word], index: int) -> bool:
    after = words[index + 1].folded if index + 1 < len(words) else ""
    return words[index].possessive or after in _AFTER_NAME or looks_like_person(words, index, 1)

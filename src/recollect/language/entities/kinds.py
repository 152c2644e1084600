"""What kind of thing a name names, read from its words and its neighbours."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.language.entities.gazetteer import given_names, name_like_words
from recollect.language.entities.lexicon import (
    ADDRESSED,
    DEMONYMS,
    ORG_SUFFIXES,
    ORG_WORDS,
    PERSON_AFTER,
    PERSON_BEFORE_VERBS,
    PLACE_BEFORE,
    PLACE_WORDS,
    PRODUCT_WORDS,
    TITLES,
)
from recollect.language.entities.matcher import Word

__all__ = ["addressed", "kind_of", "looks_like_person"]


def kind_of(words: Sequence[Word], index: int, size: int) -> str:
    """The kind of the name that is ``words[index : index + size]``."""
    run = words[index : index + size]
    first, last = run[0].folded, run[-1].folded
    if last in DEMONYMS:
        return "other"
    if last in ORG_SUFFIXES or last in ORG_WORDS or (size > 1 and first in ORG_WORDS):
        return "organisation"
    if last in PLACE_WORDS or (size > 1 and first in ("lake", "mount", "fort", "port", "cape")):
        return "place"
    if run[-1].text.isdigit() and run[-2:][0].folded in PLACE_WORDS:
        return "place"
    if size > 1 and first in _DIRECTIONS:
        return "place"
    if any(c.isdigit() for c in run[-1].text) or last in PRODUCT_WORDS:
        return "product"
    if first in given_names() and (size < 4 and (size > 1 or first not in name_like_words())):
        return "person"
    if looks_like_person(words, index, size):
        return "person"
    before = words[index - 1].folded if index else ""
    if _place_before(words, index, before):
        return "place"
    if _inner_capitals(run[-1].text):
        return "technical"
    if size == 1 and run[0].text.isupper() and len(first) > 1:
        return "organisation" if before in ("at", "the", "by") else "technical"
    if before == "at" or (before == "for" and index > 1 and words[index - 2].folded[:4] == "work"):
        return "organisation"
    return "other"


def _place_before(words: Sequence[Word], index: int, before: str) -> bool:
    if before in PLACE_BEFORE:
        return True
    earlier = words[index - 2].folded if index > 1 else ""
    if before == "to":
        return earlier in _GOING
    return before == "of" and earlier in PLACE_WORDS


_DIRECTIONS = frozenset({"north", "south", "east", "west", "northern", "southern", "eastern"})
_GOING = frozenset(
    {
        *("go", "goes", "going", "went", "gone", "moved", "move", "moving", "trip", "flew", "fly"),
        *("travel", "travelled", "traveled", "drove", "drive", "driving", "flight", "back", "came"),
        *("relocated", "returned", "return", "train", "welcome", "flying", "moves", "travels"),
    }
)


def _inner_capitals(word: str) -> bool:
    return not word.isupper() and any(c.isupper() for c in word[2:]) and word[:2] != "Mc"


def addressed(words: Sequence[Word], index: int) -> bool:
    """As below, for a word that is hardly a name: only neighbours that leave no doubt."""
    before = words[index - 1].folded if index else ""
    after = words[index + 1].folded if index + 1 < len(words) else ""
    return before in ADDRESSED or (after in PERSON_BEFORE_VERBS and before not in _NOUN_COMES)


_NOUN_COMES = frozenset(
    {"the", "a", "an", "this", "my", "your", "his", "her", "our", "their", "of"}
)


def looks_like_person(words: Sequence[Word], index: int, size: int) -> bool:
    """Whether the neighbours treat this name as somebody: "told bob", "bob said", "Dr. Bob"."""
    before = words[index - 1].folded if index else ""
    after = words[index + size].folded if index + size < len(words) else ""
    if before in TITLES or before in PERSON_AFTER:
        return True
    if size > 1 and words[index].folded in TITLES:
        return True
    return after in PERSON_BEFORE_VERBS and before not in ("the", "a", "an", "this")

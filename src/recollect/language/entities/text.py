"""Words and their folded forms: what finding and resolving names agree on."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

__all__ = ["bare", "fold", "has_cjk", "tokens_of", "without_possessive", "words_in"]

_CJK_RANGES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff66-\uff9f"

# "U.S." is a word; others keep inner dots, hyphens, ampersands and apostrophes ("Node.js",
# "T-Mobile", "AT&T", "O'Brien"), and a final "+" or "#" ("C++", "C#").
_DOTTED = r"(?:[^\W\d_]\.){2,}(?![^\W\d_])"
_ENDING = r"(?:\+\+|\+(?=\s)|#(?!\w))?"
_WORD = re.compile(rf"{_DOTTED}|\.?[^\W_]+(?:(?:[.'’&+/-](?=[^\W_]))?\w+)*{_ENDING}")


@cache
def _cjk_word() -> re.Pattern[str]:
    """As above, but each CJK character is a word. Kept apart: it is slow to compile."""
    letter, more = rf"[^\W_{_CJK_RANGES}]", rf"[^\W{_CJK_RANGES}]"
    return re.compile(
        rf"[{_CJK_RANGES}]|{_DOTTED}|\.?{letter}+(?:(?:[.'’&+/-](?={letter}))?{more}+)*{_ENDING}"
    )


def has_cjk(text: str) -> bool:
    return not text.isascii() and max(text) >= "\u3040"


def words_in(text: str) -> Iterator[re.Match[str]]:
    return (_cjk_word() if has_cjk(text) else _WORD).finditer(text)


def fold(text: str) -> str:
    """Case, accents and width taken off, so that "Zoë" and "ZOE" are one."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'"))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


def tokens_of(name: str) -> tuple[str, ...]:
    """The folded words of a name; "A." and "a" are one, "v1.2" stays one word.

    A possessive is taken off here too, so that "McDonald's" is found in "McDonald's fries".
    """
    return tuple(bare(match.group()) for match in words_in(name))


def bare(word: str) -> str:
    """A word's folded form without the dots of "U.S." and without a possessive."""
    word = without_possessive(word)
    if word.endswith("."):
        word = word.replace(".", "")
    return fold(word)


def without_possessive(word: str) -> str:
    return word[:-2] if word.endswith(("'s", "’s", "'S", "’S")) else word

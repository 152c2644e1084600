"""Words and their folded forms: what finding and resolving names agree on."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["CJK", "WORD", "bare", "fold", "tokens_of", "without_possessive"]

_CJK_RANGES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff66-\uff9f"
CJK = re.compile(f"[{_CJK_RANGES}]")

# A word keeps inner dots, hyphens, ampersands and apostrophes ("Node.js", "T-Mobile", "AT&T",
# "O'Brien"), and a final "+" or "#" ("C++", "C#"). Each CJK character is a word.
WORD = re.compile(
    rf"[{_CJK_RANGES}]"
    r"|(?:[^\W\d_]\.){2,}(?![^\W\d_])"
    rf"|\.?[^\W_{_CJK_RANGES}]+(?:(?:[.'’&+/-](?=[^\W_]))?[^\W{_CJK_RANGES}]+)*(?:\+\+|\+(?=\s)|#(?!\w))?"
)

_POSSESSIVE = ("'s", "’s", "'S", "’S")


def fold(text: str) -> str:
    """Case, accents and width taken off, so that "Zoë" and "ZOE" are one."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


def tokens_of(name: str) -> tuple[str, ...]:
    """The folded words of a name; "A." and "a" are one, "v1.2" stays one word.

    A possessive is taken off here too, so that "McDonald's" is found in "McDonald's fries".
    """
    return tuple(bare(match.group()) for match in WORD.finditer(name))


def bare(word: str) -> str:
    """A word's folded form without the dots of "U.S." and without a possessive."""
    word = without_possessive(word)
    if word.endswith("."):
        word = word.replace(".", "")
    return fold(word)


def without_possessive(word: str) -> str:
    return word[:-2] if word.endswith(_POSSESSIVE) else word

"""Emoji as terms: 🐈 is a word that a memory may be found by.

A sequence ("👩🏽‍💻") is a term of its own, and what it is joined of are terms, as with identifiers. Skin tones and
variation selectors say nothing of what is meant, and ♀ and ♂ in a sequence little.
"""

from __future__ import annotations

import re

__all__ = ["SEQUENCE", "emoji_terms", "has_emoji"]

# Of the symbols below U+1F000 those that are drawn as pictures; ticks, arrows and bullets of lists are none.
_PICTURES = (
    "\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u2600-\u26ff\u2702-\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744"
    "\u2747\u274c\u274e\u2753-\u2757\u2763\u2764\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f000-\U0001f0ff\U0001f18e\U0001f191-\U0001f19a\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"  # two letters are a country
_LOOKS = "\ufe0e\ufe0f\U0001f3fb-\U0001f3ff"
_ONE = f"[{_PICTURES}][{_LOOKS}]*(?:[\U000e0020-\U000e007f]+)?"  # England is a flag with a tag
SEQUENCE = f"(?:{_FLAG}|{_ONE}(?:\u200d{_ONE})*)"

_ANY = re.compile(f"[{_PICTURES}\U0001f1e6-\U0001f1ff]")
_NO_MATTER = re.compile(f"[{_LOOKS}]+")
_JOINER = "\u200d"
_GENDERS = frozenset("♀♂")


def has_emoji(text: str) -> bool:
    return _ANY.search(text) is not None


def emoji_terms(sequence: str) -> tuple[str, ...]:
    """Its parts and, last, all of it."""
    whole = _NO_MATTER.sub("", sequence)
    parts = whole.split(_JOINER)
    if len(parts) == 1:
        return (whole,)
    return (*(part for part in parts if part not in _GENDERS), whole)

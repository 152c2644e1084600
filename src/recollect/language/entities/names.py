"""When two names can be names of one thing: the rules, without any bank."""

from __future__ import annotations

from functools import lru_cache

from recollect.language.entities.gazetteer import formal_names, given_names, nicknames, spellings
from recollect.language.entities.lexicon import TITLES
from recollect.language.entities.text import tokens_of

__all__ = [
    "acronyms_of",
    "core_of",
    "key_of",
    "kinds_agree",
    "nickname_pair",
    "person_key",
    "same_first_name",
    "same_person",
]

Key = tuple[str, ...]

# Legal forms that say the same; "Group" or "Holdings" can be another company.
_LEGAL_FORM = {
    "inc": "inc", "incorporated": "inc", "corp": "inc", "corporation": "inc", "co": "inc",
    "company": "inc", "llc": "inc", "ltd": "inc", "limited": "inc", "plc": "inc", "gmbh": "inc",
    "ag": "inc", "sa": "inc", "llp": "inc", "bv": "inc", "nv": "inc", "kk": "inc", "srl": "inc",
    "sarl": "inc", "pty": "inc", "oy": "inc", "ab": "inc",
}  # fmt: skip
_GENERATION = frozenset({"jr", "sr", "ii", "iii", "iv", "junior", "senior"})
_SKIPPED_IN_ACRONYM = frozenset({"of", "the", "and", "for", "de", "in", "on"})


@lru_cache(maxsize=1 << 15)
def key_of(name: str) -> Key:
    """The words under which a name is looked up: folded, without a leading article."""
    usual = spellings().get(name.strip().lower())
    words = tokens_of(usual or name)
    return words[1:] if len(words) > 1 and words[0] == "the" else words


def core_of(key: Key) -> Key:
    """An organisation's name without its legal form: "Google LLC" → "Google"."""
    end = len(key)
    while end > 1 and key[end - 1].rstrip(".") in _LEGAL_FORM:
        end -= 1
    return key[:end]


def acronyms_of(key: Key) -> frozenset[str]:
    """What initials of a long name may be written: with and without its small words.

    Two letters stand for too much ("AI", "IP") to be anybody's initials.
    """
    core = core_of(key)
    if len(core) < 2 or any(not word[0].isalpha() for word in core):
        return frozenset()
    everything = "".join(word[0] for word in core)
    large = "".join(word[0] for word in core if word not in _SKIPPED_IN_ACRONYM)
    return frozenset(short for short in (everything, large) if len(short) > 2)


def kinds_agree(one: str, other: str) -> bool:
    """A person is not a place, an organisation or a thing; the rest are told apart too loosely."""
    if one == other or "other" in (one, other):
        return True
    return "person" not in (one, other)


def person_key(key: Key) -> tuple[Key, bool]:
    """A person's name without titles, and whether there was one."""
    start = 0
    while start < len(key) - 1 and key[start].rstrip(".") in TITLES:
        start += 1
    return key[start:], start > 0


def nickname_pair(one: str, other: str) -> bool:
    return other in nicknames().get(one, frozenset())


def same_first_name(one: str, other: str) -> bool:
    if one == other or nickname_pair(one, other):
        return True
    return (len(one) == 1 or len(other) == 1) and one[0] == other[0]


def same_person(one: Key, other: Key) -> bool:
    """Whether two names of two words or more can be one person's: "A. Chen", "Alice M. Chen"."""
    one, generation = _without_generation(one)
    other, other_generation = _without_generation(other)
    if generation and other_generation and generation != other_generation:
        return False
    if len(one) < 2 or len(other) < 2 or one[-1] != other[-1] or len(one[-1]) < 2:
        return False
    if not same_first_name(one[0], other[0]):
        # "Bob Smith" and "Rob Smith" are both a Robert Smith.
        formal = formal_names()
        if not formal.get(one[0], frozenset()) & formal.get(other[0], frozenset()):
            return False
    middle, other_middle = one[1:-1], other[1:-1]
    if not middle or not other_middle:
        return True
    return len(middle) == len(other_middle) and all(
        a == b or (1 in (len(a), len(b)) and a[0] == b[0])
        for a, b in zip(middle, other_middle, strict=True)
    )


def _without_generation(key: Key) -> tuple[Key, str]:
    if len(key) > 2 and key[-1] in _GENERATION:
        return key[:-1], key[-1].replace("junior", "jr").replace("senior", "sr")
    return key, ""


def is_given_name(word: str) -> bool:
    return word in given_names()

"""When two statements say the same thing.

``normalise`` is the exact key. ``nearly_same`` forgives inflection and small words, and nothing
that changes the truth: numbers, names, negation, modality, tense, and who did what to whom.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from recollect.language.entities.gazetteer import common_words

__all__ = ["Content", "content", "lemma", "nearly_same", "normalise"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "´": "'"})
_CONTRACTION = re.compile(
    r"\b(?:(\w+)(n't|'m|'re|'ve|'ll|'d|'s)|(cannot|im|(?:is|are|was|were|do|does|did|has|have|had)nt))\b"
)
_IRREGULAR = {"cannot": "can not", "im": "i am", "ca": "can", "wo": "will", "sha": "shall"}
_ENDINGS = {
    "n't": "not", "'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would", "'s": "is",
}  # fmt: skip
# Elsewhere "'s" and "'d" are a possessive and a name's end.
_PRONOUNS = _words("i you he she it we they that there here what who where how")


def _expanded(match: re.Match[str]) -> str:
    word, ending, whole = match.groups()
    if whole:
        return _IRREGULAR.get(whole) or f"{whole[:-2]} not"
    if ending in ("'s", "'d") and word not in _PRONOUNS:
        return match.group()
    return f"{_IRREGULAR.get(word, word)} {_ENDINGS[ending]}"


# A word keeps inner marks that are part of it ("3.5", "c++", "alice's", "10:30", "a/b").
_TOKEN = re.compile(r"[^\W_]+(?:[.:/_'&@-][^\W_]+)*(?:\+\+|#|%|\+)?|[$€£¥]|\?")
_ARTICLES = frozenset({"a", "an", "the"})


@lru_cache(maxsize=4096)
def normalise(text: str) -> str:
    """The key under which two statements are the same: no case, punctuation or articles."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    text = _CONTRACTION.sub(_expanded, text.lower())
    return " ".join(word for word in _TOKEN.findall(text) if word not in _ARTICLES)


_NEGATORS = _words("not no never none nobody nothing neither nor without hardly barely nowhere")
_MODALS = _words(
    """can could may might must shall should will would maybe perhaps probably possibly likely
    apparently allegedly if unless hopefully supposedly almost nearly"""
)
_PAST_BE = _words("was were")
_DROPPED = _words(
    """is am are be been being do does did has have had at for in on of really very so just
    actually quite truly simply currently now that as with by also too am's""",
)
_MOVABLE = _words(
    """today yesterday tomorrow tonight recently lately always often usually sometimes again
    already still once twice daily weekly monthly yearly here there"""
)
_LASTING = _words("work live study learn us reside stay dat teach liv")
_NUMBERS = {
    word: str(value)
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ]
    )
}
_IRREGULAR_PAST = {
    past: base
    for pair in [
        "went-go",
        "bought-buy",
        "ate-eat",
        "got-get",
        "had-have",
        "made-make",
        "met-meet",
        "saw-see",
        "said-say",
        "told-tell",
        "took-take",
        "came-come",
        "gave-give",
        "found-find",
        "left-leave",
        "felt-feel",
        "became-become",
        "began-begin",
        "brought-bring",
        "built-build",
        "chose-choose",
        "drove-drive",
        "fell-fall",
        "flew-fly",
        "forgot-forget",
        "grew-grow",
        "heard-hear",
        "held-hold",
        "kept-keep",
        "knew-know",
        "led-lead",
        "lost-lose",
        "paid-pay",
        "ran-run",
        "sang-sing",
        "sat-sit",
        "sent-send",
        "slept-sleep",
        "sold-sell",
        "spent-spend",
        "spoke-speak",
        "stood-stand",
        "taught-teach",
        "thought-think",
        "understood-understand",
        "won-win",
        "wore-wear",
        "wrote-write",
        "did-do",
        "broke-break",
        "caught-catch",
        "drank-drink",
        "rode-ride",
        "swam-swim",
        "threw-throw",
        "woke-wake",
        "beat-beat",
        "fought-fight",
        "hid-hide",
        "rose-rise",
        "shot-shoot",
        "stole-steal",
        "swore-swear",
        "tore-tear",
        "meant-mean",
        "dealt-deal",
        "dreamt-dream",
        "lent-lend",
        "lit-light",
        "rang-ring",
        "shook-shake",
        "sank-sink",
        "struck-strike",
    ]
    for past, base in [pair.split("-")]
}


def lemma(word: str) -> str:
    """A word without plural or verb endings. Light on purpose: Snowball joins "university" and
    "universe", which are two facts."""
    if word in _IRREGULAR_PAST:
        word = _IRREGULAR_PAST[word]
    elif len(word) > 3 and word.isalpha():
        word = _without_ending(word)
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _without_ending(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes", "oes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    for ending in ("ing", "ied", "ed"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            stem = word[: -len(ending)] + ("y" if ending == "ied" else "")
            double = len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz"
            return stem[:-1] if double else stem
    return word


@dataclass(frozen=True, slots=True)
class Content:
    """What a statement asserts. ``words`` is in order; the rest must agree as a whole."""

    words: tuple[str, ...]
    movable: tuple[str, ...]
    numbers: tuple[str, ...]
    modals: tuple[str, ...]
    negations: int
    past: bool
    question: bool


@lru_cache(maxsize=4096)
def content(text: str) -> Content:
    """Read ``text`` into what counts for sameness."""
    names = _names(text)
    tokens = normalise(text).split()
    words: list[str] = []
    past = False
    for index in range(len(tokens)):
        past = past or _is_past(tokens, index, names)
        form = _form(tokens, index, names)
        if form:
            words.append(form)
    return Content(
        tuple(words),
        tuple(sorted(token for token in tokens if token in _MOVABLE)),
        tuple(sorted(_NUMBERS.get(t, t) for t in tokens if t in _NUMBERS or t[:1].isdigit())),
        tuple(sorted(token for token in tokens if token in _MODALS)),
        sum(token in _NEGATORS for token in tokens),
        past,
        "?" in tokens,
    )


def _form(tokens: list[str], index: int, names: frozenset[str]) -> str:
    """The form in which a word is compared, or nothing for a word that does not count."""
    token = tokens[index]
    if token in names:
        return token
    if token in _DROPPED or token in _MOVABLE or token in _NEGATORS or token in _MODALS:
        return ""
    if token in _NUMBERS:
        return _NUMBERS[token]
    if token == "?" or (token.endswith("ly") and len(token) > 5):
        return ""
    base = lemma(token.replace("favourite", "favorite").replace("colour", "color"))
    before = tokens[index - 1] if index else ""
    if token.endswith("ing") and before in ("is", "am", "are", "was", "were"):
        # "is eating meat" is not "eats meat", while "is working at" is "works at".
        return base if base in _LASTING else f"{base}+ing"
    return base


def _is_past(tokens: list[str], index: int, names: frozenset[str]) -> bool:
    token = tokens[index]
    if token in _PAST_BE or token == "did":
        return True
    if token in names:
        return False
    before = tokens[index - 1] if index else ""
    if before in ("is", "am", "are", "be", "to", "very"):
        return False
    if token in _IRREGULAR_PAST:
        return True
    return token.endswith("ed") and len(token) > 4 and not token.endswith("eed")


def _names(text: str) -> frozenset[str]:
    """Words written with a capital, unless it only opens the sentence."""
    found: set[str] = set()
    common = common_words()
    for index, word in enumerate(text.split()):
        bare = word.strip(".,;:!?\"'()[]“”‘’")
        if bare[:1].isupper():
            lower = bare.translate(_APOSTROPHES).lower()
            if index or lower not in common:
                found.add(lower)
    return frozenset(found)


def nearly_same(a: str, b: str) -> bool:
    """Whether two statements assert the same, in nearly the same words."""
    if normalise(a) == normalise(b):
        return True
    one, other = content(a), content(b)
    return bool(one.words) and one == other

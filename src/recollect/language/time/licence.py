"""Whether words that only may be a time are one: "in May" is, "What may Alice do?" is not."""

from __future__ import annotations

from recollect.language.time.lexicon import Lexicon, Token
from recollect.language.time.period import Period

_PUNCTUATION = frozenset(".,;:!?()[]\"'“”…-")
_PEOPLE = frozenset({"people", "men", "women", "children", "students", "percent", "dollars"})


def licensed(
    text: str, tokens: list[Token], lexicon: Lexicon, place: tuple[int, int], period: Period
) -> float | None:
    """How sure the reading is, by its neighbours; None when it is no time."""
    at, end = place
    weak = period.weak
    if weak is None:
        return None if period.kind == "weekday" and _names(text, tokens, lexicon, place) else 0.95
    if weak == "ahead":
        return None if _took(tokens, lexicon, at) else 0.9
    if weak == "never":
        return None
    if _alone(tokens, at, end):
        return 0.7 if weak != "part" else None
    following = tokens[end].word if end < len(tokens) else ""
    if following == "'s" and weak != "now":
        return None
    if weak == "relname":
        capital = text[tokens[end - 1].start].isupper()
        return 0.9 if capital or not following or following in _PUNCTUATION else None
    if weak == "tail":
        return 0.9 if not following or following in _PUNCTUATION else None
    if period.kind == "open":
        return 0.8 if _unfollowed(lexicon, following) else None
    before = _before(tokens, at)
    if before not in lexicon.licences.get(weak, frozenset()):
        return None
    if weak == "year":
        return None if _counts(following) else 0.9
    if weak in ("day", "dayord", "name") and not _unfollowed(lexicon, following):
        # "on the second try", "for April said so": what follows shows another meaning.
        return 0.8 if weak == "name" and before in ("in", "during", "since", "of") else None
    return 0.8


def _names(text: str, tokens: list[Token], lexicon: Lexicon, place: tuple[int, int]) -> bool:
    """Whether a weekday is part of a name: Wednesday Addams, Ruby Tuesday."""
    at, end = place
    if (
        text[tokens[end - 1].end : tokens[end - 1].end + 2][1:].isalpha()
        and text[tokens[end - 1].end] == "."
    ):
        return True  # Monday.com
    if at and tokens[at - 1].word not in _PUNCTUATION:
        before = tokens[at - 1]
        return text[before.start].isupper() and before.word not in lexicon.entries
    if end >= len(tokens) or tokens[end].start != tokens[end - 1].end + 1:
        return False
    return at == 0 and text[tokens[end].start].isupper() and tokens[end].word not in lexicon.entries


def _took(tokens: list[Token], lexicon: Lexicon, at: int) -> bool:
    """Whether "in three days" tells how long something took, or of what: "built in three
    days", "60 minutes in an hour"."""
    past = lexicon.cues.get("past", frozenset())
    before = [token.word for token in tokens[:at]]
    if before and any(
        pairs[0][0] == "UNIT"
        for phrase, pairs in lexicon.entries.get(before[-1], ())
        if len(phrase) == 1
    ):
        return True
    return any(word in past or (len(word) > 4 and word.endswith("ed")) for word in before)


def _alone(tokens: list[Token], at: int, end: int) -> bool:
    rest = [*tokens[:at], *tokens[end:]]
    return all(token.word in _PUNCTUATION or token.word == "the" for token in rest)


def _before(tokens: list[Token], at: int) -> str:
    """The word before, past an article."""
    place = at - 1
    while place >= 0 and tokens[place].word in ("the", "'", '"'):
        place -= 1
    return tokens[place].word if place >= 0 else ""


def _unfollowed(lexicon: Lexicon, following: str) -> bool:
    if not following or following in _PUNCTUATION or not following[0].isalpha():
        return True
    return following in lexicon.cues.get("afteryear", frozenset())


def _counts(following: str) -> bool:
    """Whether the word after a number shows that it counts things: "2000 units"."""
    return following in _PEOPLE or (
        len(following) > 3 and following.endswith("s") and not following.endswith("ss")
    )


def negated(words: list[str], lexicon: Lexicon, at: int) -> bool:
    """Whether a negation stands right before the expression, prepositions aside."""
    cues = lexicon.cues.get("negation", frozenset())
    place = at - 1
    while place >= 0 and words[place] in ("in", "on", "during", "from", "the", "at", "of"):
        place -= 1
    if place < 0:
        return False
    return words[place] in cues or (place > 0 and f"{words[place - 1]} {words[place]}" in cues)

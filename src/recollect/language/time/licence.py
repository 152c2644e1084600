"""Whether words that only may be a time are one: "in May" is, "What may Alice do?" is not."""

from __future__ import annotations

import re
from collections.abc import Callable

from recollect.language.time.lexicon import Lexicon, Token
from recollect.language.time.period import Period

_PUNCTUATION = frozenset(".,;:!?()[]\"'“”…-")
_IN_USE = range(1800, 2101)
_ARTICLES = frozenset({"the", "this", "these"})
_PEOPLE = frozenset({"people", "men", "women", "children", "students", "percent", "dollars"})


def licensed(
    text: str, tokens: list[Token], lexicon: Lexicon, place: tuple[int, int], period: Period
) -> float | None:
    """How sure the reading is, by its neighbours; None when it is no time."""
    at, end = place
    weak = period.weak
    if _repeats(tokens, lexicon, place) or _rates(tokens, lexicon, at):
        return None
    if weak is None:
        return None if period.kind == "weekday" and _names(text, tokens, lexicon, place) else 0.95
    if weak == "ahead":
        return None if _took(tokens, lexicon, at) else 0.9
    if weak == "never":
        return None
    following = tokens[end].word if end < len(tokens) else ""
    if weak == "years":
        return None if _priced(tokens, lexicon, place) else 0.95
    if weak in ("units", "owner"):
        several = _several(tokens, lexicon, place)
        return 0.8 if several is (weak == "units") else None
    if weak in ("plural", "ago"):
        return None if _counts_other(tokens[end - 1].word, following, lexicon, weak) else 0.95
    if _alone(tokens, at, end):
        return 0.7 if weak != "part" else None
    if following == "'s" and weak != "now":
        return None
    if weak == "relname":
        capital = text[tokens[end - 1].start].isupper()
        return 0.9 if capital or not following or following in _PUNCTUATION else None
    if weak == "tail":
        return 0.9 if not following or following in _PUNCTUATION else None
    if period.kind == "open":  # "bis 5.4. war": nothing is counted in ordinals
        return 0.8 if weak == "ordinals" or _unfollowed(lexicon, following) else None
    before = _before(tokens, at)
    if weak in _LISTED and _continues(tokens, lexicon, at, weak):
        return 0.8 if _unfollowed(lexicon, following) else None
    if before not in lexicon.licences.get(weak, frozenset()):
        alone = following != "of" and _unfollowed(lexicon, following)
        named = _written(text, tokens[at], before, lexicon) or _set_for(tokens, at, lexicon)
        return 0.8 if alone and weak == "name" and named else None
    if weak == "year":
        return None if _amounts(tokens, lexicon, place, period) else 0.9
    if weak in ("day", "dayord", "name", "feast") and not _unfollowed(lexicon, following):
        # "on the second try", "for April said so": what follows shows another meaning.
        named = weak in ("name", "feast")
        return 0.8 if named and before in ("in", "during", "since", "of") else None
    if weak == "weekend" and following in lexicon.relations:
        return None  # "the weekend after": after what was told
    if weak == "season" and before in lexicon.licences.get("wearing", frozenset()):
        return 0.8 if _unfollowed(lexicon, following) else None  # "for winter clothes"
    return 0.8


def _written(text: str, token: Token, before: str, lexicon: Lexicon) -> bool:
    """ "The budget for March": nobody is called that, so where it is written as a name it is the month."""
    nobody = token.word in lexicon.licences.get("nobody", frozenset())
    return nobody and text[token.start].isupper() and before in lexicon.licences["written"]


def _set_for(tokens: list[Token], at: int, lexicon: Lexicon) -> bool:
    """ "Planned for June", "moved to May": what was settled right before tells that it is a time."""
    words = [token.word for token in tokens[max(at - 3, 0) : at] if token.word != "back"]
    placing = lexicon.licences.get("placing", frozenset())
    return len(words) > 1 and words[-2] in placing and words[-1] in lexicon.licences["towards"]


def _repeats(tokens: list[Token], lexicon: Lexicon, place: tuple[int, int]) -> bool:
    """Whether the time is one of many: "every Tuesday (8 to 9 pm)", "each Monday and Friday",
    "the 25th of every month", "on Friday afternoons"."""
    at, end = place
    every = lexicon.licences.get("repeating", frozenset())
    if not every:
        return False
    after = [token.word for token in tokens[end : end + 2]]
    if not lexicon.licences["parts"].isdisjoint((tokens[end - 1].word, *after[:1])):
        return True
    if len(after) == 2 and after[0] == "of" and after[1] in every:
        return True
    first = at - 1
    if _is_weekday(tokens[at].word, lexicon):
        while first > 0 and _lists(tokens[first].word, lexicon):
            first -= 1
    return first >= 0 and tokens[first].word in every


def _rates(tokens: list[Token], lexicon: Lexicon, at: int) -> bool:
    """Whether "a month" belongs to a price: "1950 a month from January"."""
    each = lexicon.licences.get("each", frozenset())
    place = at if tokens[at].word in each else at - 1
    return place > 0 and tokens[place].word in each and tokens[place - 1].word.isdigit()


def _continues(tokens: list[Token], lexicon: Lexicon, at: int, weak: str) -> bool:
    """Whether it goes on with a list: "in July and August", but not "with April and May"; "in the 80s
    and 90s", "on the 1st or the 2nd"."""
    first = at
    while (listed := _item_before(tokens, lexicon, first, weak)) is not None:
        first = listed
    if first == at:
        return False
    sure = weak == "name" and tokens[first].word not in lexicon.weak
    return sure or _before(tokens, first) in lexicon.licences.get(weak, frozenset())


def _item_before(tokens: list[Token], lexicon: Lexicon, at: int, weak: str) -> int | None:
    """The one like it before this item of a list: "July and", "April, and", "the 80s or the"."""
    place, joined = at - 1, False
    while place > 0 and at - place < 4 and tokens[place].word in ("and", "or", ",", "the", "'"):
        joined |= tokens[place].word in ("and", "or", ",")
        place -= 1
    if not joined:
        return None
    first = place - 1 if weak != "name" and tokens[max(place - 1, 0)].word.isdigit() else place
    word = "".join(token.word for token in tokens[first : place + 1])
    return first if _LISTED[weak](word, lexicon) else None


def _is_month(word: str, lexicon: Lexicon) -> bool:
    return any(pairs[0][0] == "MONTH" for _, pairs in lexicon.entries.get(word, ()))


def _is_decade(word: str, lexicon: Lexicon) -> bool:
    named = any(pairs[0][0] == "DECADE" for _, pairs in lexicon.entries.get(word, ()))
    return named or re.fullmatch(r"(\d\d)?\d0s", word) is not None


def _is_nth(word: str, lexicon: Lexicon) -> bool:
    return re.fullmatch(r"\d\d?(st|nd|rd|th)", word) is not None


_LISTED: dict[str, Callable[[str, Lexicon], bool]] = {
    "name": _is_month, "decade": _is_decade, "day": _is_nth,
}  # fmt: skip


def _lists(word: str, lexicon: Lexicon) -> bool:
    """Whether a word may stand in a list of weekdays."""
    return word in ("-", "and", "&", "to", "through", ",") or _is_weekday(word, lexicon)


def _is_weekday(word: str, lexicon: Lexicon) -> bool:
    return any(pairs[0][0] == "WEEKDAY" for _, pairs in lexicon.entries.get(word, ()))


def _names(text: str, tokens: list[Token], lexicon: Lexicon, place: tuple[int, int]) -> bool:
    """Whether a weekday is part of a name: Wednesday Addams, Ruby Tuesday."""
    at, end = place
    if (
        text[tokens[end - 1].end : tokens[end - 1].end + 2][1:].isalpha()
        and text[tokens[end - 1].end] == "."
    ):
        return True  # Monday.com
    if at and tokens[at - 1].word not in _PUNCTUATION:
        before, alone = tokens[at - 1], text[tokens[at].start].isupper()  # not "last Friday"
        return alone and text[before.start].isupper() and before.word not in lexicon.entries
    if end >= len(tokens) or tokens[end].start != tokens[end - 1].end + 1:
        return False
    return at == 0 and text[tokens[end].start].isupper() and tokens[end].word not in lexicon.entries


def _took(tokens: list[Token], lexicon: Lexicon, at: int) -> bool:
    """Whether "in three days" tells how long something took, or of what: "built in three
    days", "haven't met in years", "60 minutes in an hour"."""
    past = lexicon.cues.get("past", frozenset())
    before = [token.word for token in tokens[:at]]
    if not lexicon.cues.get("unseen", frozenset()).isdisjoint(before):
        return True
    if before and any(
        pairs[0][0] == "UNIT"
        for phrase, pairs in lexicon.entries.get(before[-1], ())
        if len(phrase) == 1
    ):
        return True
    return any(word in past or (len(word) > 4 and word.endswith("ed")) for word in before)


def _several(tokens: list[Token], lexicon: Lexicon, place: tuple[int, int]) -> bool | None:
    """Whether a plural without a number means several ("in the last weeks"); False where only an
    apostrophe is missing ("last weeks meeting"), None for those of something else ("the last days of
    the war"). A "do" of "do que" compares and owns nothing."""
    at, end = place
    following = tokens[end].word if end < len(tokens) else ""
    two = " ".join(token.word for token in tokens[end : end + 2])
    compares = two in lexicon.cues.get("compares", frozenset())
    if following in lexicon.licences.get("owned", frozenset()) and not compares:
        return None
    before = [token.word for token in tokens[max(at - 1, 0) : end - 1]]
    owning = before[-1] in lexicon.licences.get("owning", frozenset())
    bare = owning and _ARTICLES.isdisjoint(before)
    return not bare or _unfollowed(lexicon, following)


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


def _counts_other(last: str, following: str, lexicon: Lexicon, weak: str) -> bool:
    """Whether the number belongs to something else than a time from now: "we looked at three last
    month", "three days before the launch"."""
    if weak == "plural":
        return last in lexicon.licences.get("singular", frozenset())
    relating = last in lexicon.licences.get("relating", frozenset())
    return relating and bool(following) and following not in _PUNCTUATION


def _amounts(tokens: list[Token], lexicon: Lexicon, place: tuple[int, int], period: Period) -> bool:
    """Whether four figures are an amount rather than a year: "2000 units", "1200 a month", "and
    1200 for the rest". A year out of living use, or one that only joins a list, needs more."""
    at, end = place
    if _priced(tokens, lexicon, place):
        return True
    following = tokens[end].word if end < len(tokens) else ""
    before = _before(tokens, at)
    if before in lexicon.licences.get("anyyear", frozenset()) or not lexicon.tense:
        return False
    if following in lexicon.licences.get("price", frozenset()):
        return True
    used = period.start is not None and period.start.year in _IN_USE
    if not used or before not in lexicon.licences.get("listed", frozenset()):
        return not used
    others = [token.word for token in (*tokens[:at], *tokens[end:])]
    return not any(len(word) == 4 and word.isdigit() and int(word) in _IN_USE for word in others)


def _priced(tokens: list[Token], lexicon: Lexicon, place: tuple[int, int]) -> bool:
    """Whether what stands around figures says that they count or cost: "2000 units", "1200 a
    month", "we paid about 1500"."""
    at, end = place
    licences, following = lexicon.licences, tokens[end : end + 2]
    if following:
        word = following[0].word
        if _counts(word) or word in licences.get("measure", frozenset()):
            return True
        rate = word in licences.get("each", frozenset()) and len(following) > 1
        if rate and following[1].word in licences.get("singular", frozenset()):
            return True
    if tokens[at].word == "from":  # "she spent from 1985 to 1990 in Porto"
        return False
    verb = at - 1
    while verb >= 0 and tokens[verb].word in licences.get("roughly", frozenset()):
        verb -= 1
    return verb >= 0 and tokens[verb].word in licences.get("costs", frozenset())


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
    if words[at] in lexicon.cues.get("bounding", frozenset()):
        # "We can't launch later than May": what is told is that it will not be then.
        refused = lexicon.cues.get("refusal", frozenset())
        if not refused.isdisjoint(words[max(0, at - 4) : at]):
            return True
    return words[place] in cues or (place > 0 and f"{words[place - 1]} {words[place]}" in cues)

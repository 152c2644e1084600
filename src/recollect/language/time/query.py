"""What a query says about time: its window, what it leaves out, what it asks for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import Any

from recollect.language.time.calendar import ORDER, unit
from recollect.language.time.lexicon import (
    Lexicon,
    Token,
    fold,
    languages_of,
    lexicon,
    tokens,
    words_of,
)
from recollect.language.time.reader import Cut, cut, read, read_cut
from recollect.language.time.types import (
    EventAnchor,
    Grain,
    Order,
    QueryTime,
    TimeExpression,
    TimeRange,
)

_EITHER_SIDE = timedelta(days=3)  # of a day that is told by the week
_MIN = datetime.min.replace(tzinfo=UTC)
_MAX = datetime.max.replace(tzinfo=UTC)


def read_query(text: str, anchor: datetime) -> QueryTime:
    """Read what a query says about time, from the moment it is asked."""
    said = cut(text)
    languages = languages_of(said.folded, said.words)
    known = lexicon(languages[0])
    expressions = _beside(_apart(read_cut(said, anchor, languages), known, anchor), known)
    dated = [(each, period) for each in expressions if (period := _asked_period(each, anchor))]
    # What happens at 02:30 happens on any day, and is told on another: an hour alone is a word.
    wanted = [(each, period) for each, period in dated if not each.negated and not each.clock]
    comparing = _compares(said, known, [each for each, _ in wanted])
    window, parts = _window([period for _, period in wanted], comparing)
    if parts and _between(said, known, expressions, comparing):
        window, parts = (None if window == TimeRange(None, None) else window), ()
    grains = [each.grain for each, _ in wanted if each.grain is not None]
    return QueryTime(
        expressions=expressions,
        window=window,
        grain=min(grains, key=ORDER.__getitem__) if grains else None,
        excluded=tuple(period for each, period in dated if each.negated),
        asks_when=_has_phrase(said.words, known, "asks"),
        order=_order(said, known, expressions),
        events=_events(said, known, expressions),
        parts=parts,
    )


def _events(
    said: Cut, known: Lexicon, expressions: tuple[TimeExpression, ...]
) -> tuple[EventAnchor, ...]:
    """The first event, and one that is joined to it ("after the outage and before the rollback")."""
    told = [each.event for each in expressions if each.event]
    if len(told) > 1:
        end, start = told[0].span[1], told[1].span[0]
        gap = {token.word for token in said.tokens if end <= token.start < start}
        joined = known.cues.get("event_and", frozenset()).issuperset(gap)
        return tuple(told[: 1 + joined])
    return tuple(told)


def _beside(expressions: tuple[TimeExpression, ...], known: Lexicon) -> tuple[TimeExpression, ...]:
    """ "Between March and the launch": a date that is one end, beside an event that is the other, has none itself."""
    found = list(expressions)
    for at, (first, second) in enumerate(pairwise(expressions)):
        until, since = second.event, first.event
        if first.range and until and _opens_with(second, known, "event_and"):
            found[at] = replace(first, range=replace(first.range, end=None))
        if second.range and since and _opens_with(first, known, "event_between"):
            found[at + 1] = replace(second, range=replace(second.range, start=None))
    return tuple(found)


def _opens_with(each: TimeExpression, known: Lexicon, cue: str) -> bool:
    return tokens(fold(each.text))[0].word in known.cues.get(cue, ())


def _asked_period(expression: TimeExpression, anchor: datetime) -> TimeRange | None:
    """As a statement has it; but who tells of two weeks ago may know the day, and who asks for it means the days
    around it, too."""
    period = whole_period(expression, anchor)
    if expression.grain is not Grain.WEEK or not period or not period.start or not period.end:
        return period
    if period.end - period.start > timedelta(days=1):
        return period
    start, end = max(period.start, _MIN + _EITHER_SIDE), min(period.end, _MAX - _EITHER_SIDE)
    return TimeRange(start - _EITHER_SIDE, end + _EITHER_SIDE)


def whole_period(expression: TimeExpression, anchor: datetime) -> TimeRange | None:
    """The range to look in. "Two years ago" names a day only by arithmetic: what is meant is
    the year, so a day of a coarser grain widens to the calendar unit that holds it."""
    period, grain = expression.range, expression.grain
    if period is None or period.start is None or period.end is None or grain is None:
        return period
    narrow = period.end - period.start <= timedelta(days=1)
    if not narrow or ORDER[grain] <= ORDER[Grain.WEEK]:
        return period
    start, end = unit(_clock(period.start, anchor), grain)
    return TimeRange(_utc(start, anchor), _utc(end, anchor))


def _clock(moment: datetime, anchor: datetime) -> datetime:
    return moment.astimezone(anchor.tzinfo or UTC).replace(tzinfo=None)


def _utc(moment: datetime, anchor: datetime) -> datetime:
    return moment.replace(tzinfo=anchor.tzinfo or UTC).astimezone(UTC)


def _apart(
    expressions: tuple[TimeExpression, ...], known: Lexicon, anchor: datetime
) -> tuple[TimeExpression, ...]:
    """In autumn "last summer" is the one just over, and so is "this summer"; beside each other they
    are two, and the last is the one before. "This past summer" is the one just over in any case."""
    ranged = [each for each in expressions if each.range is not None]
    these = [each for each in ranged if _says(each, known, ("REL", 0))]
    if len(ranged) < 2 or not these:
        return expressions
    lasts = [each for each in ranged if _says(each, known, ("REL", -1), ("RELPOST", -1))]
    taken = [each.range for each in these if each not in lasts]
    return tuple(
        _one_back(each, known, anchor)
        if each in lasts and each not in these and each.range in taken
        else each
        for each in expressions
    )


def _one_back(each: TimeExpression, known: Lexicon, anchor: datetime) -> TimeExpression:
    """What the words mean at the start of the time that they mean now: the same weekday a week before,
    the season or the feast of the year before."""
    if each.range is None or each.range.start is None:
        return each
    then = each.range.start.astimezone(anchor.tzinfo or UTC)
    found = read(each.text, then, (known.language,), "past")
    return replace(each, range=found[0].range) if len(found) == 1 and found[0].range else each


def _says(each: TimeExpression, known: Lexicon, *meanings: tuple[str, Any]) -> bool:
    """Whether one of its words means one of these."""
    words = (token.word for token in tokens(fold(each.text)))
    entries = (entry for word in words for entry in known.entries.get(word, ()))
    return any(
        meaning in pairs for phrase, pairs in entries if len(phrase) == 1 for meaning in meanings
    )


def _window(
    periods: list[TimeRange], comparing: bool
) -> tuple[TimeRange | None, tuple[TimeRange, ...]]:
    """The window, and the times that it spans where there are several. Times that narrow each other
    meet ("after 2010 and before 2018", "this year, in March"); those that lie apart ("in 2019 or
    2021"), only touch ("last winter" and "this year") or are compared are all meant."""
    start = max((period.start or _MIN for period in periods), default=_MIN)
    end = min((period.end or _MAX for period in periods), default=_MAX)
    shared = _range(start, end)
    narrows = shared in periods or any(None in (period.start, period.end) for period in periods)
    if len(set(periods)) < 2 or (start < end and narrows and not comparing):
        return shared, ()
    start = min(period.start or _MIN for period in periods)
    end = max(period.end or _MAX for period in periods)
    parts = tuple(dict.fromkeys(periods))
    if (start, end) == (_MIN, _MAX):
        return (TimeRange(None, None), parts) if _leave_out(parts) else (None, ())
    return _range(start, end), parts


def _leave_out(parts: tuple[TimeRange, ...]) -> bool:
    """Whether there is a time in none of them, though they reach from the first to the last: "before 2020
    and after 2022"."""
    reached = _MIN
    for part in sorted(parts, key=lambda each: each.start or _MIN):
        if (part.start or _MIN) > reached:
            return True
        reached = max(reached, part.end or _MAX)
    return False


def _range(start: datetime, end: datetime) -> TimeRange | None:
    """None when it leaves nothing out."""
    if start == _MIN and end == _MAX:
        return None
    return TimeRange(None if start == _MIN else start, None if end == _MAX else end)


def _compares(said: Cut, known: Lexicon, times: list[TimeExpression]) -> bool:
    """Whether times are compared. "Than" compares them where it stands between two ("this year than in
    March"), and before no number ("more than 300 euros") unless that is of a time."""
    if len(times) < 2:
        return False
    if _has_phrase(said.words, known, "comparing"):
        return True
    starts = [each.span[0] for each in times]
    cues = [phrase.split() for phrase in known.cues.get("compares", ())]
    for at, token in enumerate(said.tokens):
        if times[0].span[1] <= token.start < starts[-1]:
            for cue in cues:
                end = at + len(cue)
                following = said.tokens[end : end + 2]
                if (
                    said.words[at:end] == cue
                    and following
                    and not _is_other(said.words[at:], known)
                    and (following[0].start in starts or not _is_number(following, known))
                ):
                    return True
    return False


def _is_other(words: list[str], known: Lexicon) -> bool:
    """Whether they begin with a phrase that only looks like one that compares ("than usual")."""
    text = f"{' '.join(words)} "
    return any(text.startswith(f"{phrase} ") for phrase in known.cues.get("not_compares", ()))


def _is_number(following: list[Token], known: Lexicon) -> bool:
    """Whether a number comes first, or after a sign or an article ("$300", "a hundred")."""
    first, *others = (token.word for token in following)
    if first[0].isdigit() or _means(first, known, "NUMBER", "SCALE"):
        return True
    article = _means(first, known, "AMOUNT")
    return (article or not first[0].isalpha()) and any(
        word[0].isdigit() or _means(word, known, "NUMBER", "SCALE", "AMOUNT") for word in others
    )


def _means(word: str, known: Lexicon, *kinds: str) -> bool:
    entries = known.entries.get(word, ())
    return any(kind in kinds for phrase, pairs in entries if len(phrase) == 1 for kind, _ in pairs)


def _between(
    said: Cut, known: Lexicon, expressions: tuple[TimeExpression, ...], comparing: bool
) -> bool:
    """Whether what lies between the times is asked about as well ("between my trip in March and the
    one in June"); not where these are compared ("the difference between")."""
    if comparing:
        return False
    first = min((each.span[0] for each in expressions), default=0)
    before = [token.word for token in said.tokens if token.end <= first]
    pairs = (entry[1] for word in before for entry in known.entries.get(word, ()))
    return any(("between", None) in each for each in pairs)


def without_asking(rest: str, text: str) -> str:
    """What is left of a query, or of a part of it, without the words that only ask ("Was ist passiert …?"). Of English
    ones the stop words are left out elsewhere."""
    said = cut(text)
    left = list(rest)
    words = tokens(fold(rest))
    for language in languages_of(said.folded, said.words):
        phrases = _asking(language)
        at = 0
        while at < len(words):
            told = tuple(token.word for token in words[at : at + _LONGEST_ASKING])
            size = next((n for n in range(len(told), 0, -1) if told[:n] in phrases), 0)
            for token in words[at : at + size]:
                left[token.start : token.end] = " " * (token.end - token.start)
            at += max(size, 1)
    return "".join(left)


_LONGEST_ASKING = 8  # tokens: characters, in Chinese and Japanese


@cache
def _asking(language: str) -> frozenset[tuple[str, ...]]:
    phrases = lexicon(language).cues.get("asking", ())
    return frozenset(tuple(words_of(phrase)) for phrase in phrases)


def _padded(words: list[str]) -> str:
    return f" {' '.join(words)} "


def _has_phrase(words: list[str], known: Lexicon, cue: str) -> bool:
    """Most texts hold no word that such a phrase begins with, and there are dozens of phrases."""
    if known.openings.get(cue, frozenset()).isdisjoint(words):
        return False
    return _says_phrase(_padded(words), known, cue)


def _says_phrase(padded: str, known: Lexicon, cue: str) -> bool:
    return any(f" {phrase} " in padded for phrase in known.cues.get(cue, ()))


def _order(said: Cut, known: Lexicon, expressions: tuple[TimeExpression, ...]) -> Order | None:
    """Which end of the timeline is wanted; words inside a time expression do not count."""
    orders: tuple[Order, ...] = ("latest", "earliest")
    if not any(_has_phrase(said.words, known, order) for order in orders):  # nearly always
        return None
    rest = said.text
    for each in reversed(expressions):
        if each.event is None:
            rest = rest[: each.span[0]] + "|" + rest[each.span[1] :]
    padded = _padded(cut(rest).words)
    for phrase in known.cues.get("not_order", ()):
        padded = padded.replace(f" {phrase} ", " | ")
    return next((order for order in orders if _says_phrase(padded, known, order)), None)

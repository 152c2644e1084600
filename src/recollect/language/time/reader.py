"""From a text to its time expressions: words, chart, and the choice among readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any, Literal, NamedTuple

from recollect.language.time.asked import asked_directions
from recollect.language.time.calendar import SEASON_START, unit
from recollect.language.time.events import find_events
from recollect.language.time.grammar import RULES, Chart, Edge, Node, compile_rules
from recollect.language.time.holidays import holiday
from recollect.language.time.lexicon import (
    Lexicon,
    Token,
    fold,
    languages_of,
    lexicon,
    matches,
    tokens,
)
from recollect.language.time.licence import licensed, negated
from recollect.language.time.period import (
    Context,
    Direction,
    NoSuchTime,
    Period,
    beside,
    months,
    settle,
    weekday,
)
from recollect.language.time.rules.clock import part_of_day, part_on
from recollect.language.time.rules.numbers import Duration
from recollect.language.time.shapes import begins_shape, shapes_at
from recollect.language.time.tense import directions
from recollect.language.time.types import Grain, TimeExpression, TimeRange

# Longer texts are read sentence by sentence by their callers; this only bounds the work.
_MOST_TOKENS = 4000
_MINUTE = timedelta(minutes=1)
_MONEY = frozenset("$€£¥#")
_HOURS = frozenset({"clock", "clockrange"})
_DOUBTFUL = ("MONTH", "WEEKDAY", "HOLIDAY")  # these may be names, verbs, things
_JOINING = frozenset({"and", "orword"})
_LEADING = frozenset({"in", "on", "the"})
_COMMAS = frozenset(",、，")
_ENDED = ("open", "interval")  # these tell in `within` what their ends are


Candidate = tuple[int, int, int, str, Any]  # tokens from and to, order, category, what was read


class Cut(NamedTuple):
    """A text, cut into words."""

    text: str
    folded: str
    tokens: list[Token]
    words: list[str]


def cut(text: str) -> Cut:
    folded = fold(text)
    found = tokens(folded)[:_MOST_TOKENS]
    return Cut(text, folded, found, [token.word for token in found])


@dataclass(frozen=True, slots=True)
class Reading:
    """One text in one language, tokenised."""

    text: str
    folded: str
    tokens: list[Token]
    words: list[str]
    lexicon: Lexicon


@cache
def _grammar() -> Node:
    from recollect.language.time import rules

    assert rules.__all__
    return compile_rules(RULES)


@cache
def _month(number: int, weak: str | None) -> Period:
    return replace(months(number, 1, "month", Grain.MONTH), weak=weak)


@cache
def _season(name: str) -> Period:
    return replace(months(SEASON_START[name], 3, "season", Grain.SEASON), weak="season")


@cache
def _weekday(number: int, weak: str | None) -> Period:
    return replace(weekday(number), weak=weak)


@cache
def _part(name: str) -> Period:
    return part_of_day(name)


def _period(category: str, value: Any, weak: bool, context: Context) -> Period | None:
    """The period that a word names by itself."""
    match category:
        case "MONTH":
            return _month(value, "name" if weak else None)
        case "WEEKDAY":
            return _weekday(value, "dayname" if weak else None)
        case "SEASON":
            return _season(value)
        case "HOLIDAY":
            return replace(holiday(value), weak="feast" if weak else None)
        case "PART":
            return _part(value)
        case "DAY":
            start = context.today + timedelta(days=value)
            return Period("dayword", Grain.DAY, start, start + timedelta(days=1))
        case "DAYPART":
            day, name = value.split()
            return part_on(context, int(day), name)
        case "NOW":
            return Period("now", Grain.SECOND, *unit(context.now, Grain.SECOND), weak="now")
        case _:
            return None


def _within_calendar(category: str, value: Any, weak: bool, context: Context) -> Period | None:
    try:
        return _period(category, value, weak, context)
    except OverflowError:
        return None  # the last day of the calendar has no tomorrow


def _lexical(reading: Reading, contexts: list[Context]) -> list[list[Edge]]:
    """What each word, phrase or figure can be."""
    words = reading.words
    lexical: list[list[Edge]] = [[] for _ in words]
    ends = {token.end: place + 1 for place, token in enumerate(reading.tokens)}
    blocked_to = 0
    entries = reading.lexicon.entries
    for at, token in enumerate(reading.tokens):
        if token.word not in entries and not begins_shape(token.word):
            continue
        found = list(matches(reading.lexicon, words, at))
        calendar = any(pairs[0][0] in ("WEEKDAY", "MONTH") for pairs, _ in found)
        named = calendar and at > 0 and reading.text[token.start].isupper()
        for pairs, end in found:
            # "on Sat at 5" and "from March to June" are none; "March Madness" is.
            plain = reading.text[reading.tokens[end - 1].start].islower()
            if pairs[0][0] == "IDIOM" and not (named and plain):
                blocked_to = max(blocked_to, end)
        if at < blocked_to:
            continue
        edges: list[Edge] = lexical[at]
        found += [(pairs, end + 1) for pairs, end in found if _abbreviated(reading, at, end)]
        for pairs, end in found:
            for category, value in pairs:
                edges.append((category, value, end))
                weak = category in _DOUBTFUL and " ".join(words[at:end]) in reading.lexicon.weak
                period = _within_calendar(category, value, weak, contexts[at])
                if period is not None:
                    edges.append(("T", period, end))
                if category == "UNIT" and ("UNITS", value) not in pairs:
                    edges.append(("ONE", value, end))
                if category == "UNIT" and value == "weekend":
                    edges.append(("WEEKENDWORD", value, end))
        if at and words[at - 1] in _MONEY:
            continue
        for (category, value), stop in shapes_at(
            reading.folded, token.start, token.word, reading.lexicon.day_first
        ):
            if stop in ends:
                edges.append((category, value, ends[stop]))
    return lexical


def _abbreviated(reading: Reading, at: int, end: int) -> bool:
    """Whether a dot after the word may belong to it: "Oct. 2", though not a sentence's end."""
    tokens = reading.tokens
    return (
        end == at + 1
        and end + 1 < len(tokens)
        and tokens[end].word == "."
        and tokens[at].end == tokens[end].start
        and 2 < len(tokens[at].word) < 6
    )


def _candidates(reading: Reading, chart: Chart) -> list[Candidate]:
    """Readings of every place, longest first; supported ones before doubtful ones."""
    found: list[Candidate] = []
    order = 0
    for at, edges in enumerate(chart.edges):
        for category, value, end in edges:
            if category in ("T", "REC", "LEN") and end > at:
                order += 1
                found.append((at, end, order, category, value))

    def rank(candidate: Candidate) -> tuple[int, int, int]:
        at, end, order, category, value = candidate
        size = reading.tokens[end - 1].end - reading.tokens[at].start
        doubtful = category == "T" and value.weak is not None
        spanning = category == "T" and value.kind in ("interval", "open")
        return -size, int(doubtful) + int(spanning), order

    return sorted(found, key=rank)


def _to_utc(moment: datetime | None, anchor: datetime, zone: int | None) -> datetime | None:
    if moment is None:
        return None
    if moment in (datetime.min, datetime.max):  # where the calendar ends, in every zone
        return moment.replace(tzinfo=UTC)
    tz = anchor.tzinfo if zone is None else timezone(timedelta(minutes=zone))
    return moment.replace(tzinfo=tz).astimezone(UTC)


def _expression(
    reading: Reading, candidate: Candidate, context: Context, anchor: datetime
) -> TimeExpression | None:
    at, end, _, category, value = candidate
    span = (reading.tokens[at].start, reading.tokens[end - 1].end)
    text = reading.text[span[0] : span[1]]
    if category == "REC":
        return TimeExpression(text, span, None, None, 0.9, recurrence=value)
    if category == "LEN":
        said: Duration = value
        return TimeExpression(text, span, None, said.grain, 0.9, duration=said.length)
    doubt = licensed(reading.text, reading.tokens, reading.lexicon, (at, end), value)
    if doubt is None:
        return None
    try:
        period = settle(value, context)
        if period.start and period.end and period.end <= period.start:
            return None  # "Thursday before midnight": the hour is where the day begins
        range_ = TimeRange(
            _to_utc(period.start, anchor, period.zone), _to_utc(period.end, anchor, period.zone)
        )
    except (ValueError, OverflowError):
        return None  # no such time within the calendar
    return TimeExpression(
        text,
        span,
        range_,
        period.grain,
        round(period.confidence * doubt, 2),
        negated=negated(reading.words, reading.lexicon, at),
        clock=not _HOURS.isdisjoint(value.within if value.kind in _ENDED else (value.kind,)),
    )


def _shared(
    reading: Reading,
    chosen: dict[int, tuple[Candidate, TimeExpression]],
    contexts: list[Context],
    anchor: datetime,
) -> list[TimeExpression]:
    """What was read; in a list a time takes the year or the week that the next one names: "in spring and
    fall of 2022", "on Monday and Tuesday of last week"."""
    found: list[TimeExpression] = []
    following: Candidate | None = None
    for at in sorted(chosen, reverse=True):
        candidate, expression = chosen[at]
        if following is not None and _lists(reading, candidate[1], following[0]):
            made = _sharing(candidate, following)
            again = made and _expression(reading, made, contexts[at], anchor)
            if made and again:
                candidate, expression = made, again
        found.append(expression)
        following = candidate
    return found


def _sharing(candidate: Candidate, following: Candidate) -> Candidate | None:
    """The candidate beside the one that follows, if that says of the same kind of time which it is."""
    category, value, other = candidate[3], candidate[4], following[4]
    if category != "T" or following[3] != "T" or value.fixed or not other.fixed:
        return None
    if value.kind not in other.within:
        return None
    try:
        made = replace(beside(value, other), within=other.within)
    except NoSuchTime:
        return None
    return (*candidate[:4], made)


def _lists(reading: Reading, end: int, start: int) -> bool:
    """Whether what stands between two times makes a list of them: "and", ", or in the", a comma."""
    between, entries = reading.words[end:start], reading.lexicon.entries
    comma = bool(between) and between[0] in _COMMAS
    meant = [
        {kind for phrase, pairs in entries.get(word, ()) if len(phrase) == 1 for kind, _ in pairs}
        for word in between[comma : comma + 4]
    ]
    if not meant:
        return comma
    return not _JOINING.isdisjoint(meant[0]) and not any(map(_LEADING.isdisjoint, meant[1:]))


def _read(
    reading: Reading, looks: Sequence[Direction], anchor: datetime, *, events: bool
) -> list[TimeExpression]:
    now = anchor.replace(tzinfo=None)
    offset = anchor.utcoffset()
    minutes = None if offset is None or offset.seconds % 60 else int(offset / _MINUTE)
    ways = {direction: Context(now, direction, minutes) for direction in set(looks)}
    contexts = [ways[direction] for direction in looks]
    chart = Chart(_grammar(), _lexical(reading, contexts), contexts)
    taken = [False] * len(reading.tokens)
    chosen: dict[int, tuple[Candidate, TimeExpression]] = {}
    for candidate in _candidates(reading, chart):
        at, end = candidate[0], candidate[1]
        if any(taken[at:end]):
            continue
        expression = _expression(reading, candidate, contexts[at], anchor)
        if expression is not None:
            taken[at:end] = [True] * (end - at)
            chosen[at] = candidate, expression
    found = _shared(reading, chosen, contexts, anchor)
    if events:
        found += find_events(reading.text, reading.tokens, reading.lexicon, chart, taken)
    return found


def read(
    text: str,
    anchor: datetime,
    languages: Sequence[str] | None = None,
    direction: Direction | None = None,
) -> tuple[TimeExpression, ...]:
    """Read a text. `direction` overrides where a bare month or weekday is looked for."""
    said = cut(text)
    spoken = languages_of(said.folded, said.words) if languages is None else languages
    return read_cut(said, anchor, spoken, direction)


def read_statement(text: str, said_at: datetime) -> tuple[TimeExpression, ...]:
    """Read what was told: each clause looks back or ahead by its own tense. Times that are told
    by an event are left aside, and need not be waited for."""
    said = cut(text)
    return read_cut(said, said_at, languages_of(said.folded, said.words), "told", events=False)


def read_cut(
    said: Cut,
    anchor: datetime,
    languages: Sequence[str],
    direction: Direction | Literal["told"] | None = None,
    *,
    events: bool = True,
) -> tuple[TimeExpression, ...]:
    """Read what is cut already."""
    if anchor.tzinfo is None:
        anchor = anchor.replace(tzinfo=UTC)
    words = said.words
    figures = any(word[0].isdigit() for word in words)
    best: list[TimeExpression] = []
    events = events or len(languages) > 1  # of two languages the one that reads more is taken
    for language in languages:
        known = lexicon(language)
        if (
            not figures
            and known.founding.isdisjoint(words)
            and not (events and not known.relations.keys().isdisjoint(words))
        ):
            continue
        reading = Reading(*said, known)
        if direction == "told":
            looks = directions(said.text, said.tokens, known)
        elif direction is None:
            looks = asked_directions(said.text, said.tokens, known)
        else:
            looks = (direction,) * len(words)
        found = _read(reading, looks, anchor, events=events)
        if _covered(found) > _covered(best):
            best = found
    return tuple(sorted(best, key=lambda expression: expression.span))


def _covered(found: list[TimeExpression]) -> int:
    return sum(expression.span[1] - expression.span[0] for expression in found)

"""Times told by an event: "before Alice joined Google", "three days after the launch".

The event's own date is not in the text, so it is handed on to be looked up in a bank.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from recollect.language.time.grammar import Chart
from recollect.language.time.lexicon import Lexicon, Token
from recollect.language.time.rules.numbers import Duration
from recollect.language.time.types import EventAnchor, Grain, Relation, TimeExpression, TimeRange

_CLAUSE_END = frozenset(".,;:!?()")


def find_events(
    text: str, tokens: list[Token], lexicon: Lexicon, chart: Chart, taken: list[bool]
) -> list[TimeExpression]:
    """The events that a text counts time from; clauses do not overlap."""
    words = [token.word for token in tokens]
    found: list[TimeExpression] = []
    place = 0
    while place < len(words):
        relates = words[place] in lexicon.relations and not taken[place]
        event = _event_at(text, tokens, words, lexicon, chart, place) if relates else None
        if event is None:
            place += 1
            continue
        found.append(
            TimeExpression(text[slice(*event.span)], event.span, None, None, 0.7, event=event)
        )
        place = next(at for at, token in enumerate(tokens) if token.end >= event.span[1]) + 1
    return found


def _event_at(
    text: str, tokens: list[Token], words: list[str], lexicon: Lexicon, chart: Chart, place: int
) -> EventAnchor | None:
    relation, after = _relation(words, lexicon, place)
    if relation is None or _idiomatic(words, lexicon, place):
        return None
    end = after
    while end < len(words) and words[end] not in _CLAUSE_END:
        end += 1
    if not _tells_event(text, tokens[after:end], lexicon, relation):
        return None
    start, offset = _offset(chart, place)
    span = (tokens[start].start, tokens[end - 1].end)
    return EventAnchor(text[tokens[after].start : span[1]], relation, offset, span)


def _relation(words: list[str], lexicon: Lexicon, place: int) -> tuple[Relation | None, int]:
    for relation, phrase in lexicon.relations.get(words[place], ()):
        if tuple(words[place : place + len(phrase)]) == phrase:
            return cast(Relation, relation), place + len(phrase)
    return None, place


def _idiomatic(words: list[str], lexicon: Lexicon, place: int) -> bool:
    """ "named after Alice", and "when" as a question."""
    if place > 0 and words[place - 1] in lexicon.cues.get("event_not_after", ()):
        return True
    following = words[place + 1] if place + 1 < len(words) else ""
    return following in lexicon.cues.get("event_not_before", ())


def _tells_event(text: str, clause: list[Token], lexicon: Lexicon, relation: Relation) -> bool:
    """A name, a noun with its article, or a clause: not "after all" or "since it rains"."""
    if not clause:
        return False
    first = clause[0]
    if first.word in lexicon.cues.get("event_start", ()):
        return len(clause) > 1
    if first.word in lexicon.cues.get("event_subject", ()):
        return len(clause) > 1 and relation != "since"
    capital = text[first.start].isupper()
    return capital or (first.word.endswith("ing") and len(first.word) > 4)


def _offset(chart: Chart, place: int) -> tuple[int, timedelta | None]:
    """The duration that stands right before the relation, if one does."""
    for start in range(place):
        for category, value, end in chart.edges[start]:
            if category == "DUR" and end == place and isinstance(value, Duration):
                return start, value.length
    return place, None


def window_for_event(
    anchor: EventAnchor, start: datetime, end: datetime, grain: Grain | None = None
) -> TimeRange:
    """The window that an event gives once its own `[start, end)` is known.

    With an offset ("three days after the launch") it is the event's day so much later or
    earlier; the longer the offset, the more loosely it is meant, so a tenth of it is added
    on either side from two weeks on.
    """
    if anchor.offset is not None and anchor.relation in ("before", "after"):
        moved = anchor.offset if anchor.relation == "after" else -anchor.offset
        slack = anchor.offset / 10 if anchor.offset >= timedelta(days=14) else timedelta()
        return TimeRange(start + moved - slack, end + moved + slack)
    match anchor.relation:
        case "before":
            return TimeRange(None, start)
        case "until":
            return TimeRange(None, end)
        case "after":
            return TimeRange(end, None)
        case "since":
            return TimeRange(start, None)
        case "around":
            slack = _AROUND.get(grain, timedelta(days=7)) if grain else timedelta(days=7)
            return TimeRange(start - slack, end + slack)
        case "during":
            return TimeRange(start, end)


_AROUND = {
    Grain.SECOND: timedelta(hours=12),
    Grain.MINUTE: timedelta(hours=12),
    Grain.HOUR: timedelta(days=1),
    Grain.DAY: timedelta(days=7),
    Grain.WEEK: timedelta(days=14),
    Grain.MONTH: timedelta(days=31),
    Grain.QUARTER: timedelta(days=92),
    Grain.SEASON: timedelta(days=92),
    Grain.YEAR: timedelta(days=365),
}

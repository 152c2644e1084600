"""Times told by an event: "before Alice joined Google", "three days after the launch".

The event's own date is not in the text, so it is handed on to be looked up in a bank.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from recollect.language.time.calendar import ORDER
from recollect.language.time.grammar import Chart, Edge
from recollect.language.time.lexicon import Lexicon, Token
from recollect.language.time.rules.numbers import FEW, Duration, duration
from recollect.language.time.tense import is_past
from recollect.language.time.types import EventAnchor, Grain, Relation, TimeExpression, TimeRange

_CLAUSE_END = frozenset(".,;:!?()")
_INSIDE = frozenset(".,:")  # of these, what may stand in a word or a number


def find_events(
    text: str, tokens: list[Token], lexicon: Lexicon, chart: Chart, taken: list[bool]
) -> list[TimeExpression]:
    """The events that a text counts time from; clauses do not overlap."""
    words = [token.word for token in tokens]
    found: list[TimeExpression] = []
    place = 0
    while place < len(words):
        relates = words[place] in lexicon.relations and not taken[place]
        events = _events_at(text, tokens, words, lexicon, chart, place, taken) if relates else ()
        if not events:
            place += 1
            continue
        found.extend(
            TimeExpression(text[slice(*event.span)], event.span, None, None, 0.7, event=event)
            for event in events
        )
        last = events[-1].span[1]
        place = next(at for at, token in enumerate(tokens) if token.end >= last) + 1
    return found


def _events_at(
    text: str,
    tokens: list[Token],
    words: list[str],
    lexicon: Lexicon,
    chart: Chart,
    place: int,
    taken: list[bool],
) -> tuple[EventAnchor, ...]:
    if words[place] in lexicon.cues.get("event_between", ()):
        return _between(text, tokens, words, lexicon, place, taken)
    event = _event_at(text, tokens, words, lexicon, chart, place)
    return () if event is None else (event,)


def _between(
    text: str,
    tokens: list[Token],
    words: list[str],
    lexicon: Lexicon,
    place: int,
    taken: list[bool],
) -> tuple[EventAnchor, ...]:
    """The two that something was between, which both count to it; only where the text tells of the past: what
    is between the house and the station is a place. And "the difference between" is no time."""
    end = _clause_end(tokens, words, lexicon, place + 1)
    rest = [*words[:place], *words[end:]]
    related = not lexicon.cues.get("event_not_between", frozenset()).isdisjoint(words[:place][-1:])
    compares = not lexicon.cues.get("comparing", frozenset()).isdisjoint(rest)
    if related or compares or not any(is_past(word, lexicon) for word in rest):
        return ()
    for at in range(place + 2, end - 1):
        if words[at] not in lexicon.cues.get("event_and", ()):
            continue
        sides = (tokens[place + 1 : at], tokens[at + 1 : end])
        read = (taken[place + 1 : at], taken[at + 1 : end])
        dated = (all(read[0]), all(read[1]) or _is_now(words[at + 1 : end], lexicon))
        partly = any(any(part) and not all(part) for part in read)  # "the outage on Monday"
        if partly or all(dated) or not _two_events(text, sides, dated, lexicon):
            continue
        spans = (
            (tokens[place].start, tokens[at - 1].end),
            (tokens[at].start, tokens[end - 1].end),
        )
        return tuple(
            EventAnchor(text[side[0].start : span[1]], relation, None, span)
            for side, relation, span, date in zip(sides, _ENDS, spans, dated, strict=True)
            if not date
        )
    return ()


def _is_now(words: list[str], lexicon: Lexicon) -> bool:
    """What reaches to now has no end to be looked up, nor one that a window would need."""
    phrases = lexicon.entries.get(words[0], ())
    return any(
        phrase == tuple(words) and any(kind == "NOW" for kind, _ in pairs)
        for phrase, pairs in phrases
    )


_ENDS: tuple[Relation, Relation] = ("since", "until")


def _two_events(
    text: str, sides: tuple[list[Token], list[Token]], dated: tuple[bool, bool], lexicon: Lexicon
) -> bool:
    """Or an event and a date. The second may go without the article of the first: "the outage and rollback". Names
    alone are people."""
    first, second = sides
    articles = lexicon.cues.get("event_start", frozenset())
    pairs = zip(sides, dated, strict=True)
    if not all(date or _between_tells(text, side, lexicon) for side, date in pairs):
        return not any(dated) and len(first) > 1 and first[0].word in articles and len(second) == 1
    return True


def _between_tells(text: str, side: list[Token], lexicon: Lexicon) -> bool:
    named = text[side[0].start].isupper() and not _numbered(side)
    acts = any(is_past(t.word, lexicon) or _gerund(t.word) for t in side[1:])
    return _tells_event(text, side, lexicon, "since") and (acts or not named)


def _event_at(
    text: str, tokens: list[Token], words: list[str], lexicon: Lexicon, chart: Chart, place: int
) -> EventAnchor | None:
    relation, after = _relation(words, lexicon, place)
    start, offset, within = _offset(words, lexicon, chart, place)
    if relation is None or (offset is None and _idiomatic(words, lexicon, place)):
        return None
    if _leads_on(words, lexicon, chart, after):
        return None
    end = _clause_end(tokens, words, lexicon, after)
    if not _tells_event(text, tokens[after:end], lexicon, relation):
        return None
    span = (tokens[start].start, tokens[end - 1].end)
    return EventAnchor(text[tokens[after].start : span[1]], relation, offset, span, within)


def _clause_end(tokens: list[Token], words: list[str], lexicon: Lexicon, at: int) -> int:
    """Where a clause that begins here ends: another event may follow, "after the outage and before the rollback"."""
    begun = at
    while at < len(words) and not _ends(tokens, at):
        if at > begun and _asks_on(words[at : at + 3], lexicon):
            break
        joins = words[at] in lexicon.cues.get("event_and", ())
        if joins and at + 1 < len(words) and _relation(words, lexicon, at + 1)[0] is not None:
            break
        at += 1
    return at


def _asks_on(words: list[str], lexicon: Lexicon) -> bool:
    """ "How long after the surgery could I run?", "When I was in Rome what did I eat?": the question goes on."""
    if not lexicon.tense or len(words) < 2:
        return False
    did, subjects = lexicon.tense["did"], lexicon.cues.get("event_subject", frozenset())
    if words[0] in ("what", "how", "why"):
        return words[1] == "did" or words[1] in lexicon.tense["do"] or _asks_on(words[1:], lexicon)
    asks = words[0] in did or words[0] in lexicon.cues.get("event_not_before", ())
    return (asks or words[0] == "could") and words[1] in subjects - {"it"}


def _ends(tokens: list[Token], at: int) -> bool:
    """Whether a clause ends here: the full stops in "version 2.3.0" are part of a word."""
    token = tokens[at]
    inside = at + 1 < len(tokens) and tokens[at + 1].start == token.end
    return token.word in _CLAUSE_END and not (inside and token.word in _INSIDE)


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
    """A name, a noun with its article or its number, or a clause: not "after all" or "since it rains", but
    "since it rained"."""
    if not clause:
        return False
    first = clause[0]
    if first.word in lexicon.cues.get("event_start", ()):
        return len(clause) > 1
    if first.word in lexicon.cues.get("event_subject", ()):
        return len(clause) > 1 and (relation != "since" or is_past(clause[1].word, lexicon))
    capital = text[first.start].isupper()
    return capital or _numbered(clause) or _gerund(first.word)


def _gerund(word: str) -> bool:
    return word.endswith("ing") and len(word) > 4


def _numbered(clause: list[Token]) -> bool:
    """ "release 2.3.0", "v2": what has a number is one of its kind, and needs no article."""
    first, following = clause[0].word, "".join(token.word for token in clause[1:2])
    return first[:1].isalpha() and any(map(str.isdigit, first[1:] + following[:1]))


def _offset(
    words: list[str], lexicon: Lexicon, chart: Chart, place: int
) -> tuple[int, timedelta | None, bool]:
    """The duration that stands right before the relation, if one does. "The week after" is all that lies
    within it, "a week after" a day."""
    articles = lexicon.cues.get("event_start", ())
    for start in range(place):
        led = start > 0 and words[start - 1] in articles
        for edge in chart.edges[start]:
            said = _duration(edge) if edge[2] == place and (led or edge[0] == "DUR") else None
            if said is not None:
                within = led and ORDER[said.grain] >= ORDER[Grain.DAY]
                return start - within, said.length, within
    return place, None, False


def _duration(edge: Edge) -> Duration | None:
    category, value, _ = edge
    if isinstance(value, Duration):
        return value
    count = {"ONE": 1, "UNITS": FEW}.get(category)
    return None if count is None else duration(value, count)


def _leads_on(words: list[str], lexicon: Lexicon, chart: Chart, after: int) -> bool:
    """ "During the week after the launch" is what comes after the launch."""
    led = after < len(words) and words[after] in lexicon.cues.get("event_start", ())
    starts = chart.edges[after + 1] if led and after + 1 < len(words) else []
    ends = (edge[2] for edge in starts if _duration(edge) is not None)
    return any(end < len(words) and words[end] in lexicon.relations for end in ends)


def window_for_event(
    anchor: EventAnchor, start: datetime, end: datetime, grain: Grain | None = None
) -> TimeRange:
    """The window that an event gives once its own `[start, end)` is known.

    With an offset ("three days after the launch") it is the event's day so much later or
    earlier; the longer the offset, the more loosely it is meant, so a tenth of it is added
    on either side from two weeks on. "The three days after" are all of them.
    """
    if anchor.offset is not None and anchor.within and anchor.relation == "before":
        return TimeRange(start - anchor.offset, start)
    if anchor.offset is not None and anchor.within and anchor.relation == "after":
        return TimeRange(end, end + anchor.offset)
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

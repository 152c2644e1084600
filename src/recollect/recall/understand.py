"""Understand: what the query asks for, before any search: terms, time, names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from recollect.language.entities import EntityResolver, find_entities
from recollect.language.entities.technical import technical_spans
from recollect.language.sentences import sentences
from recollect.language.terms import (
    content_terms,
    flags,
    query_terms,
    spellings,
    term_hash,
    terms,
    without_flags,
)
from recollect.language.time import QueryTime, TimeRange, read_query, without_asking
from recollect.language.wishes import is_request
from recollect.recall.request import RecallRequest
from recollect.storage.base import Filter, View
from recollect.types import Window

SEASON = timedelta(days=93)
INSIDE, INSIDE_ALONE, OUTSIDE = 4.0, 10.0, 11.0
# Terms of questions that ask for anything: "What happened …?", "What changed …?", "Give me a summary …", "What
# did we talk about …?", "Which notes …?". Stop words need not be here: "What did I do …?" has no other.
OPEN = frozenset({
    "happen", "occur", "new", "news", "go", "went", "up", "event", "everyth", "anyth", "someth", "chang", "updat",
    "summari", "summar", "summaris", "recap", "overview", "list", "show", "give", "remind", "rememb", "know",
    "talk", "discuss", "mention", "said", "say", "note", "memori",
})  # fmt: skip
_LEADING = re.compile(r"\b(?:back )?(?:in|on|at|during|of|between) (?:the )?$", re.IGNORECASE)
_FROM = re.compile(r"\bfrom (?:the )?$", re.IGNORECASE)
_FOR = re.compile(r"\bfor (?:the )?$", re.IGNORECASE)
_QUESTION = re.compile(
    r"[?？؟][\s\"'”’»)\]*_]*$|^\W*(?:wh(?:at|en|ere|o|om|ose|ich|y)|how|did|tell|remind|list)\b",
    re.IGNORECASE,
)
# "What do we do after a failed deploy?" asks for what is to be done, and not for a time.
_LOOKS_BACK = re.compile(
    r"\b(?:did|was|were|ha(?:d|s|ve)|been|happen\w*|occurr?\w*|went|gone|news?|changed)\b",
    re.IGNORECASE,
)
_CAUSAL = re.compile(
    r"\b(?:why|how come|because|caus\w+|reasons?|le[ad]d? to|result\w*|consequen\w+|effects?|impact"
    r"|due to|prevent\w*|enabl\w+|what happened (?:after|when|because|next)|pourquoi|warum|weshalb"
    r"|por ?qu[eéê]|perch[eé])\b|为什么|為什麼|なぜ|どうして",
    re.IGNORECASE,
)
_ASKS_CAUSE = re.compile(
    r"\b(?:why|how come|reasons?|causes? (?:of|for)|(?:because of|due to) wh\w+"
    r"|(?:what|who|which)(?: \w+){0,2}? (?:caus(?:ed|es)|le(?:d|ads) to|result(?:ed|s) in|enable[ds]"
    r"|prevent(?:ed|s))|pourquoi|warum|weshalb|por ?qu[eéê]|perch[eé])\b|为什么|為什麼|なぜ|どうして",
    re.IGNORECASE,
)
_ASKS_EFFECT = re.compile(
    r"\b(?:what happened (?:after|when|because|next)|(?:results?|consequences?|effects?|impact) (?:of|on)"
    r"|(?:what|which)(?: (?:was|were|is|are|the))* (?:results?|consequences?|effects?|impact)"
    r"|(?:did|do|does|will|would|can|could|might)\b.*\b(?:cause|lead to|result in|enable|prevent))\b",
    re.IGNORECASE,
)
# Of the former value, in English. "How old is it?" and "prior to March" ask for something else.
_FORMER = re.compile(
    r"\b(?:(?:previous|former|prior)(?:ly)?\b(?! to\b)|used? to\b|(?:my|our|your|his|her|its|their|the|\w['’]s) old\b)"
    r"|\bbefore\W*$",
    re.IGNORECASE,
)


class TimePull(NamedTuple):
    """How much more than usual the time weighs, because little else is asked. Outside it counts
    for more than inside: being in March does not make a memory relevant, unless nothing but
    March was asked for; being in May rules it out."""

    inside: float
    outside: float
    alone: bool = False  # nothing else is asked: whatever lies in it is an answer
    strict: bool = False  # a turn of a conversation must have been said then, too

    @property
    def frames(self) -> bool:
        """The time is where the question is set, not what it asks for."""
        return self.outside < 0


BY_EVENT = TimePull(0.0, OUTSIDE, strict=True)  # "before Alice joined" means before
BY_EVENT_ALONE = TimePull(INSIDE_ALONE, OUTSIDE, alone=True, strict=True)


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    terms: tuple[str, ...]
    hashes: tuple[int, ...]
    identifiers: tuple[tuple[int, ...], ...]  # of each its parts and, last, all of it
    entities: tuple[int, ...]  # of the bank, named in the query
    names: int  # how many names the query has
    strangers: tuple[str, ...]  # those of them that the bank does not know
    rest: str  # the query without those names
    causal: bool  # asks for a cause or an effect
    side: int  # which: -1 the cause, +1 the effect, 0 either
    request: bool  # something is to be done, not only remembered
    goes_on: bool  # with what is going on: a message of several sentences that asks about no time
    time: QueryTime
    window: Window | None
    time_pull: TimePull
    parts: tuple[Window, ...] = ()  # the times asked about, where the window spans several
    former: bool = False  # asks for what no longer holds

    @property
    def windows(self) -> tuple[Window, ...]:
        """The times asked about, one by one."""
        return self.parts or (() if self.window is None else (self.window,))


def understand(request: RecallRequest, resolver: EntityResolver) -> Query:
    asked = query_terms(request.query)
    named = _named(request.query, resolver)
    time = read_query(request.query, request.now.astimezone(request.zone or UTC))
    window, parts = request.window, ()
    if window is None and time.window is not None:
        told = [e.text for e in time.expressions if e.range and not e.clock and not e.negated]
        window = Window(time.window.start, time.window.end, ", ".join(told))
        parts = tuple(Window(part.start, part.end) for part in time.parts)
    return Query(
        request.query,
        asked,
        tuple(term_hash(t) for t in asked),
        _identifiers(request.query),
        named.entities,
        named.names,
        named.strangers,
        named.rest,
        tells_why(request.query),
        _side(request.query),
        is_request(request.query),
        request.window is None and _goes_on(request.query, time),
        time,
        window,
        _pull(request, time),
        parts,
        _FORMER.search(request.query) is not None,
    )


def _goes_on(text: str, time: QueryTime) -> bool:
    """Whether a message goes on with what is going on, where a question looks something up: it has several
    sentences, and tells of times at most ("I had the dinner on Friday. How do I …?")."""
    spans = sentences(text)
    times = [expression.span[0] for expression in time.expressions if expression.range]
    asking = [(start, end) for start, end in spans if _asks(text[start:end])]
    return len(spans) > 1 and not any(a <= at < b for a, b in asking for at in times)


def _asks(sentence: str) -> bool:
    return _QUESTION.search(sentence) is not None or is_request(sentence)


def tells_why(text: str) -> bool:
    """Whether it speaks of causes or effects."""
    return _CAUSAL.search(text) is not None


def _side(text: str) -> int:
    """As `Edges.causal` says it: what an effect leads back to is the cause, -1."""
    cause, effect = _ASKS_CAUSE.search(text), _ASKS_EFFECT.search(text)
    return (effect is not None) - (cause is not None)


def bounded_by_event(query: Query) -> bool:
    """Whether an event is to be looked up for when it was. Beside a time that is named, one that bounds it: "in June
    after the trip", and not "after the trip in June"."""
    events, window = query.time.events, query.window
    if window is None or not events:
        return bool(events)
    times = [each.span for each in query.time.expressions if each.range]
    return not query.parts and all(
        event.relation in ("before", "after", "since", "until")
        and event.offset is None
        and not any(event.span[0] <= start < event.span[1] for start, _ in times)
        for event in events
    )


def by_event(query: Query, window: Window, resolver: EntityResolver) -> Query:
    """The query with the window that its events give. Where besides the event hardly more than
    somebody is named ("What did Alice do before she joined Google?"), the words of the event have
    said what they had to say: they would only find the event once more. Where nobody is ("What happened
    since the outage?"), whatever lies in the window is an answer."""
    dated = replace(query, window=window, time_pull=BY_EVENT, goes_on=False)
    events = query.time.events
    relations = {event.relation for event in events}
    dated = replace(dated, former=dated.former or relations == {"before"})
    text = _without(query.text, [event.span for event in events])
    told = [e.span for e in query.time.expressions if e.event is None or e.event in events]
    named = _named(_without(query.text, told), resolver)
    if not OPEN.issuperset(content_terms(named.rest)):
        return dated
    alone = not named.names and _LOOKS_BACK.search(text) is not None
    if alone:
        dated = replace(dated, time_pull=BY_EVENT_ALONE)
    outside = len(events) > 1 or not relations.isdisjoint(("before", "after"))
    if query.causal or not outside or not (alone or named.entities):
        return dated
    asked = query_terms(text)
    return replace(
        dated,
        text=text,
        time=replace(query.time, expressions=()),  # they say where in the whole text they stand
        terms=asked,
        hashes=tuple(term_hash(t) for t in asked),
        identifiers=_identifiers(text),
        entities=named.entities,
        names=named.names,
        strangers=named.strangers,
        rest=named.rest,
    )


def _identifiers(text: str) -> tuple[tuple[int, ...], ...]:
    """What is called by its very letters: `as_of`, src/app.py, PROJ-1234, --chunks. Of what is no one term but several
    ("kill -9", an address with a query) the last says little of the whole: such are left to the keywords."""
    named = dict.fromkeys(flags(text))
    rest = without_flags(text) if named else text  # what is in a flag is not named once more
    names = dict.fromkeys([*named, *(rest[start:end] for start, end in technical_spans(rest))])
    found = ((name, _own(name)) for name in names)
    return tuple(
        tuple(map(term_hash, own)) for name, own in found if own and 2 * len(own[-1]) > len(name)
    )


def _own(name: str) -> list[str]:
    """To the letter, and not as others would write it: "größe.py" is not groesse.py."""
    found = terms(name)
    if name.isascii():
        return found
    others = {term for _, others in spellings(name) for term in others}
    return [term for term in found if term not in others]


def _besides(text: str, time: QueryTime) -> tuple[str, ...]:
    """What is asked besides the time."""
    return content_terms(without_asking(_without(text, _spans(time)), text))


def untimed(query: Query) -> str:
    """The query without its times: "Who was CTO in March?" is "Who was CTO ?"."""
    return _without(query.text, _spans(query.time))


def _spans(time: QueryTime) -> list[tuple[int, int]]:
    return [expression.span for expression in time.expressions]


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    rest = list(text)
    for start, end in spans:
        leading = _LEADING.search(text, 0, start)
        start = start if leading is None else leading.start()
        rest[start:end] = " " * (end - start)
    return " ".join("".join(rest).split())


def _pull(request: RecallRequest, time: QueryTime) -> TimePull:
    """Strong for "What did Alice do in March?", where hardly anything else is asked, and none when
    five other terms are. A time longer than a season frames a question more than it is one ("from
    1985 to 1987"): the more is asked besides, the less it says against a memory to be dated
    elsewhere; texts that tell of years tell of many."""
    window, given = time.window, request.window is not None
    if window is None and not given:
        return TimePull(0.0, 0.0)
    besides = _besides(request.query, time)
    others, alone = len(besides), OPEN.issuperset(besides)
    if window is None or given:
        return TimePull(INSIDE_ALONE if alone else INSIDE, OUTSIDE, alone, strict=True)
    pull = min(max((5 - others) / 2, 0.0), 1.0)
    if _frames(request, time, window):
        return TimePull(0.0, pull - 1.0, alone, strict=alone)
    inside = INSIDE_ALONE if others <= 1 else INSIDE
    return TimePull(pull * inside, pull * OUTSIDE, alone, strict=alone)


def _frames(request: RecallRequest, time: QueryTime, window: TimeRange) -> bool:
    """Whether a time is where the question is set: longer than a season, or one from which something
    holds ("her position from October"), or for which something is to be done ("a novel for the winter"). What
    answers these was told at another. Two short times a year apart are no long one."""
    text = request.query
    if any(_is_long(each, request.now) for each in time.parts or (window,)):
        return True
    before = [text[: expression.span[0]] for expression in time.expressions]
    return any(map(_FROM.search, before)) or (is_request(text) and any(map(_FOR.search, before)))


def _is_long(period: TimeRange, now: datetime) -> bool:
    """What began before now and has no end reaches to now: "since Monday" is a week."""
    end = period.end or now
    return period.start is None or not timedelta(0) <= end - period.start <= SEASON


def names_seen(view: View, text: str, allowed: Filter) -> EntityResolver:
    """The names of a bank; where a filter hides all that tells of one in the text, those in it that are left.
    To whoever asks, a name that only others know, or that came up later, is nobody's."""
    resolver = view.resolver
    found = () if allowed == Filter() else _named(text, resolver).entities
    if not found:
        return resolver
    told = view.naming(found, allowed, 1)
    seen = [entity for entity, (_, count) in zip(found, told, strict=True) if count]
    return resolver if len(seen) == len(found) else EntityResolver(map(resolver.known, seen))


class _Named(NamedTuple):
    """Who is named: the bank's entities, how many names, those it does not know, and the query
    without its entities. A name of code (`findById`) is an example as often as it is a subject,
    so it counts among the names only when it is known."""

    entities: tuple[int, ...]
    names: int
    strangers: tuple[str, ...]
    rest: str


def _named(text: str, resolver: EntityResolver) -> _Named:
    found: list[int] = []
    strangers: list[str] = []
    rest = list(text)
    names = 0
    for mention in find_entities(text, known=resolver.matcher()):
        match = resolver.resolve(mention.text, mention.kind, found)
        names += match.entity is not None or mention.kind != "technical"
        if match.entity is None and mention.kind != "technical":
            strangers.append(mention.text.strip())
        elif match.entity is not None:
            start, end = mention.span
            rest[start:end] = " " * (end - start)
            if match.entity.id not in found:
                found.append(match.entity.id)
    return _Named(tuple(found), names, tuple(strangers), " ".join("".join(rest).split()))

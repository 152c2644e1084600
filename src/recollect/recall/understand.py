"""Understand: what the query asks for, before any search: terms, time, names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from recollect.language.entities import EntityResolver, find_entities
from recollect.language.terms import query_terms, term_hash
from recollect.language.time import QueryTime, read_query
from recollect.recall.request import RecallRequest
from recollect.types import Window

SEASON = timedelta(days=93)
_CAUSAL = re.compile(
    r"\b(?:why|how come|because|caus\w+|reasons?|le[ad]d? to|result\w*|consequen\w+|effects?|impact"
    r"|due to|prevent\w*|enabl\w+|what happened (?:after|when|because|next)|pourquoi|warum|weshalb"
    r"|por ?qu[eéê]|perch[eé])\b|为什么|為什麼|なぜ|どうして",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    terms: tuple[str, ...]
    hashes: tuple[int, ...]
    entities: tuple[int, ...]  # of the bank, named in the query
    causal: bool  # asks for a cause or an effect
    time: QueryTime
    window: Window | None
    time_pull: float  # 0..1: how much of the query is its time


def understand(request: RecallRequest, resolver: EntityResolver) -> Query:
    terms = query_terms(request.query)
    time = read_query(request.query, request.now)
    window = request.window
    if window is None and time.window is not None:
        words = next((e.text for e in time.expressions if e.range is not None), None)
        window = Window(time.window.start, time.window.end, words)
    return Query(
        request.query,
        terms,
        tuple(term_hash(t) for t in terms),
        _named(request.query, resolver),
        _CAUSAL.search(request.query) is not None,
        time,
        window,
        1.0 if request.window is not None else _pull(request.query, time),
    )


def _pull(text: str, time: QueryTime) -> float:
    """How much of the query is its time: 1 for "What did Alice do in March?", where hardly
    anything else is asked, 0 when five other terms are, or when the time is longer than a
    season: "from 1985 to 1987" frames a question more than it is one."""
    window = time.window
    if (
        window is None
        or window.start is None
        or window.end is None
        or window.end - window.start > SEASON
    ):
        return 0.0
    rest = list(text)
    for expression in time.expressions:
        start, end = expression.span
        rest[start:end] = " " * (end - start)
    return min(max((5 - len(query_terms("".join(rest)))) / 2, 0.0), 1.0)


def _named(text: str, resolver: EntityResolver) -> tuple[int, ...]:
    found: list[int] = []
    for mention in find_entities(text, known=resolver.matcher()):
        match = resolver.resolve(mention.text, mention.kind, found)
        if match.entity is not None and match.entity.id not in found:
            found.append(match.entity.id)
    return tuple(found)

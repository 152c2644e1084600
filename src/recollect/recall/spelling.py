"""Of the ways to write a word those that the bank has: "Müller" is asked for as Mueller where that is written.

A word that no memory holds counts against all of them, and rightly. But nobody asked for a spelling, and banks
that were filled when flags and emoji were no terms hold none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from recollect.language.terms import spellings, term_hash
from recollect.recall.understand import Query
from recollect.storage.base import View

_NEVER = term_hash("\x00\x00")  # no text has it


def as_held(view: View, query: Query) -> Query:
    terms = held_terms(view, query.text, query.terms)
    if len(terms) == len(query.terms):
        return query
    return replace(query, terms=terms, hashes=tuple(map(term_hash, terms)))


def held_terms(view: View, text: str, terms: tuple[str, ...]) -> tuple[str, ...]:
    """The terms of a text without spellings that no memory of the bank has."""
    ways = spellings(text)
    if not ways:
        return terms
    known = _held(view, [term for plain, others in ways for term in plain + others])
    left_out = {term for plain, others in ways for term in _strange(plain, others, known)}
    return tuple(term for term in terms if term not in left_out)


def _strange(plain: Sequence[str], others: Sequence[str], known: frozenset[str]) -> Iterator[str]:
    """Where the bank has none of the other ways, the plain one is asked for as ever."""
    yield from (term for term in others if term not in known)
    if not known.isdisjoint(others):
        yield from (term for term in plain if term not in known)


def _held(view: View, terms: Sequence[str]) -> frozenset[str]:
    view.keyword_ceiling([*map(term_hash, terms), _NEVER])  # a store on a server is asked once
    rarest = view.keyword_ceiling([_NEVER])
    return frozenset(t for t in terms if view.keyword_ceiling([term_hash(t)]) < rarest)

"""The part of a long text that a question is about."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from recollect.language.sentences import sentences
from recollect.language.terms import terms

__all__ = ["excerpt"]


def excerpt(text: str, wanted: Sequence[str], most: int) -> str:
    """At most so many characters: the run of sentences that holds the most of the terms wanted, those
    that stand in few of its sentences before the others, and of equals the first."""
    if len(text) <= most:
        return text
    spans = sentences(text) or ((0, most),)  # white space has none
    held = [set(wanted).intersection(terms(text[start:end])) for start, end in spans]
    often = Counter(term for found in held for term in found)
    # In order, so that sums of the same terms come out the same on every run.
    worth = {t: math.log1p(len(spans) / often[t]) for t in dict.fromkeys(wanted) if often[t]}
    best, chosen, last = -1.0, spans[0], 0
    within = Counter[str]()
    for first, (start, _) in enumerate(spans):
        while last < len(spans) and (spans[last][1] - start <= most or last == first):
            within.update(held[last])
            last += 1
        value = sum(w for t, w in worth.items() if within[t])
        if value > best:
            best, chosen = value, (start, spans[last - 1][1])
        within.subtract(held[first])
    return text[chosen[0] : min(chosen[1], chosen[0] + most)]

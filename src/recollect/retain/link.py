"""Links, computed when a memory is written and bounded, so that reading never explodes.

Semantic links are rows: the five nearest with cosine ≥ 0.7. Causal links are rows: what a
statement names as cause or effect is looked up among the memories. Entity and temporal
links are bounded joins over what the index holds already; they need no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.language.terms import query_terms, term_hash
from recollect.storage.base import Filter, Found, KeyLink, Writing
from recollect.types import LinkKind

SEMANTIC_LINKS = 5
SEMANTIC_FLOOR = 0.7
CAUSAL_LOOKUPS = 3  # memories looked at for each named cause or effect
CAUSAL_COVER = 0.6  # share of the clause's terms that the other memory must hold


def semantic_links(
    keys: Sequence[int], among: NDArray[np.float32], near: Sequence[Found]
) -> Iterable[KeyLink]:
    """From each new memory to its nearest, old and new alike. `among` holds the cosine of each
    new one with each other."""
    for i, key in enumerate(keys):
        old = zip(near[i].scores.tolist(), near[i].keys.tolist(), strict=True)
        close = np.flatnonzero(among[i, :i] >= SEMANTIC_FLOOR).tolist()
        fellows = ((float(among[i, j]), keys[j]) for j in close)
        best = sorted([*old, *fellows], key=lambda pair: (-pair[0], pair[1]))[:SEMANTIC_LINKS]
        for score, other in best:
            if score >= SEMANTIC_FLOOR and other != key:
                yield KeyLink(key, other, LinkKind.SEMANTIC, min(1.0, round(score, 4)))


def both_ways(cause: int, effect: int, kind: str, weight: float) -> Iterable[KeyLink]:
    yield KeyLink(cause, effect, LinkKind(kind), weight)
    if kind == "causes":
        yield KeyLink(effect, cause, LinkKind.CAUSED_BY, weight)


def clause_terms(clause: str) -> list[int]:
    return [term_hash(t) for t in query_terms(clause)]


def mentioned_in(
    clause: str, view: Writing, fresh: Mapping[int, frozenset[str]], but: int
) -> list[tuple[int, float]]:
    """Memories that say what `clause` names, with the share of its terms they hold."""
    terms = query_terms(clause)
    if not terms:
        return []
    found = view.keyword(clause_terms(clause), Filter(), CAUSAL_LOOKUPS)
    held = {k: frozenset(query_terms(m.text)) for k, m in view.load(found.keys.tolist()).items()}
    cover = {
        key: len(words.intersection(terms)) / len(terms)
        for key, words in {**held, **fresh}.items()
        if key != but
    }
    # One shared word says little unless it is all there is to say.
    good = [(k, c) for k, c in cover.items() if c >= CAUSAL_COVER]
    return sorted(good, key=lambda pair: (-pair[1], -pair[0]))[:CAUSAL_LOOKUPS]

"""Follow: what the best hits lead to is part of the answer, though it may share no word with
the query. A reranker reads each memory by itself and buries such finds; this brings them back.

Two ways lead on. Causal links from the best hits, when the query asks for a cause or an effect
("why", "what happened after"). And, in a deep search, chains of names: "Alice's manager's team" starts at the
memories that name Alice and walks from name to name, through memories that fit the rest of the query. Either
gives a memory a support in [0, 1], and relevance becomes 1 − (1 − relevance)(1 − support).

"Why were there layoffs?" is in the words of "There were layoffs", which is no answer. When one side is asked
for, links support that side alone, and a memory that only restates the question is to stand behind what
it leads to (`boost.stand_back`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.recall.pool import Pool, Support
from recollect.recall.understand import Query, tells_why
from recollect.storage.base import Filter, Floats, View

PARENTS = 8
PER_PARENT = 10
CAUSAL = 0.85  # what a causal link passes on when the query asks for a cause or an effect
HOPS = 3
BEAM = 16
DECAY = 0.8
PER_NAME = 50
UNFIT = 0.2  # how well a memory that has nothing to do with the query passes a chain on
CHAIN = 0.7  # what the best of a hop is worth, if nothing fits the query better


def follow(
    view: View, query: Query, pool: Pool, allowed: Filter, rest: Floats | None = None
) -> Pool:
    """`rest` is the vector of the query without its names; given, chains of names are walked."""
    support, behind = np.zeros(len(pool), np.float32), None
    if query.causal:
        ways = _causal(view, query, pool, allowed)
        for way in ways:
            support[way.end] = max(support[way.end], way.support)
        if query.side:
            behind = _behind(view, pool, ways)
    if rest is not None and query.entities:
        support = np.maximum(support, _chain(view, query, pool, allowed, rest))
    if not support.any():
        return pool
    given = Support(support, pool.relevance)
    return replace(pool, support=given, behind=behind, relevance=given.either())


class _Way(NamedTuple):
    """A causal link between candidates, by row, and what it passes on."""

    start: int
    end: int
    support: float


def _causal(view: View, query: Query, pool: Pool, allowed: Filter) -> list[_Way]:
    parents = np.lexsort((pool.keys, -pool.relevance))[:PARENTS]
    edges = view.edges(pool.keys[parents], allowed, PER_PARENT)
    place = _places(pool)
    return [
        _Way(place[source], place[target], CAUSAL * weight * float(pool.relevance[place[source]]))
        for source, target, weight, side in zip(
            edges.source.tolist(),
            edges.target.tolist(),
            edges.weight.tolist(),
            edges.causal.tolist(),
            strict=True,
        )
        if target in place and side and query.side in (0, side)
    ]


def _behind(view: View, pool: Pool, ways: Sequence[_Way]) -> NDArray[np.int64]:
    """Who only restates the question: nothing better leads to it, and it tells no cause or effect itself
    ("Alice left because of the commute" answers, whatever it leads to)."""
    behind = np.full(len(pool), -1, np.int64)
    chance = pool.relevance
    led_to = {way.end for way in ways if chance[way.start] >= chance[way.end]}
    starts = {way.start for way in ways} - led_to
    held = view.load([int(pool.keys[row]) for row in sorted(starts)])
    for way in sorted(ways, key=lambda way: (way.support, -way.end)):  # the strongest last
        memory = held.get(int(pool.keys[way.start]))
        if memory is not None and not tells_why(memory.text):
            behind[way.start] = way.end
    return behind


def _chain(view: View, query: Query, pool: Pool, allowed: Filter, rest: Floats) -> Floats:
    """Activation that reaches a memory over names, at most HOPS memories away from the query's.

    "Dana leads the Harbor team" says nothing about Alice: what is on the way must fit the *rest*
    of the query ("manager's team work on"), whose vector `rest` is. Each hop is judged within
    itself, so that a long chain fades by its length alone.
    """
    support = np.zeros(len(pool), np.float32)
    place = _places(pool)
    fits = view.similarity(rest, pool.keys)
    best_fit = float(np.max(fits, initial=1e-6))
    fits = np.clip(fits / best_fit, 0.0, 1.0)
    names: dict[int, float] = dict.fromkeys(query.entities, 1.0)
    walked, visited = set[int](), set[int]()
    for hop in range(HOPS):
        reached = _step(view, names, allowed, rest, best_fit)
        fresh = sorted(
            ((a, k) for k, a in reached.items() if k not in visited), key=lambda e: (-e[0], e[1])
        )[:BEAM]
        if not fresh:
            break
        walked.update(names)
        visited.update(key for _, key in fresh)
        strongest = fresh[0][0]
        names = {}
        held = view.entities_of(np.array([key for _, key in fresh], np.int64))
        for (activation, key), entities in zip(fresh, held, strict=True):
            share = DECAY**hop * (activation / strongest) ** 2
            if hop > 0 and key in place:  # those that name Alice herself need no chain
                at = place[key]
                support[at] = max(support[at], CHAIN * share * fits[at])
            for entity in entities:
                if entity not in walked:
                    names[entity] = max(names.get(entity, 0.0), share)
    return support


def _step(
    view: View, names: Mapping[int, float], allowed: Filter, rest: Floats, best_fit: float
) -> dict[int, float]:
    """From names to the memories that hold them. A name that is everywhere leads nowhere."""
    reached: dict[int, float] = {}
    for (keys, count), activation in zip(
        view.naming(list(names), allowed, PER_NAME), names.values(), strict=True
    ):
        passed = activation / (1 + 0.25 * math.log(max(count, 1)))
        fits = np.clip(view.similarity(rest, keys) / best_fit, 0.0, 1.0)
        for key, fit in zip(keys.tolist(), fits.tolist(), strict=True):
            reached[key] = max(reached.get(key, 0.0), passed * (UNFIT + (1 - UNFIT) * fit))
    return reached


def _places(pool: Pool) -> dict[int, int]:
    return {key: row for row, key in enumerate(pool.keys.tolist())}

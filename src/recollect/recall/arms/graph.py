"""Graph arm: what hangs together with the best semantic hits.

One expansion over precomputed links; a candidate's score is entity + semantic + causal, each
in [0, 1]. A deep search walks on from there: spreading activation, damped so that it ends.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from recollect.recall.understand import Query
from recollect.storage.base import Expansion, Filter, Floats, Found, Keys, View
from recollect.storage.ranking import top

SEEDS = 20
PER_ENTITY = 50
ENTITY_SLOPE = 0.5
DECAY = 0.8
CAUSAL_GAIN = 2.0
FRONTIER = 32  # nodes expanded in one round trip
FAINT = 0.05  # activation below which nothing is passed on


def graph(view: View, query: Query, seeds: Found, allowed: Filter, depth: int, walk: bool) -> Found:
    first = Found(seeds.keys[:SEEDS], seeds.scores[:SEEDS])
    if not len(first) and not query.entities:
        return Found.nothing()
    expansion = view.expand(first.keys, allowed, PER_ENTITY, query.entities)
    scores = link_score(expansion)
    found = Found(*top(scores, expansion.keys, depth))
    return _walk(view, first, found, allowed, depth) if walk else found


def link_score(expansion: Expansion) -> Floats:
    entity = np.tanh(ENTITY_SLOPE * expansion.shared_entities)
    return (entity + expansion.semantic + expansion.causal).astype(np.float32)


def _walk(view: View, seeds: Found, found: Found, allowed: Filter, depth: int) -> Found:
    """Spreading activation from the seeds and what they lead to, strongest first."""
    active: dict[int, float] = dict(
        zip(found.keys.tolist(), (found.scores / 3).tolist(), strict=True)
    )
    for key, score in zip(seeds.keys.tolist(), seeds.scores.tolist(), strict=True):
        active[key] = max(active.get(key, 0.0), score)
    direct = set(active)
    expanded: set[int] = set(seeds.keys.tolist())
    while len(active) < depth:
        frontier = sorted(
            (k for k in active if k not in expanded and active[k] > FAINT),
            key=lambda k: (-active[k], k),
        )
        if not frontier:
            break
        batch = np.array(frontier[:FRONTIER], np.int64)
        expanded.update(batch.tolist())
        _spread(view, batch, active, allowed)
    scores = dict(zip(found.keys.tolist(), found.scores.tolist(), strict=True))
    for key, activation in active.items():
        if key not in direct:  # reached by walking: below every direct neighbour of its strength
            scores[key] = activation
    keys = np.array(sorted(scores), np.int64)
    return Found(*top(np.array([scores[k] for k in keys.tolist()], np.float32), keys, depth))


def _spread(view: View, batch: Keys, active: dict[int, float], allowed: Filter) -> None:
    for source, target, weight, causal in _edges(view, batch, allowed):
        passed = min(1.0, active[source] * weight * DECAY * (CAUSAL_GAIN if causal else 1.0))
        if passed > active.get(target, 0.0):
            active[target] = passed


def _edges(view: View, batch: Keys, allowed: Filter) -> Iterator[tuple[int, int, float, int]]:
    links = view.edges(batch, allowed, PER_ENTITY)
    yield from zip(
        links.source.tolist(),
        links.target.tolist(),
        links.weight.tolist(),
        links.causal.tolist(),
        strict=True,
    )
    shared = view.sharing(batch, allowed, PER_ENTITY)
    strength = np.tanh(ENTITY_SLOPE * shared.shared)
    for source, target, weight in zip(
        shared.source.tolist(), shared.target.tolist(), strength.tolist(), strict=True
    ):
        yield source, target, weight, 0

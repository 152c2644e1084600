"""Follow: what the best hits lead to is part of the answer, though it may share no word with
the query. A reranker reads each memory by itself and buries such finds; this brings them back.

Two ways lead on. Causal links from the best hits, when the query asks for a cause or an effect
("why", "what happened after"). And, in a deep search, chains of names: "Alice's manager's team" starts at the
memories that name Alice and walks from name to name, through relevant memories first. Either
gives a memory a support in [0, 1], and relevance becomes 1 − (1 − relevance)(1 − support).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from recollect.recall.pool import Pool, Support
from recollect.recall.understand import Query
from recollect.storage.base import Filter, Floats, View

PARENTS = 8
PER_PARENT = 10
CAUSAL = 0.85  # what a causal link passes on when the query asks for a cause or an effect
HOPS = 3
BEAM = 16
DECAY = 0.8
PER_NAME = 50
UNREAD = 0.4  # how well a memory that nothing else found passes a chain on


def follow(view: View, query: Query, pool: Pool, allowed: Filter, deep: bool) -> Pool:
    support = np.zeros(len(pool), np.float32)
    if query.causal:
        support = _causal(view, pool, allowed)
    if deep and query.entities:
        support = np.maximum(support, _chain(view, query, pool, allowed))
    if not support.any():
        return pool
    relevance = 1 - (1 - pool.relevance) * (1 - support)
    return replace(
        pool, support=Support(support, pool.relevance), relevance=relevance.astype(np.float32)
    )


def _causal(view: View, pool: Pool, allowed: Filter) -> Floats:
    support = np.zeros(len(pool), np.float32)
    parents = np.lexsort((pool.keys, -pool.relevance))[:PARENTS]
    edges = view.edges(pool.keys[parents], allowed, PER_PARENT)
    strength = dict(zip(pool.keys[parents].tolist(), pool.relevance[parents].tolist(), strict=True))
    place = _places(pool)
    for source, target, weight, causal in zip(
        edges.source.tolist(),
        edges.target.tolist(),
        edges.weight.tolist(),
        edges.causal.tolist(),
        strict=True,
    ):
        at = place.get(target)
        if causal and at is not None:
            support[at] = max(support[at], CAUSAL * weight * strength[source])
    return support


def _chain(view: View, query: Query, pool: Pool, allowed: Filter) -> Floats:
    """Activation that reaches a memory over names, at most HOPS memories away from the query's."""
    support = np.zeros(len(pool), np.float32)
    place = _places(pool)
    top = float(pool.relevance.max()) if len(pool) else 0.0
    names: dict[int, float] = dict.fromkeys(query.entities, 1.0)
    walked: set[int] = set()
    for hop in range(HOPS):
        reached = _step(view, names, allowed, pool, place, top)
        walked.update(names)
        best = sorted(reached.items(), key=lambda e: (-e[1], e[0]))[:BEAM]
        for key, activation in best:
            at = place.get(key)
            if at is not None and hop > 0:  # those that name Alice herself need no chain
                support[at] = max(support[at], activation)
        names = {}
        for (_, activation), held in zip(
            best, view.entities_of(np.array([k for k, _ in best], np.int64)), strict=True
        ):
            for entity in held:
                if entity not in walked:
                    names[entity] = max(names.get(entity, 0.0), activation * DECAY)
    return support


def _step(
    view: View,
    names: Mapping[int, float],
    allowed: Filter,
    pool: Pool,
    place: Mapping[int, int],
    top: float,
) -> dict[int, float]:
    """From names to the memories that hold them. A name that is everywhere leads nowhere."""
    reached: dict[int, float] = {}
    for (keys, count), activation in zip(
        view.naming(list(names), allowed, PER_NAME), names.values(), strict=True
    ):
        passed = activation / (1 + 0.25 * math.log(max(count, 1)))
        for key in keys.tolist():
            at = place.get(key)
            fit = (
                UNREAD
                if at is None or not top
                else UNREAD + (1 - UNREAD) * float(pool.relevance[at]) / top
            )
            reached[key] = max(reached.get(key, 0.0), passed * fit)
    return reached


def _places(pool: Pool) -> dict[int, int]:
    return {key: row for row, key in enumerate(pool.keys.tolist())}

"""Temporal arm: only when a time is asked for. Memories inside the window, ranked by
similarity and closeness to its middle; then spreading over links, never out of the window."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from recollect.language.dates import to_micros
from recollect.recall.boost import closeness
from recollect.storage.base import Filter, Floats, Found, View
from recollect.storage.ranking import top
from recollect.types import Window

ENTRY_POINTS = 20
CLOSE = 0.2  # what standing in the middle of the window is worth, beside similarity in [0, 1]
DECAY = 0.8
PER_NODE = 10


def temporal(
    view: View, window: Window, vector: Floats | None, allowed: Filter, depth: int
) -> Found:
    inside = view.window(*bounds(window), allowed)
    if not len(inside):
        return Found.nothing()
    similar = (
        view.similarity(vector, inside) if vector is not None else np.zeros(len(inside), np.float32)
    )
    near = closeness(view.columns(inside), window)
    scores = (np.maximum(similar, 0) + CLOSE * near).astype(np.float32)
    keys, best = top(scores, inside, depth)
    entries = Found(keys[:ENTRY_POINTS], best[:ENTRY_POINTS])
    links = view.edges(entries.keys, allowed, PER_NODE)
    base = dict(zip(entries.keys.tolist(), entries.scores.tolist(), strict=True))
    order = np.argsort(inside)
    at = np.minimum(np.searchsorted(inside, links.target, sorter=order), len(inside) - 1)
    for source, target, weight, place in zip(
        links.source.tolist(),
        links.target.tolist(),
        links.weight.tolist(),
        order[at].tolist(),
        strict=True,
    ):
        if inside[place] == target:
            scores[place] = max(scores[place], base[source] * weight * DECAY)
    return Found(*top(scores, inside, depth))


def bounds(window: Window) -> tuple[int | None, int | None]:
    """In microseconds."""
    return _micros(window.start), _micros(window.end)


def _micros(when: datetime | None) -> int | None:
    return None if when is None else to_micros(when)

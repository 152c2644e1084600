"""Temporal arm: only when a time is asked for. Memories inside the window, ranked by
similarity and closeness to its middle; then spreading over links, never out of the window."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.language.dates import to_micros
from recollect.recall.boost import closeness
from recollect.recall.relevance import in_window
from recollect.storage.base import Filter, Floats, Found, Keys, View
from recollect.storage.ranking import top
from recollect.types import Window

ENTRY_POINTS = 20
CLOSE = 0.2  # what standing in the middle of the window is worth, beside similarity in [0, 1]
DECAY = 0.8
PER_NODE = 10


def temporal(
    view: View,
    window: Window,
    vector: Floats | None,
    allowed: Filter,
    depth: int,
    parts: Sequence[Window] = (),
) -> Found:
    """`parts` are the times asked about where the window spans several: what lies between is left out."""
    inside = view.window(*bounds(window), allowed)
    if parts and len(inside):
        inside = inside[_within(view, inside, parts)]
    if not len(inside):
        return Found.nothing()
    similar = (
        view.similarity(vector, inside) if vector is not None else np.zeros(len(inside), np.float32)
    )
    columns = view.columns(inside)
    near = np.maximum.reduce([closeness(columns, each) for each in parts or (window,)])
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


def _within(view: View, keys: Keys, parts: Sequence[Window]) -> NDArray[np.bool_]:
    columns = view.columns(keys)
    return np.maximum.reduce([in_window(columns, each) for each in parts]) > 0


def bounds(window: Window) -> tuple[int | None, int | None]:
    """In microseconds."""
    return _micros(window.start), _micros(window.end)


def _micros(when: datetime | None) -> int | None:
    return None if when is None else to_micros(when)

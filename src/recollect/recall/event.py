"""A time told by an event: "before Alice joined Google" bounds the window by that event's own
date, so the event is looked up in the bank first."""

from __future__ import annotations

import numpy as np

from recollect.language.dates import from_micros
from recollect.language.passage import is_dated
from recollect.language.terms import query_terms, term_hash
from recollect.language.time import EventAnchor, Grain, window_for_event
from recollect.models.base import Embedder
from recollect.storage.base import NO_TIME, Filter, View
from recollect.types import Window

LOOKED_AT = 5
SURE = 0.45  # cosine, or share of the event's words, that makes a memory the event


def locate(view: View, embedder: Embedder, event: EventAnchor, allowed: Filter) -> Window | None:
    """The window the event gives, or None when the bank does not know (the date of) it."""
    vector = embedder.encode_queries([event.text]).vectors[0]
    hashes = [term_hash(t) for t in query_terms(event.text)]
    by_words = view.keyword(hashes, allowed, LOOKED_AT)
    by_meaning = view.semantic(vector, allowed, LOOKED_AT, SURE)
    keys = np.union1d(by_words.keys, by_meaning.keys)
    if not len(keys):
        return None
    cover = dict(
        zip(
            by_words.keys.tolist(),
            (by_words.scores / max(view.keyword_ceiling(hashes), 1e-9)).tolist(),
            strict=True,
        )
    )
    likeness = view.similarity(vector, keys)
    score = np.array([likeness[i] + cover.get(k, 0.0) for i, k in enumerate(keys.tolist())])
    columns = view.columns(keys)
    score[(columns.happened_from == NO_TIME) | (np.maximum(likeness, score - likeness) < SURE)] = -1
    best = int(np.argmax(score))
    if score[best] < 0:
        return None
    memory = view.load([int(keys[best])])[int(keys[best])]
    # A turn bears the day it was said, or a day that it mentions; what is told with it did not
    # happen after it for that.
    if memory.speaker is not None or not is_dated(memory):
        return None
    grain = Grain(memory.occurred_grain) if memory.occurred_grain else Grain.DAY
    start, end = (
        from_micros(int(columns.happened_from[best])),
        from_micros(int(columns.happened_until[best])),
    )
    found = window_for_event(event, start, end, grain)
    near = "end" if found.start is None else "start" if found.end is None else None
    return Window(found.start, found.end, f"{event.relation} {event.text} ({start:%Y-%m-%d})", near)

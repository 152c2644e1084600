"""A time told by an event: "before Alice joined Google" bounds the window by that event's own
date, so the event is looked up in the bank first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recollect.language.dates import from_micros, to_micros
from recollect.language.passage import is_dated
from recollect.language.terms import query_terms, term_hash
from recollect.language.time import EventAnchor, Grain, window_for_event
from recollect.models.base import Embedder
from recollect.recall.boost import DAY
from recollect.recall.spelling import held_terms
from recollect.storage.base import NO_TIME, Filter, Keys, View
from recollect.types import Window

LOOKED_AT = 5
SURE = 0.45  # cosine that makes a memory the event
ITS_WORDS = 0.3  # of what its words could score, if it holds all of them: one that is not much about them is not it


def locate(
    view: View, embedder: Embedder, events: Sequence[EventAnchor], allowed: Filter
) -> Window | None:
    """The window that the events give, or None when the bank does not know (the date of) any. Of two, one that it
    does not know leaves the window open on its side."""
    held = [(each, found) for each in events if (found := _held(view, embedder, each, allowed))]
    if len(held) == 2 and _reversed(held):
        held = _in_order(view, embedder, held, allowed)
    windows = [_window(event, *found) for event, found in held]
    if not windows:
        return None
    return windows[0] if len(windows) == 1 else shared(*windows)


def shared(one: Window, other: Window) -> Window | None:
    """What two times have in common; None for "after the fire and before it"."""
    start = max((each for each in (one.start, other.start) if each), default=None)
    end = min((each for each in (one.end, other.end) if each), default=None)
    if start is not None and end is not None and start >= end:
        return None
    return Window(start, end, f"{one.text} and {other.text}")


_Span = tuple[datetime, datetime, Grain]


def _in_order(
    view: View, embedder: Embedder, held: Sequence[tuple[EventAnchor, _Span]], allowed: Filter
) -> list[tuple[EventAnchor, _Span]]:
    """Two events of which the second came first: of the first there may have been an earlier one, the outage that
    was rolled back. If not, they were named the other way round."""
    (first, later), (second, sooner) = held
    earlier = _held(view, embedder, first, allowed, by=sooner[0])
    if earlier is not None:
        return [(first, earlier), (second, sooner)]
    swapped = replace(second, relation=first.relation), replace(first, relation=second.relation)
    return [(swapped[0], sooner), (swapped[1], later)]


def _reversed(held: Sequence[tuple[EventAnchor, _Span]]) -> bool:
    """Whether what should be the end came first: it is "between" the two in any case."""
    (first, began), (second, ended) = held
    return (first.relation, second.relation) == ("since", "until") and ended[1] <= began[0]


def _window(event: EventAnchor, start: datetime, end: datetime, grain: Grain) -> Window:
    found = window_for_event(event, start, end, grain)
    near = "end" if found.start is None else "start" if found.end is None else None
    return Window(found.start, found.end, f"{event.relation} {event.text} ({start:%Y-%m-%d})", near)


def _held(
    view: View,
    embedder: Embedder,
    event: EventAnchor,
    allowed: Filter,
    by: datetime | None = None,
) -> _Span | None:
    """When it was, by the memory that tells of it; the last that had begun by then, if there are several."""
    vector = embedder.encode_queries([event.text]).vectors[0]
    terms = held_terms(view, event.text, query_terms(event.text))
    hashes = list(map(term_hash, terms))
    by_words = view.keyword(hashes, allowed, LOOKED_AT)
    by_meaning = view.semantic(vector, allowed, LOOKED_AT, SURE)
    keys = np.union1d(by_words.keys, by_meaning.keys)
    if not len(keys):
        return None
    cover = view.keyword_scores(hashes, keys) / max(view.keyword_ceiling(hashes), 1e-9)
    worded = np.all([view.keyword_scores([word], keys) > 0 for word in hashes], axis=0)
    likeness = view.similarity(vector, keys)
    score = likeness + cover
    columns = view.columns(keys)
    known = (likeness >= SURE) | (worded & (cover >= ITS_WORDS))
    known &= _numbered(view, terms, keys)
    known &= columns.happened_from != NO_TIME
    score[~known] = -1
    if by is not None:
        known &= columns.happened_from <= to_micros(by)
        score = np.where(known, columns.happened_from, NO_TIME)
    best = int(np.argmax(score))
    if not known[best]:
        return None
    memory = view.load([int(keys[best])])[int(keys[best])]
    # A turn bears the day it was said, or a day that it mentions; what is told with it did not
    # happen after it for that.
    if memory.speaker is not None or not is_dated(memory):
        return None
    grain = Grain(memory.occurred_grain) if memory.occurred_grain else Grain.DAY
    began, until = int(columns.happened_from[best]), int(columns.happened_until[best])
    if (
        event.relation == "during" and until <= began
    ):  # told at a moment: of what was with it, the day
        began -= began % DAY
        until = began + DAY
    # What is after a moment does not begin with it.
    return from_micros(began), from_micros(max(until, began + 1)), grain


def _numbered(view: View, terms: Sequence[str], keys: Keys) -> NDArray[np.bool_]:
    """Whether they hold the numbers of the event: to a model the release of 2.5.0 is much like that of 4.5.0."""
    held = np.ones(len(keys), np.bool_)
    for term in terms:
        if term.isalnum() and any(map(str.isdigit, term)):
            ways = {term, term.removeprefix("v"), f"v{term}"}
            held &= view.keyword_scores([term_hash(way) for way in sorted(ways)], keys) > 0
    return held

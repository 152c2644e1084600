"""Candidates made by hand: what fusion, boosts and packing read of each memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from recollect.recall.pool import Pool
from recollect.storage.base import NO_TIME, Columns, Found, Keys

_PLAIN: Mapping[str, tuple[Any, Any]] = {
    "type": (0, np.uint8),
    "state": (0, np.uint8),
    "happened_from": (NO_TIME, np.int64),
    "happened_until": (NO_TIME, np.int64),
    "recent": (NO_TIME, np.int64),
    "known_from": (NO_TIME, np.int64),
    "known_until": (NO_TIME, np.int64),
    "fresh_from": (NO_TIME, np.int64),
    "valid_until": (NO_TIME, np.int64),
    "lifetime_days": (np.nan, np.float32),
    "proof": (1, np.int32),
    "tokens": (1, np.int32),
}


def columns(keys: Sequence[int] | Keys, **given: Any) -> Columns:
    """Undated, plain memories, but for the columns given (a value for all, or one a key)."""
    values: dict[str, Any] = {}
    given.setdefault("recent", given.get("happened_until", NO_TIME))
    for field in fields(Columns):
        if field.name != "keys":
            plain, dtype = _PLAIN.get(field.name, (0, np.int64))
            filled = np.asarray(given.get(field.name, plain), dtype)
            values[field.name] = np.broadcast_to(filled, len(keys)).copy()
    return Columns(np.asarray(keys, np.int64), **values)


def pool(finals: Sequence[float], tokens: Sequence[int]) -> Pool:
    """A ranking whose final scores and costs are known."""
    keys = np.arange(1, len(finals) + 1)
    scores = np.asarray(finals, np.float32)
    return Pool(keys, {}, scores, columns(keys, tokens=tokens), relevance=scores, final=scores)


def found(keys: Iterable[int]) -> Found:
    """What an arm says, best first, with scores that fall."""
    given = np.array(list(keys), np.int64)
    return Found(given, np.linspace(9, 1, len(given)).astype(np.float32))


class PlainView:
    """The one thing that fusion asks of a view."""

    def columns(self, keys: Keys) -> Columns:
        return columns(keys)

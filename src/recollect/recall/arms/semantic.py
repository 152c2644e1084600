"""Semantic arm: nearest by meaning, cosine on embeddings, similarity ≥ 0.3."""

from __future__ import annotations

from recollect.storage.base import Filter, Floats, Found, View


def semantic(view: View, vector: Floats, allowed: Filter, depth: int, floor: float) -> Found:
    return view.semantic(vector, allowed, depth, floor)

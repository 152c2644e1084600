"""Keyword arm: Okapi BM25 over weighted fields; names and codes match exactly."""

from __future__ import annotations

from recollect.recall.understand import Query
from recollect.storage.base import Filter, Found, View


def keyword(view: View, query: Query, allowed: Filter, depth: int) -> Found:
    return view.keyword(query.hashes, allowed, depth)

"""Counts that every store gives in the same form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any


def link_counts(rows: Iterable[tuple[Any, ...]]) -> dict[str, dict[str, int]]:
    """From (type, kind, count): by the type of the memory that links start from, and by kind."""
    out: dict[str, dict[str, int]] = {}
    for source, kind, count in rows:
        out.setdefault(source, {})[kind] = int(count)
    return out


def total_links(by_type: Mapping[str, Mapping[str, int]]) -> Mapping[str, int]:
    out = Counter[str]()
    for kinds in by_type.values():
        out.update(kinds)
    return dict(out)

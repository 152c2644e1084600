"""Memories that were decoded, by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.storage.index.decoded import Decoded

KEYS = st.lists(st.integers(1, 30), max_size=8)


class File:
    """What is stored, and what was read of it. Any object will do for a memory."""

    def __init__(self, keys: Sequence[int]) -> None:
        self.stored: dict[int, Any] = {key: object() for key in keys}
        self.read: list[int] = []

    def __call__(self, keys: Sequence[int]) -> Mapping[int, Any]:
        self.read.extend(keys)
        return {key: self.stored[key] for key in keys if key in self.stored}


@given(KEYS, st.lists(KEYS, max_size=5))
def test_each_is_read_once_and_given_in_the_order_asked_for(
    stored: list[int], asked: list[list[int]]
) -> None:
    file, decoded = File(stored), Decoded()
    for keys in asked:
        found = decoded.load(keys, file)
        assert list(found.items()) == [(k, file.stored[k]) for k in found]
        assert list(found) == [k for k in dict.fromkeys(keys) if k in file.stored]
    there = [key for key in file.read if key in file.stored]
    assert len(there) == len(set(there)) <= len(decoded)


@given(KEYS, KEYS)
def test_what_changed_is_read_again_and_older_views_keep_theirs(
    stored: list[int], changed: list[int]
) -> None:
    file, decoded = File(stored), Decoded()
    decoded.load(stored, file)
    later = decoded.without(set(changed))
    file.read.clear()
    decoded.load(stored, file)
    assert file.read == []
    later.load(stored, file)
    assert sorted(file.read) == sorted(set(stored) & set(changed))

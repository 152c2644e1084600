"""Tags as somebody remembers them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from recollect import Recollect
from recollect.recall.fuzzy import alike

TAGS = {"typescript": 3, "javascript": 2, "gardening": 1}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("typescript", ["typescript"]),
        ("typsecript", ["typescript"]),
        ("Gardning", ["gardening"]),
        ("quantum", ["quantum"]),
    ],
)
def test_a_tag_is_resolved_to_those_it_is_like_best_first(said: str, meant: list[str]) -> None:
    assert alike(said, TAGS) == meant


@pytest.fixture
def bank(memory: Recollect) -> Iterator[str]:
    memory.retain("f", {"text": "Ada writes code.", "tags": ["typescript", "work"]})
    memory.retain("f", {"text": "Bob writes letters.", "tags": ["gardening"]})
    memory.retain("f", {"text": "Cara writes poems."})
    yield "f"
    memory.delete_bank("f")


@pytest.mark.parametrize(
    ("leaf", "names"),
    [
        ({"tags": ["typsecript"]}, set()),
        ({"tags": ["typsecript"], "resolve": "fuzzy"}, {"Ada"}),
        ({"tags": ["typsecript", "gardenin"], "resolve": "fuzzy"}, {"Ada", "Bob"}),
        ({"tags": ["typsecript", "works"], "match": "all_strict", "resolve": "fuzzy"}, {"Ada"}),
        ({"tags": ["typsecript", "works"], "match": "all", "resolve": "fuzzy"}, {"Ada", "Cara"}),
        ({"tags": ["gardenin"], "match": "exact", "resolve": "fuzzy"}, {"Bob"}),
        ({"not": {"tags": ["gardenin"], "resolve": "fuzzy"}}, {"Ada", "Cara"}),
        ({"or": [{"tags": ["gardenin"], "resolve": "fuzzy"}, {"tags": ["work"]}]}, {"Ada", "Bob"}),
        ({"tags": ("typsecript",), "resolve": "fuzzy"}, {"Ada"}),
        ({"tags": {"typsecript"}, "resolve": "fuzzy"}, {"Ada"}),
        ({"or": ({"tags": ["gardenin"], "resolve": "fuzzy"}, {"tags": ["work"]})}, {"Ada", "Bob"}),
        ({"tags": [], "match": "all", "resolve": "fuzzy"}, {"Ada", "Bob", "Cara"}),
    ],
)
def test_groups_filter_by_what_their_tags_mean(
    memory: Recollect, bank: str, leaf: dict[str, Any], names: set[str]
) -> None:
    found = memory.recall(bank, "Who writes?", tag_groups=[leaf])
    assert {h.text.split()[0] for h in found} == names


def test_groups_that_can_be_read_only_once_are_resolved_too(memory: Recollect, bank: str) -> None:
    groups = ({"tags": iter(tags), "resolve": "fuzzy"} for tags in (["typsecript"], ["works"]))
    assert [h.text for h in memory.recall(bank, "Who writes?", tag_groups=groups)] == [
        "Ada writes code."
    ]


def test_listings_read_groups_as_recall_does(memory: Recollect, bank: str) -> None:
    meant = [{"tags": ["typsecript"], "resolve": "fuzzy"}]
    assert [m.text for m in memory.memories(bank, tag_groups=meant)] == ["Ada writes code."]
    assert memory.count(bank, tag_groups=meant) == 1

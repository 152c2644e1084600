"""Words that only look like times."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.language.time import read_times

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
TRAPS = [
    line
    for line in (Path(__file__).parent / "traps.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_the_list_is_long_enough() -> None:
    assert len(TRAPS) >= 200


@pytest.mark.parametrize("sentence", TRAPS)
def test_an_ordinary_sentence_has_no_time(sentence: str) -> None:
    assert [each.text for each in read_times(sentence, NOW) if each.range] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Alice left in May.",
        "We met on 5 June 2024.",
        "It may rain in March.",
        "April left in April 2023.",
    ],
)
def test_the_same_words_are_times_where_they_are_meant_so(sentence: str) -> None:
    assert any(each.range for each in read_times(sentence, NOW))


def test_what_english_leaves_out_is_no_elided_article() -> None:
    assert read_times("C'mon, we should try it.", NOW) == ()

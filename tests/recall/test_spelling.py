"""A spelling that the bank does not have is not asked for: older banks are searched as they ever were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Recollect
from recollect.language import terms
from recollect.recall import understand

TOLD = {
    "name": "Herr Müller rief wegen der Heizung an.",
    "flag": "With --chunks the source of each memory comes along.",
    "cat": "Look what I found 🐈 in the garden",
    "other": "The garden gate is broken.",
}
ASKED = [
    "Wer ist Müller?",
    "Muller",
    "What does --chunks do?",
    "garden 🐈",
    "--chunks and Müller 🐈",
]
DAY = "2026-01-02"


@contextmanager
def as_before() -> Iterator[None]:
    """Flags, emoji and spellings were no terms."""
    with pytest.MonkeyPatch.context() as patch:
        none: Any = lambda text: None  # noqa: E731
        patch.setattr(terms, "_HAS_FLAG", none)
        patch.setattr(terms, "has_emoji", none)
        patch.setattr(understand, "flags", lambda text: [])  # pyright: ignore[reportUnknownLambdaType]
        patch.setattr(terms, "_PLAIN_LETTERS", {})
        _forget()
        yield
    _forget()


def _forget() -> None:
    for cached in (terms._terms_of, terms._hashes_of):  # pyright: ignore[reportPrivateUsage]
        cached.cache_clear()


def answered(path: Path, query: str) -> list[tuple[str, float]]:
    with recollect.open(path) as memory:
        return [(hit.id, hit.score) for hit in memory.recall("b", query, query_timestamp=DAY)]


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("older") / "memory.db"
    with as_before(), recollect.open(path) as memory:
        memory.retain("b", [{"id": id, "text": text} for id, text in TOLD.items()], timestamp=DAY)
    return path


@pytest.mark.parametrize("query", ASKED)
def test_an_older_bank_answers_as_it_did(older: Path, query: str) -> None:
    with as_before():
        before = answered(older, query)
    assert before and answered(older, query) == before


@pytest.mark.parametrize(
    ("query", "found"), [("What does --chunks do?", "flag"), ("--chunks", "flag")]
)
def test_a_flag_is_found_in_an_older_bank_by_its_words(older: Path, query: str, found: str) -> None:
    assert answered(older, query)[0][0] == found


def test_of_two_spellings_those_are_asked_for_that_are_there(memory: Recollect) -> None:
    memory.retain("spelt", {"id": "m", "text": "Herr Mueller rief an.", "timestamp": DAY})
    (hit,) = memory.recall("spelt", "Müller", query_timestamp=DAY)
    assert (
        hit.scores["keyword"]
        == memory.recall("spelt", "Mueller", query_timestamp=DAY).results[0].scores["keyword"]
    )


def test_an_event_is_found_by_a_name_that_is_spelt_otherwise(memory: Recollect) -> None:
    memory.retain(
        "event",
        [
            {"id": "m", "text": "The Münster festival took place.", "occurred_start": "2024-05-03"},
            {"id": "after", "text": "Ann bought a boat.", "occurred_start": "2024-05-09"},
            {"id": "long ago", "text": "Ann bought a car.", "occurred_start": "2001-05-09"},
        ],
        timestamp="2024-06-01",
    )
    result = memory.recall("event", "What did Ann buy after the Muenster festival?")
    assert result.results[0].id == "after"

"""One store for all tests of the read path: real SQLite, the real embedder, many small banks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import recollect
from recollect import Recollect


@pytest.fixture(scope="session")
def memory() -> Iterator[Recollect]:
    with recollect.open(":memory:") as opened:
        yield opened


@pytest.fixture(scope="session")
def story(memory: Recollect) -> str:
    """A small bank in which everything is about something else."""
    memory.retain(
        "story",
        [
            {
                "id": "job",
                "text": "Alice works at Google as a research engineer.",
                "timestamp": "2026-03-02",
            },
            {"id": "cat", "text": "Bob adopted a grey cat called Miso.", "timestamp": "2026-04-11"},
            {
                "id": "ticket",
                "text": "The outage was tracked as PROJ-1234.",
                "timestamp": "2026-05-20",
            },
            {
                "id": "bread",
                "text": "Carla bakes sourdough bread every Sunday.",
                "timestamp": "2026-06-07",
            },
            {
                "id": "trip",
                "text": "Dan flew to Lisbon for a conference.",
                "timestamp": "2026-06-18",
            },
            {
                "id": "guitar",
                "text": "Erin is learning to play the guitar.",
                "timestamp": "2026-07-01",
            },
            {
                "id": "flat",
                "text": "Frank moved into a flat near the harbour.",
                "timestamp": "2026-07-15",
            },
            {"id": "allergy", "text": "Gina is allergic to peanuts.", "timestamp": "2026-08-09"},
        ],
    )
    return "story"

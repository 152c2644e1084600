"""One store for all tests of the read path: real SQLite, the real embedder, many small banks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

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


@pytest.fixture(scope="session")
def reopen(memory: Recollect) -> Iterator[Callable[..., Recollect]]:
    """The same store under other settings, with the embedder that is loaded already."""
    opened: list[Recollect] = []

    def again(**settings: Any) -> Recollect:
        other = recollect.open(memory._store.path, **settings)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        other.__dict__["embedder"] = memory.embedder
        opened.append(other)
        return other

    yield again
    for other in opened:
        other.close()


ACTIVITIES = [
    "repaired the garden fence", "ran ten kilometres", "read a novel about the sea", "cooked lentil soup",
    "visited the science museum", "practised the violin", "painted the kitchen wall", "planted tomatoes",
    "met an old school friend", "fixed the bicycle brakes", "watched a chess match", "baked rye bread",
    "cleaned the attic", "learned a card trick", "wrote a letter to the council", "swam in the lake",
]  # fmt: skip
PEOPLE = ["Nadia", "Oskar", "Priya", "Ravi", "Selma", "Tomas", "Ulla", "Viktor", "Wanda", "Yusuf"]
MONTHS = [(2025 + (m // 12), m % 12 + 1) for m in range(18)]


@pytest.fixture(scope="session")
def diary(memory: Recollect) -> str:
    """612 dated facts, 34 in each of 18 months; the same people do the same things all the time."""
    random = Random(7)
    facts: list[dict[str, Any]] = []
    for year, month in MONTHS:
        pairs = [(p, a) for p in PEOPLE for a in ACTIVITIES]
        for n, (person, activity) in enumerate(random.sample(pairs, 34)):
            day = 1 + (n * 5) % 27
            facts.append(
                {
                    "id": f"{year}-{month:02}-{n}",
                    "text": f"{person} {activity}.",
                    "occurred_start": f"{year}-{month:02}-{day:02}",
                    "timestamp": f"{year}-{month:02}-{day:02}T18:00:00Z",
                }
            )
    random.shuffle(facts)
    made = memory.retain("diary", facts)
    assert len(made.new) == 612, "the facts differ enough to stay apart"
    return "diary"

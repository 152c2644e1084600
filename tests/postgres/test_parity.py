"""The same bank and query rank the same in SQLite and in PostgreSQL: ids, order, scores."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

import recollect
from recollect import Recollect
from recollect.cli.demo import BANK, QUESTIONS, TODAY, story
from recollect.eval import load
from recollect.eval.load import data_folder
from recollect.recall.result import RecallResult
from recollect.storage.postgres.store import PostgresStore

SCORES = 1e-4
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"budget": "low"},
    {"budget": "high"},
    {"types": ["experience", "opinion"]},
    {"tags": ["work"], "tags_match": "any"},
    {"tags": ["work", "home"], "tags_match": "all_strict"},
    {"tags": ["work"], "tags_match": "exact"},
    {"tag_groups": [{"not": {"tags": ["work"], "match": "any_strict"}}]},
    {"as_of": datetime(2024, 3, 1, tzinfo=UTC)},
    {"temporal_window": (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 7, 1, tzinfo=UTC))},
    {"expand_hops": 1, "include_chunks": True},
    {"without": ("rerank",)},
)
REQUESTS = (
    "Could you plan a dinner for us?",
    "Write to the landlord, please.",
    "Could you draft xqzv?",
)
TIME_QUESTIONS = (
    "What happened in February 2024?",
    "what did she say last month",
    "before 2025",
    "Was it in January 2024 or in May 2024?",
)


@pytest.fixture(scope="module", params=[0, 2_000_000], ids=["searched there", "held here"])
def both(
    tmp_path_factory: pytest.TempPathFactory, postgres: str, request: pytest.FixtureRequest
) -> Iterator[tuple[Recollect, Recollect]]:
    """The same banks in either store, with the shipped model; searched by the server, or held."""
    name = f"parity_{uuid4().hex[:12]}"
    path = tmp_path_factory.mktemp("parity") / "memory.db"
    server = recollect.open(postgres, pg_schema=name, held_facts=request.param)
    with recollect.open(path) as one, server as two:
        one.retain(BANK, story())
        brought(one, two, BANK)
        yield one, two
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def test_the_story_is_recalled_alike(both: tuple[Recollect, Recollect]) -> None:
    for question in QUESTIONS:
        options = {"query_timestamp": TODAY, **question.options}
        alike(both, BANK, question.query, options)


def test_a_development_bank_is_recalled_alike_however_it_is_asked(
    both: tuple[Recollect, Recollect],
) -> None:
    bank, questions = development(both)
    for n, options in enumerate(OPTIONS):
        for question in questions[n::6][:3]:
            alike(both, bank, question, options)


def test_times_are_looked_for_alike(both: tuple[Recollect, Recollect]) -> None:
    bank, _ = development(both)
    for question in TIME_QUESTIONS:
        alike(both, bank, question, {"query_timestamp": "2024-06-15"})


def test_other_spellings_are_asked_for_alike(both: tuple[Recollect, Recollect]) -> None:
    one, two = both
    one.retain(
        "spelt",
        [
            {"id": "own", "text": "Herr Müller brought a cat 🐈."},
            {"id": "plain", "text": "Mr Mueller ran it with --chunks."},
            {"id": "words", "text": "Chunks were cut by Mr Muller."},
        ],
        timestamp="2024-06-15",
    )
    brought(one, two, "spelt")
    for query in ("Müller", "Mueller", "Muller", "What does --chunks do?", "🐈", "🐕 and --chunk"):
        alike(both, "spelt", query, {"query_timestamp": "2024-06-15"})


def test_standing_wishes_are_brought_alike(both: tuple[Recollect, Recollect]) -> None:
    bank, _ = development(both)
    for request in REQUESTS:
        alike(both, bank, request, {})


def test_listings_are_alike_page_by_page(both: tuple[Recollect, Recollect]) -> None:
    one, two = both
    if one.store.bank("days") is None:
        for day in (3, 1, None, 2):  # several of one moment, some of none
            when = "unset" if day is None else f"2026-05-0{day}"
            given = [
                {"text": f"Fact {n} of {when}", "timestamp": when, "document_id": f"d{n % 4}",
                 "update_mode": "append", "type": ("world", "opinion")[n % 2], "tags": ["work"] * (n % 3)}
                for n in range(9)
            ]  # fmt: skip
            one.retain("days", given)
        brought(one, two, "days")
    for bank in (BANK, "days"):
        for where in ({}, {"type": "opinion"}, {"tags": ["work"]}, {"time_field": "created_at"}):
            wanted = [m.id for m in one.memories(bank, limit=10_000, **where)]
            found: list[str] = []
            while page := two.memories(bank, limit=4, after=found[-1] if found else None, **where):
                found += [m.id for m in page]
            assert found == wanted
        for where in ({}, {"time_field": "created_at"}, {"contains": "fact"}):
            listed = [[d.id for d in m.documents(bank, limit=10_000, **where)] for m in both]
            assert listed[0] == listed[1]


def test_why_not_says_the_same(both: tuple[Recollect, Recollect]) -> None:
    one, two = both
    for memory in one.memories(BANK, limit=5):
        said = [
            [
                (s.stage, s.passed, s.says)
                for s in m.why(BANK, QUESTIONS[0].query, memory.id, query_timestamp=TODAY).stages
            ]
            for m in (one, two)
        ]
        assert said[0] == said[1]


def development(both: tuple[Recollect, Recollect]) -> tuple[str, list[str]]:
    """A few hundred turns of real conversations with questions, where the data is present."""
    folder = data_folder()
    if folder is None:
        pytest.skip("the development data is not here")
    dialogues = load(folder / "memory" / "friendsqa_dev.json.gz").banks[:12]
    one, two = both
    if one.store.bank("dialogue") is None:
        kinds = ("world", "experience", "opinion")
        tags = ([], ["work"], ["home"], ["work", "home"])
        items = [
            {
                "text": unit.text,
                "speaker": unit.speaker,
                "timestamp": f"2024-{1 + n % 12:02}-{1 + n % 28:02}",
                "tags": tags[n % 4],
                "type": kinds[n % 3],
            }
            for n, unit in enumerate(unit for d in dialogues for unit in d.units)
        ]
        one.retain("dialogue", items)
        brought(one, two, "dialogue")
    return "dialogue", [query.text for d in dialogues for query in d.queries]


def brought(one: Recollect, two: Recollect, bank: str) -> None:
    two.import_bank(one.export(bank))
    assert isinstance(two.store, PostgresStore)
    assert two.store.hold(bank) == bool(two.settings.held_facts)


def alike(
    both: tuple[Recollect, Recollect], bank: str, query: str, options: dict[str, Any]
) -> None:
    one, two = (m.recall(bank, query, **options) for m in both)
    assert (one.degraded, two.degraded) == ((), ())
    assert [hit.id for hit in one] == [hit.id for hit in two], (query, options)
    for a, b in zip(one, two, strict=True):
        assert abs(a.score - b.score) <= SCORES, (query, options, a.id)
        assert a.memory == b.memory
    assert shape(one) == shape(two)


def shape(result: RecallResult) -> tuple[Any, ...]:
    arms = [{arm: s.rank for arm, s in hit.arms.items()} for hit in result]
    return (result.nothing_known, result.tokens, result.window, result.chunks, arms)

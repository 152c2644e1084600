"""Hits written quickly say what hits written one by one say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from recollect.memory import Recollect
from recollect.recall.result import RecallResult
from recollect.server import briefs, render
from recollect.server.respond import Json
from recollect.testing import open_fake


@pytest.fixture
def memory() -> Iterator[Recollect]:
    with open_fake(":memory:") as opened:
        yield opened


def quickly(result: RecallResult) -> list[dict[str, Any]]:
    return orjson.loads(Json(render.recalled(result)).body)["results"]


def one_by_one(result: RecallResult) -> list[dict[str, Any]]:
    return orjson.loads(Json([render.hit(hit) for hit in result.results]).body)


ITEMS = [
    {"text": "Alice sails to Rome.", "tags": ["sea", "a\"b"], "timestamp": "2024-05-01"},
    {"text": 'Alice sails: "},{" is no end, nor is \\ or é.', "metadata": {"n": {"x": [1, None]}}},
    {"text": "Alice sails home.", "speaker": "Bob", "context": "chat", "document_id": "d"},
    {"text": "Alice sails.", "type": "opinion", "confidence": 0.4, "metadata": {"k": "},{"}},
]  # fmt: skip


@pytest.mark.parametrize("query", ["Where does Alice sail?", "Rome", "sails home in May 2024"])
def test_every_field_is_the_same(memory: Recollect, query: str) -> None:
    memory.retain("b", ITEMS)
    result = memory.recall("b", query)
    assert result.results
    assert quickly(result) == quickly(result) == one_by_one(result)


def test_a_neighbour_says_that_it_is_one(memory: Recollect) -> None:
    memory.retain("b", ITEMS)
    found = memory.recall("b", "Where does Alice sail?")
    first, *rest = found.results
    result = replace(found, results=(replace(first, hop=1), *rest))
    assert quickly(result)[0]["hop"] == 1
    assert quickly(result) == one_by_one(result)


def test_nothing_is_an_empty_list(memory: Recollect) -> None:
    memory.retain("b", "Alice sails.")
    assert quickly(memory.recall("b", "sails", min_score=1.0, types=["observation"])) == []


def test_a_corrected_memory_is_written_anew(memory: Recollect) -> None:
    (known,) = memory.retain("b", "Alice sails to Rome.").new
    quickly(memory.recall("b", "Where does Alice sail?"))
    memory.update("b", known, text="Alice sails to Oslo.")
    (hit,) = quickly(memory.recall("b", "Where does Alice sail?"))
    assert hit["text"] == "Alice sails to Oslo."


def test_no_more_is_kept_than_there_is_room_for(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(briefs, "MOST", 2)
    memory.retain("b", ITEMS)
    kept = briefs.Briefs(render.brief)
    result = memory.recall("b", "Alice sails")
    kept.array(result.results)
    assert len(result.results) > 2 >= len(kept._kept.memories) == len(kept._kept.said)


def test_what_is_kept_is_not_taken_for_another_memory(memory: Recollect) -> None:
    """An object that is gone may leave its identity to the next one."""
    memory.retain("b", "Alice sails.")
    (hit,) = memory.recall("b", "sails").results
    kept = briefs.Briefs(lambda m: {"text": m.text})
    texts = [f"Alice sails to port {n}." for n in range(200)]
    said = [kept.of([replace(hit.memory, text=text)])[0] for text in texts]
    assert said == [b'"text":"%b"' % text.encode() for text in texts]

"""Banks with models of one's own: each part does its work without the others, and says when it can't."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect
from recollect import Recollect
from recollect.errors import ModelError, OtherModel

from .conftest import Service

FACTS = [
    "Alice works in Zurich.",
    "Bob has a dog named Rex.",
    "The deploy runs on Tuesday.",
]
QUERY = "Who has a dog?"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def plain(db: Path) -> Iterator[Recollect]:
    """The shipped models without token vectors."""
    with recollect.open(db, token_vectors=False) as memory:
        memory.retain("a", FACTS)
        yield memory


def opened(db: Path, service: Service, **settings: Any) -> Recollect:
    return recollect.open(db, embedder=f"tei+{service.url}#theirs", **settings)


def token_vectors(memory: Recollect) -> list[Any]:
    view = memory.store.view("a")
    keys = {view.key_of(found.id) or 0 for found in memory.memories("a")}
    return view.token_vectors(np.array(sorted(keys), np.int64))


# --- token vectors turned off --------------------------------------------------------------------


def test_token_vectors_that_are_turned_off_are_not_kept(plain: Recollect) -> None:
    assert token_vectors(plain) == [None, None, None]


def test_a_corrected_memory_keeps_none_either(plain: Recollect) -> None:
    first = plain.recall("a", QUERY).results[0]
    plain.update("a", first.id, text="Bob has a cat named Rex.")
    assert token_vectors(plain) == [None, None, None]


def test_a_bank_without_token_vectors_is_read_by_the_cross_encoder(plain: Recollect) -> None:
    result = plain.recall("a", QUERY)
    assert result.results[0].text == FACTS[1]
    assert "cross-encoder" in result.timings
    assert result.degraded == ()


def test_memories_without_token_vectors_keep_their_place_among_those_with_them(
    plain: Recollect, db: Path
) -> None:
    with recollect.open(db, reranker="late-interaction") as memory:
        memory.retain("a", "Carla likes long walks by the lake.")
        result = memory.recall("a", QUERY)
    assert result.results[0].text == FACTS[1]
    assert not result.nothing_known


@pytest.mark.parametrize("kept", [(), ("The office in Oslo opens at nine.",)])
def test_the_cross_encoder_judges_what_has_no_token_vectors_without_them(
    db: Path, kept: tuple[str, ...]
) -> None:
    with recollect.open(db) as memory:
        memory.retain("a", kept)
    with recollect.open(db, token_vectors=False) as memory:
        memory.retain("a", FACTS)
        plain = memory.recall("a", QUERY, query_timestamp="2026-01-01").results[0]
    with recollect.open(db) as memory:
        best = memory.recall("a", QUERY, query_timestamp="2026-01-01").results[0]
    assert (best.text, best.score) == (FACTS[1], plain.score)


def test_reembedding_takes_the_token_vectors_of_a_bank_away(db: Path) -> None:
    with recollect.open(db) as memory:
        memory.retain("a", FACTS)
    with recollect.open(db, token_vectors=False) as memory:
        memory.reembed("a")
        assert token_vectors(memory) == [None, None, None]


def test_late_interaction_by_name_says_that_there_are_no_token_vectors(db: Path) -> None:
    with recollect.open(db, token_vectors=False, reranker="late-interaction") as memory:
        memory.retain("a", FACTS)
        assert [d.part for d in memory.recall("a", QUERY).degraded] == ["rerank"]


# --- services ------------------------------------------------------------------------------------


def test_a_reranker_of_ones_own_reads_what_an_embedder_of_ones_own_found(
    db: Path, service: Service
) -> None:
    with opened(db, service, reranker=f"tei+{service.url}") as memory:
        memory.retain("a", FACTS)
        result = memory.recall("a", QUERY)
    assert "/rerank" in [path for path, _, _ in service.requests]
    assert result.degraded == ()


def test_the_explanation_of_a_score_without_token_vectors_names_the_cross_encoder(
    plain: Recollect,
) -> None:
    hit = plain.recall("a", QUERY, explain=True).results[0]
    assert "cross-encoder" in str(hit.explanation)


def test_a_reranker_that_is_late_leaves_the_order_before_it_when_time_is_up(
    db: Path, service: Service
) -> None:
    service.delay = threading.Event()
    with recollect.open(db, reranker=f"tei+{service.url}") as memory:
        memory.retain("a", FACTS)
        memory.recall("a", QUERY, budget="low")  # what is loaded once is loaded
        # The service never answers, so any deadline comes first; a busy machine needs a longer one to
        # get as far as asking it.
        for seconds in (2, 4, 8, 16, 32):
            result = memory.recall("a", QUERY, deadline_ms=1000 * seconds)
            if service.requests:
                break
    assert [path for path, _, _ in service.requests] == ["/rerank"]  # closing waited for no more
    assert result.results[0].text == FACTS[1]
    assert {d.part: d.reason for d in result.degraded} == {
        "cross-encoder": "the deadline came first"
    }


def test_a_reranker_is_waited_for_as_long_as_is_set(db: Path, service: Service) -> None:
    service.delay = threading.Event()
    with recollect.open(db, reranker=f"tei+{service.url}", rerank_timeout_ms=3000) as memory:
        memory.retain("a", FACTS)
        result = memory.recall("a", QUERY)
    assert [path for path, _, _ in service.requests] == ["/rerank"]  # and not asked again
    assert result.results[0].text == FACTS[1]
    assert [d.part for d in result.degraded] == ["cross-encoder"]


def test_an_embedder_is_waited_for_as_long_as_is_set(db: Path, service: Service) -> None:
    service.delay = threading.Event()
    with (
        opened(db, service, model_timeout_s=0.1) as memory,
        pytest.raises(ModelError, match="timed out"),
    ):
        memory.retain("a", FACTS)


def test_a_bank_can_be_asked_by_a_process_that_finds_its_embedder_gone(
    db: Path, service: Service
) -> None:
    with opened(db, service, reranker="none") as memory:
        memory.retain("a", FACTS)
    service.failures = [500] * 9
    with opened(db, service, reranker="none") as memory:
        result = memory.recall("a", QUERY)
    assert result.results[0].text == FACTS[1]
    assert [d.part for d in result.degraded] == ["embed"]


def test_a_bank_takes_nothing_new_while_its_embedder_is_gone(db: Path, service: Service) -> None:
    with opened(db, service) as memory:
        memory.retain("a", FACTS)
    service.failures = [500] * 9
    with opened(db, service) as memory, pytest.raises(ModelError, match="does not answer"):
        memory.retain("a", "Dana drinks tea.")


def test_the_way_back_to_a_model_that_is_not_shipped_is_no_name_that_cannot_be_given(
    db: Path, service: Service
) -> None:
    with opened(db, service) as memory:
        memory.retain("a", FACTS)
    with recollect.open(db) as memory, pytest.raises(OtherModel) as raised:
        memory.recall("a", QUERY)
    assert "embedder='theirs'" not in (raised.value.hint or "")
    assert "recollect reembed a" in (raised.value.hint or "")

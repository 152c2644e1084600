"""What is kept between queries on one state of a bank, and gathered when it is asked for, changes no
answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory, Recollect
from recollect.errors import OtherModel
from recollect.language.terms import query_terms, term_hash
from recollect.storage.base import Columns, Edges, Filter
from recollect.storage.index import snapshot as kept
from recollect.storage.sqlite import read
from recollect.testing import open_fake

from .banks import key_of, plain, snapshot, view_of

WORDS = ["zor", "bek", "lum", "tig", "vad", "pex"]
FACTS = [
    plain("zor bek lum", title="zor"),
    plain("bek bek tig"),
    plain("vad", summary="bek zor"),
    plain("pex zor tig vad lum"),
]


def hashes(words: list[str]) -> tuple[int, ...]:
    return tuple(term_hash(t) for t in query_terms(" ".join(words)))


def scored(facts: list[Memory], words: list[str]) -> list[float]:
    return snapshot(facts).bm25(hashes(words)).tolist()


@pytest.fixture
def memory() -> Iterator[Recollect]:
    with open_fake(":memory:") as memory:
        memory.retain(
            "b",
            [
                {"text": "Rain fell all night.", "id": "rain"},
                {"text": "The cellar flooded.", "id": "flood", "causal_relations": CAUSED},
                {"text": "Nobody slept.", "id": "sleep", "causal_relations": CAUSED},
            ],
        )
        yield memory


CAUSED = [{"type": "caused_by", "target": 0, "weight": 0.9}]


def linked(memory: Recollect, *ids: str) -> list[tuple[int, int, float, int]]:
    view = view_of(memory, "b")
    keys = np.array([key_of(view, i) for i in ids], np.int64)
    edges: Edges = view.edges(keys, Filter(), 50)
    found = (edges.source, edges.target, edges.weight, edges.causal)
    return list(zip(*(column.tolist() for column in found), strict=True))


# --- words -------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=1, max_size=12))
def test_a_word_that_was_asked_for_before_scores_as_the_first_time(asked: list[list[str]]) -> None:
    held = snapshot(FACTS)
    for words in asked:
        assert held.bm25(hashes(words)).tolist() == scored(FACTS, words)


def test_words_score_the_same_when_too_many_were_asked_for_to_keep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kept, "_PLACES_KEPT", 1)
    monkeypatch.setattr(kept, "_QUERIES_KEPT", 1)
    held = snapshot(FACTS)
    for words in (["zor", "bek"], ["tig"], ["bek", "vad", "lum"], ["zor", "bek"]):
        assert held.bm25(hashes(words)).tolist() == scored(FACTS, words)


# --- links -------------------------------------------------------------------------------------


def test_links_that_were_asked_for_before_are_the_same(memory: Recollect) -> None:
    first = linked(memory, "rain", "flood", "sleep")
    assert len(first) == 4
    assert linked(memory, "rain", "flood", "sleep") == first


def test_links_asked_for_in_part_before_come_key_by_key(memory: Recollect) -> None:
    each = [*linked(memory, "rain"), *linked(memory, "flood"), *linked(memory, "sleep")]
    linked(memory, "sleep")
    assert linked(memory, "sleep", "rain", "flood") == each


def test_a_memory_without_links_has_none_when_asked_again(memory: Recollect) -> None:
    memory.retain("b", {"text": "Quartz is hard.", "id": "quartz"})
    assert linked(memory, "quartz") == linked(memory, "quartz") == []


def test_links_are_the_same_when_too_many_were_asked_for_to_keep(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = linked(memory, "rain", "flood", "sleep")
    monkeypatch.setattr(read, "_LINKED_KEPT", 0)
    memory.retain("b", {"text": "Quartz is hard.", "id": "quartz"})  # nothing is kept of before
    assert [linked(memory, i) for i in ("rain", "flood")] == [whole[:2], whole[2:3]]
    assert linked(memory, "rain", "flood", "sleep") == whole


def test_a_link_is_gone_with_what_it_led_to(memory: Recollect) -> None:
    assert len(linked(memory, "rain")) == 2
    memory.forget("b", "flood")
    assert len(linked(memory, "rain")) == 1


def test_a_link_made_later_is_seen(memory: Recollect) -> None:
    assert len(linked(memory, "flood")) == 1
    memory.relate("b", {"flood": {"sleep": 0.5}})
    assert len(linked(memory, "flood")) == 2


# --- models ------------------------------------------------------------------------------------


def test_a_bank_of_another_model_is_refused_after_one_that_fits(memory: Recollect) -> None:
    assert memory.recall("b", "rain").results
    memory.store.create_bank("other", model=("another-embedder", 7, 0))
    for _ in range(2):
        with pytest.raises(OtherModel):
            memory.recall("other", "rain")
    assert memory.recall("b", "flood").results


# --- columns -----------------------------------------------------------------------------------


def test_columns_are_those_of_the_memories_asked_for(memory: Recollect) -> None:
    view = view_of(memory, "b")
    keys = np.array([key_of(view, "sleep"), key_of(view, "rain")], np.int64)
    tokens = [m.tokens for m in view.load(keys.tolist()).values()]
    assert view.columns(keys).tokens.tolist() == tokens


def test_a_copy_of_columns_changes_what_is_named_and_nothing_else(memory: Recollect) -> None:
    view = view_of(memory, "b")
    found = view.columns(np.array([1, 2, 3], np.int64))
    copy = replace(found, before=np.array([7, 8, 9]))
    assert copy.before.tolist() == [7, 8, 9]
    assert found.before.tolist() == [0, 0, 0]
    for name in {field.name for field in fields(Columns)} - {"before", "lifetime_days"}:
        assert getattr(copy, name).tolist() == getattr(found, name).tolist()


def test_columns_are_frozen_and_no_others_are_made_up(memory: Recollect) -> None:
    found = view_of(memory, "b").columns(np.array([1], np.int64))
    with pytest.raises(FrozenInstanceError):
        found.tokens = np.zeros(1, np.int32)  # type: ignore[misc]
    with pytest.raises(AttributeError):
        found.colour  # type: ignore[attr-defined]  # noqa: B018

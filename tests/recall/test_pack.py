"""Packing: by final score until the tokens are used; what does not fit is skipped, not the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Recollect
from recollect.language.tokens import count_tokens
from recollect.recall.pack import order, pack, pack_chunks
from recollect.types import Chunk

from .columns import pool

ranking = st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(1, 400)), max_size=40)


@given(ranking, st.integers(1, 2000))
def test_the_answer_never_exceeds_max_tokens(given_: list[tuple[float, int]], limit: int) -> None:
    made = pool([f for f, _ in given_], [t for _, t in given_])
    taken = pack(made, order(made), limit)
    assert sum(given_[row][1] for row in taken) <= limit


@given(ranking, st.integers(1, 2000))
def test_the_answer_is_in_order_of_final_score_with_ties_by_key(
    given_: list[tuple[float, int]], limit: int
) -> None:
    made = pool([f for f, _ in given_], [t for _, t in given_])
    taken = pack(made, order(made), limit)
    pairs = [(-given_[row][0], row) for row in taken]
    assert pairs == sorted(pairs)


def test_of_many_with_equal_scores_the_order_stays() -> None:
    made = pool([0.5] * 300 + [0.75] * 300, [1] * 600)
    assert order(made).tolist() == [*range(300, 600), *range(300)]


@given(ranking, st.integers(1, 2000))
def test_whatever_fits_when_its_turn_comes_is_taken(
    given_: list[tuple[float, int]], limit: int
) -> None:
    made = pool([f for f, _ in given_], [t for _, t in given_])
    taken, room = pack(made, order(made), limit), limit
    for row in order(made).tolist():
        cost = given_[row][1]
        assert (row in taken) == (cost <= room)
        room -= cost if row in taken else 0


def test_one_that_does_not_fit_is_skipped_and_a_later_one_taken() -> None:
    made = pool([0.9, 0.8, 0.7], [60, 50, 40])
    assert pack(made, order(made), 100) == [0, 2]


def test_only_text_counts(memory: Recollect) -> None:
    extras = {"context": "c " * 300, "title": "t " * 300, "metadata": {"m": "x" * 2000}}
    memory.retain("pack-text", [{"text": "Alice likes tea.", **extras}])
    result = memory.recall(
        "pack-text", "What does Alice like?", max_tokens=count_tokens("Alice likes tea.")
    )
    assert [hit.text for hit in result] == ["Alice likes tea."]


@pytest.mark.parametrize("limit", [1, 5, 12, 30, 70, 4096])
def test_a_recall_stays_within_max_tokens_and_says_how_many(
    memory: Recollect, story: str, limit: int
) -> None:
    result = memory.recall(story, "Who works, bakes, flies or plays?", max_tokens=limit)
    assert sum(count_tokens(hit.text) for hit in result) == result.tokens <= limit


# --- source chunks -----------------------------------------------------------------------------


def chunks(*sizes: int) -> dict[str, Chunk]:
    return {f"c{i}": Chunk(f"c{i}", "d", i, " ".join(["word"] * n)) for i, n in enumerate(sizes)}


@given(st.lists(st.integers(1, 60), max_size=10), st.integers(1, 200))
def test_chunks_stay_within_their_own_budget_and_only_the_last_is_cut(
    sizes: list[int], limit: int
) -> None:
    held = chunks(*sizes)
    packed = pack_chunks(list(held), held, limit)
    assert sum(count_tokens(c.text) for c in packed) <= limit
    assert not any(c.truncated for c in packed[:-1])
    for chunk in packed:
        whole = held[chunk.id].text
        assert (
            chunk.text == whole
            if not chunk.truncated
            else (whole.startswith(chunk.text) and chunk.text != whole)
        )
    if sum(count_tokens(c.text) for c in held.values()) <= limit:
        assert [c.id for c in packed] == list(held)


def test_a_chunk_wanted_twice_comes_once() -> None:
    held = chunks(5, 5)
    assert [c.id for c in pack_chunks(["c1", "c0", "c1"], held, 100)] == ["c1", "c0"]


def test_a_chunk_that_is_gone_is_left_out() -> None:
    assert [c.id for c in pack_chunks(["c7", "c0"], chunks(5), 100)] == ["c0"]


@pytest.fixture(scope="module")
def documents(memory: Recollect) -> str:
    words = "The harbour was rebuilt in stone. Ships bring grain and timber. " * 12
    memory.retain(
        "pack-docs",
        {"content": f"Alice runs the harbour office. {words}", "document_id": "harbour"},
    )
    memory.retain(
        "pack-docs",
        {"content": "Bob keeps bees on the roof of the harbour office.", "document_id": "bees"},
    )
    return "pack-docs"


def test_chunks_come_only_when_asked_for(memory: Recollect, documents: str) -> None:
    assert memory.recall(documents, "harbour office").chunks == ()


def test_chunks_come_in_the_order_of_their_best_hit(memory: Recollect, documents: str) -> None:
    result = memory.recall(documents, "Who keeps bees?", include_chunks=True)
    best: list[str] = list(dict.fromkeys(h.chunk_id for h in result if h.chunk_id))
    assert [c.id for c in result.chunks] == best
    assert result.chunks[0].document_id == "bees"


def test_the_chunk_that_does_not_fit_is_truncated_and_marked(
    memory: Recollect, documents: str
) -> None:
    result = memory.recall(
        documents, "Who runs the harbour office?", include_chunks=True, max_chunk_tokens=40
    )
    assert result.chunks[-1].truncated
    assert not any(c.truncated for c in result.chunks[:-1])
    assert sum(count_tokens(c.text) for c in result.chunks) <= 40


def test_chunk_tokens_and_answer_tokens_are_independent(memory: Recollect, documents: str) -> None:
    alone = memory.recall(documents, "harbour office", max_tokens=60)
    with_chunks = memory.recall(documents, "harbour office", max_tokens=60, include_chunks=True)
    assert [h.id for h in alone] == [h.id for h in with_chunks]
    assert alone.tokens == with_chunks.tokens

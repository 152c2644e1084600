"""Semantic arm: exact cosine, a floor that fits the model, and depth equal to the budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect import Arm, Recollect
from recollect.recall.relevance import least_likeness, least_similarity
from recollect.storage.base import Filter

from .banks import plain, snapshot, view_of

Floats = NDArray[np.float32]


def unit(vectors: NDArray[np.float64]) -> Floats:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def clustered(count: int, dimensions: int, seed: int) -> Floats:
    """Vectors about a few centres, so that cosines lie everywhere between −1 and 1."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(5, dimensions))
    spread = random.uniform(0.05, 2, size=(count, 1)) * random.normal(size=(count, dimensions))
    return unit(centres[random.integers(0, 5, count)] + spread)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 300),
    k=st.integers(1, 120),
    share=st.sampled_from([0.05, 0.3, 0.7, 1.0]),
    floor=st.sampled_from([-1.0, 0.0, 0.3, 0.8]),
)
def test_the_arm_equals_brute_force_cosine(
    seed: int, count: int, k: int, share: float, floor: float
) -> None:
    vectors = clustered(count, 24, seed)
    held = snapshot([plain(f"m{i}") for i in range(count)], vectors)
    query = clustered(3, 24, seed)[0]
    mask = np.random.default_rng(seed).random(count) < share
    found = held.semantic(query, mask, k, floor)
    exact = vectors.astype(np.float16).astype(np.float64) @ query.astype(np.float64)
    wanted = [i for i in np.lexsort((np.arange(count), -exact)) if mask[i] and exact[i] >= floor][
        :k
    ]
    assert np.allclose(found.scores, exact[wanted], atol=2e-6)
    got = dict(zip(found.keys.tolist(), found.scores.tolist(), strict=True))
    for key, score in got.items():  # the same memories, but for true ties
        assert score == pytest.approx(exact[key - 1], abs=2e-6)
        assert mask[key - 1]


def test_equal_vectors_come_in_order_of_their_keys_also_at_the_cut() -> None:
    vectors = np.repeat(clustered(1, 16, 3), 9, axis=0)
    held = snapshot([plain(f"m{i}") for i in range(9)], vectors)
    found = held.semantic(vectors[0], np.ones(9, bool), 5, 0.3)
    assert found.keys.tolist() == [1, 2, 3, 4, 5]


def test_scores_of_the_real_bank_are_the_cosines_of_the_real_model(
    memory: Recollect, story: str
) -> None:
    query = "Where does Alice work?"
    vector = memory.embedder.encode_queries([query]).vectors[0]
    held = {
        line["memory"]["id"]: line["memory"]["text"]
        for line in memory.export(story)
        if "memory" in line
    }
    hit = memory.recall(story, query).results[0]
    view = view_of(memory, story)
    exact = view.similarity(vector, np.array([view.key_of(hit.id)], np.int64))[0]
    assert hit.arms[Arm.SEMANTIC].score == pytest.approx(float(exact), abs=1e-6)
    assert hit.id in held


def test_nothing_under_the_bar_of_similarity_is_found(memory: Recollect, story: str) -> None:
    bar = least_similarity(memory.embedder.name)
    view = view_of(memory, story)
    vector = memory.embedder.encode_queries(["Where does Alice work?"]).vectors[0]
    found = view.semantic(vector, Filter(), 100, bar)
    everything = view.semantic(vector, Filter(), 100, -1.0)
    assert len(everything) == view.size > len(found) > 0
    assert found.scores.min() >= bar
    assert len(found) == int((everything.scores >= bar).sum())


def test_the_bar_is_0_3_for_a_model_that_nobody_fitted(memory: Recollect) -> None:
    assert least_similarity("a-model-of-tomorrow") == 0.3
    assert least_similarity(memory.embedder.name) < 0.3


def test_two_memories_have_to_be_nearer_than_a_question_and_its_answer(memory: Recollect) -> None:
    assert least_likeness(memory.embedder.name) > least_similarity(memory.embedder.name)
    assert least_likeness("a-model-of-tomorrow") == 0.3


@pytest.mark.parametrize(
    ("chosen", "asked", "bar"),
    [({}, {}, 0.2), ({"min_similarity": 0.4}, {}, 0.4), ({"min_similarity": 0.4}, {"min_scores": {"semantic": 0.5}}, 0.5)],
)  # fmt: skip
def test_a_setting_overrides_the_models_bar_and_a_call_the_setting(
    reopen: Callable[..., Recollect], story: str, chosen: Any, asked: Any, bar: float
) -> None:
    hits = reopen(**chosen).recall(story, "Where does Alice work?", **asked)
    scores = [h.arms[Arm.SEMANTIC].score for h in hits if Arm.SEMANTIC in h.arms]
    assert scores
    assert min(scores) >= bar


def test_the_arm_is_as_deep_as_the_budget(memory: Recollect, story: str) -> None:
    view = view_of(memory, story)
    vector = memory.embedder.encode_queries(["Alice"]).vectors[0]
    assert len(view.semantic(vector, Filter(), 3, -1.0)) == 3

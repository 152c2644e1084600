"""Queries that nothing reads again are skimmed: by three layers of the shipped embedder's student."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import recollect
from recollect.errors import ModelError
from recollect.models.base import (
    AHEAD,
    Embedder,
    Encoded,
    Skimmed,
    Skimming,
    WithoutTokens,
    skimming,
)
from recollect.models.onnx import onnx_embedder
from recollect.models.registry import DEFAULT_EMBEDDER, shipped

QUERIES = [
    "Where does Alice work?",
    "When did Melanie take her kids to the museum?",
    "What did the contractor say about the leaking roof of the barn last autumn, and what will it cost?",
    "¿Dónde vive mi hermana?",
    "ok",
]
PASSAGES = [
    "Alice works at the observatory.",
    "Melanie: We spent Sunday at the dinosaur exhibit!",
    "The contractor wants 4,000 for the roof of the barn.",
    "The lasagna was burnt, we ordered pizza.",
]


class Counting:
    """The real embedder, which counts how its queries were read."""

    def __init__(self, real: Embedder) -> None:
        self._real = real
        self.name, self.dimensions = real.name, real.dimensions
        self.token_dimensions = real.token_dimensions
        self.read: list[str] = []

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        self.read.append("whole")
        return self._real.encode_queries(texts)

    def skim_queries(self, texts: Sequence[str]) -> Encoded:
        self.read.append("skimmed")
        assert isinstance(self._real, Skimming)
        return self._real.skim_queries(texts)

    def encode_passages(self, texts: Sequence[str]) -> Encoded:
        return self._real.encode_passages(texts)


@pytest.fixture(scope="module")
def real() -> Embedder:
    return onnx_embedder(shipped(DEFAULT_EMBEDDER))


def test_a_skimmed_query_points_where_the_whole_one_does(real: Embedder) -> None:
    whole, skimmed = real.encode_queries(QUERIES), skimming(real).encode_queries(QUERIES)
    np.testing.assert_allclose(np.linalg.norm(skimmed.vectors, axis=1), 1, atol=1e-5)
    assert ((whole.vectors * skimmed.vectors).sum(axis=1) > 0.8).all()
    assert not np.array_equal(whole.vectors, skimmed.vectors)
    said = real.encode_passages(PASSAGES).vectors
    assert np.argmax(skimmed.vectors[:3] @ said.T, axis=1).tolist() == [0, 1, 2]


def test_a_skimmed_query_has_no_token_vectors(real: Embedder) -> None:
    assert skimming(real).encode_queries(QUERIES).tokens is None
    assert skimming(real).encode_queries([]).vectors.shape == (0, real.dimensions)
    assert skimming(real).token_dimensions == 0


def test_a_skimmed_query_does_not_depend_on_what_it_was_batched_with(real: Embedder) -> None:
    together = skimming(real).encode_queries(QUERIES).vectors
    alone = [skimming(real).encode_queries([query]).vectors[0] for query in QUERIES]
    np.testing.assert_allclose(together, np.stack(alone), atol=1e-6)


@pytest.mark.parametrize("times", [8, 60])
def test_a_query_longer_than_the_student_knows_is_read_whole(real: Embedder, times: int) -> None:
    long = [" ".join(f"{QUERIES[1]} {n}" for n in range(times))]
    found = skimming(real).encode_queries(long)
    np.testing.assert_array_equal(found.vectors, real.encode_queries(long).vectors)
    assert found.tokens is None


def test_passages_are_read_whole(real: Embedder) -> None:
    np.testing.assert_array_equal(
        skimming(real).encode_passages(PASSAGES).vectors,
        real.encode_passages(PASSAGES).vectors,
    )


def test_an_embedder_that_cannot_skim_stays_as_it_is(real: Embedder) -> None:
    class Plain:
        name, dimensions, token_dimensions = "plain", real.dimensions, 0

        def encode_queries(self, texts: Sequence[str]) -> Encoded:
            return Encoded(real.encode_queries(texts).vectors)

        def encode_passages(self, texts: Sequence[str]) -> Encoded:
            return Encoded(real.encode_passages(texts).vectors)

    plain = Plain()
    assert skimming(plain) is plain
    assert skimming(WithoutTokens(real)).encode_queries(["ok"]).tokens is None


@pytest.mark.parametrize(
    ("reranker", "read"),
    [
        ("none", "skimmed"),
        ("rrf", "skimmed"),
        ("late-interaction", "whole"),
        ("default", "whole"),
    ],
)
def test_what_is_read_again_is_asked_whole(
    tmp_path: Path, real: Embedder, reranker: str, read: str
) -> None:
    with recollect.open(str(tmp_path / "m.db"), reranker=reranker) as memory:
        counting = Counting(real)
        memory.__dict__["embedder"] = counting
        memory.retain("alice", [{"text": text} for text in PASSAGES])
        result = memory.recall("alice", QUERIES[0])
        assert counting.read == [read]
        assert result.results[0].text == PASSAGES[0]


def test_one_bank_serves_both(tmp_path: Path) -> None:
    """The vectors that are kept are the same, so a bank may be opened either way."""
    path = str(tmp_path / "m.db")
    with recollect.open(path, reranker="none") as memory:
        memory.retain("alice", [{"text": text} for text in PASSAGES])
    with recollect.open(path) as memory:
        assert memory.recall("alice", QUERIES[0]).results[0].text == PASSAGES[0]


# --- read ahead --------------------------------------------------------------------------------


def test_a_query_read_ahead_is_not_read_again_and_reads_the_same(real: Embedder) -> None:
    counting = Counting(real)
    embedder = skimming(counting)
    assert isinstance(embedder, Skimmed)
    for query in (*QUERIES, *QUERIES):  # asked ahead by two
        embedder.read_ahead(query)
    assert counting.read == ["skimmed"] * len(QUERIES)
    for query in QUERIES:
        np.testing.assert_array_equal(
            embedder.encode_queries([query]).vectors,
            skimming(real).encode_queries([query]).vectors,
        )
    assert counting.read == ["skimmed"] * len(QUERIES)
    assert len(embedder.encode_queries(QUERIES).vectors) == len(QUERIES)


def test_no_more_are_kept_than_may_be_asked_for(real: Embedder) -> None:
    counting = Counting(real)
    embedder = skimming(counting)
    assert isinstance(embedder, Skimmed)
    for number in range(AHEAD + 1):
        embedder.read_ahead(f"query {number}")
    embedder.encode_queries([f"query {AHEAD}"])  # is there
    embedder.encode_queries(["query 0"])  # is not
    assert len(counting.read) == AHEAD + 2


@pytest.mark.parametrize(("reranker", "ahead"), [("none", ["skimmed"]), ("default", [])])
def test_a_recall_takes_what_was_read_ahead_of_it(
    tmp_path: Path, real: Embedder, reranker: str, ahead: list[str]
) -> None:
    with recollect.open(str(tmp_path / "m.db"), reranker=reranker) as memory:
        counting = Counting(real)
        memory.__dict__["embedder"] = counting
        memory.retain("alice", [{"text": text} for text in PASSAGES])
        memory.read_ahead(QUERIES[0])
        assert counting.read == ahead
        assert memory.recall("alice", QUERIES[0]).results[0].text == PASSAGES[0]
        assert len(counting.read) == 1


def test_what_goes_wrong_ahead_goes_wrong_where_it_is_asked(tmp_path: Path, real: Embedder) -> None:
    class Broken(Counting):
        def skim_queries(self, texts: Sequence[str]) -> Encoded:
            raise ModelError("the weights are gone")

    with recollect.open(str(tmp_path / "m.db"), reranker="none") as memory:
        memory.__dict__["embedder"] = Broken(real)
        memory.retain("alice", [{"text": text} for text in PASSAGES])
        memory.read_ahead(QUERIES[0])
        told = memory.recall("alice", QUERIES[0]).degraded
        assert [(part.part, part.reason) for part in told] == [
            ("embed", "ModelError: the weights are gone")
        ]

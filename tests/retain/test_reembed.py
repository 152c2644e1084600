"""Changing the embedder of a bank: from the stored text, resumable, usable meanwhile."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from recollect import Recollect
from recollect.errors import StoreError
from recollect.testing import FakeEmbedder, open_fake

FACTS = [
    f"Fact number {i} speaks of the {word}."
    for i, word in enumerate(["kayak", "violin", "tent"] * 60)
]


@pytest.fixture
def bank(db: Path) -> Path:
    with open_fake(db) as memory:
        memory.retain("b", FACTS[:3])
        memory.update("b", memory.memories("b")[0].id, text="A fact about the lantern.")
    return db


def test_a_bank_of_another_model_is_refused_with_the_way_out(bank: Path) -> None:
    with open_fake(bank, dimensions=32) as memory, pytest.raises(StoreError, match="reembed b"):
        memory.recall("b", "lantern")


def test_vectors_of_weights_no_longer_shipped_are_to_be_made_anew(db: Path) -> None:
    """Nobody is told to open a bank with a model that is not there."""

    class Earlier(FakeEmbedder):
        @property
        def name(self) -> str:
            return "recollect-embed-1"

    with open_fake(db) as memory:
        memory.embedder = Earlier(64)
        memory.retain("b", FACTS[:1])
    with open_fake(db) as memory, pytest.raises(StoreError, match="recollect-embed-1") as refused:
        memory.recall("b", "kayak")
    assert refused.value.hint == "make its vectors anew: recollect reembed b"


def test_reembedding_makes_every_vector_anew(bank: Path) -> None:
    with open_fake(bank, dimensions=32) as memory:
        assert memory.reembed("b") == 4  # three facts and one earlier wording
        assert memory.bank("b").dimensions == 32
        assert memory.recall("b", "lantern").results[0].text == "A fact about the lantern."


def test_reembedding_again_makes_nothing(bank: Path) -> None:
    with open_fake(bank, dimensions=32) as memory:
        memory.reembed("b")
        assert memory.reembed("b") == 0


def test_the_old_model_answers_until_the_switch_and_an_interrupted_run_resumes(db: Path) -> None:
    class Interrupted(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Interrupted

    with open_fake(db) as old, open_fake(db, dimensions=32) as new:
        old.retain("b", [{"text": t} for t in FACTS])
        with pytest.raises(Interrupted):
            new.reembed("b", progress=stop)
        assert old.recall("b", "violin").results
        made = new.reembed("b")
        assert 0 < made < len(FACTS)


def told_of(memory: Recollect) -> list[tuple[int, int]]:
    told: list[tuple[int, int]] = []
    memory.reembed("b", progress=lambda done, total: told.append((done, total)))
    return told


def test_progress_ends_with_all_that_was_to_make(db: Path) -> None:
    with open_fake(db) as old, open_fake(db, dimensions=32) as new:
        old.retain("b", FACTS)
        old.update("b", old.memories("b")[0].id, text="A fact about the lantern.")
        every = len(FACTS) + 1  # with the earlier wording
        assert told_of(new) == [(128, every), (every, every)]


def test_progress_of_a_resumed_run_is_of_what_is_left(db: Path) -> None:
    with open_fake(db) as old, open_fake(db, dimensions=32) as new:
        old.retain("b", FACTS)
        staged, _ = next(new.reembedding("b"))
        left = len(FACTS) - staged
        assert told_of(new) == [(left, left)]


def test_what_is_retained_during_the_run_is_embedded_too(db: Path) -> None:
    with open_fake(db) as old, open_fake(db, dimensions=32) as new:
        old.retain("b", FACTS[:3])
        told: list[int] = []

        def tell(done: int, total: int) -> None:
            if not told:
                told.append(done)
                old.retain("b", "A late word about the harbour.")

        new.reembed("b", progress=tell)
        assert new.recall("b", "harbour").results[0].text == "A late word about the harbour."


def test_vectors_staged_before_the_model_of_that_name_changed_are_made_anew(db: Path) -> None:
    class Served(FakeEmbedder):
        @property
        def name(self) -> str:
            return "served"

    with open_fake(db) as memory:
        memory.retain("b", FACTS)
        memory.embedder = Served(32)
        making = memory.reembedding("b")
        staged, total = next(making)
        assert staged < total
    with open_fake(db) as memory:
        memory.embedder = Served(16)
        memory.reembed("b")
        assert memory.bank("b").dimensions == 16
        assert memory.recall("b", "fact number 4 of the violin").results[0].text == FACTS[4]


def resumed(memory: Recollect, wanted: int) -> set[bool]:
    """Whether memories have token vectors after a run that began without those it ends with."""
    memory.retain("b", FACTS)
    memory.embedder = FakeEmbedder(32, 16 - wanted)
    staged, total = next(memory.reembedding("b"))
    assert staged < total
    memory.embedder = FakeEmbedder(32, wanted)
    memory.reembed("b")
    view = memory.store.view("b")
    keys = sorted(view.key_of(m.id) or 0 for m in memory.memories("b", limit=len(FACTS)))
    return {tokens is not None for tokens in view.token_vectors(np.array(keys, np.int64))}


@pytest.mark.parametrize("wanted", [16, 0])
def test_an_interrupted_run_ends_with_token_vectors_for_all_or_for_none(
    db: Path, wanted: int
) -> None:
    with open_fake(db) as memory:
        assert resumed(memory, wanted) == {wanted > 0}


@pytest.mark.parametrize("wanted", [16, 0])
def test_so_does_one_on_a_postgresql(postgres: str, wanted: int) -> None:
    with open_fake(postgres, pg_schema=f"reembed_{uuid4().hex[:12]}") as memory:
        assert resumed(memory, wanted) == {wanted > 0}

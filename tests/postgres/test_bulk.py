"""Many memories at once: neighbours among what came before, found without reading it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from recollect import Recollect
from recollect.storage.base import Batch, Floats, NewMemory, Retire, Writing
from recollect.storage.postgres.holding import Held, Holding
from recollect.storage.postgres.session import Head, Session
from recollect.storage.postgres.store import PostgresStore
from recollect.testing import open_fake
from recollect.testing.reference import BANK, Reference, made_up
from recollect.types import State

from .conftest import MakeStore

SEEN = (State.ACTIVE, State.SUPERSEDED)
Nearest = list[list[tuple[int, float]]]


@pytest.fixture
def reference() -> Reference:
    return made_up(1, size=120)


@pytest.fixture
def store(make_store: MakeStore) -> PostgresStore:
    made = make_store(auto_index=False)
    made.create_bank(BANK)
    return made


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many memories there were each time that a bank was read as a whole."""
    real, seen = Holding.take, list[int]()

    def counting(self: Holding, bank: str, head: Head, session: Session) -> Held | None:
        seen.append(head.size)
        return real(self, bank, head, session)

    monkeypatch.setattr(Holding, "take", counting)
    return seen


def asked(reference: Reference) -> Floats:
    return np.stack(list(reference.queries()) * 8)[:10]


def put(store: PostgresStore, memories: Sequence[NewMemory], asked: Floats, **more: Any) -> Nearest:
    """Commit these, as a plan does that looks for neighbours first; gives what it found."""
    found: list[Nearest] = []

    def plan(view: Writing) -> Batch:
        near = view.nearest(asked, 5, -1.0)
        found.append([list(zip(f.keys.tolist(), f.scores.tolist(), strict=True)) for f in near])
        return Batch(memories=memories, **more)

    store.commit(BANK, plan)
    return found[-1]


def test_a_bulk_load_reads_what_came_before_once(
    store: PostgresStore, reference: Reference, read: list[int]
) -> None:
    for at in range(0, 120, 30):
        put(store, reference.memories[at : at + 30], asked(reference))
    assert read == [0]


@pytest.mark.parametrize("held_facts", [0, 1_000])
@pytest.mark.parametrize("indexed", [False, True])
def test_neighbours_are_those_that_an_exact_look_finds(
    make_store: MakeStore, reference: Reference, indexed: bool, held_facts: int
) -> None:
    store = make_store(auto_index=False, held_facts=held_facts)
    store.create_bank(BANK)
    queries = asked(reference)
    for at in range(0, 120, 30):
        if indexed and at == 60:
            store.index(BANK)
        put(store, reference.memories[at : at + 30], queries)
    seen = [m for m in reference.memories if m.memory.state in SEEN and m.vector is not None]
    scores = queries @ np.stack([m.vector for m in seen if m.vector is not None]).T
    for found, exact in zip(put(store, [], queries), scores, strict=True):
        best = np.argsort(-exact, kind="stable")[:5]
        assert [k for k, _ in found] == [seen[n].key for n in best]
        assert np.allclose([s for _, s in found], exact[best], atol=1e-3)


def test_what_another_process_wrote_is_among_them(
    store: PostgresStore, make_store: MakeStore, reference: Reference, read: list[int]
) -> None:
    put(store, reference.memories[:30], asked(reference))
    other = make_store(auto_index=False)
    put(other, reference.memories[30:60], asked(reference))
    theirs = [m for m in reference.memories[30:60] if m.memory.state in SEEN][:10]
    found = put(store, [], np.stack([m.vector for m in theirs if m.vector is not None]))
    assert read == [0, 30]  # each process once: what came later was read by itself
    assert [one[0][0] for one in found] == [m.key for m in theirs]


def test_what_was_withdrawn_is_nobodys_neighbour(
    store: PostgresStore, reference: Reference
) -> None:
    mine = reference.memories[:30]
    first = next(m for m in mine if m.memory.state in SEEN)
    assert first.vector is not None
    vectors = np.stack([first.vector] * 10)
    put(store, mine, vectors)
    assert put(store, [], vectors)[0][0][0] == first.key
    put(store, [], vectors, retire=[Retire(first.key, State.INVALIDATED, at=10**15)])
    assert first.key not in [k for k, _ in put(store, [], vectors)[0]]


def test_what_was_forgotten_is_nobodys_neighbour(
    store: PostgresStore, reference: Reference
) -> None:
    mine = reference.memories[:30]
    first = next(m for m in mine if m.memory.state in SEEN)
    assert first.vector is not None
    vectors = np.stack([first.vector] * 10)
    put(store, mine, vectors)
    put(store, [], vectors, drop_memories=[first.key])
    assert first.key not in [k for k, _ in put(store, [], vectors)[0]]


def test_a_bank_larger_than_may_be_held_is_not_read_as_a_whole(
    make_store: MakeStore, reference: Reference, read: list[int]
) -> None:
    store = make_store(auto_index=False, held_facts=50)
    store.create_bank(BANK)
    for at in range(0, 120, 30):
        put(store, reference.memories[at : at + 30], asked(reference))
    other = make_store(auto_index=False, held_facts=50)
    put(other, [], asked(reference))
    assert read == [0]


def test_causes_are_looked_up_for_a_whole_batch_at_once(
    served: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many round trips for thirty statements with a cause as for three."""

    def trips(count: int, bank: str) -> int:
        usage: list[int] = []
        real = PostgresStore._write  # pyright: ignore[reportPrivateUsage]

        def write(self: PostgresStore, session: Any, *rest: Any) -> int:
            usage.append(session.usage.round_trips)
            return real(self, session, *rest)

        monkeypatch.setattr(PostgresStore, "_write", write)
        things = [f"boiler{n}" for n in range(40)]
        served.retain(bank, [f"The {thing} failed." for thing in things])
        usage.clear()
        told = [f"Room {n} was cold because the {things[n]} failed." for n in range(count)]
        served.retain(bank, [{"text": text} for text in told])
        monkeypatch.undo()
        return usage[-1]

    assert trips(30, "many") == trips(10, "some")


def test_causes_found_together_are_those_found_one_by_one(served: Recollect, tmp_path: Any) -> None:
    facts = [f"The boiler{n % 7} failed in house {n}." for n in range(20)]
    told = [f"Room {n} was cold because the boiler{n % 7} failed." for n in range(20)]
    with open_fake(tmp_path / "file.db") as file:
        for memory in (served, file):
            memory.retain("b", [{"text": t, "timestamp": "2026-01-01"} for t in facts])
            memory.retain("b", [{"text": t, "timestamp": "2026-01-02"} for t in told])
        assert links(served) == links(file)
        assert any(kind == "causes" for _, _, kind, _ in links(served))


def links(memory: Recollect) -> set[tuple[str, str, str, float]]:
    texts = {m.id: m.text for m in memory.memories("b", limit=100)}
    return {
        (texts[link.source], texts[link.target], link.kind.value, round(link.weight, 4))
        for id_ in texts
        for link in memory.links("b", id_)
    }

"""Banks held in the process: they answer as the server would, and are never behind it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from recollect import Recollect
from recollect.recall.result import RecallResult
from recollect.storage.base import Batch, Filter, StagedVector
from recollect.storage.postgres import holding, write
from recollect.storage.postgres.held_view import HeldView
from recollect.storage.postgres.session import ReadSession
from recollect.storage.postgres.store import PostgresStore
from recollect.testing import FakeEmbedder, open_fake
from recollect.testing.reference import BANK, made_up

from .conftest import MakeStore

NOW = {"query_timestamp": "2026-06-01"}
WHO = ("Alice", "Bob", "Carol", "Carol Smith", "Dr. Chen")
WHAT = (
    "plays the violin",
    "moved to Oslo",
    "repairs the boiler",
    "likes green tea",
    "sold the car",
)


@pytest.fixture
def holder(postgres: str, schema: str) -> Iterator[Recollect]:
    """Holds a bank; another process writes to it, too."""
    with open_fake(postgres, pg_schema=schema, cache_entries=0) as opened:
        yield opened


@pytest.fixture
def other(postgres: str, schema: str, holder: Recollect) -> Iterator[Recollect]:
    """Asks the server, always."""
    with open_fake(postgres, pg_schema=schema, cache_entries=0, held_facts=0) as opened:
        yield opened


def on_server(memory: Recollect) -> PostgresStore:
    assert isinstance(memory.store, PostgresStore)
    return memory.store


def held(memory: Recollect, bank: str = "b") -> bool:
    view = on_server(memory).view(bank)
    view.close()
    return isinstance(view, HeldView)


def told(result: RecallResult) -> list[tuple[Any, ...]]:
    return [(hit.id, round(hit.score, 6), hit.memory) for hit in result]


def fact(number: int) -> dict[str, Any]:
    """Some tell the same again, some replace what was said before."""
    text = f"{WHO[number % 5]} {WHAT[number // 5 % 5]} in room {number % 11}."
    day = f"2026-0{1 + number % 5}-{1 + number % 28:02}"
    return {"text": text, "timestamp": day, "tags": ["even"] if number % 2 == 0 else []}


def alike(holder: Recollect, other: Recollect) -> None:
    assert held(holder) and not held(other)
    for question in ("Where did Alice move to?", "Who repairs the boiler?", "room 7"):
        for options in ({}, {"tags": ["even"], "tags_match": "any_strict"}, {"budget": "high"}):
            one, two = (m.recall("b", question, **NOW, **options) for m in (holder, other))
            assert told(one) == told(two), (question, options)


def test_whatever_two_processes_do_to_a_bank_both_recall_the_same(
    holder: Recollect, other: Recollect
) -> None:
    drawn = random.Random(3)
    holder.retain("b", [fact(n) for n in range(30)])
    assert on_server(holder).hold("b")

    def retain(memory: Recollect) -> None:
        memory.retain("b", [fact(drawn.randrange(200)) for _ in range(drawn.choice((1, 3, 12)))])

    def some(memory: Recollect) -> list[str]:
        return drawn.sample([m.id for m in memory.memories("b", state="active", limit=100)], 2)

    def document(memory: Recollect) -> None:
        text = " ".join(fact(drawn.randrange(200))["text"] for _ in range(4))
        memory.retain("b", [{"text": text, "document_id": f"d{drawn.randrange(2)}"}])

    deeds: list[Callable[[Recollect], object]] = [
        retain,
        retain,
        document,
        lambda m: m.invalidate("b", some(m)[0]),
        lambda m: m.supersede("b", *some(m)),
        lambda m: m.update("b", some(m)[0], text=f"{fact(drawn.randrange(200))['text']} Or so."),
        lambda m: m.update("b", some(m)[0], tags=["even"]),
        lambda m: m.review("b", some(m)[0]),
        lambda m: m.forget("b", memory_id=some(m)[0]),
    ]
    for _ in range(40):
        drawn.choice(deeds)(drawn.choice((holder, other)))
        alike(holder, other)


def test_a_recall_from_a_held_bank_takes_three_round_trips(holder: Recollect) -> None:
    holder.retain("b", [fact(n) for n in range(30)])
    assert on_server(holder).hold("b")
    holder.recall("b", "Who?", max_tokens=1)  # the names of the bank are learnt
    result = holder.recall("b", "Who repairs the boiler?", trace=True)
    assert result.trace is not None
    assert (result.trace.connections, result.trace.round_trips) == (1, 3)  # row, links, texts


def test_a_bank_is_read_when_the_searches_so_far_would_have_paid_for_it(
    holder: Recollect, other: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "WORTH", 10)
    other.retain("b", [fact(n) for n in range(25)])
    size = other.stats("b").memories
    recalls = -(-size // 10)
    for _ in range(recalls):
        assert not held(holder)
        holder.recall("b", "tea", **NOW)
    on_server(holder)._holding.wait("b")  # pyright: ignore[reportPrivateUsage]
    assert held(holder)
    alike(holder, other)


def test_a_process_that_asks_once_holds_nothing(holder: Recollect, other: Recollect) -> None:
    other.retain("b", fact(1))
    for held_now in (False, True):
        holder.recall("b", "tea", **NOW)
        on_server(holder)._holding.wait("b")  # pyright: ignore[reportPrivateUsage]
        assert held(holder) == held_now


def test_one_bank_is_let_go_of_for_another(postgres: str, schema: str) -> None:
    with open_fake(postgres, pg_schema=schema, held_facts=30) as memory:
        for bank in ("one", "two", "large"):
            memory.retain(bank, [f"Fact {n} of {bank} stands." for n in range(20)])
        memory.retain("large", [f"Further fact {n} stands." for n in range(20)])
        server = on_server(memory)
        assert server.hold("one") and server.hold("two")
        assert [held(memory, bank) for bank in ("one", "two")] == [False, True]
        assert not server.hold("large")
        memory.retain("two", [f"Further fact {n} stands." for n in range(20)])
        memory.recall("two", "fact")  # notices
        assert not held(memory, "two")  # it has outgrown what may be held


def test_a_bank_made_anew_is_another(holder: Recollect, other: Recollect) -> None:
    holder.retain("b", [fact(n) for n in range(10)])
    assert on_server(holder).hold("b")
    other.delete_bank("b")
    other.retain("b", "Zoe keeps bees.")
    assert [h.text for h in holder.recall("b", "Who plays the violin? Who keeps bees?")] == [
        "Zoe keeps bees."
    ]


def test_another_model_is_noticed(holder: Recollect, other: Recollect) -> None:
    holder.retain("b", [fact(n) for n in range(10)])
    assert on_server(holder).hold("b")
    server = on_server(other)
    keys = list(server.unstaged("b", "next", 100))
    vector = np.ones(32, np.float32) / 32**0.5
    server.stage("b", "next", [StagedVector(key, vector, None) for key in keys])
    assert server.switch_model("b", ("next", 32, 0))
    view = on_server(holder).view("b")
    assert not isinstance(view, HeldView)
    assert len(view.semantic(vector, Filter(), 100, 0.9)) == len(keys)


def test_who_is_too_far_behind_does_not_guess(
    holder: Recollect,
    other: Recollect,
    admin: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write, "REACH", 2)
    holder.retain("b", [fact(n) for n in range(10)])
    assert on_server(holder).hold("b")
    for memory in other.memories("b", limit=5):
        other.review("b", memory.id)
    assert admin.execute("SELECT count(*) FROM changes").fetchone() == (2,)
    assert not held(holder)  # it asks the server again, and may read the bank anew
    assert on_server(holder).hold("b")
    alike(holder, other)


def test_a_state_before_the_one_that_is_held_is_asked_of_the_server(
    make_store: MakeStore,
) -> None:
    """As of a replica that is behind, or of a view that began a moment before somebody wrote."""
    made, reference = make_store(), made_up(1, size=40)
    made.create_bank(BANK)
    made.commit(BANK, lambda _: Batch(memories=reference.memories[:20]))
    session = ReadSession(made._reading, BANK)  # pyright: ignore[reportPrivateUsage]
    earlier = session.open()
    assert earlier is not None
    made.commit(BANK, lambda _: Batch(memories=reference.memories[20:]))
    assert made.hold(BANK)
    view = made._seen(BANK, session, earlier)  # pyright: ignore[reportPrivateUsage]
    assert not isinstance(view, HeldView)
    assert view.size == 20
    view.close()


def test_a_connection_lost_while_catching_up_leaves_the_bank_as_it_was(
    holder: Recollect, other: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder.retain("b", [fact(n) for n in range(20)])
    assert on_server(holder).hold("b")
    other.retain("b", [fact(n) for n in range(20, 40)])
    other.invalidate("b", other.memories("b", limit=1)[0].id)

    def lost(*_: Any) -> Any:
        raise ConnectionError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(holding, "_slabs", lost)
        with pytest.raises(ConnectionError):
            on_server(holder).view("b")
    alike(holder, other)


def test_nothing_of_a_commit_that_failed_is_held(holder: Recollect, other: Recollect) -> None:
    holder.retain("b", [fact(n) for n in range(20)])
    assert on_server(holder).hold("b")

    def plan(view: Any) -> Batch:
        view.nearest(FakeEmbedder().encode_passages(["tea"] * 10).vectors, 5, 0.0)
        raise RuntimeError("changed its mind")

    with pytest.raises(RuntimeError):
        on_server(holder).commit("b", plan)
    alike(holder, other)


def test_recalls_beside_a_writer_each_see_one_state(holder: Recollect, other: Recollect) -> None:
    holder.retain("b", [fact(n) for n in range(20)])
    assert on_server(holder).hold("b")
    troubles: list[object] = []

    def ask() -> None:
        for _ in range(15):
            result = holder.recall("b", "Who repairs the boiler?", **NOW)
            if result.degraded or not result.results:
                troubles.append(result.degraded)

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for thread in asking:
        thread.start()
    for n in range(15):
        (holder if n % 2 else other).retain("b", [fact(40 + n)])
    for thread in asking:
        thread.join()
    assert troubles == []
    alike(holder, other)

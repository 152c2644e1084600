"""Connections: how many a recall takes, and what happens when there are too few."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pytest

from recollect import Recollect
from recollect.errors import NotFound, StoreError, StoreUnavailable
from recollect.storage.base import Batch, Filter, View
from recollect.storage.postgres.store import PostgresStore
from recollect.testing import open_fake
from recollect.testing.reference import BANK, made_up

from .conftest import MakeStore

T = TypeVar("T")
FACTS = [
    "Alice plays the violin in Oslo.",
    "Bob sold the blue bicycle in March 2024.",
    "Alice works with Bob at Northwind.",
    "The violin was repaired because it had fallen.",
]


def elsewhere(work: Callable[[], T]) -> T:
    """On another thread: who holds a connection already may take a further one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def closed_when_waited_for(held: View, store: PostgresStore) -> None:
    """Give a view's connection back a while after somebody began to wait for it."""

    def watch() -> None:
        pool = store._reading._first  # pyright: ignore[reportPrivateUsage]
        until = time.monotonic() + 60
        while not pool.get_stats().get("requests_waiting") and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(0.2)
        held.close()

    threading.Thread(target=watch).start()


def test_a_recall_takes_one_connection_and_few_round_trips(postgres: str, schema: str) -> None:
    with open_fake(postgres, pg_schema=schema, held_facts=0) as served:
        served.retain("b", FACTS)
        for query in ("Who plays the violin?", "What happened in March 2024?", "Where is Alice?"):
            trace = served.recall("b", query, trace=True).trace
            assert trace is not None
            assert trace.connections == 1
            assert trace.round_trips <= 8
            assert trace.max_conn_wait >= 0
            stages = [s.stage for s in trace.stages]
            assert stages.index("gather") < stages.index("semantic")


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.why("b", "violin", "nobody"),
        lambda m: m.load("b", "nobody"),
        lambda m: m.told_by("b", "nobody"),
        lambda m: m.update("b", "nobody", text="Nobody plays."),
        lambda m: m.restore("b", "nobody"),
        lambda m: m.invalidate("b", "nobody"),
        lambda m: m.forget("b", "nobody"),
    ],
    ids=["why", "load", "told_by", "update", "restore", "invalidate", "forget"],
)
def test_an_error_that_is_kept_keeps_no_connection(
    postgres: str, schema: str, ask: Callable[[Recollect], object]
) -> None:
    with open_fake(postgres, pg_schema=schema, pool_size=2) as memory:
        memory.retain("b", FACTS)
        kept: list[pytest.ExceptionInfo[NotFound]] = []
        for _ in range(4):
            with pytest.raises(NotFound) as error:
                ask(memory)
            kept.append(error)
        assert memory.recall("b", "violin").results


def test_the_trace_says_how_long_a_connection_was_waited_for(postgres: str, schema: str) -> None:
    with open_fake(postgres, pg_schema=schema, pool_size=1) as memory:
        memory.retain("b", FACTS)
        held = elsewhere(lambda: memory.store.view("b"))
        closed_when_waited_for(held, memory.store)
        trace = memory.recall("b", "violin", trace=True).trace
    assert trace is not None
    assert trace.max_conn_wait > 50
    assert trace.as_dict()["max_conn_wait"] == round(trace.max_conn_wait, 3)


def test_under_pressure_recalls_get_slower_not_wrong(postgres: str, schema: str) -> None:
    with open_fake(postgres, pg_schema=schema, pool_size=1, cache_entries=0) as memory:
        memory.retain("b", FACTS)
        alone = [h.id for h in memory.recall("b", "Who plays the violin?")]
        with ThreadPoolExecutor(12) as pool:
            found = list(pool.map(lambda _: memory.recall("b", "Who plays the violin?"), range(36)))
    assert all([h.id for h in result] == alone and not result.degraded for result in found)


def test_writers_and_readers_never_wait_for_each_other_in_a_circle(
    postgres: str, schema: str
) -> None:
    """Whoever corrects a memory holds a view while it commits."""
    with open_fake(postgres, pg_schema=schema, pool_size=1) as memory:
        ids = memory.retain("b", FACTS).new
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: memory.update("b", ids[n % 4], metadata={"n": n}), range(16)))
        assert {m.id for m in memory.memories("b")} == set(ids)


def test_a_slow_acquire_is_logged_with_the_state_of_the_pool(
    make_store: MakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    store = make_store(pool_size=1)
    store.create_bank(BANK)
    held = elsewhere(lambda: store.view(BANK))
    closed_when_waited_for(held, store)
    with caplog.at_level(logging.WARNING, "recollect.postgres"):
        store.view(BANK)
    assert "1 of 1 in the pool, 0 idle" in caplog.text


def test_a_pool_that_stays_empty_is_an_error_that_says_so(make_store: MakeStore) -> None:
    store = make_store(pool_size=1, patience=3.0)
    store.create_bank(BANK)
    held = elsewhere(lambda: store.view(BANK))
    with pytest.raises(StoreUnavailable, match="pool_size"):
        store.view(BANK)
    held.close()
    assert store.view(BANK).size == 0


def test_a_view_nobody_holds_gives_its_connection_back(make_store: MakeStore) -> None:
    store = make_store(pool_size=1, patience=20.0)
    store.create_bank(BANK)
    for _ in range(5):
        assert store.view(BANK).size == 0


def test_a_closed_view_can_be_asked_again_until_the_bank_changes(make_store: MakeStore) -> None:
    store = make_store()
    store.create_bank(BANK)
    reference = made_up(1)
    for batch in reference.batches():
        store.commit(BANK, lambda _, b=batch: b)
    view = store.view(BANK)
    vector = reference.queries()[0]
    before = view.semantic(vector, Filter(), 5, -1.0)
    view.close()
    again = view.window(None, None, Filter())
    assert len(again) > 0
    view.close()
    store.commit(BANK, lambda _: Batch(drop_memories=reference.keys()[:1]))
    with pytest.raises(StoreError, match="changed meanwhile"):
        view.allows(before.keys, Filter())
    assert np.array_equal(view.semantic(vector, Filter(), 5, -1.0).keys, before.keys)


def test_recalls_can_read_from_another_server(postgres: str, schema: str) -> None:
    """A replica: here the same server, asked under another name."""
    replica = f"{postgres}{'&' if '?' in postgres else '?'}application_name=replica"
    with open_fake(postgres, pg_schema=schema, read_dsn=replica) as memory:
        memory.retain("b", FACTS)
        assert memory.recall("b", "violin").results
        view = memory.store.recall_view("b")
        ((name,),) = view.session.fetch(b"SELECT current_setting('application_name')", {})  # type: ignore[attr-defined]
        assert name == "replica"
        ((name,),) = memory.store.view("b").session.fetch(  # type: ignore[attr-defined]
            b"SELECT current_setting('application_name')", {}
        )
        assert name == "recollect"

"""Recalls take turns: as many compute at once as there are cores, and none waits for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import recollect
from recollect import Recollect, testing
from recollect.config import cores
from recollect.memory import reading
from recollect.recall import retrieve
from recollect.recall.turns import Turns
from recollect.storage.base import View
from recollect.telemetry import Run
from recollect.types import StageEvent

QUERIES = [f"What about fact {i}?" for i in range(24)]


@pytest.fixture
def memory() -> Iterator[Recollect]:
    with testing.open_fake(":memory:") as memory:
        memory.retain("b", [f"Fact {i} is about topic {i % 5}." for i in range(30)])
        yield memory


def most_at_once(memory: Recollect, callers: int) -> int:
    """How many recalls were between their first and their last stage at the same time."""
    lock, running, most = threading.Lock(), 0, 0

    def note(event: StageEvent) -> None:
        nonlocal running, most
        with lock:
            if (event.stage, event.phase) == ("understand", "start"):
                running += 1
                most = max(most, running)
            elif (event.stage, event.phase) == ("pack", "stop"):
                running -= 1
        if event.stage == "understand":
            time.sleep(0.005)

    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(lambda q: memory.recall("b", q, on_event=note), QUERIES))
    return most


def test_no_more_recalls_compute_at_once_than_there_are_cores(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LONGEST_WAIT", 60)  # however slow the machine is
    assert most_at_once(memory, callers=12) <= max(memory.settings.threads, cores())


def test_callers_in_turn_get_what_one_caller_gets(memory: Recollect) -> None:
    alone = [[h.id for h in memory.recall("b", q, trace=True)] for q in QUERIES]
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda q: memory.recall("b", q, trace=True), QUERIES))
    assert [[h.id for h in result] for result in together] == alone


def test_a_recall_inside_a_recall_does_not_wait_for_itself(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LONGEST_WAIT", 0.05)
    inner: list[int] = []

    def ask(event: StageEvent) -> None:
        if (event.stage, event.phase) == ("understand", "start"):
            inner.append(len(memory.recall("b", "Which topic?", trace=True)))

    callers = 2 * max(memory.settings.threads, cores())
    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(lambda q: memory.recall("b", q, on_event=ask), QUERIES[:callers]))
    assert len(inner) == callers
    assert all(inner)


def threads_of_arms(memory: Recollect, callers: int) -> list[bool]:
    """Of each recall, whether the keyword arm ran on the thread that embedded the query; all of them
    have begun before any goes on."""
    met = threading.Barrier(callers, timeout=60)

    def meet(event: StageEvent) -> None:
        if (event.stage, event.phase) == ("understand", "start"):
            met.wait()

    def ask(query: str) -> bool:
        result = memory.recall("b", query, trace=True, on_event=meet)
        assert result.trace is not None
        ran = {s.stage: s.thread for s in result.trace.stages}
        return ran["keyword"] == ran["embed"]

    with ThreadPoolExecutor(callers) as pool:
        return list(pool.map(ask, QUERIES[:callers]))


def test_recalls_that_are_under_way_together_keep_their_arms(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LONGEST_WAIT", 0.05)  # on a single core the second waits so long
    assert any(threads_of_arms(memory, callers=2))


def test_a_process_among_several_keeps_its_arms() -> None:
    with testing.open_fake(":memory:", workers=2) as memory:
        memory.retain("b", ["Alice rows."])
        assert threads_of_arms(memory, callers=1) == [True]


def test_an_arm_that_fails_on_its_own_thread_is_left_out(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("no postings")

    monkeypatch.setattr(retrieve, "keyword", fails)
    with testing.open_fake(":memory:", workers=2) as shared:
        shared.retain("b", ["Alice rows."])
        result = shared.recall("b", "Who rows?", trace=True)
    assert [(d.part, d.reason) for d in result.degraded] == [("keyword", "ValueError: no postings")]


# --- before anything else --------------------------------------------------------------------


def test_who_waits_for_a_turn_has_read_nothing_yet(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LONGEST_WAIT", 60)
    lock, running, most = threading.Lock(), 0, 0
    real = memory.store.recall_view

    def reads(bank: str) -> View:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        return real(bank)

    def note(event: StageEvent) -> None:
        nonlocal running
        if (event.stage, event.phase) == ("pack", "stop"):
            with lock:
                running -= 1

    monkeypatch.setattr(memory.store, "recall_view", reads)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda q: memory.recall("b", q, trace=True, on_event=note), QUERIES))
    assert most <= max(memory.settings.threads, cores())


def test_a_turn_is_given_back_by_a_recall_that_fails() -> None:
    turns = Turns(1)
    with pytest.raises(ValueError), turns.taken(60):
        raise ValueError
    with turns.taken(60) as waited:
        assert waited < 60


def test_who_has_waited_long_enough_goes_on() -> None:
    turns, entered = Turns(1), threading.Event()

    def enter() -> None:
        with turns.taken(0.01):
            entered.set()

    with turns.taken(60), ThreadPoolExecutor(1) as pool:
        pool.submit(enter).result()
    assert entered.is_set()


def test_the_time_that_a_turn_was_waited_for_counts() -> None:
    assert Run(waited=2.0).elapsed_ms() >= 2000


def test_threads_are_lent_to_a_recall_that_is_alone() -> None:
    turns, run, others = Turns(2), Run(), threading.Event()
    with ThreadPoolExecutor(2) as workers:
        line = retrieve.Line(workers, turns, run, retrieve.Deadline(run, None))

        def other(asking: threading.Event) -> None:
            with turns.taken(60):
                asking.set()
                others.wait(60)

        with turns.taken(60):
            assert line.spare is workers
            asking = threading.Event()
            beside = workers.submit(other, asking)
            assert asking.wait(60)
            assert line.spare is None
            others.set()
            beside.result()
            assert line.spare is workers


def test_a_recall_among_others_scores_as_it_does_alone() -> None:
    turns = [
        {"speaker": "Nora" if i % 2 else "Peter", "text": f"I {what} with {whom}." + " Really." * i}
        for i, (what, whom) in enumerate(
            (what, whom)
            for what in ("swam", "cooked", "argued", "danced")
            for whom in ("Ines", "my uncle", "the neighbours", "Tomas")
        )
    ]
    queries = ["Who did Nora dance with?", "Whom did Peter argue with?", "Who swam with Ines?"]
    with recollect.open(":memory:", cache_entries=0) as memory:
        memory.retain("b", {"turns": turns, "document_id": "talk"})

        def scores(query: str) -> list[tuple[str, float]]:
            return [(hit.id, hit.score) for hit in memory.recall("b", query)]

        alone = [scores(query) for query in queries]
        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(scores, 4 * queries)) == 4 * alone

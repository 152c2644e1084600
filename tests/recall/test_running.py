"""While a recall runs: arms at once, events as they happen, failures shown, deadlines kept."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import recollect
from recollect import Arm, Recollect
from recollect.errors import ModelError, RecollectError, StoreError
from recollect.models.base import Embedder, Encoded
from recollect.recall import retrieve
from recollect.recall.pipeline import CROSSED_OWN
from recollect.recall.relevance import calibrations
from recollect.recall.result import RecallResult
from recollect.recall.turns import Turns
from recollect.telemetry import Run
from recollect.types import Band, StageEvent, StageTrace

ANCHOR = "2026-07-10T12:00:00Z"
QUERY = "What did Priya do in May 2025?"
PATIENCE_S = 60  # for what a machine does at once when it has nothing else to do
EVERY_STAGE = ["understand", "retrieve", "fuse", "rerank", "boost", "pack"]


class Waiting:
    """The real embedder, which waits for a word before it takes up a query."""

    def __init__(self, real: Embedder) -> None:
        self._real = real
        self.name, self.dimensions = real.name, real.dimensions
        self.token_dimensions = real.token_dimensions
        self.go_on = threading.Event()
        self.was_told = False
        self.on_query: Callable[[], None] = lambda: None

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        self.on_query()
        self.was_told = self.go_on.wait(PATIENCE_S)
        return self._real.encode_queries(texts)

    def encode_passages(self, texts: Sequence[str]) -> Encoded:
        return self._real.encode_passages(texts)


class Broken(Waiting):
    """An embedder whose service went away."""

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        raise ModelError("the embedding service does not answer", hint="start it")


def with_embedder(reopen: Callable[..., Recollect], embedder: Embedder) -> Recollect:
    other = reopen()
    other.__dict__["embedder"] = embedder
    return other


def traced(result: RecallResult) -> dict[str, StageTrace]:
    assert result.trace is not None
    return {s.stage: s for s in result.trace.stages}


def ids(result: RecallResult) -> list[str]:
    return [hit.id for hit in result]


# --- concurrency -------------------------------------------------------------------------------


def test_the_keyword_arm_works_while_the_query_is_embedded(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedder waits for it: one after the other would never end."""
    embedder = Waiting(memory.embedder)
    real = retrieve.keyword

    def telling(*args: Any) -> Any:
        found = real(*args)
        embedder.go_on.set()
        return found

    monkeypatch.setattr(retrieve, "keyword", telling)
    asked = with_embedder(reopen, embedder)
    stages = traced(asked.recall(diary, QUERY, query_timestamp=ANCHOR, trace=True))
    assert embedder.was_told
    assert stages["keyword"].start_ms < stages["embed"].stop_ms
    assert stages["keyword"].thread != stages["embed"].thread


def test_graph_and_temporal_run_on_threads_of_their_own_and_overlap(
    memory: Recollect, diary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits for the other to have begun: one after the other would never end."""
    meet = threading.Barrier(2, timeout=PATIENCE_S)
    for name in ("graph", "temporal"):
        real = getattr(retrieve, name)

        def meeting(*args: Any, _real: Callable[..., Any] = real, **given: Any) -> Any:
            meet.wait()
            return _real(*args, **given)

        monkeypatch.setattr(retrieve, name, meeting)
    result = memory.recall(diary, QUERY, query_timestamp=ANCHOR, trace=True)
    stages = traced(result)
    assert not result.degraded
    assert stages["graph"].thread != stages["temporal"].thread
    assert stages["graph"].start_ms < stages["temporal"].stop_ms
    assert stages["temporal"].start_ms < stages["graph"].stop_ms


def test_a_trace_holds_every_stage_with_its_clock(memory: Recollect, diary: str) -> None:
    result = memory.recall(diary, QUERY, query_timestamp=ANCHOR, trace=True)
    stages = traced(result)
    assert set(EVERY_STAGE) | {"embed", "semantic", "keyword", "graph", "temporal"} <= set(stages)
    for stage in stages.values():
        assert 0 <= stage.start_ms <= stage.stop_ms
    assert result.timings["total"] >= stages["pack"].stop_ms - stages["understand"].start_ms


def test_without_trace_there_is_none_but_timings_stay(memory: Recollect, diary: str) -> None:
    result = memory.recall(diary, "Who swam?")
    assert result.trace is None
    assert set(EVERY_STAGE) <= set(result.timings)


def test_eight_threads_get_the_answer_that_one_gets(memory: Recollect, diary: str) -> None:
    questions = [QUERY, "Who baked rye bread?", "violin", "What happened in March 2026?"]

    def ask(n: int) -> list[tuple[str, float]]:
        result = memory.recall(diary, questions[n % 4], query_timestamp=ANCHOR, trace=True)
        return [(h.id, h.score) for h in result]

    alone = [ask(n) for n in range(4)]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(ask, range(32)))
    assert together == [alone[n % 4] for n in range(32)]


def test_recall_goes_on_while_others_write(memory: Recollect) -> None:
    memory.retain(
        "busy", [{"text": f"Crane {i} lifts barrel {i}.", "id": f"c{i}"} for i in range(20)]
    )
    stop, trouble = threading.Event(), list[BaseException]()

    def write() -> None:
        for n in itertools.cycle(range(100, 150)):
            if stop.is_set():
                return
            memory.retain("busy", {"text": f"Crane {n} lifts barrel {n}.", "id": f"c{n}"})
            memory.update("busy", "c3", metadata={"n": n})
            memory.forget("busy", f"c{n}")

    def read() -> None:
        try:
            for _ in range(25):
                found = ids(
                    memory.recall("busy", "What does crane 3 lift?", trace=True, min_score=0.0)
                )
                assert found[0] == "c3"
        except BaseException as error:  # noqa: BLE001  shown below
            trouble.append(error)

    writer = threading.Thread(target=write)
    readers = [threading.Thread(target=read) for _ in range(3)]
    writer.start()
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    stop.set()
    writer.join()
    assert not trouble


# --- failures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["keyword", "graph", "temporal", "semantic"])
def test_an_arm_that_fails_is_named_and_the_rest_answers(
    memory: Recollect, diary: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"{name} is out of order")

    monkeypatch.setattr(retrieve, name, fails)
    result = memory.recall(diary, QUERY, query_timestamp=ANCHOR, trace=True)
    assert [(d.part, d.reason) for d in result.degraded] == [
        (name, f"RuntimeError: {name} is out of order")
    ]
    assert len(result) > 10
    assert not any(Arm(name) in hit.arms for hit in result)
    assert result.as_dict()["degraded"][0]["part"] == name


def test_a_failing_embedder_leaves_keyword_and_time(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str
) -> None:
    broken = with_embedder(reopen, Broken(memory.embedder))
    result = broken.recall(diary, QUERY, query_timestamp=ANCHOR)
    degraded = {d.part: d.reason for d in result.degraded}
    assert "does not answer" in degraded["embed"]
    assert "rerank" in degraded
    assert "no token vectors" not in degraded["rerank"]  # that is not what happened
    assert any(hit.text.startswith("Priya") for hit in result)
    assert {arm for hit in result for arm in hit.arms} <= {Arm.KEYWORD, Arm.TEMPORAL, Arm.GRAPH}


def test_who_could_not_look_by_meaning_does_not_say_that_nothing_is_known(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str
) -> None:
    broken = with_embedder(reopen, Broken(memory.embedder))
    result = broken.recall(diary, "What is the capital of Mongolia?")
    assert not result.nothing_known
    assert "embed: ModelError: the embedding service does not answer" in result.as_context()


@pytest.mark.parametrize("reranker", ["default", "none"])
def test_what_is_found_by_its_words_alone_is_no_noise(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str, reranker: str
) -> None:
    """A service that is down must not make an agent forget what it was told in these very words."""
    broken = with_embedder(partial(reopen, reranker=reranker), Broken(memory.embedder))
    result = broken.recall(diary, "Who swam in the lake?")
    best = result.results[0]
    assert "swam in the lake" in best.text
    assert best.band is not Band.NOISE
    assert best.text in result.as_context()
    assert all(hit.score < best.score / 5 for hit in result if "swam" not in hit.text)
    assert ("cross" in best.scores) == (reranker == "default")  # it needs no vectors
    asked = broken.recall(diary, "Who swam in the lake?", without=["semantic", "rerank"])
    assert "swam in the lake" in asked.results[0].text
    assert asked.results[0].band is not Band.NOISE


def test_without_one_search_for_meanings_all_are_judged_on_one_scale(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    """Late interaction knows meanings, too: what it does not look at must not be judged as if nobody did."""
    few = reopen(rerank_candidates=10)
    result = few.recall(diary, "Who swam in the lake?", without=["semantic"], explain=True)
    known = calibrations(few.embedder.name)
    assert any("late" not in hit.scores for hit in result)
    trees = [repr(hit.explanation) for hit in result]
    assert all(any(f"value={c.bias}, " in tree for c in known.values()) for tree in trees)


def test_nothing_that_can_search_is_an_error_not_an_empty_answer(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = with_embedder(reopen, Broken(memory.embedder))

    def fails(*_: Any) -> Any:
        raise RuntimeError("no index")

    monkeypatch.setattr(retrieve, "keyword", fails)
    with pytest.raises(RecollectError) as failed:
        broken.recall(diary, "xylophone")
    assert "does not answer" in str(failed.value)
    assert failed.value.hint


class Unready:
    """A cross-encoder that fails."""

    name = "unready"

    def score(self, query: str, passages: Sequence[str]) -> Any:
        raise ModelError("the reranker does not answer", hint="start it")


def test_a_failing_reranker_degrades_to_the_order_before_it(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    other = reopen()
    other.__dict__["_recalling"] = replace(other._recalling, reranker=Unready, crossed=CROSSED_OWN)  # pyright: ignore[reportPrivateUsage]
    result = other.recall(diary, "Who swam in the lake?")
    assert [d.part for d in result.degraded] == ["cross-encoder"]
    before = reopen(reranker="late-interaction").recall(diary, "Who swam in the lake?")
    assert ids(result) == ids(before)


class Sparing:
    """A cross-encoder that gives one score, however much it reads."""

    name = "sparing"

    def score(self, query: str, passages: Sequence[str]) -> Any:
        return np.ones(1, np.float32)


def test_a_reranker_that_gives_no_score_for_each_is_named(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    other = reopen()
    other.__dict__["_recalling"] = replace(other._recalling, reranker=Sparing, crossed=CROSSED_OWN)  # pyright: ignore[reportPrivateUsage]
    result = other.recall(diary, "Who swam in the lake?")
    assert [d.part for d in result.degraded] == ["cross-encoder"]
    assert "gave 1 scores for" in result.degraded[0].reason
    before = reopen(reranker="late-interaction").recall(diary, "Who swam in the lake?")
    assert ids(result) == ids(before)


class Endless:
    """A cross-encoder whose model overflows."""

    name = "endless"

    def score(self, query: str, passages: Sequence[str]) -> Any:
        return np.full(len(passages), np.inf, np.float32)


def test_a_reranker_whose_scores_have_no_end_is_named(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    other = reopen()
    other.__dict__["_recalling"] = replace(other._recalling, reranker=Endless, crossed=CROSSED_OWN)  # pyright: ignore[reportPrivateUsage]
    result = other.recall(diary, "Who swam in the lake?")
    assert "scores without end" in {d.part: d.reason for d in result.degraded}["cross-encoder"]


class Numberless(Waiting):
    """An embedder whose model overflows."""

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        encoded = self._real.encode_queries(texts)
        return replace(encoded, vectors=np.full_like(encoded.vectors, np.nan))


def test_an_embedder_that_gives_no_numbers_is_named(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str
) -> None:
    result = with_embedder(reopen, Numberless(memory.embedder)).recall(diary, QUERY)
    assert "gave no numbers" in {d.part: d.reason for d in result.degraded}["embed"]
    assert any(hit.text.startswith("Priya") for hit in result)


# --- deadlines ---------------------------------------------------------------------------------


def test_a_deadline_returns_the_best_so_far_and_says_what_was_skipped(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str
) -> None:
    embedder = Waiting(memory.embedder)
    late = with_embedder(reopen, embedder)
    embedder.go_on.set()
    late.recall(diary, "Who played the violin?")  # what is read once is read
    embedder.go_on.clear()
    result = late.recall(diary, "Who swam in the lake?", deadline_ms=3000)
    embedder.go_on.set()
    assert "swam in the lake" in result.results[0].text
    degraded = {d.part: d.reason for d in result.degraded}
    assert degraded["embed"] == degraded["rerank"] == "the deadline came first"
    assert {arm for hit in result for arm in hit.arms} <= {Arm.KEYWORD, Arm.GRAPH}


def test_a_deadline_too_short_for_anything_gives_an_empty_answer_that_says_so(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Waiting(memory.embedder)
    real = retrieve.keyword

    def late(*args: Any) -> Any:
        embedder.go_on.wait(PATIENCE_S)
        return real(*args)

    monkeypatch.setattr(retrieve, "keyword", late)
    hurried = with_embedder(reopen, embedder)
    result = hurried.recall(diary, "Who swam in the lake?", deadline_ms=0.01)
    embedder.go_on.set()
    assert not result.results
    assert {"keyword", "embed"} <= {d.part for d in result.degraded}
    assert not result.nothing_known  # nobody looked


def test_a_deadline_that_is_kept_changes_nothing(memory: Recollect, diary: str) -> None:
    plain = memory.recall(diary, QUERY, query_timestamp=ANCHOR, trace=True)
    timed = memory.recall(diary, QUERY, query_timestamp=ANCHOR, deadline_ms=60_000)
    assert not timed.degraded
    assert [(h.id, h.score) for h in timed] == [(h.id, h.score) for h in plain]


# --- events ------------------------------------------------------------------------------------


def assert_paired(events: list[StageEvent]) -> None:
    for name in {e.stage for e in events}:
        phases = [e for e in events if e.stage == name]
        assert [e.phase for e in phases] == ["start", "stop"], name
        start, stop = phases
        assert stop.at_ms >= start.at_ms
        assert stop.took_ms == pytest.approx(stop.at_ms - start.at_ms)


def test_a_callback_hears_every_stage_start_and_stop(memory: Recollect, diary: str) -> None:
    heard: list[StageEvent] = []
    memory.recall(diary, QUERY, query_timestamp=ANCHOR, trace=True, on_event=heard.append)
    assert_paired(heard)
    assert [e.stage for e in heard if e.phase == "start" and e.stage in EVERY_STAGE] == EVERY_STAGE
    assert {"embed", "semantic", "keyword", "graph", "temporal"} <= {e.stage for e in heard}


def test_events_arrive_while_the_recall_runs(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str
) -> None:
    embedder = Waiting(memory.embedder)
    other = with_embedder(reopen, embedder)
    told: list[str] = []
    for item in other.recall_events(diary, QUERY, query_timestamp=ANCHOR, trace=True):
        told.append(item.stage if isinstance(item, StageEvent) else "result")
        embedder.go_on.set()  # the recall waits for this: the event came while it ran
    assert told[0] == "understand" and told[-1] == "result"
    assert embedder.was_told


@pytest.mark.parametrize("stage", ["understand", "keyword", "embed", "semantic", "pack"])
@pytest.mark.parametrize("deadline", [None, 60_000])
def test_what_a_listener_raises_comes_out_as_it_was(
    memory: Recollect, diary: str, stage: str, deadline: float | None
) -> None:
    def listen(event: StageEvent) -> None:
        if event.stage == stage:
            raise RuntimeError("nobody is there")

    with pytest.raises(RuntimeError, match="nobody is there"):
        memory.recall(diary, "violin", on_event=listen, deadline_ms=deadline, trace=True)


def test_closing_under_a_recall_is_an_error_of_the_store_if_any(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str
) -> None:
    embedder = Waiting(memory.embedder)
    other = with_embedder(reopen, embedder)
    ended: list[object] = []

    def ask() -> None:
        try:
            # a time is asked for: the temporal arm is begun when the workers are gone
            ended.append(other.recall(diary, "Who swam in May 2025?", query_timestamp=ANCHOR))
        except Exception as error:  # noqa: BLE001  looked at below
            ended.append(error)

    begun = threading.Event()
    embedder.on_query = begun.set
    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(PATIENCE_S)
    other.close()
    embedder.go_on.set()
    asking.join(PATIENCE_S)
    assert isinstance(ended[0], RecallResult | StoreError), ended


def test_an_arm_that_closing_took_from_its_worker_is_run_here() -> None:
    run, go_on = Run(), threading.Event()
    workers = ThreadPoolExecutor(1)
    workers.submit(go_on.wait, PATIENCE_S)  # the arm waits in line behind it
    line = retrieve.Line(workers, Turns(1), run, retrieve.Deadline(run, 1000 * PATIENCE_S))
    answer = line.start("keyword", lambda: threading.current_thread().name)
    workers.shutdown(wait=False, cancel_futures=True)
    assert line.awaited("keyword", answer) == threading.current_thread().name
    go_on.set()


def test_recall_events_end_with_the_result(memory: Recollect, diary: str) -> None:
    *events, result = memory.recall_events(diary, QUERY, query_timestamp=ANCHOR, trace=True)
    assert isinstance(result, RecallResult)
    assert ids(result) == ids(memory.recall(diary, QUERY, query_timestamp=ANCHOR))
    assert_paired([e for e in events if isinstance(e, StageEvent)])


def test_an_error_comes_out_of_the_event_stream(memory: Recollect) -> None:
    with pytest.raises(RecollectError):
        list(memory.recall_events("nobody", "Alice"))


STREAMS = """
import os, threading, time, recollect
memory = recollect.open(":memory:")
memory.retain("b", "Alice works at Google.")
def ask():
    list(memory.recall_events("b", "Where did Alice work in May 2025?", trace=True))
threads = [threading.Thread(target=ask, daemon=True) for _ in range(24)]
[t.start() for t in threads]
until = time.monotonic() + 120  # streams that wait for each other never end, slow ones do
[t.join(max(0, until - time.monotonic())) for t in threads]
print("stuck", sum(t.is_alive() for t in threads), flush=True)
os._exit(0)
"""


def test_many_event_streams_at_once_do_not_wait_for_each_other() -> None:
    """In a process of its own: should they block each other, the threads could not be ended."""
    done = subprocess.run(
        [sys.executable, "-c", STREAMS], capture_output=True, text=True, timeout=180, check=True
    )
    assert done.stdout.strip() == "stuck 0", done.stderr


def test_an_arms_own_timeout_is_not_called_a_deadline(
    memory: Recollect, diary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def times_out(*_: Any) -> Any:
        raise TimeoutError("no answer on port 80")

    monkeypatch.setattr(retrieve, "keyword", times_out)
    result = memory.recall(diary, "Who swam?", trace=True)
    assert [d.reason for d in result.degraded] == ["TimeoutError: no answer on port 80"]


# --- async -------------------------------------------------------------------------------------


async def test_the_async_api_gives_the_same_answer(memory: Recollect, diary: str) -> None:
    path = memory._store.path  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    async with recollect.aopen(path) as other:
        result = await other.recall(diary, QUERY, query_timestamp=ANCHOR)
        why = await other.why(diary, QUERY, result.results[0].id, query_timestamp=ANCHOR)
        loaded = await other.load(diary, result.results[0].id)
        stream = [
            item
            async for item in other.recall_events(diary, QUERY, query_timestamp=ANCHOR, trace=True)
        ]
        several = await asyncio.gather(
            *(other.recall(diary, "violin", trace=True) for _ in range(8))
        )
    assert ids(result) == ids(memory.recall(diary, QUERY, query_timestamp=ANCHOR))
    assert why.returned and why.rank == 1
    assert loaded.id == result.results[0].id
    assert isinstance(stream[-1], RecallResult) and isinstance(stream[0], StageEvent)
    assert len({tuple(ids(r)) for r in several}) == 1


async def test_an_async_recall_leaves_the_loop_free(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str
) -> None:
    async with recollect.aopen(memory._store.path) as other:  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        other.sync.__dict__["embedder"] = embedder = Waiting(memory.embedder)
        asked = asyncio.ensure_future(other.recall(diary, "violin", trace=True))
        for _ in range(5):  # the recall waits for what comes after this
            await asyncio.sleep(0.01)
        embedder.go_on.set()
        assert (await asked).results
    assert embedder.was_told


async def test_a_cancelled_event_stream_is_cancelled_at_once(memory: Recollect, diary: str) -> None:
    async with recollect.aopen(memory._store.path) as other:  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        other.sync.__dict__["embedder"] = embedder = Waiting(memory.embedder)
        embedding = asyncio.Event()

        async def listen() -> None:
            async for item in other.recall_events(diary, "violin", without=["keyword"]):
                if isinstance(item, StageEvent) and item.stage == "embed":
                    embedding.set()

        listening = asyncio.ensure_future(listen())
        await embedding.wait()
        await asyncio.sleep(0.05)  # it waits for the next event, which will not come
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening
        assert not embedder.was_told  # and its embedder was not waited for
        embedder.go_on.set()


async def test_an_error_comes_out_of_the_async_event_stream(memory: Recollect) -> None:
    async with recollect.aopen(memory._store.path) as other:  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        with pytest.raises(RecollectError):
            _ = [item async for item in other.recall_events("nobody", "Alice")]

"""While models are loaded: a deadline is kept, loading goes on, and nothing is loaded twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Arm, Recollect
from recollect.errors import ModelError, OtherModel
from recollect.language.entities.gazetteer import given_names
from recollect.models import registry
from recollect.models.loading import Loading
from recollect.models.patience import Overdue

QUERY = "Who swam in the lake?"
PATIENCE_S = 60
LOADING = "the deadline came first: the {} is still being loaded"


class Slow:
    """What loads the real model, after it was told to go on."""

    def __init__(self, real: Callable[..., Any]) -> None:
        self._real = real
        self.go_on = threading.Event()
        self.begun = threading.Event()
        self.loads: list[str] = []  # the threads that loaded
        self.failures: list[Exception] = []

    def __call__(self, *args: Any, **given: Any) -> Any:
        self.loads.append(threading.current_thread().name)
        self.begun.set()
        assert self.go_on.wait(PATIENCE_S)
        if self.failures:
            raise self.failures.pop()
        return self._real(*args, **given)


@pytest.fixture
def cold(memory: Recollect, diary: str) -> Iterator[Callable[..., Recollect]]:
    """The store of the diary, opened by somebody who has loaded nothing."""
    _ = memory.embedder  # before anything slow takes its place
    opened: list[Recollect] = []

    def again(**settings: Any) -> Recollect:
        opened.append(recollect.open(memory._store.path, **settings))  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        return opened[-1]

    yield again
    for other in opened:
        other.close()


@pytest.fixture
def slow_embedder(
    cold: Callable[..., Recollect], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Slow]:
    slow = Slow(registry.load_embedder)
    monkeypatch.setattr(registry, "load_embedder", slow)
    yield slow
    slow.go_on.set()


@pytest.fixture
def slow_reranker(
    cold: Callable[..., Recollect], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Slow]:
    slow = Slow(registry.load_reranker)
    monkeypatch.setattr(registry, "load_reranker", slow)
    yield slow
    slow.go_on.set()


def parts(result: Any) -> dict[str, str]:
    return {d.part: d.reason for d in result.degraded}


# --- the embedder ------------------------------------------------------------------------------


def test_a_deadline_does_not_wait_for_an_embedder_that_loads(
    slow_embedder: Slow, cold: Callable[..., Recollect], diary: str
) -> None:
    result = cold().recall(diary, QUERY, deadline_ms=400)
    assert not slow_embedder.go_on.is_set()
    assert parts(result)["embed"] == LOADING.format("embedder")


def test_the_arms_that_need_no_embedder_answer_meanwhile(
    slow_embedder: Slow, cold: Callable[..., Recollect], diary: str
) -> None:
    result = cold().recall(diary, QUERY, deadline_ms=4000)
    assert "swam in the lake" in result.results[0].text
    assert {arm for hit in result for arm in hit.arms} <= {Arm.KEYWORD, Arm.GRAPH}
    assert not result.nothing_known


def test_a_query_without_a_word_to_look_for_is_answered_with_what_was_skipped(
    slow_embedder: Slow, cold: Callable[..., Recollect], diary: str
) -> None:
    result = cold().recall(diary, "?", deadline_ms=400)
    assert not result.results and not result.nothing_known
    assert parts(result)["embed"] == LOADING.format("embedder")


def test_what_a_recall_did_not_wait_for_is_there_for_the_next_and_loaded_once(
    slow_embedder: Slow, cold: Callable[..., Recollect], memory: Recollect, diary: str
) -> None:
    other = cold(reranker="none")
    other.recall(diary, QUERY, deadline_ms=100)
    other.recall(diary, QUERY, deadline_ms=100)
    slow_embedder.go_on.set()
    after = other.recall(diary, QUERY)
    assert not after.degraded and Arm.SEMANTIC in after.results[0].arms
    assert len(slow_embedder.loads) == 1


def test_a_recall_without_a_deadline_waits_for_the_embedder(
    slow_embedder: Slow, cold: Callable[..., Recollect], diary: str
) -> None:
    other = cold()
    with ThreadPoolExecutor(1) as asking:
        asked = asking.submit(other.recall, diary, QUERY)
        assert slow_embedder.begun.wait(PATIENCE_S)
        assert not asked.done()
        slow_embedder.go_on.set()
        assert not asked.result().degraded
    assert "recollect-load" not in slow_embedder.loads


def test_many_who_ask_at_once_load_one_embedder(
    slow_embedder: Slow, cold: Callable[..., Recollect], diary: str
) -> None:
    other = cold(reranker="none")
    with ThreadPoolExecutor(8) as asking:
        hurried = [asking.submit(other.recall, diary, QUERY, deadline_ms=50) for _ in range(4)]
        patient = [asking.submit(other.recall, diary, QUERY) for _ in range(4)]
        assert all("embed" in parts(one.result()) for one in hurried)
        slow_embedder.go_on.set()
        assert not any(one.result().degraded for one in patient)
    assert len(slow_embedder.loads) == 1


async def test_an_async_recall_does_not_wait_for_an_embedder_that_loads(
    slow_embedder: Slow, memory: Recollect, diary: str
) -> None:
    _ = memory.embedder
    async with recollect.aopen(memory._store.path) as other:  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        result = await other.recall(diary, QUERY, deadline_ms=400)
        slow_embedder.go_on.set()
    assert parts(result)["embed"] == LOADING.format("embedder")


def test_why_does_not_wait_for_an_embedder_that_loads(
    slow_embedder: Slow, cold: Callable[..., Recollect], memory: Recollect, diary: str
) -> None:
    asked = memory.memories(diary)[0].id
    found = cold().why(diary, QUERY, asked, deadline_ms=400)
    assert not slow_embedder.go_on.is_set()
    says = {stage.stage: stage.says for stage in found.stages}
    assert says["semantic"] == f"the arm did not run: embed: {LOADING.format('embedder')}"


def test_a_deadline_that_is_kept_while_models_load_changes_nothing(
    cold: Callable[..., Recollect], memory: Recollect, diary: str
) -> None:
    moment = "2026-07-10T12:00:00Z"
    timed = cold().recall(diary, QUERY, query_timestamp=moment, deadline_ms=60_000)
    plain = memory.recall(diary, QUERY, query_timestamp=moment)
    assert not timed.degraded
    assert [(h.id, h.score) for h in timed] == [(h.id, h.score) for h in plain]


# --- the reranker ------------------------------------------------------------------------------


def test_a_deadline_does_not_wait_for_a_reranker_that_loads(
    slow_reranker: Slow, cold: Callable[..., Recollect], diary: str
) -> None:
    other = cold()
    _ = other.embedder
    result = other.recall(diary, QUERY, deadline_ms=3000)
    assert not slow_reranker.go_on.is_set()
    assert parts(result) == {"cross-encoder": LOADING.format("reranker")}
    slow_reranker.go_on.set()
    before = cold(reranker="late-interaction").recall(diary, QUERY)
    assert [hit.id for hit in result] == [hit.id for hit in before]


def test_why_does_not_wait_for_a_reranker_that_loads(
    slow_reranker: Slow, cold: Callable[..., Recollect], diary: str
) -> None:
    other = cold()
    _ = other.embedder
    best = other.recall(diary, QUERY, deadline_ms=3000).results[0]
    found = other.why(diary, QUERY, best.id, deadline_ms=3000)
    assert not slow_reranker.go_on.is_set()
    says = {stage.stage: stage.says for stage in found.stages}
    assert says["rerank"].endswith(f"; without cross-encoder: {LOADING.format('reranker')}")


def test_a_reranker_that_was_not_waited_for_reads_for_the_next_and_is_loaded_once(
    slow_reranker: Slow, cold: Callable[..., Recollect], diary: str
) -> None:
    other = cold()
    _ = other.embedder
    other.recall(diary, QUERY, deadline_ms=200)
    other.recall(diary, QUERY, deadline_ms=200)
    slow_reranker.go_on.set()
    result = other.recall(diary, QUERY)
    assert "cross-encoder" in result.timings and not result.degraded
    assert len(slow_reranker.loads) == 1


# --- what goes wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize("deadline_ms", [0.01, 60_000])
def test_an_embedder_that_is_not_there_is_an_error_with_any_deadline(
    cold: Callable[..., Recollect], tmp_path: Path, diary: str, deadline_ms: float
) -> None:
    other = cold(embedder=str(tmp_path / "nowhere"))
    with pytest.raises(ModelError, match="there is no model"):
        other.recall(diary, QUERY, deadline_ms=deadline_ms)


def test_a_reranker_that_is_not_there_is_an_error_with_a_deadline(
    cold: Callable[..., Recollect], tmp_path: Path, diary: str
) -> None:
    other = cold(reranker=str(tmp_path / "nowhere"))
    with pytest.raises(ModelError, match="there is no model"):
        other.recall(diary, QUERY, deadline_ms=60_000)


def test_an_embedder_that_is_not_the_banks_is_an_error_with_a_deadline(
    memory: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.testing import FakeEmbedder

    with recollect.open(tmp_path / "memory.db") as first:
        first.retain("a", "Bob has a dog.")
    monkeypatch.setattr(registry, "load_embedder", lambda *_, **__: FakeEmbedder())
    with recollect.open(tmp_path / "memory.db") as other, pytest.raises(OtherModel):
        other.recall("a", "Who has a dog?", deadline_ms=60_000)


def test_a_load_that_failed_is_tried_again(
    slow_embedder: Slow, cold: Callable[..., Recollect], diary: str
) -> None:
    other = cold(reranker="none")
    slow_embedder.failures.append(ModelError("the disk is gone", hint="bring it back"))
    slow_embedder.go_on.set()
    with pytest.raises(ModelError, match="the disk is gone"):
        other.embedder.encode_queries([QUERY])
    assert not other.recall(diary, QUERY, deadline_ms=60_000).degraded


def test_closing_waits_for_what_loads(
    slow_embedder: Slow, cold: Callable[..., Recollect], diary: str
) -> None:
    other = cold()
    other.recall(diary, QUERY, deadline_ms=50)
    assert slow_embedder.begun.wait(PATIENCE_S)
    closing = threading.Thread(target=other.close)
    closing.start()
    slow_embedder.go_on.set()
    closing.join(PATIENCE_S)
    assert not closing.is_alive()
    assert not [t for t in threading.enumerate() if t.name == "recollect-load"]


# --- one load ----------------------------------------------------------------------------------


def test_a_load_that_is_late_goes_on_and_its_answer_is_kept() -> None:
    slow = Slow(object)
    model = Loading("model", slow, lambda: None)
    with pytest.raises(Overdue, match="the model is still being loaded"):
        model.within(0.0)
    slow.go_on.set()
    assert model() is model.within(0.0) is model()
    assert slow.loads == ["recollect-load"]


def test_a_timeout_of_the_load_itself_is_not_taken_for_a_deadline() -> None:
    def times_out() -> object:
        raise TimeoutError("the network disk does not answer")

    with pytest.raises(TimeoutError, match="network disk"):
        Loading("model", times_out, lambda: None).within(PATIENCE_S)


def test_who_is_warm_has_read_the_words_that_a_query_is_understood_by(
    cold: Callable[..., Recollect],
) -> None:
    given_names.cache_clear()
    cold().warm()
    assert given_names.cache_info().currsize == 1

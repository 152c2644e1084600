"""Query cache: 100 entries, least recently used first out, 30 seconds, dropped on any change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Recollect
from recollect.config import Settings
from recollect.memory import reading
from recollect.recall import cache as cache_module
from recollect.recall.cache import QueryCache
from recollect.types import StageEvent


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(cache_module, "time", made)
    return made


def test_the_settings_are_100_entries_and_30_seconds() -> None:
    assert (Settings().cache_entries, Settings().cache_seconds) == (100, 30.0)


def test_an_entry_lives_30_seconds(clock: Clock) -> None:
    cache = QueryCache[str](100, 30)
    cache.put("q", "answer")
    clock.now += 29.9
    assert cache.get("q") == "answer"
    clock.now += 0.2
    assert cache.get("q") is None


def test_reading_an_entry_does_not_make_it_younger(clock: Clock) -> None:
    cache = QueryCache[str](100, 30)
    cache.put("q", "answer")
    for _ in range(4):
        clock.now += 8
        cache.get("q")
    assert cache.get("q") is None


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), max_size=60))
def test_the_least_recently_used_goes_first(steps: list[tuple[bool, int]]) -> None:
    cache, model = QueryCache[int](4, 1e9), list[int]()
    for put, key in steps:
        if put:
            cache.put(key, key)
            model = [k for k in model if k != key] + [key]
            model = model[-4:]
        else:
            assert (cache.get(key) is not None) == (key in model)
            if key in model:
                model = [k for k in model if k != key] + [key]


def test_the_101st_query_pushes_out_the_first() -> None:
    cache = QueryCache[int](100, 30)
    for n in range(101):
        cache.put(n, n)
    assert cache.get(0) is None
    assert cache.get(1) == 1


# --- in a recall -------------------------------------------------------------------------------


@pytest.fixture
def bank(memory: Recollect, request: pytest.FixtureRequest) -> str:
    name = f"cache-{request.node.name}"
    memory.retain(
        name,
        [
            {"id": "tea", "text": "Alice drinks green tea."},
            {"id": "tram", "text": "Bob takes the tram."},
        ],
    )
    return name


WHEN = "2026-07-10T12:00:00Z"


def ask(memory: Recollect, bank: str, query: str = "What does Alice drink?", **options: object):
    return memory.recall(bank, query, query_timestamp=WHEN, **options)


def test_the_second_time_the_answer_is_cached_and_equal(memory: Recollect, bank: str) -> None:
    first, second = ask(memory, bank), ask(memory, bank)
    assert (first.cached, second.cached) == (False, True)
    assert first.results == second.results
    assert first.as_context() == second.as_context()


def test_who_gives_no_time_asks_about_the_present(
    memory: Recollect, bank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = (datetime(2026, 7, 10, 12, 0, second, tzinfo=UTC) for second in range(60))
    monkeypatch.setattr(reading, "now", lambda: next(times))
    memory.recall(bank, "What does Alice drink?")
    assert memory.recall(bank, "What does Alice drink?", query_timestamp=None, as_of=None).cached


def test_a_cached_answer_still_explains_itself(memory: Recollect, bank: str) -> None:
    first, second = ask(memory, bank), ask(memory, bank)
    assert second.results[0].explanation == first.results[0].explanation is not None


@pytest.mark.parametrize(
    "other",
    [
        {"budget": "high"}, {"max_tokens": 100}, {"types": ["world"]}, {"tags": ["x"]}, {"min_score": 0.2},
        {"expand_hops": 1}, {"include_chunks": True}, {"verbosity": "lean"}, {"as_of": "2026-12-31"},
        {"temporal_window": ("2026-01-01", None)}, {"query": "what does alice drink"}, {"without": ["boost"]},
    ],
    ids=lambda o: next(iter(o)),
)  # fmt: skip
def test_another_option_is_another_question(
    memory: Recollect, bank: str, other: dict[str, object]
) -> None:
    ask(memory, bank)
    assert not ask(memory, bank, **other).cached


CHANGES = {
    "retain": lambda m, b: m.retain(b, "Carla paints boats."),
    "update": lambda m, b: m.update(b, "tea", text="Alice drinks black tea."),
    "annotate": lambda m, b: m.update(b, "tea", metadata={"cup": "blue"}),
    "review": lambda m, b: m.review(b, "tea"),
    "invalidate": lambda m, b: m.invalidate(b, "tea"),
    "supersede": lambda m, b: m.supersede(b, "tea", "tram"),
    "forget": lambda m, b: m.forget(b, "tea"),
    "configure": lambda m, b: m.configure_bank(b, {"mission": "tea"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_the_bank_drops_its_answers(
    memory: Recollect, bank: str, change: str
) -> None:
    ask(memory, bank)
    CHANGES[change](memory, bank)
    assert not ask(memory, bank).cached


def test_a_change_by_another_handle_counts_too(memory: Recollect, reopen, bank: str) -> None:
    ask(memory, bank)
    reopen().retain(bank, "Carla paints boats.")
    assert not ask(memory, bank).cached


def test_a_bank_deleted_and_made_again_has_no_old_answers(memory: Recollect, bank: str) -> None:
    ask(memory, bank)
    memory.delete_bank(bank)
    memory.retain(bank, [{"id": "new", "text": "Alice drinks cocoa."}])
    result = ask(memory, bank)
    assert not result.cached
    assert [h.id for h in result] == ["new"]


def test_a_change_of_another_bank_does_not_matter(memory: Recollect, bank: str) -> None:
    ask(memory, bank)
    memory.retain("cache-elsewhere", "Carla paints boats.")
    assert ask(memory, bank).cached


def test_a_traced_or_timed_recall_is_always_run(memory: Recollect, bank: str) -> None:
    ask(memory, bank)
    assert not ask(memory, bank, trace=True).cached
    assert not ask(memory, bank, deadline_ms=10_000).cached


def test_a_cached_answer_says_so_in_the_events(memory: Recollect, bank: str) -> None:
    heard: list[StageEvent] = []
    ask(memory, bank)
    ask(memory, bank, on_event=heard.append)
    assert [e.stage for e in heard] == ["cache.hit"]


def test_a_degraded_answer_is_not_kept(
    memory: Recollect, bank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.recall import retrieve

    def fails(*_: object) -> None:
        raise RuntimeError("out of order")

    with monkeypatch.context() as broken:
        broken.setattr(retrieve, "keyword", fails)
        assert ask(memory, bank).degraded
    again = ask(memory, bank)
    assert not again.cached
    assert not again.degraded


def test_who_reads_an_answer_cannot_change_the_next(memory: Recollect) -> None:
    given = {"from": {"app": "chat"}, "seen": [1]}
    memory.retain("b", {"text": "Alice drinks tea.", "id": "tea", "metadata": given})
    for query in ("Who drinks tea?", "What does Alice drink?"):
        held: Any = memory.recall("b", query).results[0].memory.metadata
        for change in (lambda h=held: h.clear(), lambda h=held: h["seen"].append(2)):
            with pytest.raises(TypeError, match="change a copy"):
                change()
        assert held == memory.load("b", "tea").metadata == given
    assert memory.update("b", "tea", metadata={**held, "new": 1}).metadata == {**given, "new": 1}

"""What the best hits lead to: a candidate that shares a name with one of them, or is like it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Recollect
from recollect.language.entities import EntityResolver
from recollect.recall.boost import DAY
from recollect.recall.bridge import CEILING, COMMON, bridge, subject
from recollect.recall.pool import Pool
from recollect.recall.request import recall_request
from recollect.recall.understand import understand
from recollect.storage.base import Floats, Keys, View
from recollect.types import Explanation, Memory

from .columns import columns as columns_of
from .columns import pool as ranking

BAR = 0.2


class Named:
    """A view that knows what its memories name and where their vectors point."""

    def __init__(
        self, names: Sequence[Sequence[int]], vectors: Floats | None, texts: Sequence[str] = ()
    ) -> None:
        self._names, self._texts = names, texts
        self._vectors = np.eye(len(names), dtype=np.float32) if vectors is None else vectors

    def entities_of(self, keys: Keys) -> list[list[int]]:
        return [list(self._names[key - 1]) for key in keys.tolist()]

    def vectors(self, keys: Keys) -> Floats:
        return self._vectors[keys - 1]

    def load(self, keys: Iterable[int]) -> dict[int, Memory]:
        return {key: self._memory(key) for key in keys if self._texts}

    def _memory(self, key: int) -> Memory:
        names = tuple(f"Name{number}" for number in self._names[key - 1])
        return Memory(id=str(key), bank="b", text=self._texts[key - 1], entities=names)


def bridged(
    relevance: Sequence[float],
    names: Sequence[Sequence[int]],
    *,
    asked: Sequence[int] = (),
    vectors: Floats | None = None,
    texts: Sequence[str] = (),
    limit: int = 300,
    window: Floats | None = None,
    **columns: Sequence[int],
) -> Pool:
    """The candidates' relevance, best first, and the numbers of the names that each holds."""
    request = recall_request("who is it", now=datetime(2026, 11, 15, tzinfo=UTC))
    query = replace(understand(request, EntityResolver([])), entities=tuple(asked))
    view = cast(View, Named(names, vectors, texts))
    candidates = ranking(relevance, [1] * len(names))
    candidates = replace(candidates, columns=columns_of(candidates.keys, **columns))
    if window is not None:
        candidates = replace(candidates, signals={"window": window})
    return bridge(view, query, candidates, limit, BAR)


def lifted(pool: Pool) -> list[int]:
    return [] if pool.bridged is None else np.flatnonzero(pool.bridged.lift).tolist()


def test_a_name_shared_with_the_best_hit_lifts() -> None:
    pool = bridged([0.6, 0.01, 0.01], [[7], [8], [7]])
    assert lifted(pool) == [2]
    assert 0.01 < pool.relevance[2] < CEILING


def test_a_name_that_was_asked_for_leads_nowhere() -> None:
    assert lifted(bridged([0.6, 0.01, 0.01], [[7], [8], [7]], asked=[7])) == []


def test_a_name_that_everybody_holds_leads_nowhere() -> None:
    count = COMMON + 1
    assert lifted(bridged([0.6] + [0.01] * (count - 1), [[7]] * count)) == []


def test_a_rarer_name_lifts_further() -> None:
    rare = bridged([0.6, 0.01, 0.01, 0.01], [[7], [7], [8], [9]])
    common = bridged([0.6, 0.01, 0.01, 0.01], [[7], [7], [7], [7]])
    assert rare.relevance[1] > common.relevance[1]


def test_a_memory_of_many_names_is_about_none_of_them() -> None:
    about = bridged([0.6, 0.01], [[7], [7]])
    lists = bridged([0.6, 0.01], [[7], [7, 8, 9, 10, 11]])
    assert about.relevance[1] > lists.relevance[1]


MANY = [[7], [7, 1, 2, 3, 4, 5], [7, 11, 12, 13, 14, 15], [9]]


def test_what_begins_with_the_name_of_a_hit_tells_of_it() -> None:
    texts = ["It was Name7.", "The Name7 is many things.", "Among others there is Name7.", "Name9"]
    pool = bridged([0.6, 0.01, 0.01, 0.01], MANY, texts=texts)
    assert pool.relevance[1] > 2 * pool.relevance[2]


def test_a_longer_word_is_not_the_name_it_begins_with() -> None:
    texts = ["It was Name7.", "Name77 is many things.", "Name7's end", "Name9"]
    pool = bridged([0.6, 0.01, 0.01, 0.01], MANY, texts=texts)
    assert pool.relevance[2] > 2 * pool.relevance[1]


def test_the_more_tell_of_a_name_the_less_each_is_lifted() -> None:
    few, many = (
        bridged([0.6] + [0.01] * 9, [[7]] + [[7, 1, 2, 3, 4]] * 9, texts=["It", *texts])
        for texts in (["Name7"] * 2 + ["It"] * 7, ["Name7"] * 9)
    )
    assert few.relevance[1] > many.relevance[1]


def test_to_tell_of_who_was_asked_for_leads_nowhere() -> None:
    texts = ["Name5 met Name7.", "Name5 and Name7", "It was Name7."]
    pool = bridged([0.6, 0.01, 0.01], [[5, 7], [5, 7], [7, 8]], asked=[5], texts=texts)
    without = bridged([0.6, 0.01, 0.01], [[5, 7], [5, 7], [7, 8]], asked=[5])
    assert pool.relevance[1] == without.relevance[1]


def test_a_title_says_what_a_memory_tells_of() -> None:
    memory = Memory(id="1", bank="b", text="It won twice.", title="Name7", entities=("A", "Name7"))
    assert subject(memory, [1, 7]) == 7


def test_what_was_lifted_leads_on() -> None:
    pool = bridged([0.6, 0.01, 0.01, 0.011], [[7], [7, 8], [8], [9]])
    assert lifted(pool) == [1, 2]
    assert pool.bridged is not None
    assert pool.bridged.over.tolist() == [-1, 0, 1, -1]


def around(*cosines: float) -> Floats:
    """The first vector, and others at these cosines from it."""
    return np.array([[1, 0], *([c, math.sqrt(1 - c * c)] for c in cosines)], np.float32)


def test_the_liker_a_hit_the_further_it_is_lifted() -> None:
    pool = bridged([0.6, 0.01, 0.01], [[], [], []], vectors=around(0.9, 0.5))
    assert pool.relevance[1] > pool.relevance[2] > 0.01


def test_what_the_time_asked_for_rules_out_is_not_lifted_for_its_likeness() -> None:
    window = np.array([4.0, -6.0, -0.5], np.float32)
    pool = bridged([0.6, 0.01, 0.01], [[], [], []], vectors=around(0.9, 0.9), window=window)
    assert lifted(pool) == [2]


def test_what_is_no_liker_than_the_bar_is_not_lifted() -> None:
    assert lifted(bridged([0.6, 0.01], [[], []], vectors=around(BAR - 0.01))) == []


def test_a_name_and_likeness_lift_as_far_as_the_better_of_both() -> None:
    both, like = (
        bridged([0.6, 0.01, 0.01], [[7], names, []], vectors=around(0.9, 0.1))
        for names in ([7], [8])
    )
    assert both.relevance[1] == like.relevance[1] > 0.01


def at(*hours: int) -> dict[str, list[int]]:
    moments = [hour * DAY // 24 for hour in hours]
    return {"happened_from": moments, "happened_until": moments}


NOBODY: list[list[int]] = [[], [], [], []]


def test_what_happened_the_same_day_as_the_best_hit_is_lifted() -> None:
    pool = bridged([0.6, 0.01, 0.01, 0.01], NOBODY, **at(8, 23, 25, 99))
    assert lifted(pool) == [1]


def test_a_name_and_a_day_lift_further_than_a_name() -> None:
    names = [[7], [7], [8], [9]]
    alone, both = (bridged([0.6, 0.01, 0.01, 0.01], names, **at(8, h, 70, 99)) for h in (30, 9))
    assert both.relevance[1] > alone.relevance[1]


def test_a_day_that_most_candidates_share_leads_nowhere() -> None:
    assert lifted(bridged([0.6, 0.01, 0.01, 0.01], NOBODY, **at(8, 9, 10, 99))) == []


def test_what_was_told_without_a_time_has_no_day() -> None:
    told = at(8, 9, 70, 99)
    pool = bridged([0.6, 0.01, 0.01, 0.01], NOBODY, **told, fresh_from=told["happened_from"])
    assert lifted(pool) == []


def test_a_month_is_no_day() -> None:
    month = {"happened_from": [0] * 4, "happened_until": [30 * DAY, 30 * DAY, DAY, DAY]}
    assert lifted(bridged([0.6, 0.01, 0.01, 0.01], NOBODY, **month)) == []


def test_turns_of_a_conversation_are_not_lifted_for_their_day() -> None:
    pool = bridged([0.6, 0.01, 0.01, 0.01], NOBODY, **at(8, 9, 70, 99), before=[0, 1, 0, 0])
    assert lifted(pool) == []


def test_candidates_beyond_the_limit_are_left_alone() -> None:
    assert lifted(bridged([0.6, 0.01, 0.01], [[7], [8], [7]], limit=2)) == []


def test_without_candidates_there_is_nothing_to_lift() -> None:
    assert len(bridged([], [])) == 0


chances = st.floats(2**-20, 1, width=32)
held = st.lists(st.integers(1, 6), max_size=4, unique=True)


@given(st.lists(st.tuples(chances, held), min_size=1, max_size=20))
def test_nothing_falls_and_nothing_gets_past_its_bridge_or_the_ceiling(
    candidates: list[tuple[float, list[int]]],
) -> None:
    relevance = np.array([chance for chance, _ in candidates], np.float32)
    vectors = np.ones((len(candidates), 1), np.float32)
    pool = bridged(relevance.tolist(), [n for _, n in candidates], vectors=vectors)
    assert (pool.relevance >= relevance).all()
    for row in lifted(pool):
        assert pool.bridged is not None
        most = min(float(pool.relevance[pool.bridged.over[row]]), CEILING)
        assert pool.relevance[row] <= most + 1e-6


# --- in a bank ---------------------------------------------------------------------------------

QUESTION = "Who is the spouse of the director of The Silent Harbour?"


@pytest.fixture(scope="module")
def films(memory: Recollect) -> str:
    """The answer shares no word with the question, only a name with what tells of the film."""
    others = ("Ana Lund", "Piet Moor", "Jo Hart", "Kim Vega", "Lea Brandt", "Max Olsen")
    memory.retain(
        "films",
        [
            {"id": "film", "text": "The Silent Harbour is a film directed by Vera Castellan."},
            {"id": "answer", "text": "Vera Castellan married Tomas Reiter."},
            *({"text": f"{who} lives near the harbour with a cat."} for who in others),
        ],
    )
    return "films"


def test_the_second_step_comes_before_what_only_sounds_alike(memory: Recollect, films: str) -> None:
    found = [hit.id for hit in memory.recall(films, QUESTION)]
    assert found[0] == "film"
    assert "answer" in found[1:3]


def test_a_day_counts_where_it_was_given_and_not_the_day_of_telling(memory: Recollect) -> None:
    texts = ("The dentist moved the appointment.", "The appointment book is green.")
    other = [f"Note {n}: shelf {n} of the cellar was dusted." for n in range(1, 9)]
    shelves = [{"text": text, "timestamp": f"2026-0{n}-01"} for n, text in enumerate(other, 1)]
    lifts: list[float] = []
    for bank, time in (("dated", {"timestamp": "2026-03-05"}), ("undated", {})):
        memory.retain(bank, [*({"text": text, **time} for text in texts), *shelves])
        hits = memory.recall(bank, "Who moved the appointment?")
        book = next(hit for hit in hits if hit.text == texts[1])
        lifts.append(_value(book.explanation, "towards a better hit"))
    assert lifts[0] > lifts[1]


def test_what_tells_of_a_name_is_lifted_further_than_what_mentions_it(memory: Recollect) -> None:
    others = "Drew Brees, Sean Payton and Mickey Loomis"
    texts = (
        "In 2009 the Colts lost to the New Orleans Saints.",
        f"The New Orleans Saints share a stadium with {others}.",
        f"{others} share a stadium with the New Orleans Saints.",
    )
    memory.retain("teams", [{"text": text} for text in texts])
    hits = {hit.text: hit for hit in memory.recall("teams", "Who beat the Colts in 2009?")}
    about, mentions = (_value(hits[text].explanation, "towards a better hit") for text in texts[1:])
    assert about > 1.2 * mentions


def test_the_tree_of_what_was_lifted_adds_up(memory: Recollect, films: str) -> None:
    hit = next(h for h in memory.recall(films, QUESTION) if h.id == "answer")
    assert hit.explanation is not None
    relevance = hit.explanation.details[0]
    (logit,) = relevance.details
    assert any("towards a better hit" in part.description for part in logit.details)
    assert logit.value == pytest.approx(sum(part.value for part in logit.details), abs=1e-6)
    assert relevance.value == pytest.approx(1 / (1 + math.exp(-logit.value)), abs=1e-5)


def test_why_names_the_hit_that_led_there(memory: Recollect, films: str) -> None:
    why = memory.why(films, QUESTION, "answer")
    verdict = next(s for s in why.stages if s.stage == "bridge")
    assert verdict.numbers["over"] == "film"
    reranked = next(s for s in why.stages if s.stage == "rerank")
    assert reranked.numbers["relevance"] < verdict.numbers["relevance"]


def test_the_trace_counts_what_was_lifted(memory: Recollect, films: str) -> None:
    trace = memory.recall(films, QUESTION, trace=True).trace
    assert trace is not None
    stage = next(s for s in trace.stages if s.stage == "bridge")
    assert stage.detail["lifted"] >= 1


@pytest.mark.parametrize("part", ["graph", "rerank"])
def test_without_the_graph_or_reranking_nothing_is_lifted(
    memory: Recollect, films: str, part: str
) -> None:
    hits = memory.recall(films, QUESTION, without=(part,))
    assert not any(_said(hit.explanation, "towards a better hit") for hit in hits)


def _said(tree: Explanation | None, words: str) -> bool:
    assert tree is not None
    return words in tree.description or any(_said(part, words) for part in tree.details)


def _value(tree: Explanation | None, words: str) -> float:
    """Of the part that says so; 0 where none does."""
    assert tree is not None
    return tree.value if words in tree.description else sum(_value(p, words) for p in tree.details)

"""Every measure against a ranking small enough to work out by hand."""

from __future__ import annotations

import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.eval import metrics
from recollect.eval.data import Query
from recollect.eval.metrics import Judged, Ranked, figure, recall_within, score_queries, summarise


def judged(
    ids: str,
    gold: str = "",
    *,
    forbidden: str = "",
    tokens: int = 10,
    nothing_known: bool = False,
    answerable: bool | None = True,
    category: str = "all",
) -> Judged:
    """Units are single letters: judged("abc", "b") ranks a, b, c and wants b."""
    query = Query("q", "?", tuple(gold), tuple(forbidden), category, answerable=answerable)
    ranked = Ranked(tuple(ids), (tokens,) * len(ids), nothing_known)
    return Judged(query, frozenset(gold), frozenset(forbidden), ranked)


def row(one: Judged) -> dict[str, float]:
    return score_queries([one], (2, 5))[0]


def test_recall_counts_the_gold_found() -> None:
    assert row(judged("axbyz", "ab"))["recall@2"] == 0.5
    assert row(judged("axbyz", "ab"))["recall@5"] == 1.0


def test_all_evidence_wants_every_gold_unit() -> None:
    found = row(judged("axbyz", "ab"))
    assert (found["all-evidence@2"], found["all-evidence@5"]) == (0.0, 1.0)


def test_hit_wants_one() -> None:
    assert row(judged("xa", "ab"))["hit@2"] == 1.0


def test_mrr_is_one_over_the_first_rank() -> None:
    assert row(judged("xya", "ab"))["mrr"] == pytest.approx(1 / 3)


def test_ndcg_discounts_by_rank() -> None:
    ideal = 1 + 1 / math.log2(3)
    assert row(judged("axb", "ab"))["ndcg@10"] == pytest.approx((1 + 1 / math.log2(4)) / ideal)


def test_a_query_that_got_nothing_scores_zero_everywhere() -> None:
    assert set(row(judged("", "a")).values()) == {0.0}


def test_a_query_without_gold_is_not_scored() -> None:
    assert row(judged("abc", "", answerable=None)) == {}


def test_the_same_query_id_in_two_banks_is_scored_twice() -> None:
    rows = score_queries([judged("a", "a"), judged("b", "a")], (2,))
    assert [r["recall@2"] for r in rows] == [1.0, 0.0]


def test_recall_within_tokens_skips_what_does_not_fit() -> None:
    ranked = Ranked(("a", "long", "b"), (10, 5000, 10))
    assert recall_within(ranked, frozenset("ab"), 2048) == 1.0
    assert recall_within(ranked, frozenset({"long"}), 2048) == 0.0


def test_abstention_precision_and_recall() -> None:
    overall, _ = summarise(
        [
            judged("", "", nothing_known=True, answerable=False),
            judged("x", "", nothing_known=False, answerable=False),
            judged("a", "a", nothing_known=True, answerable=True),
            judged("a", "a", nothing_known=False, answerable=True),
        ],
        (5,),
    )
    assert overall["abstention_precision"].value == 0.5
    assert overall["abstention_recall"].value == 0.5


def test_a_query_not_known_to_be_answerable_does_not_judge_abstention() -> None:
    overall, _ = summarise([judged("", "", nothing_known=True, answerable=None)], (5,))
    assert "abstention_precision" not in overall


def test_forbidden_counts_queries_whose_best_results_hold_one() -> None:
    overall, _ = summarise(
        [judged("ax", "a", forbidden="x"), judged("ay", "a", forbidden="x")], (5,)
    )
    assert overall["forbidden@10"].value == 0.5


def test_trick_questions_count_in_their_category_and_not_overall() -> None:
    overall, by_category = summarise(
        [
            judged("a", "a", category="plain"),
            judged("x", "a", category="trick", answerable=False),
        ],
        (5,),
    )
    assert overall["recall@5"].value == 1.0
    assert by_category["trick"]["recall@5"].value == 0.0


def test_categories_are_means_of_their_own_queries() -> None:
    _, by_category = summarise(
        [
            judged("a", "a", category="x"),
            judged("b", "a", category="x"),
            judged("a", "a", category="y"),
        ],
        (5,),
    )
    assert [by_category[c]["recall@5"].value for c in ("x", "y")] == [0.5, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(0, 5))
def test_an_interval_holds_its_mean_and_repeats_for_a_seed(values: list[float], seed: int) -> None:
    found = figure(values, seed=seed)
    assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    assert found == figure(values, seed=seed)


def test_more_queries_give_a_narrower_interval() -> None:
    few, many = figure([0.0, 1.0] * 5, seed=1), figure([0.0, 1.0] * 500, seed=1)
    assert many.high - many.low < (few.high - few.low) / 3


def test_the_interval_of_many_queries_takes_little_memory() -> None:
    tracemalloc.start()
    figure([float(i % 2) for i in range(60_000)], seed=0)
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()


def test_the_interval_does_not_depend_on_how_many_are_drawn_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = [float(i % 7) for i in range(101)]
    whole = figure(values, seed=3)
    monkeypatch.setattr(metrics, "DRAWN", 1_000)
    assert figure(values, seed=3) == whole

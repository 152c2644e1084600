"""The quality gate: what it accepts, and that it cannot pass by accident."""

from __future__ import annotations

import pytest

from recollect.eval import DatasetError, parse_rules
from recollect.eval.data import Query
from recollect.eval.gate import Rule, check_rules, judge
from recollect.eval.metrics import Figure, Judged, Ranked, asked_figures, figure, summarise

OVERALL = {"recall@10": Figure(0.8, 0.7, 0.9, 50), "forbidden@10": Figure(0.1, 0, 0.2, 10)}
BY_CATEGORY = {"multi-hop": {"recall@10": Figure(0.6, 0.5, 0.7, 20)}}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("recall@10=0.8", Rule("recall@10", 0.8)),
        ("recall@10 >= .8", Rule("recall@10", 0.8)),
        ("forbidden@10<=0", Rule("forbidden@10", 0.0, at_most=True)),
        ("recall@10[multi-hop]=0.5", Rule("recall@10", 0.5, category="multi-hop")),
        ("recall@4096tokens=0.9", Rule("recall@4096tokens", 0.9)),
        ("abstention_precision=0.9", Rule("abstention_precision", 0.9)),
        ("all-evidence@5=1", Rule("all-evidence@5", 1.0)),
        ("forbidden@10=0.1", Rule("forbidden@10", 0.1, at_most=True)),
        ("mrr[work, home]=0.5", Rule("mrr", 0.5, category="work, home")),
    ],
)
def test_rules_are_read(text: str, rule: Rule) -> None:
    assert parse_rules(text) == (rule,)


def test_several_rules_are_separated_by_commas() -> None:
    assert len(parse_rules("recall@10=0.8, mrr=0.5,ndcg@10>=0.4")) == 3


@pytest.mark.parametrize("text", ["recall@10", "recall@10=much", "=0.5", "recall@10>0.5"])
def test_a_rule_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(DatasetError, match="not a rule"):
        parse_rules(text)


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("recall@10=0.8", True),
        ("recall@10=0.81", False),
        ("forbidden@10<=0.1", True),
        ("forbidden@10<=0", False),
        ("recall@10[multi-hop]=0.65", False),
    ],
)
def test_a_figure_is_held_to_its_bound(text: str, passed: bool) -> None:
    assert [v.passed for v in judge(parse_rules(text), OVERALL, BY_CATEGORY)] == [passed]


def test_a_figure_that_meets_its_bound_is_not_failed_by_rounding() -> None:
    met = {"recall@10": figure([0.6] * 10, seed=0), "forbidden@10": figure([0.1] * 3, seed=0)}
    rules = parse_rules("recall@10=0.6, forbidden@10<=0.1")
    assert [verdict.passed for verdict in judge(rules, met, {})] == [True, True]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.8, "0.800"), (0.7, "0.700"), (0.79961, "0.7996"), (0.7999961, "0.799996")],
)
def test_a_figure_is_shown_so_that_one_sees_whether_it_passed(value: float, shown: str) -> None:
    verdict, *_ = judge(parse_rules("mrr=0.8"), {"mrr": Figure(value, 0, 1, 9)}, {})
    assert verdict.shown == shown


@pytest.mark.parametrize("text", ["recall@7=0", "recall@10[unheard-of]=0"])
def test_a_figure_that_was_not_measured_does_not_pass(text: str) -> None:
    with pytest.raises(DatasetError):
        judge(parse_rules(text), OVERALL, BY_CATEGORY)


def test_where_nothing_is_measured_the_hint_says_so() -> None:
    with pytest.raises(DatasetError, match="measured: nothing, for no query can be judged"):
        judge(parse_rules("mrr=0.5"), {}, {})


@pytest.mark.parametrize("text", ["", " , "])
def test_a_gate_without_a_rule_is_refused_rather_than_passed(text: str) -> None:
    with pytest.raises(DatasetError, match="holds no rule"):
        parse_rules(text)


def test_a_bound_in_per_cent_is_refused_with_the_share_as_the_hint() -> None:
    with pytest.raises(DatasetError, match="a share from 0 to 1") as caught:
        parse_rules("recall@10=80")
    assert caught.value.hint == "80 % is recall@10=0.8"


def test_a_floor_under_what_should_be_low_is_refused_rather_than_passed() -> None:
    with pytest.raises(DatasetError, match="less is better") as caught:
        parse_rules("forbidden@10>=0")
    assert caught.value.hint == "write forbidden@10<=0"


QUERIES = [
    Query("q1", "Where does Ana live?", gold=("u1",), category="multi-hop", answerable=True),
    Query("q2", "What is her cat called?", category="trick", answerable=False),
    Query("q3", "Who came?", category="unjudged"),
]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("recall@7=0.5", "not measured"),
        ("recall@10[unheard-of]=0.5", "no query has the category"),
        ("forbidden@10<=0", "no query asks for"),
        ("recall@10[trick]=0.5", "no query of the category 'trick' asks for"),
        ("abstention_recall[multi-hop]=0.5", "no query of the category 'multi-hop' asks for"),
        ("abstention_precision[unjudged]=0.5", "no query of the category 'unjudged' asks for"),
    ],
)
def test_a_rule_that_nothing_can_meet_is_refused_before_anything_is_measured(
    text: str, said: str
) -> None:
    with pytest.raises(DatasetError, match=said):
        check_rules(parse_rules(text), (10,), QUERIES)


@pytest.mark.parametrize(
    "text",
    [
        "recall@10[multi-hop]=0.5",
        "mrr=0.5",
        "abstention_recall=0.5",
        "abstention_recall[trick]=0.5",
        "abstention_precision[multi-hop]=0.5",
    ],
)
def test_a_rule_that_can_be_met_is_let_through(text: str) -> None:
    check_rules(parse_rules(text), (10,), QUERIES)


@pytest.mark.parametrize("answerable", [None, True, False])
@pytest.mark.parametrize("gold", [(), ("u1",)])
@pytest.mark.parametrize("forbidden", [(), ("u2",)])
def test_what_is_let_through_is_measured(
    answerable: bool | None, gold: tuple[str, ...], forbidden: tuple[str, ...]
) -> None:
    query = Query("q", "Who?", gold=gold, forbidden=forbidden, answerable=answerable)
    ranked = Ranked(("u1",), (3,), nothing_known=True)
    overall, by_category = summarise(
        [Judged(query, frozenset(gold), frozenset(forbidden), ranked)], (5,)
    )
    assert set(asked_figures([query], (5,), headline=True)) == set(overall)
    assert set(asked_figures([query], (5,))) == set(by_category["all"])


@pytest.mark.parametrize(
    ("text", "share", "passed"),
    [
        ("recall@10=0.8", 0.25, [True, False]),
        ("recall@10=0.8", 0.0, [True]),
        ("recall@10=0.8, degraded<=0.25", 0.25, [True, True]),
        ("recall@10=0.8, degraded<=0.2", 0.25, [True, False]),
        ("degraded=0", 0.0, [True]),
    ],
)
def test_recalls_that_did_without_a_part_fail_a_gate_that_does_not_allow_them(
    text: str, share: float, passed: list[bool]
) -> None:
    verdicts = judge(parse_rules(text), OVERALL, BY_CATEGORY, degraded=share)
    assert [v.passed for v in verdicts] == passed


def test_whether_recalls_were_whole_is_asked_of_all_of_them_together() -> None:
    check_rules(parse_rules("degraded<=0.05"), (10,), QUERIES)
    with pytest.raises(DatasetError, match="not of a category"):
        check_rules(parse_rules("degraded[multi-hop]<=0.05"), (10,), QUERIES)

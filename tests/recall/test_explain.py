"""Explanations add up, and why (or why not) names the stage and tells true numbers."""

from __future__ import annotations

import json
import math
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import Recollect
from recollect.client.decode import explanation
from recollect.client.decode import why as read_why
from recollect.errors import NotFound
from recollect.recall.explain import Why
from recollect.recall.relevance import least_similarity
from recollect.recall.result import hit_dict
from recollect.storage.base import Filter
from recollect.types import Explanation

from .banks import view_of
from .conftest import ACTIVITIES, PEOPLE

ANCHOR = "2026-07-10T12:00:00Z"
COMBINE: dict[str, Callable[[list[float]], float]] = {
    "product": math.prod,
    "sum": sum,
    "either": lambda v: 1 - math.prod(1 - x for x in v),
    "sigmoid": lambda v: 1 / (1 + math.exp(-v[0])),
    "min": min,
}


def nodes(tree: Explanation) -> Iterator[Explanation]:
    yield tree
    for part in tree.details:
        yield from nodes(part)


def assert_adds_up(tree: Explanation) -> None:
    for node in nodes(tree):
        if node.operation != "leaf":
            parts = [part.value for part in node.details]
            assert node.value == COMBINE[node.operation](parts), node  # to the bit
        assert not math.isnan(node.value), node


# --- trees -------------------------------------------------------------------------------------

queries = st.one_of(
    st.builds("What did {} do in {} {}?".format, st.sampled_from(PEOPLE), st.sampled_from(["March", "June"]), st.sampled_from([2025, 2026])),
    st.builds("Who {}?".format, st.sampled_from(ACTIVITIES)),
    st.sampled_from(["latest news of Ravi", "the first time anybody swam", "soup", "violin and chess"]),
)  # fmt: skip


@pytest.fixture(scope="module")
def ways(memory: Recollect, reopen: Callable[..., Recollect]) -> list[Recollect]:
    """Every way to come by a relevance: reranked, partly reranked, not, and spread by rank."""
    return [
        memory,
        reopen(rerank_candidates=20),
        reopen(reranker="none"),
        reopen(reranker="rrf"),
        reopen(fusion="rrf", rerank_candidates=5),
    ]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(query=queries, way=st.integers(0, 4), budget=st.sampled_from(["low", "mid", "high"]))
def test_every_tree_adds_up_to_the_final_score(
    ways: list[Recollect], diary: str, query: str, way: int, budget: str
) -> None:
    result = ways[way].recall(diary, query, query_timestamp=ANCHOR, budget=budget, min_score=0.0)
    assert result.results
    for hit in result:
        tree = hit.explanation
        assert tree is not None
        assert tree.value == hit.score
        assert_adds_up(tree)


def test_a_score_is_at_most_1_and_the_order_knows_which_is_surer(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    """The first are spread near 1, and all that is a month old is boosted past it."""
    by_rank = reopen(reranker="rrf")
    result = by_rank.recall(diary, "Who baked rye bread?", query_timestamp=ANCHOR)
    trees = [hit.explanation for hit in result if hit.explanation is not None]
    assert all(hit.score <= 1 for hit in result)
    beyond = [tree.details[0].value for tree in trees if tree.operation == "min"]
    assert len(set(beyond)) > 1
    assert [hit.score for hit in result][: len(beyond)] == [1.0] * len(beyond)
    assert beyond == sorted(beyond, reverse=True)


def test_the_tree_of_what_only_its_time_speaks_for_adds_up(memory: Recollect, diary: str) -> None:
    result = memory.recall(diary, "What happened in May 2025?", query_timestamp=ANCHOR)
    first = result.results[0].explanation
    assert first is not None and first.operation == "either"
    assert "time asked for" in first.details[1].description
    assert_adds_up(first)


@pytest.mark.parametrize(
    "query", ["Where did Alice work in March 2026?", "What was Alice's previous employer?"]
)
def test_the_trees_of_values_that_were_replaced_add_up(memory: Recollect, query: str) -> None:
    jobs = [("Google", "2026-01-05"), ("Meta", "2026-05-05")]
    facts = [{"text": f"Alice works at {at}.", "timestamp": day} for at, day in jobs]
    memory.retain("replaced", facts)
    for hit in memory.recall("replaced", query, query_timestamp=ANCHOR, min_score=0.0):
        assert hit.explanation is not None
        assert hit.explanation.value == hit.score
        assert_adds_up(hit.explanation)


def test_the_tree_of_a_neighbour_adds_up_too(memory: Recollect, hopping: str) -> None:
    result = memory.recall(hopping, "cellar flood", expand_hops=1, without=["graph"], min_score=0.0)
    (neighbour,) = [h for h in result if h.hop == 1]
    assert neighbour.explanation is not None
    assert neighbour.explanation.value == neighbour.score
    assert_adds_up(neighbour.explanation)


def test_a_tree_adds_up_to_the_score_in_json_too(memory: Recollect, story: str) -> None:
    result = memory.recall(story, "Why does Alice work there?", query_timestamp=ANCHOR)
    for hit in result:
        assert hit.explanation is not None
        told = json.loads(json.dumps(hit_dict(hit) | {"explanation": hit.explanation.as_dict()}))
        tree = explanation(told["explanation"])
        assert_adds_up(tree)
        assert tree.value == told["score"] == hit.score


def test_the_order_in_which_a_logit_is_added_up_does_not_matter(
    memory: Recollect, diary: str
) -> None:
    result = memory.recall(diary, "Who baked rye bread in May 2025?", query_timestamp=ANCHOR)
    sums = [n for hit in result if hit.explanation for n in nodes(hit.explanation)]
    sums = [node for node in sums if node.operation == "sum"]
    assert sums
    for node in sums:
        parts = [part.value for part in node.details]
        assert sum(reversed(parts)) == math.fsum(parts) == node.value


def test_every_node_says_what_it_is(memory: Recollect, story: str) -> None:
    tree = memory.recall(story, "Where does Alice work?").results[0].explanation
    assert tree is not None
    said = [node.description for node in nodes(tree)]
    assert all(said)
    assert {"recency factor", "bias", "logit"} <= set(said)


# --- determinism -------------------------------------------------------------------------------


def ranking(memory: Recollect, bank: str, query: str, **options: Any) -> list[tuple[str, float]]:
    return [
        (h.id, h.score)
        for h in memory.recall(bank, query, trace=True, query_timestamp=ANCHOR, **options)
    ]


def test_a_memory_with_every_word_asked_for_is_not_said_to_cover_a_share_of_them(
    memory: Recollect,
) -> None:
    memory.retain("words", "Ann keeps bees and hens and ducks behind the old house.")
    hit = memory.recall("words", "bees, hens, ducks").results[0]
    assert hit.explanation is not None
    assert hit.matched_terms == ("bee", "hen", "duck") and hit.scores["keyword"] < 0.9
    (said,) = [n.description for n in nodes(hit.explanation) if n.description.startswith("keyword")]
    assert said.startswith(
        "keyword score, as a share of the most that the query's words could score"
    )


def test_the_same_question_gets_the_same_answer_to_the_bit(memory: Recollect, diary: str) -> None:
    first = ranking(memory, diary, "Who baked rye bread in May 2025?", min_score=0.0)
    for _ in range(3):
        assert ranking(memory, diary, "Who baked rye bread in May 2025?", min_score=0.0) == first


def test_a_store_opened_anew_gives_the_same_answer(
    memory: Recollect, reopen: Callable[..., Recollect], diary: str
) -> None:
    query = "Who baked rye bread in May 2025?"
    assert ranking(reopen(), diary, query) == ranking(memory, diary, query)


def test_ties_go_to_the_memory_that_came_first(memory: Recollect) -> None:
    """Alike in text, date and everything else: told apart by their ids only."""
    memory.retain(
        "ties",
        [
            {"id": f"t{i}", "text": "The tide table hangs by the door.", "timestamp": "2026-01-01"}
            for i in range(6)
        ],
    )
    result = memory.recall(
        "ties", "Where is the tide table?", query_timestamp=ANCHOR, without=["graph"]
    )
    scores = {h.score for h in result}
    assert len(scores) == 1
    assert [h.id for h in result] == [f"t{i}" for i in range(6)]


# --- why, and why not --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hopping(memory: Recollect) -> str:
    memory.retain(
        "hopping",
        [
            {"id": "flood", "text": "The cellar flood ruined the archive.", "tags": ["house"]},
            {
                "id": "pump",
                "text": "Marta ordered another pump.",
                "tags": ["house"],
                "causal_relations": [{"type": "caused_by", "target": 0, "weight": 0.8}],
            },
            {"id": "menu", "text": "Thursday's menu has leek pie.", "tags": ["kitchen"]},
            {"id": "opinion", "text": "I think the archive smells.", "type": "opinion"},
        ],
        timestamp="2026-05-05",
    )
    return "hopping"


def stage(why: Why, name: str):
    return next(s for s in why.stages if s.stage == name)


def test_why_of_a_returned_memory_gives_its_rank_and_its_tree(
    memory: Recollect, story: str
) -> None:
    result = memory.recall(story, "Where does Alice work?")
    for place, hit in enumerate(result, 1):
        why = memory.why(story, "Where does Alice work?", hit.id)
        assert why.returned and why.left_at is None
        assert why.rank == place
        assert why.explanation is not None
        assert why.explanation.value == pytest.approx(hit.score, abs=1e-4)
        for arm, score in hit.arms.items():
            numbers = stage(why, arm.value).numbers
            assert (numbers["rank"], pytest.approx(numbers["score"])) == (score.rank, score.score)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tags": ["house"], "tags_match": "any_strict"}, "kitchen"),
        ({"types": ["opinion"]}, "world"),
        ({"as_of": "2020-01-01"}, "not known"),
    ],
)
def test_filtered_out_names_the_filter(
    memory: Recollect, hopping: str, options: dict[str, Any], says: str
) -> None:
    why = memory.why(hopping, "menu", "menu", **options)
    assert (why.returned, why.left_at) == (False, "filter")
    assert says in stage(why, "filter").says
    assert stage(why, "filter").needed


def test_withdrawn_says_so(memory: Recollect) -> None:
    memory.retain("gone", {"id": "gone", "text": "The ferry sails at six."})
    memory.invalidate("gone", "gone")
    why = memory.why("gone", "ferry", "gone")
    assert why.left_at == "filter"
    assert "invalidated" in stage(why, "filter").says


def test_found_by_no_arm_says_what_each_would_have_needed(memory: Recollect, story: str) -> None:
    why = memory.why(story, "quantum chromodynamics", "bread")
    assert (why.returned, why.left_at) == (False, "retrieve")
    semantic = stage(why, "semantic")
    vector = memory.embedder.encode_queries(["quantum chromodynamics"]).vectors[0]
    lines = (line["memory"] for line in memory.export(story) if "memory" in line)
    passage = next(m for m in lines if m["id"] == "bread")
    held = np.frombuffer(b64decode(passage["vector"]), "<f2").astype(np.float32)
    assert semantic.numbers["score"] == pytest.approx(float(held @ vector), abs=1e-4)
    assert semantic.numbers["bar"] == pytest.approx(least_similarity(memory.embedder.name))
    assert semantic.numbers["score"] < semantic.numbers["bar"]
    assert "quantum" in stage(why, "keyword").says
    assert "no time" in stage(why, "temporal").says


def test_beyond_an_arms_depth_the_bar_is_the_last_score_that_got_in(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    shallow = reopen(budget_mid=5)
    query = "Who baked rye bread?"
    listed = list(shallow.recall(diary, query, min_score=0.0))
    found = {h.id for h in listed}
    missed = next(
        m.id
        for m in shallow.memories(diary, limit=1000)
        if "rye bread" in m.text and m.id not in found
    )
    why = shallow.why(diary, query, missed)
    assert why.left_at == "retrieve"
    semantic = stage(why, "semantic").numbers
    vector = shallow.embedder.encode_queries([query]).vectors[0]
    last = float(view_of(shallow, diary).semantic(vector, Filter(), 5, 0.3).scores[-1])
    assert semantic["bar"] == pytest.approx(last)
    assert semantic["score"] <= semantic["bar"]


def test_under_the_floor_says_what_it_scored_and_what_was_asked(
    memory: Recollect, story: str
) -> None:
    query = "Where does Alice work?"
    last = memory.recall(story, query, min_score=0.0).results[-1]
    why = memory.why(story, query, last.id, min_score=0.99)
    assert (why.returned, why.left_at) == (False, "pack")
    assert "floor" in stage(why, "pack").says
    assert f"{last.score:.3f}" in stage(why, "pack").says
    assert "0.99" in (stage(why, "pack").needed or "")


@pytest.mark.parametrize("limit", [5, 8, 15, 25])
def test_cut_by_tokens_says_how_many_would_have_done(
    memory: Recollect, story: str, limit: int
) -> None:
    """The number is the least: with it the memory is there, with one fewer it is not."""
    query = "Who works, bakes, flies or plays?"
    every = memory.recall(story, query, min_score=0.0).results
    given_ = {h.id for h in memory.recall(story, query, max_tokens=limit, min_score=0.0)}
    cut = [h for h in every if h.id not in given_]
    assert cut
    for hit in cut:
        why = memory.why(story, query, hit.id, max_tokens=limit, min_score=0.0)
        assert (why.returned, why.left_at) == (False, "pack")
        needed = stage(why, "pack").numbers["max_tokens"]
        enough = memory.recall(story, query, max_tokens=needed, min_score=0.0)
        assert hit.id in {h.id for h in enough}
        fewer = [
            memory.recall(story, query, max_tokens=n, min_score=0.0) for n in range(limit, needed)
        ]
        assert not any(hit.id in {h.id for h in result} for result in fewer)


@pytest.mark.parametrize(("mode", "deeper"), [("fixed", False), ("adaptive", True)])
def test_cut_by_tokens_says_that_more_of_them_look_deeper(
    reopen: Callable[..., Recollect], diary: str, mode: str, *, deeper: bool
) -> None:
    opened, query = reopen(budget_mode=mode), "What did Priya do?"
    asked: dict[str, Any] = {"query_timestamp": ANCHOR, "without": ["rerank"]}
    hits = opened.recall(diary, query, max_tokens=400, **asked)
    whys = [opened.why(diary, query, hit.id, max_tokens=100, **asked) for hit in hits]
    assert any("deeper" in (why.stages[-1].needed or "") for why in whys) == deeper


@pytest.mark.parametrize("options", [{}, {"max_tokens": 5}, {"types": ["opinion"]}])
def test_json_tells_all_that_why_does(
    memory: Recollect, story: str, options: dict[str, Any]
) -> None:
    query = "Who works, bakes, flies or plays?"
    for held in memory.memories(story):
        why = memory.why(story, query, held.id, query_timestamp=ANCHOR, **options)
        assert read_why(json.loads(json.dumps(why.as_dict()))) == why


def test_beyond_what_is_considered_says_so(reopen: Callable[..., Recollect], diary: str) -> None:
    shallow = reopen(budget_mid=5)
    query = "What did Priya do in May 2025?"
    given_ = {h.id for h in shallow.recall(diary, query, query_timestamp=ANCHOR, min_score=0.0)}
    verdicts = [
        shallow.why(diary, query, m.id, query_timestamp=ANCHOR, min_score=0.0)
        for m in shallow.memories(diary, limit=1000)
        if m.id not in given_ and (m.text.startswith("Priya") or m.id.startswith("2025-05"))
    ]
    beyond = [w for w in verdicts if w.left_at == "pack"]
    assert beyond
    assert all("10 considered" in stage(w, "pack").says for w in beyond)


def test_why_of_what_an_arm_found_too_far_down_does_not_deny_its_date_or_its_links(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    shallow = reopen(budget_mid=20)
    every = shallow.memories(diary, limit=1000)
    whys = [shallow.why(diary, "What did Priya do in May 2025?", m.id) for m in every]
    beaten = "others match better"
    for m, why in zip(every, whys, strict=True):
        said = stage(why, "temporal").says
        assert ("not dated" in said) is not m.id.startswith("2025-05-"), (m.id, said)
    assert any(beaten in stage(why, "temporal").says for why in whys)
    linked = [
        m.text for m, why in zip(every, whys, strict=True) if beaten in stage(why, "graph").says
    ]
    assert any(text.startswith("Priya") for text in linked)


def test_why_of_one_of_very_many_that_share_a_name_does_not_deny_the_name(
    memory: Recollect,
) -> None:
    things = [f"{a}{b}" for a in ("kel", "mor", "tav", "sip") for b in "abcdefghijklmnopqrst"]
    memory.retain("many", [{"id": t, "text": f"Priya bought a {t}."} for t in things])
    memory.retain("many", {"id": "cat", "text": "The grey cat sleeps."})
    says = {
        t: stage(memory.why("many", "What does Priya need for her boat?", t), "graph")
        for t in [*things, "cat"]
    }
    denied = [t for t, verdict in says.items() if "no link" in verdict.says]
    assert denied == ["cat"]
    behind = [v for v in says.values() if "behind 50 others" in v.says]
    assert behind
    assert all(not v.passed and "newest 50" in (v.needed or "") for v in behind)


def test_why_under_the_keyword_floor_says_so(memory: Recollect, story: str) -> None:
    floors = {"semantic": 1.0, "keyword": 90.0}
    why = memory.why(story, "grey cat", "cat", min_scores=floors)
    assert why.left_at == "retrieve"
    assert "under the floor" in stage(why, "keyword").says
    assert stage(why, "keyword").needed == "at least 90"


def test_why_does_not_take_floors_of_arms_for_ignorance(memory: Recollect, story: str) -> None:
    floors = {"semantic": 0.99, "keyword": 90.0}
    query = "Does Alice know who adopted a grey cat?"  # by her name alone her job is found
    says = stage(memory.why(story, query, "job", min_scores=floors), "answerable").says
    assert says.startswith("something is known, but nothing that answers it reaches min_scores.")


def test_why_as_of_a_time_after_it_was_withdrawn_says_so(memory: Recollect) -> None:
    memory.retain("withdrawn", [{"id": "port", "text": "The server port is 8080."}])
    memory.invalidate("withdrawn", "port")
    why = memory.why("withdrawn", "server port", "port", as_of="2099-01-01")
    assert stage(why, "filter").says == "by then it was invalidated"
    assert stage(why, "filter").needed == "an earlier as_of"
    before = memory.why("withdrawn", "server port", "port", as_of="2001-01-01")
    assert stage(before, "filter").needed == "a later as_of"


def test_why_names_what_kept_an_arm_from_running(
    memory: Recollect, story: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no such device")

    monkeypatch.setattr(memory.embedder, "encode_queries", fails)
    why = memory.why(story, "grey cat", "cat")
    for arm in ("semantic", "graph"):
        assert stage(why, arm).says == "the arm did not run: embed: RuntimeError: no such device"


@pytest.mark.parametrize(
    ("query", "needed"),
    [
        ("grey cat before 1990", "a date before 1990-01-01"),
        ("grey cat since 2090-05-01", "a date from 2090-05-01 on"),
    ],
)
def test_why_names_the_end_of_a_time_that_has_one(
    memory: Recollect, story: str, query: str, needed: str
) -> None:
    assert stage(memory.why(story, query, "cat"), "temporal").needed == needed


@pytest.mark.parametrize(
    ("query", "arm", "says"),
    [
        ("?!", "keyword", "no word was asked for that could be looked up"),
        (
            "zzyzx qwv",
            "graph",
            "nothing to start from: no hit by meaning, and no name that is known",
        ),
    ],
)
def test_why_says_what_an_arm_had_nothing_to_look_for(
    memory: Recollect, story: str, query: str, arm: str, says: str
) -> None:
    why = memory.why(story, query, "cat", min_scores={"semantic": 1.0})
    assert stage(why, arm).says == says


def test_why_of_a_neighbour_says_that_it_was_brought_along(memory: Recollect, hopping: str) -> None:
    options = {"expand_hops": 1, "without": ["graph"], "min_score": 0.0}
    result = memory.recall(hopping, "cellar flood", **options)
    for place, hit in enumerate(result, 1):
        why = memory.why(hopping, "cellar flood", hit.id, **options)
        assert (why.returned, why.rank, why.left_at) == (True, place, None)
        assert why.explanation is not None
        assert why.explanation.value == pytest.approx(hit.score, abs=1e-4)
    other = memory.why(hopping, "cellar flood", "menu", **options)
    assert (other.returned, other.left_at) == (False, "retrieve")
    assert stage(other, "hops").needed


def test_an_unknown_memory_is_not_found(memory: Recollect, story: str) -> None:
    with pytest.raises(NotFound) as missing:
        memory.why(story, "Alice", "nobody")
    assert missing.value.hint


def test_why_is_json(memory: Recollect, story: str) -> None:
    for memory_id in ("job", "bread"):
        said = memory.why(story, "Where does Alice work?", memory_id).as_dict()
        assert json.loads(json.dumps(said)) == said
        assert said["memory_id"] == memory_id

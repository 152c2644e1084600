"""What a recall gives back: context for a prompt, JSON lean or full, HTML, hops, scores and bands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import Band, Recollect
from recollect.errors import InvalidInput, NotFound
from recollect.recall import pipeline
from recollect.recall.hits import Ranked
from recollect.recall.pipeline import Recalling, rank
from recollect.recall.request import RecallRequest
from recollect.recall.result import NOTHING, shorten
from recollect.storage.base import View
from recollect.telemetry import Run
from recollect.types import Degradation, Explanation

ANCHOR = "2026-11-15T12:00:00Z"


# --- context -----------------------------------------------------------------------------------


def test_the_context_is_dated_cited_and_best_first(memory: Recollect, story: str) -> None:
    result = memory.recall(story, "Where does Alice work?", query_timestamp=ANCHOR)
    lines = result.as_context().splitlines()
    assert lines[0] == "[1] (2026-03-02) Alice works at Google as a research engineer."
    assert [line.split("]")[0] for line in lines] == [f"[{n}" for n in range(1, len(lines) + 1)]


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Ines moved to Lisbon yesterday.", "2024-06-01"),
        ("Ines moved to Lisbon in March 2024.", "2024-03"),
        ("Ines moved to Lisbon in 2019.", "2019"),
        ("Ines moved to Lisbon on 3 May 2024.", "2024-05-03"),
        ("Ines lived in Lisbon from May to July 2023.", "2023-05-01 to 2023-07-31"),
        ("Ines lived in Lisbon in the summer of 2021.", "2021-06-01 to 2021-08-31"),
    ],
)
@pytest.mark.parametrize("zone", ["-08:00", "+00:00", "+09:00"])
def test_the_context_dates_no_closer_than_it_was_told_and_by_the_days_of_who_told_it(
    memory: Recollect, text: str, date: str, zone: str
) -> None:
    bank = f"told-{date}-{zone}"
    memory.retain(bank, text, timestamp=f"2024-06-02T10:00:00{zone}")
    assert memory.recall(bank, "Ines in Lisbon").as_context() == f"[1] ({date}) {text}"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("I met Ines in Lisbon yesterday.", "2024-06-01, said 2024-06-02"),
        ("Ines moved to Lisbon in March.", "2024-03, said 2024-06-02"),
        ("I met Ines in Lisbon today.", "2024-06-02"),
        ("Ines is in Lisbon.", "2024-06-02"),
    ],
)
def test_the_context_dates_a_turn_by_when_it_was_said_too(
    memory: Recollect, text: str, date: str
) -> None:
    turn = {"speaker": "Bo", "text": text, "time": "2024-06-02T10:00:00"}
    memory.retain(f"said-{text}", {"turns": [turn]})
    context = memory.recall(f"said-{text}", "Ines in Lisbon").as_context()
    assert context == f"[1] ({date}) Bo: {text}"


def test_the_context_leaves_noise_out(memory: Recollect, diary: str) -> None:
    result = memory.recall(diary, "Who swam in the lake?", query_timestamp=ANCHOR, min_score=0.0)
    worth = [h for h in result if h.band is not Band.NOISE]
    assert len(result.as_context().splitlines()) == len(worth) < len(result)


def test_the_context_names_the_speaker(memory: Recollect) -> None:
    memory.retain(
        "speakers",
        {"turns": [{"speaker": "Alice", "text": "My tent has a hole."}], "timestamp": "2026-02-03"},
    )
    assert (
        "Alice: My tent has a hole."
        in memory.recall("speakers", "Whose tent has a hole?").as_context()
    )


def test_a_context_of_nothing_says_so(memory: Recollect, story: str) -> None:
    result = memory.recall(story, "Alice", types=["opinion"])
    assert not result.results
    assert result.nothing_known
    assert result.as_context() == "Nothing is known about this."


def test_an_empty_bank_knows_nothing(memory: Recollect) -> None:
    memory.create_bank("empty")
    result = memory.recall(
        "empty", "Where does Alice work in May?", budget="high", expand_hops=1, include_chunks=True
    )
    assert (result.results, result.chunks, result.nothing_known, result.tokens) == ((), (), True, 0)


# --- lean and full -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def notes(memory: Recollect) -> str:
    memory.retain(
        "notes",
        [
            {
                "id": "deploy",
                "text": "Deploys run from the release branch. " * 12,
                "title": "Deploying",
                "scope": "backend",
                "summary": "How a release gets from the branch to the servers, which checks run, who is told, "
                "what to do when the health check fails, and where the log of past deploys is kept for audits.",
                "kind": "workflow",
                "tags": ["ops"],
                "metadata": {"source": "wiki"},
            },
            {"id": "plain", "text": "The deploy channel is #ship-it."},
        ],
    )
    return "notes"


def test_a_verbosity_that_there_is_not_is_refused(memory: Recollect, notes: str) -> None:
    result: Any = memory.recall(notes, "How do deploys run?")
    with pytest.raises(InvalidInput, match="verbosity is 'terse'"):
        result.as_dict("terse")


def test_lean_is_id_title_type_scope_summary_score_and_band(memory: Recollect, notes: str) -> None:
    result = memory.recall(notes, "How do deploys run?", verbosity="lean", min_score=0.0)
    hits = {h["id"]: h for h in result.as_dict()["results"]}
    assert set(hits["deploy"]) == {"id", "title", "type", "scope", "summary", "score", "band"}
    assert set(hits["plain"]) == {"id", "type", "summary", "score", "band"}


@pytest.mark.parametrize(
    "text",
    ["李明: " + "我们在北京召开了关于定价的会议，" * 20, "see https://example.com/" + "a" * 300],
)
def test_a_lean_summary_of_what_has_no_spaces_is_not_its_first_word(text: str) -> None:
    assert shorten(text) == text[:159] + "…"


def test_a_lean_summary_has_at_most_160_characters_and_ends_at_a_word(
    memory: Recollect, notes: str
) -> None:
    result = memory.recall(notes, "How do deploys run?", verbosity="lean", min_score=0.0)
    summary = next(h["summary"] for h in result.as_dict()["results"] if h["id"] == "deploy")
    whole = memory.load(notes, "deploy").summary or ""
    assert len(summary) <= 160
    kept = summary.removesuffix("…")
    assert whole.startswith(kept) and whole[len(kept)] == " "


def test_lean_neighbours_are_marked(memory: Recollect) -> None:
    told = memory.retain("hops", [{"text": "The cellar flooded."}, {"text": "Nina plays chess."}])
    memory.relate("hops", {told.new[0]: {told.new[1]: 1.0}})
    searches = ["semantic", "graph"]  # the other one is found by its link alone
    asked = memory.recall("hops", "cellar flooded", expand_hops=1, without=searches)
    _, neighbour = asked.as_dict("lean")["results"]
    assert neighbour["hop"] == 1


def test_a_lean_summary_says_who_speaks(memory: Recollect) -> None:
    memory.retain("lean", {"turns": [{"speaker": "Nadia", "text": "I quit my job today."}]})
    (hit,) = memory.recall("lean", "Who quit?", verbosity="lean").as_dict()["results"]
    assert hit["summary"] == "Nadia: I quit my job today."


def test_full_adds_terms_ranks_hop_and_stages(memory: Recollect, notes: str) -> None:
    result = memory.recall(notes, "How do deploys run?", min_score=0.0)
    hit = next(h for h in result.as_dict()["results"] if h["id"] == "deploy")
    assert "deploy" in hit["matched_terms"]
    assert hit["arms"]["keyword"]["rank"] >= 1
    assert hit["hop"] == 0
    assert {"fused", "relevance", "recency_factor", "lifecycle_factor"} <= set(hit["scores"])
    assert (
        hit["text"].startswith("Deploys run")
        and hit["tags"] == ["ops"]
        and hit["metadata"] == {"source": "wiki"}
    )


def test_a_lean_payload_is_at_least_a_third_smaller(memory: Recollect, notes: str) -> None:
    full = len(json.dumps(memory.recall(notes, "How do deploys run?").as_dict()))
    lean = len(json.dumps(memory.recall(notes, "How do deploys run?", verbosity="lean").as_dict()))
    assert lean < full * 0.68


@pytest.mark.parametrize("verbosity", ["lean", "full"])
def test_as_dict_is_json(memory: Recollect, diary: str, verbosity: str) -> None:
    result = memory.recall(
        diary, "Who swam in May 2025?", verbosity=verbosity, trace=True, include_chunks=True
    )
    said = result.as_dict()
    assert json.loads(json.dumps(said, allow_nan=False)) == said


@given(st.text(max_size=400))
def test_shortening_keeps_within_160_and_to_whole_words(text: str) -> None:
    flat = " ".join(text.split())
    short = shorten(text)
    assert len(short) <= 160
    if len(flat) <= 160:
        assert short == flat
    else:
        kept = short.removesuffix("…")
        assert short.endswith("…") and flat.startswith(kept)
        assert flat[len(kept)] == " " or " " not in flat[:160]


def test_load_fetches_one_memory_whole(memory: Recollect, notes: str) -> None:
    loaded = memory.load(notes, "deploy")
    assert (loaded.title, loaded.scope, loaded.kind, loaded.tags) == (
        "Deploying",
        "backend",
        "workflow",
        ("ops",),
    )
    with pytest.raises(NotFound) as missing:
        memory.load(notes, "nobody")
    assert missing.value.hint


# --- HTML --------------------------------------------------------------------------------------


def test_html_escapes_what_memories_say(memory: Recollect) -> None:
    memory.retain(
        "html",
        {"text": "<script>alert('x')</script> & <b>bold</b> claims", "speaker": "<i>Eve</i>"},
    )
    html = memory.recall("html", "bold claims", min_score=0.0)._repr_html_()
    assert "<script>" not in html and "<b>" not in html and "<i>" not in html
    assert "&lt;script&gt;" in html and "&amp;" in html


def test_html_of_a_hit_unfolds_to_the_numbers_behind_its_score(
    memory: Recollect, story: str
) -> None:
    result = memory.recall(story, "Who adopted a cat?")
    html = result._repr_html_()
    assert f"{result.results[0].score:.4f}</code> final score = product of" in html
    assert html.count("<details") == html.count("</details>") > len(result)


def test_html_of_why_says_what_each_stage_did(memory: Recollect, story: str) -> None:
    why = memory.why(story, "Who adopted a <cat>?", "job", types=["opinion"])
    assert "left at filter" in why._repr_html_() and "its type is world" in why._repr_html_()
    assert "<cat>" not in why._repr_html_()


def test_html_says_when_nothing_is_known(memory: Recollect, story: str) -> None:
    result = memory.recall(story, "What is the wifi password of the guest house?")
    assert result.nothing_known and NOTHING in result._repr_html_()


# --- printed -----------------------------------------------------------------------------------


def test_a_printed_result_is_a_line_a_hit(memory: Recollect, story: str) -> None:
    result = memory.recall(story, "Who adopted a cat?")
    first, *others = str(result).splitlines()
    assert first.split()[:3] == ["1", f"{result[0].score:.3f}", result[0].band.value]
    assert result[0].text in first and len(others) == len(result) - 1


def test_a_printed_result_says_when_nothing_is_known(memory: Recollect, story: str) -> None:
    result = memory.recall(story, "What is the wifi password of the guest house?")
    assert str(result).startswith(NOTHING)


def test_a_printed_explanation_is_a_tree() -> None:
    parts = (Explanation(0.5, "words"), Explanation(0.25, "links"))
    whole = Explanation(0.75, "score", (Explanation(0.75, "signals", parts, "sum"),))
    assert str(whole).splitlines() == [
        "0.7500  score by",
        "└── 0.7500  signals = sum of",
        "    ├── 0.5000  words",
        "    └── 0.2500  links",
    ]


def test_a_printed_why_says_what_each_stage_did(memory: Recollect, story: str) -> None:
    why = memory.why(story, "Who adopted a cat?", "job", types=["opinion"])
    assert "left at filter" in str(why) and "its type is world" in str(why)


# --- what is known and cannot be given ---------------------------------------------------------


def test_what_does_not_fit_is_known_all_the_same(memory: Recollect, story: str) -> None:
    result = memory.recall(story, "Who adopted a grey cat?", max_tokens=1)
    assert not result.results and not result.nothing_known
    assert "longer than max_tokens" in result.as_context()


def test_a_context_nobody_could_look_for_does_not_say_that_nothing_is_known(
    memory: Recollect, story: str
) -> None:
    late = (Degradation("embed", "the deadline came first"),)
    found = memory.recall(story, "Who adopted a grey cat?")
    result = replace(found, results=(), degraded=late)
    assert "embed: the deadline came first" in result.as_context()
    assert "Nothing is known" not in result.as_context()


@pytest.mark.parametrize("floors", [{"min_score": 1.0}, {"min_scores": {"final": 1.0}}])
def test_what_lies_under_a_floor_is_known_all_the_same(
    memory: Recollect, story: str, floors: dict[str, Any]
) -> None:
    result = memory.recall(story, "Who adopted a grey cat?", **floors)
    assert not result.results and not result.nothing_known
    assert (result.under_floor or "").startswith("nothing scores at least 1; the best scores 0.")
    assert result.as_dict()["under_floor"] == result.under_floor


def test_a_context_under_a_floor_says_which(memory: Recollect, story: str) -> None:
    context = memory.recall(story, "Who adopted a grey cat?", min_score=1.0).as_context()
    assert context.startswith("What is known about this cannot be given: nothing scores at least 1")


def test_a_floor_under_relevance_is_named_as_such(memory: Recollect, story: str) -> None:
    asked = memory.recall(story, "Who adopted a grey cat?", min_scores={"reranker": 1.0})
    assert not asked.nothing_known and "min_scores.reranker" in (asked.under_floor or "")


HIGH = {"semantic": 0.99, "keyword": 90.0}  # floors of arms


def test_floors_of_arms_are_not_taken_for_ignorance(memory: Recollect, story: str) -> None:
    result = memory.recall(story, "Who adopted a grey cat?", min_scores=HIGH)
    assert not result.results and not result.nothing_known
    assert result.under_floor == (
        "nothing that answers it reaches min_scores.semantic (0.99) or min_scores.keyword (90)"
    )
    assert result.under_floor in result.as_context()


def test_a_floor_of_one_arm_is_not_taken_for_ignorance(memory: Recollect, story: str) -> None:
    result = memory.recall(
        story, "Who adopted a grey cat?", without=["keyword"], min_scores={"semantic": 0.99}
    )
    assert not result.nothing_known
    assert result.under_floor == "nothing that answers it reaches min_scores.semantic (0.99)"


def test_a_floor_in_the_settings_is_not_taken_for_ignorance() -> None:
    with recollect.open(":memory:", min_similarity=0.99) as memory:
        memory.retain("story", "Bob adopted a grey cat.")
        result = memory.recall("story", "Who adopted a grey cat?", without=["keyword"])
        assert not result.nothing_known
        assert result.under_floor == "nothing that answers it reaches min_similarity (0.99)"


def test_a_floor_in_the_settings_does_not_make_what_nobody_said_known() -> None:
    with recollect.open(":memory:", min_similarity=0.99) as memory:
        memory.retain("story", "Bob adopted a grey cat.")
        assert memory.recall("story", "What is the boiling point of tungsten?").nothing_known


def test_what_could_not_be_looked_for_under_a_floor_may_be_known(
    memory: Recollect, story: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(with_: Recalling, view: View, request: RecallRequest, run: Run) -> Ranked:
        if request.floors.keyword is None:
            run.degrade("semantic", "the deadline came first")
        return rank(with_, view, request, run)

    monkeypatch.setattr(pipeline, "rank", late)
    result = memory.recall(story, "What is the boiling point of tungsten?", min_scores=HIGH)
    assert not result.nothing_known and result.under_floor is None
    assert [each.part for each in result.degraded] == ["semantic"]


@pytest.mark.parametrize("given", [{"min_score": 0.9}, {"min_scores": HIGH}])
def test_a_floor_does_not_make_what_nobody_said_known(
    memory: Recollect, story: str, given: dict[str, Any]
) -> None:
    result = memory.recall(story, "What is the boiling point of tungsten?", **given)
    assert result.nothing_known and result.under_floor is None
    assert result.as_context() == "Nothing is known about this."


def test_a_floor_that_something_reaches_is_not_spoken_of(memory: Recollect, story: str) -> None:
    result = memory.recall(story, "Who adopted a grey cat?", min_score=0.3)
    assert result.results and result.under_floor is None
    assert "under_floor" not in result.as_dict()


# --- scores, floor, bands ----------------------------------------------------------------------


def test_hits_come_in_order_of_score(memory: Recollect, diary: str) -> None:
    scores = [
        h.score
        for h in memory.recall(
            diary, "Who swam in May 2025?", query_timestamp=ANCHOR, min_score=0.0
        )
    ]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("floor", [0.05, 0.2, 0.5, 0.8, 1.0])
def test_nothing_under_the_floor_is_returned_and_nothing_above_it_lost(
    memory: Recollect, diary: str, floor: float
) -> None:
    query = "Who swam in the lake?"
    every = memory.recall(diary, query, query_timestamp=ANCHOR, min_score=0.0, max_tokens=100_000)
    over = memory.recall(
        diary, query, query_timestamp=ANCHOR, min_score=floor, max_tokens=100_000, expand_hops=1
    )
    assert all(h.score >= floor for h in over)
    assert [h.id for h in over if h.hop == 0] == [h.id for h in every if h.score >= floor]


def test_the_floor_can_be_set_for_every_call(reopen: Callable[..., Recollect], diary: str) -> None:
    strict = reopen(min_score=0.5)
    assert all(h.score >= 0.5 for h in strict.recall(diary, "Who swam in the lake?"))
    assert any(h.score < 0.5 for h in strict.recall(diary, "Who swam in the lake?", min_score=0.0))


def test_bands_follow_the_scores(memory: Recollect, diary: str) -> None:
    rank = {Band.STRONG: 0, Band.MAYBE: 1, Band.NOISE: 2}
    bands = [rank[h.band] for h in memory.recall(diary, "Who swam in the lake?", min_score=0.0)]
    assert bands == sorted(bands)
    assert bands[0] == 0


def test_nothing_known_means_nothing_but_noise(memory: Recollect, diary: str) -> None:
    for query in ("Who swam in the lake?", "What is the boiling point of tungsten?"):
        result = memory.recall(diary, query, min_score=0.0)
        assert result.nothing_known == all(h.band is Band.NOISE for h in result)


def test_scores_mean_the_same_with_and_without_the_reranker(
    memory: Recollect, reopen: Callable[..., Recollect], story: str
) -> None:
    """The right answer is strong and the wrong one noise, whichever way it was scored."""
    for way in (memory, reopen(reranker="none")):
        hits = {h.id: h for h in way.recall(story, "Where does Alice work?", min_score=0.0)}
        assert hits["job"].band is Band.STRONG
        assert all(0 <= h.score <= 1.3 for h in hits.values())
        assert all(h.band is not Band.STRONG for i, h in hits.items() if i != "job")


# --- expand_hops -------------------------------------------------------------------------------


NEAR = {"semantic": 0.3}  # what is only a little alike is for links to find


@pytest.fixture(scope="module")
def chained(memory: Recollect) -> str:
    memory.retain(
        "chained",
        [
            {"id": "a", "text": "The north dam cracked in the frost."},
            {"id": "b", "text": "Village wells turned brackish.", "causal_relations": [{"type": "caused_by", "target": 0, "weight": 0.8}]},
            {"id": "c", "text": "Goats were sold early.", "causal_relations": [{"type": "caused_by", "target": 1, "weight": 0.8}]},
            {"id": "d", "text": "The choir got new robes."},
        ],
    )  # fmt: skip
    return "chained"


def test_without_hops_neighbours_stay_away(memory: Recollect, chained: str) -> None:
    result = memory.recall(
        chained, "north dam frost crack", without=["graph"], min_scores=NEAR, min_score=0.0
    )
    assert [(h.id, h.hop) for h in result] == [("a", 0)]


def test_one_hop_brings_the_neighbours_after_the_hits_marked_and_reduced(
    memory: Recollect, chained: str
) -> None:
    result = memory.recall(
        chained,
        "north dam frost crack",
        without=["graph"],
        expand_hops=1,
        min_scores=NEAR,
        min_score=0.0,
    )
    assert [(h.id, h.hop) for h in result] == [("a", 0), ("b", 1)]
    direct, neighbour = result.results
    assert neighbour.score == pytest.approx(direct.score * 0.8 * 0.5)
    assert neighbour.score < direct.score


def test_neighbours_fit_into_the_tokens_left(memory: Recollect, chained: str) -> None:
    only = memory.load(chained, "a").tokens
    result = memory.recall(
        chained,
        "north dam frost crack",
        without=["graph"],
        expand_hops=1,
        max_tokens=only + 1,
        min_score=0.0,
    )
    assert [h.id for h in result] == ["a"]
    assert result.tokens <= only + 1


def test_neighbours_respect_the_filter(memory: Recollect) -> None:
    memory.retain(
        "hop-filter",
        [
            {"id": "seen", "text": "The mill wheel broke.", "tags": ["x"]},
            {"id": "unseen", "text": "Flour ran out.", "tags": ["y"], "causal_relations": [{"type": "caused_by", "target": 0}]},
        ],
    )  # fmt: skip
    result = memory.recall(
        "hop-filter",
        "mill wheel",
        tags=["x"],
        tags_match="any_strict",
        expand_hops=1,
        min_score=0.0,
    )
    assert [h.id for h in result] == ["seen"]


def test_neighbours_stay_above_the_floor(memory: Recollect, chained: str) -> None:
    direct = (
        memory.recall(chained, "north dam frost crack", without=["graph"], min_score=0.0)
        .results[0]
        .score
    )
    options = {"without": ["graph"], "expand_hops": 1}
    above = memory.recall(chained, "north dam frost crack", min_score=direct * 0.39, **options)
    below = memory.recall(chained, "north dam frost crack", min_score=direct * 0.41, **options)
    assert [h.id for h in above] == ["a", "b"]
    assert [h.id for h in below] == ["a"]

"""Rerank: late interaction over the best, a cross-encoder over the best of those, else the spread."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect import Recollect
from recollect.config import Settings
from recollect.errors import ModelError
from recollect.language.passage import memory_passage, paired_passage
from recollect.recall.pipeline import CROSSED, CROSSED_OWN
from recollect.recall.pool import Pool
from recollect.recall.relevance import beside, calibrations, sigmoid, spread
from recollect.recall.rerank import Reading, looked_at_first, portions
from recollect.recall.retrieve import Line
from recollect.types import Memory

from .columns import pool

ANCHOR = "2026-07-10T12:00:00Z"
QUERY = "Who swam in the lake?"


# --- the spread, for want of a reranker --------------------------------------------------------


@given(st.integers(2, 400))
def test_without_a_reranker_scores_are_spread_from_1_to_a_tenth_by_rank(count: int) -> None:
    relevance = spread(pool([0.5] * count, [1] * count)).relevance
    assert relevance[0] == 1.0
    assert relevance[-1] == pytest.approx(0.1)
    steps = np.diff(relevance)
    assert np.allclose(steps, -0.9 / (count - 1), atol=1e-6)


def test_a_single_candidate_gets_all_of_it() -> None:
    assert spread(pool([0.5], [1])).relevance.tolist() == [1.0]


def test_rrf_by_name_is_the_seeds_pipeline(reopen: Callable[..., Recollect], diary: str) -> None:
    reference = reopen(reranker="rrf", fusion="rrf")
    result = reference.recall(
        diary, QUERY, query_timestamp=ANCHOR, min_score=0.0, without=["boost"]
    )
    fused = [h.scores["fused"] for h in result]
    assert fused == sorted(fused, reverse=True)
    assert result.results[0].score == 1.0
    for hit in result:
        expected = sum(1 / (60 + arm.rank) for arm in hit.arms.values())
        assert hit.scores["fused"] == pytest.approx(expected, rel=1e-5)


# --- relevance ---------------------------------------------------------------------------------


@given(st.lists(st.floats(-200, 200, width=32), min_size=1, max_size=20))
def test_logits_pass_a_sigmoid_into_0_1(logits: list[float]) -> None:
    out = sigmoid(np.array(logits, np.float32))
    assert np.all((out >= 0) & (out <= 1))
    assert np.all(np.diff(sigmoid(np.sort(np.array(logits, np.float32)))) >= 0)


def test_every_calibration_is_whole(memory: Recollect) -> None:
    known = calibrations(memory.embedder.name)
    assert set(known) >= {"first", "late", "cross"}
    for calibration in known.values():
        assert 0 < calibration.maybe < calibration.strong < 1
        assert calibration.weights["semantic"] > 0


def test_a_model_nobody_calibrated_gets_the_general_weights() -> None:
    assert set(calibrations("a-model-of-tomorrow")) >= {"first", "late", "cross"}


# --- what stands beside ------------------------------------------------------------------------


def conversation(relevance: list[float], before: list[int]) -> Pool:
    """Candidates with keys 1, 2, …; each the turn after the key in `before`."""
    made = pool([0.5] * len(relevance), [1] * len(relevance))
    keys = np.arange(1, len(relevance) + 1, dtype=np.int64)
    columns = replace(made.columns, keys=keys, before=np.array(before, np.int64))
    return replace(made, keys=keys, columns=columns, relevance=np.array(relevance, np.float32))


def test_a_turn_is_lent_the_relevance_of_its_best_neighbour() -> None:
    turns = conversation([0.9, 0.1, 0.0, 0.0], before=[0, 1, 2, 3])
    assert beside(turns).tolist() == pytest.approx([0.1, 0.9, 0.72, 0.08])


def test_what_has_no_turns_beside_it_is_lent_nothing() -> None:
    assert beside(conversation([0.9, 0.1], before=[0, 0])).tolist() == [0.0, 0.0]
    # The turn before was not found, or may not be seen.
    assert beside(conversation([0.9, 0.1], before=[7, 0])).tolist() == [0.0, 0.0]


def test_two_turns_after_the_one_that_fits_is_better_than_anywhere_else(memory: Recollect) -> None:
    for name, topic in (("zoo", "the aquarium in Genoa"), ("work", "the printer in the hall")):
        turns = [
            ("Tom", f"We went to see {topic}."),
            ("Ann", "Oh, nice."),
            ("Tom", "It took hours."),
        ]
        memory.retain(
            "talk",
            [
                {"id": f"{name}{i}", "text": said, "speaker": who, "document_id": name}
                for i, (who, said) in enumerate(turns)
            ],
        )
    result = memory.recall("talk", "What about the aquarium in Genoa?", min_score=0.0)
    scores = {hit.id: hit.score for hit in result}
    assert result.results[0].id == "zoo0"
    assert scores["zoo2"] > scores.get("work2", 0.0)
    tree = next(h for h in result if h.id == "zoo2").explanation
    assert tree is not None
    assert "relevance of the best turn beside it" in str(tree.as_dict())


# --- what the models read ----------------------------------------------------------------------


def test_the_models_read_date_context_and_text() -> None:
    day = datetime(2022, 6, 5, tzinfo=UTC)
    memory = Memory(id="m", bank="b", text="Tea.", context="lunch", occurred_start=day)
    assert memory_passage(memory) == "June 5, 2022: lunch: Tea."
    assert paired_passage(memory) == "June 5, 2022: lunch: Tea."


def test_without_a_date_of_its_own_it_reads_when_it_was_said() -> None:
    said = Memory(id="m", bank="b", text="Tea.", mentioned_at=datetime(2022, 6, 5, tzinfo=UTC))
    assert memory_passage(said) == "June 5, 2022: Tea."
    assert paired_passage(said) == "June 5, 2022: Tea."
    assert memory_passage(Memory(id="m", bank="b", text="Tea.")) == "Tea."


# --- how many are read -------------------------------------------------------------------------


def test_the_best_300_are_reranked_whatever_the_budget() -> None:
    assert Settings().rerank_candidates == 300


def test_only_the_best_candidates_are_reranked_and_the_rest_keeps_its_score(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    few, options = reopen(rerank_candidates=12), {"query_timestamp": ANCHOR, "min_score": 0.0}
    hits = few.recall(diary, QUERY, **options).results
    before = {h.id: h for h in few.recall(diary, QUERY, without=["rerank"], **options)}
    rest = [h for h in hits if "late" not in h.scores]
    assert len(hits) - len(rest) == 12 < len(hits)
    for hit in rest:
        assert hit.scores["relevance"] == pytest.approx(before[hit.id].scores["relevance"])


@given(st.lists(st.floats(0, 1, width=16), min_size=1, max_size=60), st.integers(1, 70))
def test_half_of_those_looked_at_are_the_likeliest_and_half_the_best_fused(
    chances: list[float], limit: int
) -> None:
    before = pool(chances, [1] * len(chances))
    after = looked_at_first(before, limit)
    assert sorted(after.keys.tolist()) == before.keys.tolist()
    assert after.relevance.tolist() == before.relevance[after.keys - 1].tolist()
    if limit >= len(chances):
        assert after.keys.tolist() == before.keys.tolist()
        return
    looked, rest = after.keys[:limit].tolist(), after.keys[limit:].tolist()
    assert looked == sorted(looked)  # both as they were fused
    assert rest == sorted(rest)
    ranked = sorted(before.keys.tolist(), key=lambda key: (-before.relevance[key - 1], key))
    likely = set(ranked[: limit // 2])
    fused = [key for key in before.keys.tolist() if key not in likely]
    assert set(looked) == likely | set(fused[: limit - limit // 2])


def test_what_matches_well_is_reranked_however_late_it_was_fused(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    """Only one arm found it, far down; two arms found the others."""
    few, options = reopen(rerank_candidates=4), {"query_timestamp": ANCHOR, "min_score": 0.0}
    plain = few.recall(diary, QUERY, without=["rerank", "boost"], **options).results
    likeliest = sorted(plain, key=lambda h: -h.scores["relevance"])[:2]
    looked = {h.id for h in few.recall(diary, QUERY, **options) if "late" in h.scores}
    assert {h.id for h in likeliest} <= looked
    fused = sorted(plain, key=lambda h: -h.scores["fused"])
    assert fused[0].id in looked
    ranked = few.recall(diary, QUERY, **options).results
    left = next(h for h in ranked if h.id not in looked)
    why = few.why(diary, QUERY, left.id, **options)
    said = next(stage for stage in why.stages if stage.stage == "rerank")
    assert "the 2 likeliest by then" in (said.needed or "")
    at = next(stage for stage in why.stages if stage.stage == "fuse").numbers["rank"]
    assert at == 1 + sum(h.scores["fused"] > left.scores["fused"] for h in fused)


class Reader:
    """A cross-encoder that keeps what it was given and loves one word."""

    name = "reader"

    def __init__(self, word: str) -> None:
        self.word = word
        self.read: list[str] = []

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        self.read += passages
        return np.array([8.0 if self.word in p else -8.0 for p in passages], np.float32)


def crossed(
    reopen: Callable[..., Recollect], word: str, reading: Mapping[str, Reading] = CROSSED_OWN
) -> tuple[Recollect, Reader]:
    reader, other = Reader(word), reopen()
    other.__dict__["_recalling"] = replace(
        other._recalling, reranker=lambda: reader, crossed=reading
    )  # pyright: ignore[reportPrivateUsage]
    return other, reader


def test_a_cross_encoder_reads_the_best_few_and_moves_them(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    other, reader = crossed(reopen, "Wanda")
    hits = other.recall(diary, QUERY, query_timestamp=ANCHOR, min_score=0.0).results
    assert 0 < len(reader.read) <= 48
    assert all(re.match(r"[A-Z][a-z]+ \d{1,2}, 20\d\d: ", p) for p in reader.read)
    if any("Wanda" in p for p in reader.read):
        assert "Wanda" in hits[0].text
    assert not other.recall(diary, QUERY, query_timestamp=ANCHOR).degraded


def test_it_reads_on_while_what_comes_next_may_matter(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    other, reader = crossed(reopen, "nowhere", CROSSED)
    other.recall(diary, QUERY, query_timestamp=ANCHOR, min_score=0.0)
    assert 24 <= len(reader.read) < 36  # many swam, and it is convinced by none
    assert len(reader.read) == len(set(reader.read))


def test_it_stops_reading_when_the_answer_is_found(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    other, reader = crossed(reopen, "swam", CROSSED)
    other.recall(diary, QUERY, query_timestamp=ANCHOR, min_score=0.0)
    assert 3 <= len(reader.read) < 16


def test_it_stops_reading_when_the_rest_cannot_matter(reopen: Callable[..., Recollect]) -> None:
    other, reader = crossed(reopen, "nowhere", CROSSED)
    did = "painted a fence,sold a bicycle,read a novel,missed a train,planted roses,lost a glove"
    did += ",baked a cake,fixed a lamp,met a judge,swam a mile,drew a map,wrote a poem"
    did += ",rented a boat,found a coin,sewed a coat,built a shed"
    told = ["Wanda is allergic to peanuts.", *(f"Wanda {x}." for x in did.split(","))]
    other.retain("wanda", [{"text": text} for text in told])
    hits = other.recall("wanda", "What is Wanda allergic to?", min_score=0.0).results
    assert hits[0].text == told[0]
    assert len(hits) == len(told) > len(reader.read) == 16


@pytest.mark.parametrize(
    ("finals", "limit", "expected"),
    [
        ([], 300, []),
        ([0.9, 0.8], 300, [[0, 1]]),
        ([0.1, 0.9, 0.5, 0.7], 300, [[1, 3], [2, 0]]),
        ([0.9, 0.8, 0.7, 0.6, 0.5], 300, [[0, 1], [2, 3]]),  # four are the most
        ([0.9, 0.8, 0.8, 0.7, 0.6], 300, [[0, 1, 2], [3]]),  # equal ones are read together
        ([0.9] * 9, 300, [[0, 1, 2, 3]]),  # but no more than as many again
        ([0.1, 0.2, 0.9], 2, [[1, 0]]),  # what was not reranked is not read
    ],
)
def test_a_cross_encoder_is_given_the_best_in_portions(
    finals: list[float], limit: int, expected: list[list[int]]
) -> None:
    ranked = pool(finals, [1] * len(finals))
    assert [rows.tolist() for rows in portions(ranked, Reading((2, 4)), limit)] == expected


class Tiring(Reader):
    """A cross-encoder that reads one portion and then fails."""

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        if self.read:
            raise ModelError("the reranker has gone", hint="start it")
        return super().score(query, passages)


def test_a_portion_that_fails_takes_back_nothing(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    other, _ = crossed(reopen, "nowhere", CROSSED)
    reader = Tiring("nowhere")
    recalling = replace(other._recalling, reranker=lambda: reader)  # pyright: ignore[reportPrivateUsage]
    other.__dict__["_recalling"] = recalling
    result = other.recall(diary, QUERY, query_timestamp=ANCHOR, min_score=0.0)
    assert [d.part for d in result.degraded] == ["cross-encoder"]
    assert sum("cross" in h.scores for h in result.results) == len(reader.read) >= 3


def test_a_deadline_between_two_portions_is_told(
    reopen: Callable[..., Recollect], diary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, reader = crossed(reopen, "nowhere", CROSSED)
    monkeypatch.setattr(Line, "overdue", property(lambda _: bool(reader.read)))
    result = other.recall(diary, QUERY, query_timestamp=ANCHOR, min_score=0.0)
    assert [(d.part, d.reason) for d in result.degraded] == [
        ("cross-encoder", "the deadline came first")
    ]
    assert sum("cross" in h.scores for h in result.results) == len(reader.read) >= 3


class Silent(Reader):
    """A cross-encoder that has no opinion."""

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        return np.full(len(super().score(query, passages)), np.nan, np.float32)


def test_no_opinion_changes_nothing(reopen: Callable[..., Recollect], diary: str) -> None:
    other, _ = crossed(reopen, "nowhere", CROSSED)
    reader = Silent("nowhere")
    recalling = replace(other._recalling, reranker=lambda: reader)  # pyright: ignore[reportPrivateUsage]
    other.__dict__["_recalling"] = recalling
    result = other.recall(diary, QUERY, query_timestamp=ANCHOR)
    without = other.recall(diary, QUERY, query_timestamp=ANCHOR, without=["cross-encoder"])
    assert reader.read and not result.degraded
    assert [(h.id, h.score) for h in result] == [(h.id, h.score) for h in without]


def test_what_the_cross_encoder_said_is_kept_and_shown(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    other, reader = crossed(reopen, "swam")
    hits = other.recall(diary, QUERY, query_timestamp=ANCHOR, min_score=0.0).results
    seen = [h for h in hits if "cross" in h.scores]
    assert len(seen) == len(reader.read)
    assert {h.scores["cross"] for h in seen} <= {8.0, -8.0}


TALK = [
    {"speaker": "Odalys", "text": "He has a girlfriend now, eight months already!"},
    {"speaker": "Thurston", "text": "And what does she do?", "tags": ["asked"]},
    {"speaker": "Odalys", "text": "A welder, from Chattanooga."},
]


def read_of_the_answer(reopen: Callable[..., Recollect]) -> str:
    """What the cross-encoder was shown of the last turn."""
    other, reader = crossed(reopen, "welder")
    other.retain("talk", [{"turns": TALK}])
    other.recall("talk", "What does the girlfriend do?", min_score=0.0)
    (read,) = [p for p in reader.read if p.endswith("A welder, from Chattanooga.")]
    return read


def test_a_cross_encoder_reads_a_turn_with_the_one_before(
    reopen: Callable[..., Recollect],
) -> None:
    read = read_of_the_answer(reopen)
    assert "previous turn: Thurston: And what does she do?: Odalys: A welder" in read


def test_a_cross_encoder_reads_short_turns_with_the_two_before(
    reopen: Callable[..., Recollect],
) -> None:
    read = read_of_the_answer(reopen)
    first = "previous turn: Odalys: He has a girlfriend now, eight months already!:"
    assert f"{first} previous turn: Thurston:" in read


def test_a_cross_encoder_reads_a_long_turn_with_the_one_before_alone(
    reopen: Callable[..., Recollect],
) -> None:
    long = {**TALK[2], "text": "A welder, from Chattanooga. " + "She told me all about it. " * 20}
    other, reader = crossed(reopen, "welder")
    other.retain("long talk", [{"turns": [*TALK[:2], long]}])
    other.recall("long talk", "What does the girlfriend do?", min_score=0.0)
    (read,) = [p for p in reader.read if "Odalys: A welder" in p]
    assert read.count("previous turn:") == 1


def test_a_cross_encoder_reads_no_turn_that_may_not_be_seen(
    reopen: Callable[..., Recollect],
) -> None:
    other, reader = crossed(reopen, "welder")
    other.retain("talk", [{"turns": TALK}])
    unasked = [{"not": {"tags": ["asked"]}}]
    other.recall("talk", "What does the girlfriend do?", min_score=0.0, tag_groups=unasked)
    assert any("A welder" in p for p in reader.read)
    assert not any("what does she do" in p for p in reader.read)


def test_a_low_budget_spares_the_cross_encoder(
    reopen: Callable[..., Recollect], diary: str
) -> None:
    other, reader = crossed(reopen, "swam")
    other.recall(diary, QUERY, query_timestamp=ANCHOR, budget="low")
    assert reader.read == []


def test_reranking_can_be_left_out(memory: Recollect, diary: str) -> None:
    hits = memory.recall(diary, QUERY, query_timestamp=ANCHOR, without=["rerank"]).results
    assert hits and not any("late" in h.scores or "cross" in h.scores for h in hits)

"""Conversations: a turn alone seldom says what it is about, nor when."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pytest

from recollect import Recollect
from recollect.language.dates import to_micros
from recollect.language.passage import memory_passage, shown_date
from recollect.recall.around import around
from recollect.recall.fuse import WEIGHTED, fuse, with_turns_beside
from recollect.recall.pool import Pool
from recollect.recall.relevance import TOLD, told_in
from recollect.storage.base import Filter, Found
from recollect.testing import open_fake
from recollect.types import Arm, Window

from .banks import key_of, view_of
from .columns import columns

FLOUR = (
    ("Nora", "How is training for Lyon going?"),
    ("Theo", "The fig loaf keeps collapsing."),
    ("Nora", "What was wrong with the flour?"),
    ("Theo", "Too little protein."),
    ("Nora", "Science!"),
)


@pytest.fixture
def kitchen() -> Iterator[Recollect]:
    with open_fake(":memory:") as opened:
        yield opened


def told(memory: Recollect, bank: str, session: str, when: str, **given: object) -> list[str]:
    """The ids of a conversation's turns."""
    turns = [{"speaker": who, "text": f"{said} ({session})"} for who, said in FLOUR]
    item = {"turns": turns, "document_id": session, "timestamp": when, **given}
    return list(memory.retain(bank, [item]).ids)


def best(memory: Recollect, bank: str, memory_id: str, allowed: Filter) -> tuple[Pool, list[int]]:
    """A pool in which one memory was found, with the turns beside it; and those turns."""
    view = view_of(memory, bank)
    found = Found(np.array([key_of(view, memory_id)]), np.ones(1, np.float32))
    pool = fuse(view, {Arm.SEMANTIC: found}, WEIGHTED, 60)
    wider = with_turns_beside(view, pool, allowed)
    return wider, wider.keys[1:].tolist()


# --- the talk around a turn ----------------------------------------------------------------------


def talk_around(
    memory: Recollect, ids: list[str], allowed: Filter
) -> tuple[list[float], list[float]]:
    """Of each turn how similar it is to the flour, and the talk around it."""
    view = view_of(memory, "b")
    keys = np.array([key_of(view, one) for one in ids])
    vector = memory.embedder.encode_queries(["the protein of the flour"]).vectors[0]
    similar = view.similarity(vector, keys)
    pool = Pool(keys, {}, np.ones(len(keys), np.float32), view.columns(keys))
    near = around(view, vector, similar, pool, allowed, 300)
    return similar.tolist(), near.tolist()


def test_the_talk_around_a_turn_is_the_two_before_it_and_less_so_the_one_after(
    kitchen: Recollect,
) -> None:
    ids = told(kitchen, "b", "august", "2023-08-12T16:25:00Z")
    own, near = talk_around(kitchen, ids, Filter())
    assert len(set(own)) == len(own)
    assert near[2] == pytest.approx(0.4 * own[1] + 0.4 * own[0] + 0.2 * own[3])


def test_where_nothing_was_said_before_or_after_a_turn_counts_for_itself(
    kitchen: Recollect,
) -> None:
    ids = told(kitchen, "b", "august", "2023-08-12T16:25:00Z")
    told(kitchen, "b", "september", "2023-09-24T21:00:00Z")
    own, near = talk_around(kitchen, ids, Filter())
    assert near[0] == pytest.approx(0.8 * own[0] + 0.2 * own[1])
    assert near[4] == pytest.approx(0.4 * own[3] + 0.4 * own[2] + 0.2 * own[4])


def test_talk_that_may_not_be_seen_says_nothing_of_a_turn(kitchen: Recollect) -> None:
    ids = told(kitchen, "b", "august", "2023-08-12T16:25:00Z")
    own, near = talk_around(kitchen, ids, Filter(types=frozenset({"observation"})))
    assert near == pytest.approx(own)


def test_notes_have_no_talk_around_them(kitchen: Recollect) -> None:
    ids = list(kitchen.retain("b", ["The flour has protein.", "The oven is old."]).ids)
    own, near = talk_around(kitchen, ids, Filter())
    assert near == own


# --- the turns beside ---------------------------------------------------------------------------


def test_two_turns_to_either_side_of_a_good_candidate_are_candidates(kitchen: Recollect) -> None:
    ids = told(kitchen, "b", "august", "2023-08-12T16:25:00Z")
    view = view_of(kitchen, "b")
    _, beside = best(kitchen, "b", ids[2], Filter())
    assert sorted(beside) == sorted(key_of(view, ids[n]) for n in (0, 1, 3, 4))


def test_a_turn_of_another_conversation_is_not_beside(kitchen: Recollect) -> None:
    told(kitchen, "b", "august", "2023-08-12T16:25:00Z")
    ids = told(kitchen, "b", "september", "2023-09-24T21:00:00Z")
    view = view_of(kitchen, "b")
    _, beside = best(kitchen, "b", ids[1], Filter())
    assert sorted(beside) == sorted(key_of(view, ids[n]) for n in (0, 2, 3))


def test_a_turn_that_may_not_be_seen_is_not_brought_in(kitchen: Recollect) -> None:
    ids = told(kitchen, "b", "august", "2023-08-12T16:25:00Z")
    allowed = Filter(as_of=to_micros(datetime(2023, 8, 1, tzinfo=UTC)))
    _, beside = best(kitchen, "b", ids[2], allowed)
    assert beside == []


def test_no_arm_is_said_to_have_found_a_turn_beside(kitchen: Recollect) -> None:
    ids = told(kitchen, "b", "august", "2023-08-12T16:25:00Z")
    pool, _ = best(kitchen, "b", ids[2], Filter())
    assert pool.arms[Arm.SEMANTIC].rank.tolist() == [1, 0, 0, 0, 0]


def test_statements_that_answer_nobody_bring_nothing_along(kitchen: Recollect) -> None:
    ids = kitchen.retain("b", [{"text": f"Fact number {n}"} for n in range(5)]).ids
    _, beside = best(kitchen, "b", ids[2], Filter())
    assert beside == []


# --- when it was said ---------------------------------------------------------------------------


def test_models_read_of_a_turn_when_it_was_said(kitchen: Recollect) -> None:
    turn = {"text": "I signed up last week.", "speaker": "Nora", "timestamp": "2023-02-11"}
    (id,) = kitchen.retain("b", [turn]).ids
    assert memory_passage(kitchen.load("b", id)).startswith("February 11, 2023: ")


def test_models_read_of_a_statement_when_it_happened() -> None:
    said, happened = datetime(2023, 2, 11, tzinfo=UTC), datetime(2023, 1, 30, tzinfo=UTC)
    assert shown_date(None, said, happened) == happened


def test_what_was_said_in_the_time_asked_for_counts_though_it_mentions_another() -> None:
    may = datetime(2023, 5, 1, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC)
    said = [to_micros(datetime(2023, month, 20, tzinfo=UTC)) for month in (5, 6)]
    turns = columns([2, 3], before=[1, 2], known_from=said)
    assert told_in(turns, Window(*may), turns.before > 0).tolist() == [TOLD, -1]


def test_what_nobody_said_to_anybody_counts_by_when_it_happened() -> None:
    may = datetime(2023, 5, 1, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC)
    said = to_micros(datetime(2023, 5, 20, tzinfo=UTC))
    noted = columns([2], known_from=said)
    assert told_in(noted, Window(*may), noted.before > 0).tolist() == [-1]


@pytest.mark.parametrize(("speaker", "bounded"), [(None, True), ("Nora", False)])
def test_the_day_on_which_an_event_came_up_in_a_chat_bounds_nothing(
    kitchen: Recollect, speaker: str | None, bounded: bool
) -> None:
    event = {"text": "Ines twisted her ankle", "timestamp": "2023-08-12"}
    kitchen.retain("b", [event if speaker is None else {**event, "speaker": speaker}])
    result = kitchen.recall("b", "What did Nora do after Ines twisted her ankle?")
    assert (result.window is not None) == bounded

"""What is the same fact, what is another one, and which of two values is current."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recollect
from recollect.retain.items import Fact
from recollect.retain.replies import is_reply
from recollect.testing import open_fake
from recollect.types import LinkKind, State

FACT = {"text": "Bob bought a red bicycle", "timestamp": "2026-04-01T10:00:00Z"}


@pytest.mark.parametrize("times", [1, 2, 5])
def test_the_same_fact_n_times_is_one_memory_with_n_proofs(
    memory: recollect.Recollect, times: int
) -> None:
    for hour in range(times):
        memory.retain("b", {**FACT, "timestamp": f"2026-04-01T{hour:02}:00:00Z"})
    assert [m.proof_count for m in memory.memories("b")] == [times]


def test_the_same_undated_fact_n_times_in_one_call_is_n_proofs(
    memory: recollect.Recollect,
) -> None:
    memory.retain("b", [{"text": "Bob likes tea."}] * 4)
    assert [m.proof_count for m in memory.memories("b")] == [4]


def test_a_repeated_fact_is_as_fresh_as_its_last_mention(memory: recollect.Recollect) -> None:
    memory.retain("b", {"text": "Bob likes tea.", "timestamp": "2026-04-05"})
    memory.retain("b", {"text": "Bob likes tea.", "timestamp": "2026-04-09"})
    memory.retain("b", {"text": "Bob likes tea.", "timestamp": "2026-04-01"})
    (found,) = memory.memories("b")
    assert found.last_mentioned_at is not None
    assert found.last_mentioned_at.day == 9


@pytest.mark.parametrize(
    "other",
    [
        {"speaker": "Ann"},
        {"tags": ["private"]},
        {"timestamp": "2026-04-02T10:00:00Z"},
        {"occurred_start": "2025-01-01"},
        {"text": "Bob sold a red bicycle"},
        {"text": "Bob bought a red motorbike"},
    ],
)
def test_what_differs_in_kind_is_another_memory(memory: recollect.Recollect, other: dict) -> None:
    memory.retain("b", FACT)
    result = memory.retain("b", {**FACT, **other})
    assert len(result.new) == 1
    assert len(memory.memories("b")) == 2


@pytest.mark.parametrize(
    "again",
    ["Bob bought a red bicycle.", "bob bought a red bicycle!", "Bob  bought a   red bicycle"],
)
def test_another_spelling_is_the_same_fact(memory: recollect.Recollect, again: str) -> None:
    memory.retain("b", FACT)
    assert memory.retain("b", {**FACT, "text": again}).new == ()


@pytest.mark.parametrize(
    ("text", "memories"),
    [("Out sick.", 3), ("Gym.", 3), ("I smoke.", 1), ("Vegetarian.", 1), ("Lives in Berlin.", 1)],
)
def test_what_a_day_was_like_is_told_of_each_day(
    memory: recollect.Recollect, text: str, memories: int
) -> None:
    for day in ("2026-04-01T09:00:00Z", "2026-04-02", "2026-04-09", "2026-04-01T17:00:00Z"):
        memory.retain("b", {"content": text, "timestamp": day, "document_id": f"note-{day}"})
    found = memory.memories("b")
    assert len(found) == memories
    assert sum(each.proof_count for each in found) == 4


def test_a_contradicting_value_keeps_both_and_makes_the_newer_current(
    memory: recollect.Recollect,
) -> None:
    old = memory.retain("b", {"text": "Alice works at Google", "timestamp": "2024-01-01"}).ids[0]
    new = memory.retain("b", {"text": "Alice works at Meta", "timestamp": "2025-01-01"}).ids[0]
    assert memory.load("b", old).state is State.SUPERSEDED
    assert memory.load("b", old).superseded_by == new
    assert memory.load("b", new).state is State.ACTIVE
    assert {h.id for h in memory.recall("b", "Where does Alice work?")} == {old, new}


def test_an_older_value_that_arrives_late_is_the_superseded_one(
    memory: recollect.Recollect,
) -> None:
    new = memory.retain("b", {"text": "Alice works at Meta", "timestamp": "2025-01-01"}).ids[0]
    late = memory.retain("b", {"text": "Alice works at Google", "timestamp": "2024-01-01"})
    assert late.superseded == late.ids
    assert memory.load("b", late.ids[0]).superseded_by == new
    assert memory.load("b", new).state is State.ACTIVE


def test_values_given_in_one_call_are_ordered_by_their_time(memory: recollect.Recollect) -> None:
    places = [("Google", 2024), ("Apple", 2026), ("Meta", 2025)]
    ids = memory.retain(
        "b",
        [{"text": f"Alice works at {p}", "timestamp": f"{y}-01-01"} for p, y in places],
    ).ids
    assert [memory.load("b", i).state.value for i in ids] == ["superseded", "active", "superseded"]


@pytest.mark.parametrize(("said", "superseded"), [("2026-04-02", True), ("2026-04-20", False)])
def test_only_what_is_yet_to_come_can_be_moved(
    memory: recollect.Recollect, said: str, superseded: bool
) -> None:
    memory.retain("b", {"content": "The release is on Friday.", "timestamp": "2026-03-31"})
    result = memory.retain("b", {"content": "The release was moved to Monday.", "timestamp": said})
    assert bool(result.superseded) is superseded


def test_values_seen_by_others_do_not_supersede(memory: recollect.Recollect) -> None:
    old = memory.retain("b", {"text": "Alice works at Google", "tags": ["hr"]}).ids[0]
    memory.retain("b", {"text": "Alice works at Meta", "tags": ["gossip"]})
    assert memory.load("b", old).state is State.ACTIVE


WORDS = st.sampled_from(
    ["red", "blue", "cat", "dog", "runs", "sleeps", "tea", "milk", "Bob", "Ann", "Rome", "Oslo"]
)
TEXTS = st.lists(WORDS, min_size=2, max_size=5).map(" ".join)


@settings(max_examples=25, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=25), st.integers(1, 6))
def test_links_stay_within_their_bounds(texts: list[str], calls: int) -> None:
    with TemporaryDirectory() as folder, open_fake(Path(folder) / "m.db") as memory:
        for at in range(calls):
            part = texts[at::calls]
            if part:
                memory.retain("b", [{"text": t} for t in part])
        for found in memory.memories("b", limit=1000):
            out = [
                k
                for k in memory.links("b", found.id)
                if k.source == found.id and k.kind is LinkKind.SEMANTIC
            ]
            assert len(out) <= 5
            assert all(0.7 <= k.weight <= 1 and k.target != found.id for k in out)


@settings(max_examples=25, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_mentions_add_up_however_they_are_grouped(texts: list[str], random) -> None:
    """Every mention is either a memory or a proof of one."""
    with TemporaryDirectory() as folder, open_fake(Path(folder) / "m.db") as memory:
        left = list(texts)
        while left:
            size = random.randint(1, len(left))
            memory.retain("b", [{"text": t} for t in left[:size]])
            left = left[size:]
        assert sum(m.proof_count for m in memory.memories("b", limit=1000)) == len(texts)


def test_an_entity_leads_to_at_most_fifty_memories(memory: recollect.Recollect) -> None:
    import numpy as np

    from recollect.storage.base import Filter

    memory.retain("b", [{"text": f"Alice paid bill {n * n}"} for n in range(80)])
    view = memory._store.view("b")
    found = view.expand(np.array([1], np.int64), Filter(), 50, ())
    assert int((found.shared_entities > 0).sum()) == 50
    assert int(found.keys[found.shared_entities > 0].min()) > 30  # the newest


# --- replies: they mean what was asked -----------------------------------------------------------

REPLIES = ["No.", "Yes, please.", "Thanks!", "Blue.", "On Tuesday, please.", "I do.", "👍", "はい"]
TOLD = ["I smoke.", "Bob likes tea.", "I am vegetarian.", "Ann quit.", "私は紅茶が好きです"]


def chat(question: str, reply: str) -> list[dict[str, str]]:
    return [{"speaker": "Ann", "text": question}, {"speaker": "Bob", "text": reply}]


def texts(memory: recollect.Recollect) -> list[str]:
    return sorted(m.text for m in memory.memories("b", limit=100))


@pytest.mark.parametrize("text", REPLIES)
def test_what_says_little_by_itself_is_a_reply(text: str) -> None:
    assert is_reply(Fact(text=text, speaker="Bob"))
    assert is_reply(Fact(text=f"Bob: {text}"))


@pytest.mark.parametrize("text", TOLD)
def test_a_sentence_is_none(text: str) -> None:
    assert not is_reply(Fact(text=text, speaker="Bob"))


@pytest.mark.parametrize("text", ["Likes tea", "Blue"])
def test_a_note_of_a_word_or_two_is_none(text: str) -> None:
    assert not is_reply(Fact(text=text))


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_in_two_documents_is_two_memories(memory: recollect.Recollect, reply: str) -> None:
    for document in ("chat-1", "chat-2"):
        memory.retain("b", {"document_id": document, "turns": chat("Shall I book it?", reply)})
    assert texts(memory).count(reply) == 2


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_of_another_day_is_another_memory(memory: recollect.Recollect, reply: str) -> None:
    for day in ("2026-04-01", "2026-04-02", "2026-04-02"):
        memory.retain("b", {"timestamp": day, "turns": chat("Shall I book it?", reply)})
    assert texts(memory).count(reply) == 2


@pytest.mark.parametrize("mode", ["replace", "append"])
def test_in_one_chat_it_is_one_however_often_it_is_told(
    memory: recollect.Recollect, mode: str
) -> None:
    for question in ("The keys are in the blue box.", "the keys are in the blue box", "Ready?"):
        turns = chat(question, "Ok.")
        memory.retain("b", {"document_id": "chat", "turns": turns, "update_mode": mode})
    assert texts(memory).count("Ok.") == 1


@pytest.mark.parametrize("told", TOLD)
def test_a_sentence_told_in_two_chats_is_one_memory(memory: recollect.Recollect, told: str) -> None:
    for document in ("chat-1", "chat-2"):
        memory.retain("b", {"document_id": document, "turns": chat(f"So, {document}?", told)})
    (found,) = [m for m in memory.memories("b") if m.text == told]
    assert found.proof_count == 2


def test_the_same_question_answered_again_in_a_chat_is_evidence(
    memory: recollect.Recollect,
) -> None:
    memory.retain("b", {"document_id": "chat", "turns": chat("Do you eat meat?", "No.") * 2})
    assert sorted(m.proof_count for m in memory.memories("b")) == [2, 2]


@pytest.mark.parametrize("place", [{}, {"document_id": "chat"}])
@pytest.mark.parametrize("first", [0, 1])
def test_a_call_made_again_adds_nothing(
    memory: recollect.Recollect, place: dict[str, str], first: int
) -> None:
    """Also when it begins with the reply, and each time something else was said before it."""
    turns = (chat("Do you eat meat?", "No.") + chat("Do you eat fish?", "No."))[first:]
    given: dict[str, Any] = {"turns": turns, "timestamp": "2026-04-01T10:00:00Z", **place}
    made = memory.retain("b", given)
    again = memory.retain("b", given)
    assert again.new == () and again.ids == made.ids
    assert texts(memory).count("No.") == 1


def test_a_document_that_grew_keeps_its_replies(memory: recollect.Recollect) -> None:
    turns = chat("Do you eat meat?", "No.")[1:] + chat("Do you eat fish?", "No.")
    made = memory.retain("b", {"document_id": "chat", "turns": turns})
    grown = memory.retain(
        "b", {"document_id": "chat", "turns": turns + chat("Do you eat eggs?", "No.")}
    )
    assert grown.ids[:3] == made.ids and len(grown.new) == 1


def test_a_corrected_reply_is_still_that_of_its_chat(memory: recollect.Recollect) -> None:
    made = memory.retain("b", {"document_id": "chat-1", "turns": chat("Do you eat meat?", "Yes.")})
    memory.update("b", made.ids[1], text="No.")
    other = memory.retain("b", {"document_id": "chat-2", "turns": chat("Do you smoke?", "No.")})
    assert len(other.new) == 2

"""A talk given as JSON in a text is read as turns; whatever else is JSON stays a text."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

import recollect
from recollect.retain.transcript import transcript

OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is in this picture?"}, {"type": "image_url", "image_url": {"url": "data:x"}}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "look"}}]},
    {"role": "assistant", "content": "A dog on a beach."},
]  # fmt: skip
SESSION = [
    {"speaker": "Ketsia", "dia_id": "D1:1", "text": "Did you make the soup?"},
    {"speaker": "Wideline", "dia_id": "D1:2", "text": "Enough for twenty."},
]


def said(value: Any) -> list[tuple[str | None, str]]:
    lines = transcript(json.dumps(value))
    assert lines is not None
    return [(line.speaker, line.text) for line in lines]


def test_messages_with_roles_are_turns() -> None:
    assert said([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]) == [
        ("user", "Hi"),
        ("assistant", "Hello"),
    ]


def test_parts_of_a_message_are_put_together() -> None:
    assert said(OPENAI)[1] == ("user", "What is in this picture?\n[image url: data:x]")


def test_a_message_that_says_nothing_is_no_turn() -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": " "}]
    assert said(talk) == [("user", "Hi")]


def test_a_name_says_more_than_a_role() -> None:
    assert said([{"role": "user", "name": "Ann", "content": "Hi"}]) == [("Ann", "Hi")]


@pytest.mark.parametrize("key", ["messages", "turns", "dialogue"])
def test_a_talk_may_lie_in_an_object(key: str) -> None:
    assert said({"id": 7, key: SESSION})[0] == ("Ketsia", "Did you make the soup?")


def test_sessions_are_dated_by_what_lies_beside_them() -> None:
    lines = transcript(
        json.dumps(
            {
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": SESSION[:1],
                "session_2_date_time": "10:04 am on 9 June, 2023",
                "session_2": SESSION[1:],
            }
        )
    )
    assert lines is not None
    assert [line.stamp for line in lines] == ["1:56 pm on 8 May, 2023", "10:04 am on 9 June, 2023"]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        [1, 2],
        "Ann: hi",
        [{"name": "Alice"}, {"name": "Bob"}],
        [{"text": "one"}, {"text": "two"}],
        [{"speaker": "Ann"}],
        {"messages": SESSION, "summary": {"of": "more"}},
        {"content": "a page"},
    ],
)
def test_other_json_is_no_talk(value: Any) -> None:
    assert transcript(json.dumps(value)) is None


@pytest.mark.parametrize("text", ["[2023-05-08] Ann: hi [laughs]", "{not json}", "", "[", "{}"])
def test_what_only_looks_like_json_is_no_talk(text: str) -> None:
    assert transcript(text) is None


def test_retain_makes_a_memory_of_every_turn(memory: recollect.Recollect) -> None:
    memory.retain("b", {"content": json.dumps(SESSION), "timestamp": "2023-01-08T14:20:00Z"})
    first, second = reversed(memory.memories("b"))
    assert (first.speaker, first.text) == ("Ketsia", "Did you make the soup?")
    assert (second.speaker, second.text) == ("Wideline", "Enough for twenty.")


def test_what_else_is_told_of_a_turn_is_its_metadata(memory: recollect.Recollect) -> None:
    memory.retain("b", {"content": json.dumps(SESSION), "metadata": {"app": "chat"}})
    assert {m.metadata["dia_id"] for m in memory.memories("b")} == {"D1:1", "D1:2"}
    assert {m.metadata["app"] for m in memory.memories("b")} == {"chat"}


def test_turns_are_dated_by_their_own_times(memory: recollect.Recollect) -> None:
    turn = {"role": "user", "content": "I am at the dentist", "created_at": "2024-02-03T09:30:00Z"}
    memory.retain("b", json.dumps([turn]))
    (found,) = memory.memories("b")
    assert found.mentioned_at == datetime(2024, 2, 3, 9, 30, tzinfo=UTC)


def test_a_time_that_cannot_be_read_is_kept_beside_the_turn(memory: recollect.Recollect) -> None:
    turn = {"role": "user", "content": "I am at the dentist", "time": "a while ago"}
    memory.retain("b", {"content": json.dumps([turn]), "timestamp": "2024-02-03T09:30:00Z"})
    (found,) = memory.memories("b")
    assert found.mentioned_at == datetime(2024, 2, 3, 9, 30, tzinfo=UTC)
    assert found.metadata["time"] == "a while ago"


def test_the_document_can_be_given_again(memory: recollect.Recollect) -> None:
    given = {"content": json.dumps(SESSION), "document_id": "s1"}
    memory.retain("b", given)
    again = memory.retain("b", given)
    assert not again.new
    assert memory.document("b", "s1").memories == 2


def test_chunks_show_who_said_what(memory: recollect.Recollect) -> None:
    memory.retain("b", {"content": json.dumps(SESSION), "document_id": "s1"})
    (chunk,) = memory.chunks("b", "s1")
    assert chunk.text == "Ketsia: Did you make the soup?\nWideline: Enough for twenty."

"""Chats that messengers and assistants export as JSON are conversations."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

import recollect
from recollect.errors import InvalidInput

TELEGRAM = {
    "name": "Beekeepers",
    "type": "private_group",
    "id": 7,
    "messages": [
        {
            "id": 1, "type": "service", "date": "2024-03-12T14:00:00", "date_unixtime": "1710248400",
            "actor": "Ann Lee", "action": "invite_members", "members": ["Bob"], "text": "",
        },
        {
            "id": 2, "type": "message", "date": "2024-03-12T14:05:00", "date_unixtime": "1710248700",
            "from": "Ann Lee", "from_id": "user1",
            "text": ["See ", {"type": "link", "text": "https://bees.org"}, " for hives"],
        },
        {
            "id": 3, "type": "message", "date": "2024-03-12T14:06:00", "from": "Bob", "from_id": "user2",
            "photo": "photos/1.jpg", "text": "my hive",
        },
        {
            "id": 4, "type": "message", "date": "2024-03-12T14:07:00", "from": "Bob", "from_id": "user2",
            "text": "", "poll": {"question": "Honey?", "closed": False, "answers": [{"text": "Yes"}, {"text": "No"}]},
        },
        {
            "id": 5, "type": "message", "date": "2024-03-12T14:08:00", "from": "Bob", "from_id": "user2",
            "forwarded_from": "Carl", "text": "I moved to Rome",
        },
        {"id": 6, "type": "message", "date": "2024-03-12T14:09:00", "from": "Bob", "text": ""},
    ],
}  # fmt: skip

SLACK = [
    {
        "type": "message", "subtype": "channel_join", "user": "U1", "ts": "1710252000.000100",
        "text": "<@U1> has joined the channel",
    },
    {
        "type": "message", "user": "U1", "ts": "1710252300.000200", "client_msg_id": "x",
        "text": "<@U2> see <https://bees.org|the bees> in <#C1|garden> &amp; tell <!here>",
    },
    {
        "type": "message", "user": "U2", "ts": "1710252360.000000", "text": "",
        "files": [{"id": "F1", "name": "hive.png"}],
    },
    {"type": "message", "subtype": "me_message", "user": "U2", "ts": "1710252370.0", "text": "waves"},
    {
        "type": "message", "user": "U3", "ts": "1710252380.0", "text": "I am new",
        "user_profile": {"real_name": "Carl Orff", "display_name": "carl"},
    },
]  # fmt: skip
CLAUDE = [
    {
        "uuid": "c1", "name": "Trip", "created_at": "2026-03-01T10:00:00Z",
        "chat_messages": [
            {
                "uuid": "m1", "sender": "human", "created_at": "2026-03-01T10:00:00Z",
                "text": "I am off to Oslo with my sister Nora.",
                "content": [{"type": "text", "text": "I am off to Oslo with my sister Nora."}],
                "attachments": [{"file_name": "plan.pdf", "extracted_content": "…"}],
            },
            {
                "uuid": "m2", "sender": "assistant", "created_at": "2026-03-01T10:00:05Z", "text": "Lovely!",
                "content": [{"type": "thinking", "thinking": "Oslo …"}, {"type": "text", "text": "Lovely!"}],
            },
        ],
    },
    {"uuid": "c2", "name": "", "chat_messages": []},
]  # fmt: skip


def _gpt(name: str, role: str, text: str, parent: str | None, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    message = {
        "author": {"role": role}, "content": content, "create_time": 1772359200.5, "recipient": "all", **more
    }  # fmt: skip
    return {name: {"id": name, "message": message, "parent": parent, "children": []}}


CHATGPT = [
    {
        "title": "Trip", "conversation_id": "g1", "current_node": "n5",
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None, "children": ["n1"]},
            **_gpt("n1", "system", "You are helpful.", "root"),
            **_gpt("n2", "user", "I am off to Oslo with my sister Nora.", "n1"),
            **_gpt("n3", "assistant", "A first answer.", "n2"),
            **_gpt("n4", "assistant", 'search("Oslo")', "n2", recipient="browser"),
            **_gpt("n5", "assistant", "Lovely!", "n4"),
        },
    },
]  # fmt: skip
USERS = [
    {"id": "U1", "name": "ann", "profile": {"real_name": "Ann Lee"}},
    {"id": "U2", "name": "bob", "real_name": "Bob Ray", "profile": {}},
]


def told(memory: recollect.Recollect) -> list[tuple[str | None, str]]:
    held = sorted(memory.memories("b"), key=lambda m: str(m.mentioned_at))
    return [(m.speaker, m.text) for m in held]


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(value))
    return path


def test_a_telegram_export_is_a_conversation(memory: recollect.Recollect, tmp_path: Path) -> None:
    memory.retain_file("b", written(tmp_path / "result.json", TELEGRAM))
    assert told(memory) == [
        (None, "Ann Lee: invite members Bob"),
        ("Ann Lee", "See https://bees.org for hives"),
        ("Bob", "my hive\n[photo]"),
        ("Bob", "[poll: Honey?; Yes; No]"),
        ("Bob", "[Forwarded from Carl]\nI moved to Rome"),
    ]


def test_its_times_are_of_the_zone_that_it_tells(
    memory: recollect.Recollect, tmp_path: Path
) -> None:
    memory.retain_file("b", written(tmp_path / "result.json", TELEGRAM))
    held = {m.text: m.mentioned_at for m in memory.memories("b")}
    assert held["See https://bees.org for hives"] == datetime(2024, 3, 12, 13, 5, tzinfo=UTC)


def test_each_chat_of_an_account_is_a_document_with_its_name(
    memory: recollect.Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = {"type": "message", "date": "2024-03-12T14:05:00", "from": "Ann", "text": "I keep bees"}
    other = {"name": "Carl", "id": 9, "messages": [said]}
    memory.retain_file(
        "b", written(tmp_path / "result.json", {"chats": {"list": [TELEGRAM, other]}})
    )
    assert {d.id for d in memory.documents("b")} == {"result.json#7", "result.json#9"}
    assert {m.context for m in memory.memories("b")} == {"Beekeepers", "Carl"}


def test_an_export_given_again_is_known(memory: recollect.Recollect, tmp_path: Path) -> None:
    path = written(tmp_path / "result.json", TELEGRAM)
    memory.retain_file("b", path)
    assert memory.retain_file("b", path).new == ()


def test_a_slack_export_is_a_conversation_of_people(
    memory: recollect.Recollect, tmp_path: Path
) -> None:
    written(tmp_path / "users.json", USERS)
    memory.retain_file("b", written(tmp_path / "garden" / "2024-03-12.json", SLACK))
    assert told(memory) == [
        (None, "@Ann Lee has joined the channel"),
        ("Ann Lee", "@Bob Ray see the bees (https://bees.org) in #garden & tell @here"),
        ("Bob Ray", "[file: hive.png]"),
        (None, "Bob Ray waves"),
        ("Carl Orff", "I am new"),
    ]


def test_its_times_are_exact(memory: recollect.Recollect, tmp_path: Path) -> None:
    memory.retain_file("b", written(tmp_path / "day.json", SLACK))
    held = {m.text: m.mentioned_at for m in memory.memories("b")}
    assert held["I am new"] == datetime(2024, 3, 12, 14, 6, 20, tzinfo=UTC)


def test_without_the_list_of_people_they_are_called_by_their_ids(
    memory: recollect.Recollect, tmp_path: Path
) -> None:
    memory.retain_file("b", written(tmp_path / "day.json", SLACK))
    assert {speaker for speaker, _ in told(memory)} == {None, "U1", "U2", "Carl Orff"}


def test_talks_with_claude_are_conversations(
    memory: recollect.Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    memory.retain_file("b", written(tmp_path / "conversations.json", CLAUDE))
    assert told(memory) == [
        ("user", "I am off to Oslo with my sister Nora.\n[file: plan.pdf]"),
        ("assistant", "Lovely!"),
    ]
    assert [d.id for d in memory.documents("b")] == ["conversations.json#c1"]
    assert {m.context for m in memory.memories("b")} == {"Trip"}


def test_of_talks_with_chatgpt_what_was_seen_last_is_kept(
    memory: recollect.Recollect, tmp_path: Path
) -> None:
    memory.retain_file("b", written(tmp_path / "conversations.json", CHATGPT))
    assert {(m.speaker, m.text) for m in memory.memories("b")} == {
        ("user", "I am off to Oslo with my sister Nora."),
        ("assistant", "Lovely!"),
    }
    when = datetime(2026, 3, 1, 10, 0, 0, 500_000, tzinfo=UTC)
    assert {m.mentioned_at for m in memory.memories("b")} == {when}


@pytest.mark.parametrize("form", [lambda m: m, lambda m: {"messages": m}])
def test_messages_with_roles_are_a_conversation(
    memory: recollect.Recollect, tmp_path: Path, form: Any
) -> None:
    said = [{"role": "user", "content": "I keep bees"}, {"role": "assistant", "content": "Lovely"}]
    memory.retain_file("b", written(tmp_path / "chat.json", form(said)))
    assert {(m.speaker, m.text) for m in memory.memories("b")} == {
        ("user", "I keep bees"),
        ("assistant", "Lovely"),
    }


@pytest.mark.parametrize(
    "value", [{"text": "Bob runs."}, ["Bob runs."], [{"content": "Bob runs."}]]
)
def test_other_json_is_items_as_retain_takes_them(
    memory: recollect.Recollect, tmp_path: Path, value: Any
) -> None:
    memory.retain_file("b", written(tmp_path / "items.json", value))
    assert [m.text for m in memory.memories("b")] == ["Bob runs."]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"text": ', "not JSON"),
        (b"{}", "something else"),
        (b"[]", "something else"),
        (b"42", "not an object"),
        (b'[{"price": 3}]', "something else"),
        (b'{"messages": []}', "something else"),
        (b'[{"user": "U1", "text": "hi", "ts": "soon"}]', "soon"),
        (b'{"messages": [{"date": "soon", "from": "Ann", "text": "hi"}]}', "soon"),
    ],
)
def test_json_that_is_none_of_these_is_refused_and_nothing_stored(
    memory: recollect.Recollect, tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as raised:
        memory.retain_file("b", path)
    assert said in raised.value.message
    assert raised.value.hint
    assert memory.banks() == []

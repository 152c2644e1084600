"""Markdown and JSONL files as items."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import recollect
from recollect.errors import InvalidInput

NOTE = """---
id: deploy-note
title: Deploying
kind: workflow
scope: infra
summary: How to deploy
tags: [ops, deploy]
topic_path: [infra, deploy]
recall_when: how do we deploy, rollout
valid_until: 2027-01-01
updated: 2026-04-01
owner: Ann
---
# Steps

Run the pipeline before noon.

- Tell the team.
"""


def test_a_note_is_a_document_with_its_authored_fields(
    memory: recollect.Recollect, tmp_path: Path
) -> None:
    path = tmp_path / "note.md"
    path.write_text(NOTE)
    result = memory.retain_file("b", path)
    found = memory.load("b", result.ids[0])
    assert found.document_id == "deploy-note"
    assert (found.title, found.kind, found.scope) == ("Deploying", "workflow", "infra")
    assert (found.tags, found.topic_path) == (("ops", "deploy"), "infra/deploy")
    assert found.recall_when == ("how do we deploy", "rollout")
    assert found.valid_until == datetime(2027, 1, 1, tzinfo=UTC)
    assert found.mentioned_at == datetime(2026, 4, 1, tzinfo=UTC)
    assert found.metadata == {"owner": "Ann"}


def test_a_changed_note_replaces_itself(
    memory: recollect.Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "note.md"
    path.write_text("Alpha beats beta.")
    memory.retain_file("b", path)
    path.write_text("Gamma beats delta.")
    memory.retain_file("b", path)
    assert [m.text for m in memory.memories("b")] == ["Gamma beats delta."]
    assert [d.id for d in memory.documents("b")] == ["note.md"]


def test_files_of_one_name_are_documents_of_their_own(
    memory: recollect.Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here := tmp_path / "here").mkdir()
    (there := tmp_path / "there").mkdir()
    (here / "README.md").write_text("Alpha beats beta.")
    (there / "README.md").write_text("Gamma beats delta.")
    monkeypatch.chdir(here)
    for path in ("README.md", "../there/README.md", here / "README.md"):
        memory.retain_file("b", path)
    assert {m.text for m in memory.memories("b")} == {"Alpha beats beta.", "Gamma beats delta."}
    elsewhere = (there / "README.md").as_posix()
    assert {d.id for d in memory.documents("b")} == {"README.md", elsewhere}


def test_list_items_are_memories_of_their_own(memory: recollect.Recollect, tmp_path: Path) -> None:
    path = tmp_path / "list.md"
    path.write_text("- Bob runs every day\n- Cara sails at night\n")
    memory.retain_file("b", path)
    assert {m.text for m in memory.memories("b")} == {"Bob runs every day", "Cara sails at night"}


def test_jsonl_is_one_item_a_line(memory: recollect.Recollect, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"text": "Bob runs.", "tags": ["x"]}\n\n"Cara sails."\n')
    result = memory.retain_file("b", path)
    assert [memory.load("b", i).text for i in result.ids] == ["Bob runs.", "Cara sails."]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("bad.jsonl", b'{"text": "ok"}\n{"text": \n', "line 2"),
        ("bad.jsonl", b"[1]\n", "line 1"),
        ("bad.jsonl", b'{"text": "Bob runs."}\n{"text": ""}\n', "item 1"),
        ("bad.md", b"---\nx: [1\n---\nbody", "YAML"),
        ("bad.md", b"\xff\xfe\xfa", "UTF-8"),
        ("bad.pdf", b"%PDF", "bad.pdf"),
        ("bad.md", b"---\ntitle: only\n---\n", "empty"),
    ],
)
def test_a_file_that_cannot_be_read_says_where_and_stores_nothing(
    memory: recollect.Recollect, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as raised:
        memory.retain_file("b", path)
    assert said in raised.value.message
    assert raised.value.hint
    assert memory.banks() == []


def test_a_missing_file_says_so(memory: recollect.Recollect, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no file"):
        memory.retain_file("b", tmp_path / "nope.md")
    with pytest.raises(InvalidInput, match="cannot be read"):
        memory.retain_file("b", tmp_path)


@pytest.mark.parametrize(
    "name, text",
    [
        (
            "call.vtt",
            "WEBVTT\nKind: captions\n\n00:00:01.000 --> 00:00:04.000\n<v Ann Lee>Launch is on Monday.</v>\n",
        ),
        ("call.srt", "1\n00:00:01,000 --> 00:00:04,000\nAnn Lee: Launch is on Monday.\n"),
    ],
)
def test_subtitles_are_what_was_said_alone(
    memory: recollect.Recollect, tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    found = [memory.load("b", each) for each in memory.retain_file("b", path).ids]
    assert [(each.speaker, each.text) for each in found] == [("Ann Lee", "Launch is on Monday.")]

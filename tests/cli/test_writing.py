"""retain, forget, export and import from the command line."""

from __future__ import annotations

import gzip
import json
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def own(run: Any, tmp_path: Path) -> Any:
    """The command line on a store of this test's own."""
    return lambda *arguments, stdin="": run("--db", tmp_path / "own.db", *arguments, stdin=stdin)


def _texts(own: Any, bank: str = "b") -> list[str]:
    return [m["text"] for m in own("memories", bank, "--json").json]


def test_retain_gives_the_ids_on_stdout(own: Any) -> None:
    memory_id, what = own("retain", "b", "Bob plays chess.").out.split()
    assert (
        own("load", "b", memory_id, "--json").json["text"] == "Bob plays chess." and what == "new"
    )


def test_retain_json_says_what_was_new(own: Any) -> None:
    assert len(own("retain", "b", "Bob plays chess.", "--json").json["new"]) == 1


def test_retaining_the_same_again_is_known_not_new(own: Any) -> None:
    own("retain", "b", "Bob plays chess.")
    again = own("retain", "b", "Bob plays chess.", "--json").json
    assert (again["new"], len(again["known"])) == ([], 1)


def test_a_dash_reads_stdin(own: Any) -> None:
    own("retain", "b", "-", stdin="Bob plays the cello.\n")
    assert _texts(own) == ["Bob plays the cello."]


def test_a_dash_reads_jsonl_when_told_so(own: Any) -> None:
    own("retain", "b", "-", "--jsonl", stdin='{"text": "One."}\n{"text": "Two."}\n')
    assert sorted(_texts(own)) == ["One.", "Two."]


def test_a_markdown_file_becomes_one_document(
    own: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    note = tmp_path / "note.md"
    note.write_text("# Pets\n\nBob has a cat called Tom.\n", "utf-8")
    own("retain", "b", note)
    assert [d["id"] for d in own("documents", "b", "--json").json] == ["note.md"]


@pytest.mark.parametrize("name", ["chat.json", "notes.d/", "notes.d", "notes"])
def test_a_file_that_cannot_be_read_is_refused_and_its_name_not_kept(
    own: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.json").write_text("{}")
    (tmp_path / "notes.d").mkdir()
    (tmp_path / "notes").mkdir()
    ran = own("retain", "b", "Bob has a cat.", name)
    assert ran.code == 2 and name.rstrip("/") in ran.err and "hint:" in ran.err
    assert own("banks", "--json").code == 2  # nothing was stored, and no file made


@pytest.mark.parametrize("name", ["missing.md", "missing.jsonl", "result.json"])
def test_a_file_that_is_not_there_is_no_text(own: Any, name: str) -> None:
    ran = own("retain", "b", name)
    assert ran.code == 2 and "no file at" in ran.err


def test_words_that_are_no_file_are_words(own: Any) -> None:
    own("retain", "b", "chat.py", "cats/dogs", "notes")
    assert sorted(_texts(own)) == ["cats/dogs", "chat.py", "notes"]


def test_a_folder_s_name_is_refused_with_what_to_do_instead(
    own: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    assert "vault sync notes" in own("retain", "b", "notes").err


def test_a_word_that_a_folder_is_called_can_be_kept_from_stdin(
    own: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    own("retain", "b", "-", stdin="notes")
    assert _texts(own) == ["notes"]


def test_a_file_without_an_ending_is_a_file(
    own: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "LICENSE").write_text("Bob may copy it.", "utf-8")
    own("retain", "b", "LICENSE")
    assert _texts(own) == ["Bob may copy it."]


def test_document_id_wins_over_the_name_of_the_file(own: Any, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("Bob has a cat called Tom.", "utf-8")
    own("retain", "b", "--file", note, "--document-id", "pets")
    assert [d["id"] for d in own("documents", "b", "--json").json] == ["pets"]


def test_a_document_can_be_read_back(own: Any) -> None:
    own("retain", "b", "Bob has a cat called Tom.", "--document-id", "pets")
    assert own("documents", "b", "pets").out == "Bob has a cat called Tom.\n"


def test_options_of_retain_reach_the_memory(own: Any) -> None:
    options = (
        "--timestamp",
        "2026-03-01",
        "--context",
        "chat",
        "--tag",
        "a,b",
        "--metadata",
        "source=slack",
    )
    own(
        "retain",
        "b",
        "Tea is nice.",
        "--fact",
        *options,
        "--speaker",
        "Bob",
        "--type",
        "opinion",
        "--confidence",
        "0.8",
    )
    (memory,) = own("memories", "b", "--json").json
    told = {
        name: memory[name]
        for name in ("context", "tags", "metadata", "speaker", "type", "confidence")
    }
    assert told == {
        "context": "chat", "tags": ["a", "b"], "metadata": {"source": "slack"}, "speaker": "Bob", "type": "opinion",
        "confidence": 0.8,
    }  # fmt: skip


def test_nothing_is_stored_when_one_of_the_inputs_cannot_be_read(own: Any, tmp_path: Path) -> None:
    own("retain", "b", "Bob plays chess.")
    assert own("retain", "b", "Bob sings.", tmp_path / "missing.md").code == 2
    assert _texts(own) == ["Bob plays chess."]


def test_forget_deletes_one_memory(own: Any) -> None:
    memory_id = own("retain", "b", "Bob plays chess.", "--json").json["new"][0]
    assert own("forget", "b", memory_id, "--json").json == {"bank": "b", "forgotten": 1}
    assert _texts(own) == []


def test_forget_deletes_a_document(own: Any) -> None:
    own("retain", "b", "Bob has a cat called Tom.", "--document-id", "pets")
    own("forget", "b", "--document-id", "pets")
    assert own("documents", "b", "--json").json == []


def test_forget_deletes_a_bank_only_after_a_yes(own: Any) -> None:
    own("retain", "b", "Bob plays chess.")
    assert own("forget", "b", "--all").code == 2
    assert _texts(own) == ["Bob plays chess."]


def test_forget_deletes_a_bank_with_yes(own: Any) -> None:
    own("retain", "b", "Bob plays chess.")
    own("forget", "b", "--all", "--yes")
    assert own("banks", "--json").json == []


def test_export_is_json_lines(ask: Any) -> None:
    lines = [json.loads(line) for line in ask("export", "alice").out.splitlines()]
    assert lines[0]["bank"] == "alice" and sum("memory" in line for line in lines) == 6


def test_import_from_stdin_makes_the_bank_again(ask: Any, own: Any) -> None:
    exported = ask("export", "alice").out
    own("import", "-", "--bank", "copy", stdin=exported)
    assert own("export", "copy").out.splitlines()[1:] == exported.splitlines()[1:]


def test_export_to_a_file_keeps_stdout_free(ask: Any, own: Any, tmp_path: Path) -> None:
    file = tmp_path / "alice.jsonl"
    assert ask("export", "alice", "-o", file).out == ""
    assert own("import", file, "--json").json["memories"] == 6


@pytest.mark.parametrize("through", ["a file", "stdin"])
@pytest.mark.parametrize("changed", [gzip.compress, BOM_UTF8.__add__])
def test_an_export_that_was_packed_or_saved_by_an_editor_is_read(
    ask: Any, own: Any, tmp_path: Path, changed: Callable[[bytes], bytes], through: str
) -> None:
    exported = ask("export", "alice").out
    file, held = tmp_path / "alice.jsonl", changed(exported.encode())
    file.write_bytes(held)
    own("import", *((file,) if through == "a file" else ("-",)), stdin=held)
    assert own("export", "alice").out.splitlines()[1:] == exported.splitlines()[1:]


def test_a_packed_export_cut_short_is_said_to_be_that(ask: Any, own: Any, tmp_path: Path) -> None:
    file = tmp_path / "alice.jsonl.gz"
    file.write_bytes(gzip.compress(ask("export", "alice").out.encode())[:-50])
    ran = own("import", file)
    assert ran.code == 2 and "cannot be unpacked" in ran.err
    assert own("banks", "--json").json == []


def test_an_export_cut_short_imports_nothing(ask: Any, own: Any) -> None:
    exported = ask("export", "alice").out
    ran = own("import", "-", stdin=exported[: len(exported) // 2])
    assert ran.code == 2 and "line" in ran.err
    assert own("banks", "--json").json == []

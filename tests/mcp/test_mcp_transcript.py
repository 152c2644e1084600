"""From an agent's transcript to memories: each exchange once, and nothing that is nobody's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import StoreError
from recollect.language.tokens import count_tokens
from recollect.mcp import places
from recollect.mcp.resident import Resident
from recollect.mcp.transcript import MOST, PIECE, cleaned, exchanges, pieces


def user(text: Any, uuid: str = "u1", **more: Any) -> dict[str, Any]:
    time = "2026-11-15T10:00:00.000Z"
    message = {"role": "user", "content": text}
    return {"type": "user", "uuid": uuid, "timestamp": time, "message": message, **more}


def agent(text: str, uuid: str = "a1", **more: Any) -> dict[str, Any]:
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": text},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file": "x"}},
    ]
    message = {"role": "assistant", "content": content}
    return {"type": "assistant", "uuid": uuid, "message": message, **more}


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_an_exchange_is_a_prompt_and_the_last_words_before_the_next(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        {"type": "summary", "summary": "older"},
        user("Why does login fail?"),
        agent("Let me look."),
        user([{"type": "tool_result", "content": "a file"}], "r1"),
        agent("The cookie was Strict."),
        user("Fix it.", "u2"),
        agent("Fixed.", "a2"),
    )
    found = [(e.id, e.asked, e.answered) for e in exchanges(path)]
    assert found == [
        ("u1", "Why does login fail?", "The cookie was Strict."),
        ("u2", "Fix it.", "Fixed."),
    ]


def test_reading_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", user("One?"), agent("1"), user("Two?", "u2"), agent("2"))
    first, second = exchanges(path)
    assert list(exchanges(path, second.offset)) == [second] and first.offset == 0


@pytest.mark.parametrize(
    "line",
    [
        user("Caveat: generated", isMeta=True),
        user("sub task", isSidechain=True),
        user("<command-name>/clear</command-name>"),
        user("<system-reminder>be nice</system-reminder>"),
        user("<private>my salary</private>"),
        {"message": "text"},
        {"message": {"role": "user", "content": [7, None, {"type": "image"}]}},
    ],
)
def test_what_nobody_said_is_not_kept(tmp_path: Path, line: dict[str, Any]) -> None:
    assert list(exchanges(write(tmp_path / "t.jsonl", line, agent("Done.")))) == []


def test_a_line_cut_short_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", user("One?"), agent("1"))
    path.write_bytes(path.read_bytes() + b'{"message": {"role": "user", "cont')
    assert [e.answered for e in exchanges(path)] == ["1"]


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-" + "a1B2" * 6,
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "AKIAIOSFODNN7EXAMPLE",
        "password: correct-horse",
        "API_KEY=abcdef123456",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_credential_is_not_kept(secret: str) -> None:
    assert cleaned(f"Use {secret} for it.") == "Use [secret] for it."


def test_a_long_answer_becomes_several_memories_between_paragraphs() -> None:
    text = "\n\n".join(
        f"Paragraph {n}. " + "It says something about the deploy. " * 10 for n in range(6)
    )
    cut = pieces(text)
    assert 1 < len(cut) <= 6 and all(piece.startswith("Paragraph") for piece in cut)
    assert pieces("one\n\ntwo") == ["one\n\ntwo"]


def test_of_a_pasted_log_the_beginning_is_kept() -> None:
    log = "\n".join(
        f"12:00:{n % 60:02d} request {n} took {n} ms and was served" for n in range(9000)
    )
    cut = pieces("Why is it slow?\n\n" + log)
    assert cut[0].startswith("Why is it slow?") and len(cut) == MOST
    assert all(count_tokens(piece) <= PIECE for piece in cut)
    assert count_tokens(pieces("word " * 9000)[0]) <= PIECE


@pytest.mark.parametrize(
    "line",
    ["我昨天去了北京，见到了老朋友" * 40, "https://example.com/" + "part/" * 300, "ก" * 900],
)
def test_a_long_line_without_spaces_is_cut_and_not_lost(line: str) -> None:
    (cut,) = pieces(line)
    assert line.startswith(cut)
    assert PIECE * 0.9 <= count_tokens(cut) <= PIECE


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        (" ", [f"Step {n} of the deploy takes about {n} minutes." for n in range(60)]),
        ("", [f"我昨天去了北京第{n}次，见到了老朋友。" for n in range(40)]),
    ],
)
def test_a_long_line_is_cut_between_sentences_and_nothing_is_lost(
    gap: str, said: list[str]
) -> None:
    line = gap.join(said)
    cut = pieces(f"How is it done?\n\n{line}\nThat is all.")
    assert len(cut) > 1 and all(count_tokens(piece) <= PIECE for piece in cut)
    assert gap.join(cut) == f"How is it done?\n\n{line}\nThat is all."


# --- the spool -------------------------------------------------------------------------------


@pytest.fixture
def resident(memory: recollect.Recollect, folder: Path) -> Resident:
    return Resident(memory, [])


def note(transcript: Path, **more: str) -> None:
    """What the stop hook leaves."""
    spool = places.spool_folder([])
    spool.mkdir(parents=True, exist_ok=True)
    fields = {"session_id": "s1", "transcript_path": str(transcript), "cwd": "/srv/shop"}
    text = json.dumps({**fields, "bank": "default", **more})
    (spool / f"{len(list(spool.iterdir()))}.json").write_text(text, "utf-8")


def texts(memory: recollect.Recollect) -> list[str]:
    return sorted(m.text for m in memory.memories("default"))


def test_each_exchange_is_retained_once(
    resident: Resident, memory: recollect.Recollect, tmp_path: Path
) -> None:
    path = write(tmp_path / "t.jsonl", user("One?"), agent("First answer."))
    note(path)
    resident.drain()
    write(path, user("One?"), agent("First answer."), user("Two?", "u2"), agent("Second answer."))
    note(path)
    note(path)
    resident.drain()
    assert texts(memory) == ["First answer.", "One?", "Second answer.", "Two?"]
    assert list(places.spool_folder([]).iterdir()) == []


def test_an_answer_that_was_still_being_written_is_completed(
    resident: Resident, memory: recollect.Recollect, tmp_path: Path
) -> None:
    path = write(tmp_path / "t.jsonl", user("One?"), agent("Let me look."))
    note(path)
    resident.drain()
    write(path, user("One?"), agent("Let me look."), agent("The cookie was Strict."))
    note(path)
    resident.drain()
    assert texts(memory) == ["One?", "The cookie was Strict."]


def test_the_last_words_may_come_with_the_hook(
    resident: Resident, memory: recollect.Recollect, tmp_path: Path
) -> None:
    note(write(tmp_path / "t.jsonl", user("One?")), last_assistant_message="The cookie was Strict.")
    resident.drain()
    assert texts(memory) == ["One?", "The cookie was Strict."]


def test_what_cannot_be_stored_now_is_stored_later(
    resident: Resident,
    memory: recollect.Recollect,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    note(write(tmp_path / "t.jsonl", user("One?"), agent("First answer.")))

    def locked(*_: object, **__: object) -> None:
        raise StoreError("locked")

    with monkeypatch.context() as broken:
        broken.setattr(memory, "retain", locked)
        resident.drain()
    assert len(list(places.spool_folder([]).iterdir())) == 1
    resident.drain()
    assert texts(memory) == ["First answer.", "One?"]


def test_a_transcript_that_is_gone_does_not_hold_up_the_rest(
    resident: Resident, memory: recollect.Recollect, tmp_path: Path
) -> None:
    note(tmp_path / "gone.jsonl")
    note(write(tmp_path / "t.jsonl", user("One?"), agent("First answer.")))
    resident.drain()
    assert (
        texts(memory) == ["First answer.", "One?"] and "gone.jsonl" in places.log_path().read_text()
    )

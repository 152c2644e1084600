"""`--db http://…`: the same commands, asked of a server, say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.server.keys import create_key
from recollect.testing import FakeEmbedder, open_fake
from recollect.types import Scope

BANK = "alice"
QUESTION = "Who is Alice's manager?"


@pytest.fixture
def both(tmp_path: Path, served: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """A file, and a server over it that asks for a key."""
    db = tmp_path / "m.db"
    with open_fake(db) as memory:
        memory.retain(
            BANK,
            [
                {"id": "m1", "text": "Alice works at Google.", "tags": ["work"]},
                {"id": "m2", "text": "Alice's manager is Dana Okafor.", "document_id": "chat"},
                {
                    "id": "m3",
                    "text": "Ship on Friday.",
                    "kind": "lesson",
                    "valid_until": "2026-01-02",
                },
                {"id": "m4", "text": "Dana likes tea.", "type": "opinion", "confidence": 0.5},
            ],
        )
        _, key = create_key(memory.store.keys, "me", [Scope.ADMIN])
    monkeypatch.setenv("RECOLLECT_API_KEY", key)
    monkeypatch.setattr("recollect.models.registry.load_embedder", lambda spec, **_: FakeEmbedder())
    monkeypatch.setenv("RECOLLECT_RERANKER", "none")
    with served(open_fake(db)) as url:
        yield str(db), url


READING = [
    ("banks",),
    ("memories", BANK),
    ("memories", BANK, "--tag", "work", "--tags-match", "any_strict"),
    ("memories", BANK, "--contains", "tea", "--type", "opinion"),
    ("memories", BANK, "--entity", "alice"),
    ("documents", BANK),
    ("documents", BANK, "chat"),
    ("entities", BANK),
    ("entities", BANK, "alice"),
    ("tags", BANK),
    ("stats", BANK),
    ("load", BANK, "m2", "--links", "--revisions"),
    ("why", BANK, QUESTION, "m1", "--at", "2030-01-01"),
    ("recall", BANK, QUESTION, "--explain", "--as-of", "2030-01-01", "--entities"),
    ("review", BANK),
    ("configure", BANK),
    ("export", BANK),
]


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_reading_says_the_same(run: Any, both: tuple[str, str], command: tuple[str, ...]) -> None:
    here, there = (run("--db", db, *command, "--json") for db in both)
    assert (here.code, there.code) == (0, 0), there.err
    assert _steady(there.out) == _steady(here.out)


def test_writing_goes_to_the_server(run: Any, both: tuple[str, str], tmp_path: Path) -> None:
    here, there = both

    def said(*command: object) -> Any:
        done = run("--db", there, *command, "--json")
        assert done.code == 0, done.err
        return done.json

    assert said("retain", BANK, "Bob swims.", "--fact")["new"]
    assert said("update", BANK, "m1", "--text", "Alice works at Meta.")["id"] == "m1"
    assert said("invalidate", BANK, "m1")["state"] == "invalidated"
    assert said("restore", BANK, "m1")["state"] == "active"
    assert said("relate", BANK, "m1", "m2=0.5")["related"] == {"m2": 0.5}
    assert said("reinforce", BANK, "m4", "weak_support")["confidence"] > 0.5
    assert said("configure", BANK, "enable_reranking=false", "name=Al")["name"] == "Al"
    assert said("reembed", BANK)["vectors"] == 0
    assert said("copy", there, tmp_path / "copy.db")[0]["same"]
    assert said("forget", BANK, "m3")["forgotten"] == 1
    (run("--db", there, "export", BANK, "-o", tmp_path / "dump.jsonl"))
    assert said("import", tmp_path / "dump.jsonl", "--bank", "again")["bank"] == "again"
    assert said("forget", "again", "--all", "--yes")["forgotten"] > 0
    held = run("--db", here, "load", BANK, "m1", "--links", "--json").json
    assert held["text"] == "Alice works at Meta."
    assert {"source": "m1", "target": "m2", "kind": "related", "weight": 0.5} in held["links"]


@pytest.mark.parametrize("command", [("keys", "list"), ("operations", "list", BANK), ("vault", "sync", "x", "--bank", "b")])  # fmt: skip
def test_what_needs_the_store_itself_says_so(run: Any, command: tuple[str, ...]) -> None:
    done = run("--db", "http://127.0.0.1:9", *command)
    assert done.code == 2
    assert "needs the store itself" in done.err and "hint:" in done.err


def test_doctor_asks_the_server(run: Any, both: tuple[str, str]) -> None:
    found = {f["check"]: f for f in run("--db", both[1], "doctor", "--json").json["findings"]}
    assert found["server"]["ok"] and "answers in" in found[f"bank {BANK}"]["says"]
    done = run("--db", "http://127.0.0.1:9", "doctor")
    assert done.code == 1 and "no answer" in done.out


def test_a_server_that_is_not_there_is_said(run: Any) -> None:
    done = run("--db", "http://127.0.0.1:9", "banks")
    assert done.code != 0 and "no answer from http://127.0.0.1:9" in done.err


def test_a_key_is_asked_for(run: Any, both: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECOLLECT_API_KEY")
    done = run("--db", both[1], "banks")
    assert done.code != 0 and "API key" in done.err


def test_the_key_is_not_shown(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_API_KEY", "rk_1_secret")
    assert "secret" not in run("config").out


def _steady(out: str) -> Any:
    """Without clocks and what is measured of them."""
    quiet = re.sub(r'"(timings|store_bytes|bytes)": ?(\{[^}]*\}|\d+)', '"x":0', out)
    quiet = re.sub(r'"(used|age_days|overdue_days)": ?-?[\d.]+', '"x":0', quiet)
    return [json.loads(line) for line in quiet.splitlines()] if '\n{"' in quiet else quiet

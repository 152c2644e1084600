"""update, supersede, invalidate and reinforce from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def own(run: Any, tmp_path: Path) -> Any:
    """The command line on a store of this test's own."""
    return lambda *arguments: run("--db", tmp_path / "own.db", *arguments)


def _retained(own: Any, text: str, *options: str) -> str:
    return own("retain", "b", text, "--fact", *options, "--json").json["new"][0]


def test_update_changes_the_wording_under_the_same_id(own: Any) -> None:
    memory_id = _retained(own, "Bob plays chess.")
    own("update", "b", memory_id, "--text", "Bob plays go.")
    assert own("load", "b", memory_id, "--json").json["text"] == "Bob plays go."


def test_the_earlier_wording_is_kept_as_a_revision(own: Any) -> None:
    memory_id = _retained(own, "Bob plays chess.")
    own("update", "b", memory_id, "--text", "Bob plays go.")
    loaded = own("load", "b", memory_id, "--revisions", "--json").json
    assert [m["text"] for m in loaded["revisions"]] == ["Bob plays chess."]


def test_an_update_of_nothing_is_unusable(own: Any) -> None:
    ran = own("update", "b", _retained(own, "Bob plays chess."))
    assert ran.code == 2 and "hint:" in ran.err


def test_an_invalidated_memory_is_no_longer_recalled(own: Any) -> None:
    own("invalidate", "b", _retained(own, "Bob plays chess."))
    assert own("recall", "b", "chess", "--json").json["results"] == []


def test_supersede_names_the_successor(own: Any) -> None:
    old, new = _retained(own, "Bob plays chess."), _retained(own, "Bob gave up chess for tennis.")
    assert own("supersede", "b", old, "--by", new, "--json").json["superseded_by"] == new


def test_reinforce_moves_the_confidence(own: Any) -> None:
    memory_id = _retained(own, "Tea is nice.", "--type", "opinion", "--confidence", "0.5")
    moved = own("reinforce", "b", memory_id, "strong_support", "--json").json
    assert moved["confidence"] == pytest.approx(0.6)


def test_unknown_evidence_is_unusable(own: Any) -> None:
    ran = own("reinforce", "b", _retained(own, "Tea is nice."), "applause")
    assert ran.code == 2 and "strong_support" in ran.err

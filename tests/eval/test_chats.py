"""Our own chats (`data/chats.jsonl.gz`): each is of one part, and every style is in every part."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recollect.eval.load import load
from recollect.eval.splits import Split, chats, select

ROOT = Path(__file__).parents[2]
STYLES = {"friends", "messages", "group", "assistant", "agent", "notes", "records", "articles"}


@pytest.fixture(scope="module")
def parts() -> dict[Split, list[str]]:
    """The names of the chats of each part."""
    whole = load(ROOT / "data" / "chats.jsonl.gz")
    return {split: [bank.id for bank in select(whole, split).banks] for split in Split}


def test_a_chat_belongs_to_one_part(parts: dict[Split, list[str]]) -> None:
    names = [name for part in parts.values() for name in part]
    assert len(names) == len(set(names)) > 80


@pytest.mark.parametrize("split", list(Split))
def test_every_style_is_in_every_part(parts: dict[Split, list[str]], split: Split) -> None:
    assert {name.split("-")[0] for name in parts[split]} == STYLES


def test_what_trains_is_what_may_be_learned_from(
    parts: dict[Split, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "training"), *sys.path])
    import splits

    trained = [c.name.split(":")[1] for held, c in splits.chats() if not held]
    assert sorted(trained) == sorted(parts[Split.TRAINING])
    assert {chats(name) for name in trained} == {Split.TRAINING}


@pytest.mark.parametrize(("file", "untold"), [("chats.jsonl.gz", 100), ("answers.jsonl.gz", 20)])
def test_what_nobody_said_is_asked_as_unanswerable(file: str, untold: int) -> None:
    queries = [q for bank in load(ROOT / "data" / file).banks for q in bank.queries]
    assert all(q.answerable is bool(q.gold) for q in queries)
    assert sum(not q.gold for q in queries) > untold


def test_nothing_is_trained_on_answers() -> None:
    whole = load(ROOT / "data" / "answers.jsonl.gz")
    assert len(select(whole, Split.DEVELOPMENT).banks) == 4
    assert len(select(whole, Split.REPORTED).banks) == 3


@pytest.mark.parametrize("file", ["chats.jsonl.gz", "answers.jsonl.gz"])
def test_turns_of_a_chat_are_told_in_order(file: str) -> None:
    for bank in load(ROOT / "data" / file).banks:
        times = [unit.time for unit in bank.units if unit.time]
        dated = 0 if bank.id.startswith("articles") else len(bank.units)
        assert len(times) == dated and times == sorted(times), bank.id

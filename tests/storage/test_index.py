"""The in-memory index: caught up by changes, it answers as one that was built anew."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings

from recollect.testing import open_fake

from .histories import BANK, LIFE, answers, live


@settings(max_examples=30, deadline=None)
@given(LIFE)
def test_an_index_that_caught_up_answers_as_a_fresh_one(steps) -> None:
    with TemporaryDirectory() as folder:
        db = Path(folder) / "m.db"
        with open_fake(db, cache_entries=0) as writer, open_fake(db) as watcher:
            for step in range(1, len(steps) + 1, 3):
                if BANK in {b.id for b in writer.banks()}:
                    writer.delete_bank(BANK)
                live(writer, steps[:step])
                answers(watcher)  # follows along, however much happened between
            live_answer, followed = answers(writer), answers(watcher)
        with open_fake(db) as fresh:
            assert answers(fresh) == live_answer == followed


@settings(max_examples=30, deadline=None)
@given(LIFE)
def test_no_row_is_left_that_belongs_to_nothing(steps) -> None:
    with TemporaryDirectory() as folder:
        db = Path(folder) / "m.db"
        with open_fake(db) as memory:
            live(memory, steps)
            counted = memory.bank(BANK)
        raw = sqlite3.connect(db)
        keys = {n for (n,) in raw.execute("SELECT n & 0xffffffffff FROM memories")}
        ids = {i for (i,) in raw.execute("SELECT id FROM memories")}
        named = {
            name: {x for row in raw.execute(sql) for x in row}
            for name, sql in {
                "features": "SELECT n & 0xffffffffff FROM features",
                "tokens": "SELECT n & 0xffffffffff FROM tokens",
                "links": "SELECT source, target FROM links",
                "evidence": "SELECT key FROM evidence",
                "sources": "SELECT key, source FROM sources",
            }.items()
        }
        superseding = {
            i for (i,) in raw.execute("SELECT superseded_by FROM memories WHERE state='superseded'")
        }
        ((active, documents),) = raw.execute(
            "SELECT (SELECT count(*) FROM memories WHERE state<>'revised'), (SELECT count(*) FROM documents)"
        )
        raw.close()
        assert named["features"] == keys
        assert named["tokens"] == keys
        assert named["links"] | named["evidence"] | named["sources"] <= keys
        assert superseding <= ids
        assert (counted.memories, counted.documents) == (active, documents)


def test_banks_unused_longest_leave_memory_and_come_back(db: Path) -> None:
    with open_fake(db, held_facts=10) as memory:
        for n in range(6):
            memory.retain(f"b{n}", [{"text": f"Bob saw {k} birds in {n}"} for k in range(4)])
            memory.recall(f"b{n}", "birds")
        held = memory._store._holding
        assert held.banks == ["b3", "b4", "b5"]
        assert memory.recall("b0", "birds").results[0].text.endswith("in 0")
        assert held.banks == ["b4", "b5", "b0"]
        memory.recall("b4", "birds")
        memory.recall("b1", "birds")
        assert "b4" in held.banks and "b5" not in held.banks


def test_a_view_of_a_bank_that_left_memory_still_answers(db: Path) -> None:
    with open_fake(db, held_facts=1) as memory:
        memory.retain("a", ["Bob saw birds.", "Ann sang."])
        view = memory._store.view("a")
        memory.retain("b", ["Cara sails.", "Dan swims."])
        assert memory._store._holding.banks == ["b"]
        assert view.size == 2
        assert {m.text for m in view.load([1, 2]).values()} == {"Bob saw birds.", "Ann sang."}

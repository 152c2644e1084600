"""A bank from one store to another: lossless, resumable, checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import given, settings

import recollect
from recollect.errors import InvalidInput, NotFound
from recollect.testing import open_fake

from .histories import BANK, LIFE, answers, live


@contextmanager
def two_stores() -> Iterator[tuple[recollect.Recollect, recollect.Recollect]]:
    with (
        TemporaryDirectory() as folder,
        open_fake(Path(folder) / "one.db") as one,
        open_fake(Path(folder) / "two.db") as two,
    ):
        yield one, two


def exported(memory: recollect.Recollect, bank: str = BANK) -> list[bytes]:
    return [orjson.dumps(line) for line in memory.export(bank)]


@settings(max_examples=30, deadline=None)
@given(LIFE)
def test_there_and_back_is_the_same_bank(steps) -> None:
    with two_stores() as (one, two):
        live(one, steps)
        there = one.copy(BANK, two)
        back = two.copy(BANK, one, name="back")
        assert there.same and back.same
        assert exported(two) == exported(one)
        assert exported(one, "back")[1:] == exported(one)[1:]
        assert answers(two) == answers(one)


def test_what_was_copied_goes_on_as_before() -> None:
    with two_stores() as (one, two):
        one.retain(BANK, {"text": "Alice works at Google", "timestamp": "2024-01-01"})
        one.copy(BANK, two)
        for memory in (one, two):
            moved = memory.retain(BANK, {"text": "Alice works at Meta", "timestamp": "2025-01-01"})
            assert len(moved.superseded) == 1


def test_documents_keep_their_days() -> None:
    with two_stores() as (one, two):
        one.retain(BANK, {"content": "Bob runs.", "document_id": "d"})
        one.copy(BANK, two)
        assert two.document(BANK, "d") == one.document(BANK, "d")


def test_a_copy_interrupted_anywhere_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    import recollect.storage.arrival as arrival

    class Cut(Exception):
        pass

    monkeypatch.setattr(arrival.parts, "__defaults__", (7,))
    with two_stores() as (one, two):
        one.retain(BANK, [{"text": f"Person{n} has {n} cats", "tags": ["x"]} for n in range(40)])
        resumed = [0]
        for limit in range(1, 60, 7):

            def cut(done: int, total: int, limit: int = limit) -> None:
                if done >= limit:
                    raise Cut

            try:
                resumed.append(one.copy(BANK, two, progress=None if limit > 40 else cut).resumed)
            except Cut:
                assert two.banks() == []
                continue
            break
        assert resumed[-1] > 40
        assert exported(two) == exported(one)


def test_a_source_that_changed_meanwhile_is_copied_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    import recollect.storage.arrival as arrival

    monkeypatch.setattr(arrival.parts, "__defaults__", (7,))
    with two_stores() as (one, two):
        first = one.retain(BANK, [f"Person{n} has {n} cats" for n in range(40)]).ids[0]

        def cut(done: int, total: int) -> None:
            if done > 10:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            one.copy(BANK, two, progress=cut)
        one.forget(BANK, first)
        assert one.copy(BANK, two).resumed == 0
        assert exported(two) == exported(one)


def test_copied_again_there_is_nothing_to_do() -> None:
    with two_stores() as (one, two):
        one.retain(BANK, "Bob runs.")
        assert not one.copy(BANK, two).there
        again = one.copy(BANK, two)
        assert again.there and again.same


def test_a_bank_with_other_content_is_not_touched() -> None:
    with two_stores() as (one, two):
        one.retain(BANK, "Bob runs.")
        two.retain(BANK, "Ann sings.")
        with pytest.raises(InvalidInput, match="other content") as raised:
            one.copy(BANK, two)
        assert raised.value.hint
        assert [m.text for m in two.memories(BANK)] == ["Ann sings."]
        one.copy(BANK, two, name="other")
        assert [m.text for m in two.memories("other")] == ["Bob runs."]


def test_a_bank_that_is_not_there_cannot_be_copied() -> None:
    with two_stores() as (one, two):
        with pytest.raises(NotFound):
            one.copy("nope", two)
        assert two.banks() == []


def test_a_copy_that_differs_is_told_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    import recollect.storage.copy as module

    def forgetful(part):
        return real([row for row in part if row[0] != "link"])

    with two_stores() as (one, two):
        relation = [{"type": "caused_by", "target": 0}]
        facts = [{"text": "Rain fell."}, {"text": "Roads flooded.", "causal_relations": relation}]
        one.retain(BANK, facts)
        real = module.batch_of
        monkeypatch.setattr(module, "batch_of", forgetful)
        made = one.copy(BANK, two)
        assert not made.same
        assert made.source["link"].count > made.target["link"].count == 0
        assert two.banks() == []


async def _copied_awaited(folder: Path) -> bool:
    async with (
        recollect.aopen(folder / "one.db") as one,
        recollect.aopen(folder / "two.db") as two,
    ):
        await one.create_bank(BANK)
        return (await one.copy(BANK, two)).same


def test_a_copy_can_be_awaited(tmp_path: Path) -> None:
    import asyncio

    assert asyncio.run(_copied_awaited(tmp_path))

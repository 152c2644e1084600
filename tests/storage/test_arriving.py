"""A bank that is brought in is there whole or not at all, whoever dies when."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

import recollect
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.testing import open_fake
from recollect.testing.crash import BANK, Nursery

FACTS = 1500


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store with one bank of every kind of row."""
    path = tmp_path_factory.mktemp("source") / "bank.source"
    with open_fake(path) as memory:
        facts = [
            {"text": f"Person{n % 97} bought {n} apples", "timestamp": "2024-01-01"}
            for n in range(FACTS)
        ]
        first = memory.retain(BANK, {"facts": facts, "document_id": "d"}).ids[0]
        memory.retain(BANK, {"facts": facts[:20], "document_id": "e"})
        memory.update(BANK, first, text="Person0 bought no apples")
    yield path


def exported(memory: recollect.Recollect, bank: str = BANK) -> list[bytes]:
    return [orjson.dumps(line) for line in memory.export(bank)][1:]


def beside(source: Path, db: Path) -> list[bytes]:
    """The source where a forked process looks for it: as a store and as an export."""
    db.with_suffix(".source").write_bytes(source.read_bytes())
    with open_fake(db.with_suffix(".source")) as memory:
        lines = [orjson.dumps(line) for line in memory.export(BANK)]
    db.with_suffix(".jsonl").write_bytes(b"\n".join(lines))
    return lines[1:]


def test_kill_9_during_an_import_leaves_a_whole_bank_or_none(source: Path, db: Path) -> None:
    whole = beside(source, db)
    moments = random.Random(3)
    cut = 0
    with Nursery(db, "import") as nursery:
        for number in range(20):
            # Every third while it opens the file, the others when a part of the bank is there.
            nursery.crash(after=moments.uniform(0.0, 0.2), opening=number % 3 == 0)
            with open_fake(db) as memory:
                for half in memory.arrivals():
                    cut += 1
                    memory.delete_bank(half)
                for bank in memory.banks():
                    assert exported(memory, bank.id) == whole
                    memory.delete_bank(bank.id)
    assert cut >= 3  # the kills did come in the midst of it


def test_kill_9_during_a_copy_is_made_good_by_the_next(source: Path, db: Path) -> None:
    whole = beside(source, db)
    moments = random.Random(4)
    with Nursery(db, "copy") as nursery:
        nursery.crash(after=0, opening=True)
        cut = 0
        for _ in range(60):  # each gets further than the one before it, if only by a part
            nursery.crash(after=moments.uniform(0.0, 0.05))
            with open_fake(db) as memory:
                if memory.banks():
                    break
                cut += len(memory.arrivals())
                with pytest.raises(NotFound):
                    memory.recall(BANK, "apples")
        else:
            raise AssertionError("it never got anywhere")
    assert cut  # a kill did come in the midst of it
    with open_fake(db) as memory:
        assert exported(memory) == whole


def test_what_an_import_left_behind_goes_with_the_next(source: Path, db: Path) -> None:
    beside(source, db)
    lines = db.with_suffix(".jsonl").read_bytes().splitlines()
    with open_fake(db) as memory:
        store = memory._store
        model = (memory.embedder.name, memory.embedder.dimensions, 0)
        store.begin(BANK, {}, model, '{"origin": null, "done": {}}')
        assert memory.banks() == []
        memory.import_bank(orjson.loads(line) for line in lines)
        assert store.arriving(BANK) is None
        assert memory.bank(BANK).memories == FACTS


def test_nobody_can_use_a_bank_in_the_making(memory: recollect.Recollect) -> None:
    model = (memory.embedder.name, memory.embedder.dimensions, 0)
    memory._store.begin("b", {}, model, "half")
    for call in (memory.stats, memory.export, memory.bank, memory.documents):
        with pytest.raises(NotFound):
            call("b")
    with pytest.raises(Conflict, match="bringing it in"):
        memory.retain("b", "Bob runs.")
    memory.delete_bank("b")
    assert memory.retain("b", "Bob runs.").ids


def test_of_two_who_bring_the_same_bank_one_is_refused(memory: recollect.Recollect) -> None:
    from recollect.storage.arrival import begin, resume
    from recollect.storage.base import Batch

    model = (memory.embedder.name, memory.embedder.dimensions, 0)
    first = begin(memory._store, "b", {}, model, "here")
    second = resume(memory._store, "b", "here")
    assert second is not None
    with pytest.raises(Conflict, match="somebody else"):
        first.bring(Batch(), {})
    first.abandon()  # which is not its any more
    second.finish()
    assert [b.id for b in memory.banks()] == ["b"]


def test_an_export_cut_short_is_not_taken_for_a_whole_one(memory: recollect.Recollect) -> None:
    memory.retain("b", ["Bob runs.", "Ann sings."])
    lines = list(memory.export("b"))
    for cut in (lines[:-1], lines[:-2], [*lines[:2], lines[-1]]):
        with pytest.raises(InvalidInput) as raised:
            memory.import_bank(cut, "copy")
        assert raised.value.hint
        assert [b.id for b in memory.banks()] == ["b"]


def test_an_export_of_the_first_format_can_still_be_read(memory: recollect.Recollect) -> None:
    memory.retain("b", "Bob runs.")
    head, *rest, _ = memory.export("b")
    memory.import_bank([{**head, "recollect": 1}, *rest], "copy")
    assert [m.text for m in memory.memories("copy")] == ["Bob runs."]


def test_token_vectors_of_an_earlier_format_are_left_behind(memory: recollect.Recollect) -> None:
    """Its rows of bytes would pass for codes of half as many dimensions."""
    memory.retain("b", "Bob runs.")
    head, *rest = memory.export("b")
    memory.import_bank([{**head, "recollect": 2}, *rest], "copy")
    *_, there, _ = memory.export("copy")
    assert "vector" in there["memory"]
    assert "token_vectors" not in there["memory"]
    assert memory.recall("copy", "Who runs?").results[0].text == "Bob runs."
    assert memory.reembed("copy") == 1
    assert [line for line in memory.export("copy") if "memory" in line] == [
        line for line in rest if "memory" in line
    ]


def test_an_export_is_of_one_moment(memory: recollect.Recollect) -> None:
    memory.retain("b", [f"Fact {n} of {n}" for n in range(5)])
    export = memory.export("b")
    lines = [next(export), next(export)]
    gone = memory.memories("b")[0].id
    memory.forget("b", gone)
    lines += export
    assert gone in {line["memory"]["id"] for line in lines if "memory" in line}
    memory.import_bank(lines, "then")
    assert memory.bank("then").memories == 5


def test_what_is_forgotten_during_an_export_leaves_no_byte_after_it(
    memory: recollect.Recollect, db: Path
) -> None:
    memory.retain("b", ["Zanzibar exports cloves.", "Bob runs."])
    export = memory.export("b")
    next(export)
    memory.forget("b", memory.memories("b", limit=2)[1].id)
    export.close()
    memory.recall("b", "cloves")
    files = [p for p in db.parent.glob(db.name + "*") if b"Zanzibar" in p.read_bytes()]
    assert files == []

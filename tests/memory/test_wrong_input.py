"""Whatever a verb is given, it answers, or says what is wrong and the way out; nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import InvalidInput, RecollectError
from recollect.options import (
    DocumentFilters,
    ItemFields,
    MemoryChanges,
    MemoryFilters,
    RecallOptions,
    TagFilters,
    names,
)
from recollect.testing import open_fake

ODD: list[Any] = [
    None, "", " ", "\x00", "a\x00b", "\ud800", "x" * 50_000, "\x1b[31m", "1e999",
    0, -1, 1, 2**31, 2**63, 2**64, 10**30, math.nan, math.inf, -math.inf, 1.5, 1e308, True, False,
    [], [1], ["\ud800"], [[]], [None], ("a", "b"), range(3), {}, {"a": 1}, {1: 2}, {"tags": None},
    b"x", object(), object, lambda: 0,
    datetime(1, 1, 1), datetime.max, date.min, "9999-99-99", "0000-00-00", "10000-01-01",
]  # fmt: skip
Memory = recollect.Recollect
Verb = Callable[[Memory, Any], Any]

VERBS: dict[str, Verb] = {
    "recall telling": lambda m, v: m.recall("b", "q", on_event=None if callable(v) else v),
    "recall": lambda m, v: m.recall("b", v),
    "recall in": lambda m, v: m.recall(v, "x"),
    "recall_events": lambda m, v: list(m.recall_events("b", v)),
    "why": lambda m, v: m.why("b", "q", v),
    "retain": lambda m, v: m.retain("r", v),
    "retain in": lambda m, v: m.retain(v, "x"),
    "retain turns": lambda m, v: m.retain("r", {"turns": v}),
    "retain a turn": lambda m, v: m.retain("r", {"turns": [v]}),
    "retain facts": lambda m, v: m.retain("r", {"facts": v}),
    "retain a fact": lambda m, v: m.retain("r", {"facts": [v]}),
    "retain_file": lambda m, v: m.retain_file("r", v),
    "update": lambda m, v: m.update("b", v, text="x"),
    "reinforce": lambda m, v: m.reinforce("b", "m2", v),
    "review": lambda m, v: m.review("b", v),
    "invalidate": lambda m, v: m.invalidate("b", v),
    "supersede": lambda m, v: m.supersede("b", "m1", v),
    "restore": lambda m, v: m.restore("b", v),
    "relate": lambda m, v: m.relate("b", v),
    "relate to": lambda m, v: m.relate("b", {"m1": v}),
    "relate by": lambda m, v: m.relate("b", {"m1": {"m2": v}}),
    "forget": lambda m, v: m.forget("b", v),
    "forget a document": lambda m, v: m.forget("b", document_id=v),
    "clear": lambda m, v: m.clear("empty", type=v),
    "load": lambda m, v: m.load("b", v),
    "load from": lambda m, v: m.load(v, "m1"),
    "links": lambda m, v: m.links("b", v),
    "revisions": lambda m, v: m.revisions("b", v),
    "linked": lambda m, v: m.linked("b", v),
    "linked with": lambda m, v: m.linked("b", [v]),
    "memories limit": lambda m, v: m.memories("b", limit=v),
    "memories offset": lambda m, v: m.memories("b", offset=v),
    "memories after": lambda m, v: m.memories("b", after=v),
    "count": lambda m, v: m.count(v),
    "due state": lambda m, v: m.due("b", state=v),
    "due now": lambda m, v: m.due("b", now=v),
    "due limit": lambda m, v: m.due("b", limit=v),
    "documents limit": lambda m, v: m.documents("b", limit=v),
    "documents offset": lambda m, v: m.documents("b", offset=v),
    "documents after": lambda m, v: m.documents("b", after=v),
    "document": lambda m, v: m.document("b", v),
    "update_document": lambda m, v: m.update_document("b", "doc", tags=v),
    "chunks": lambda m, v: m.chunks("b", v),
    "tags": lambda m, v: m.tags(v),
    "entities": lambda m, v: m.entities("b", limit=v),
    "entity": lambda m, v: m.entity("b", v),
    "entity_page limit": lambda m, v: m.entity_page("b", limit=v),
    "entity_page offset": lambda m, v: m.entity_page("b", offset=v),
    "entity_graph limit": lambda m, v: m.entity_graph("b", limit=v),
    "entity_graph least": lambda m, v: m.entity_graph("b", min_count=v),
    "bank": lambda m, v: m.bank(v),
    "stats": lambda m, v: m.stats(v),
    "create_bank": lambda m, v: m.create_bank(v),
    "create_bank with": lambda m, v: m.create_bank("made", v),
    "configure_bank": lambda m, v: m.configure_bank("empty", v),
    "configure_bank with": lambda m, v: m.configure_bank("empty", {"k": v}),
    "delete_bank": lambda m, v: m.delete_bank(v),
    "reembed": lambda m, v: m.reembed(v),
    "export": lambda m, v: list(m.export(v)),
    "import_bank": lambda m, v: m.import_bank(v),
    "import_bank of": lambda m, v: m.import_bank([v]),
    "import_bank as": lambda m, v: m.import_bank(m.export("b"), v),
    "copy": lambda m, v: m.copy("b", v),
    "copy as": lambda m, v: m.copy("b", m, name=v),
    **{f"recall {n}": lambda m, v, n=n: m.recall("b", "who?", **{n: v}) for n in names(RecallOptions)},
    **{f"memories {n}": lambda m, v, n=n: m.memories("b", **{n: v}) for n in names(MemoryFilters)},
    **{f"documents {n}": lambda m, v, n=n: m.documents("b", **{n: v}) for n in names(DocumentFilters)},
    **{f"entity_page {n}": lambda m, v, n=n: m.entity_page("b", **{n: v}) for n in names(TagFilters)},
    **{f"update {n}": lambda m, v, n=n: m.update("b", "m1", **{n: v}) for n in names(MemoryChanges)},
    **{f"retain {n}": lambda m, v, n=n: m.retain("r", {"text": "Alice sings.", n: v}) for n in names(ItemFields)},
    **{f"retain text with {n}": lambda m, v, n=n: m.retain("r", "Alice sings.", **{n: v}) for n in names(ItemFields)},
    **{f"retain a turn's {n}": lambda m, v, n=n: m.retain("r", {"turns": [{"speaker": "A", "text": "Hi, Bob.", n: v}]}) for n in ("speaker", "text", "time", "role", "metadata", "tags")},
}  # fmt: skip


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with open_fake(tmp_path_factory.mktemp("odd") / "memory.db") as opened:
        opened.create_bank("empty")
        yield opened


@pytest.fixture(autouse=True)
def _filled(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a path that is none must not become a file
    held = {"document_id": "doc", "tags": ["work"], "entities": ["Alice"]}
    memory.retain("b", {"id": "m1", "text": "Alice works at Google.", **held})
    memory.retain("b", {"id": "m2", "text": "Tea is best.", "type": "opinion", "confidence": 0.5})


@pytest.mark.parametrize("verb", VERBS)
def test_it_is_answered_or_said_to_be_wrong(memory: Memory, verb: str, tmp_path: Path) -> None:
    for value in ODD:
        try:
            VERBS[verb](memory, value)
        except RecollectError as error:
            assert error.hint, f"{value!r}: {error}"
            assert len(error.message) < 60_000
    assert list(tmp_path.iterdir()) == []


def test_every_verb_is_tried() -> None:
    tried = {name.split()[0] for name in VERBS}
    verbs = {n for n in dir(Memory) if not n.startswith("_") and callable(getattr(Memory, n))}
    untried = {"banks", "arrivals", "warm", "read_ahead", "close"}
    untried |= {"retain_accepted", "reembedding", "told_by", "unread", "withdraw_document"}
    assert verbs - untried - {"count_documents"} == tried


@pytest.mark.parametrize("truth", [True, False])
def test_a_truth_is_no_number(memory: Memory, truth: bool) -> None:
    for ask in (
        lambda: memory.recall("b", "x", min_score=truth),
        lambda: memory.recall("b", "x", min_scores={"semantic": truth}),
        lambda: memory.recall("b", "x", deadline_ms=truth),
        lambda: memory.recall("b", "x", expand_hops=truth),
        lambda: memory.relate("b", {"m1": {"m2": truth}}),
    ):
        with pytest.raises(InvalidInput):
            ask()


def test_what_is_odd_in_a_text_is_kept_or_cleaned_but_never_lost(memory: Memory) -> None:
    memory.retain("odd", {"id": "o", "text": "Alice \x1b[31mruns\x07 \u202edaily\u2028."})
    held = memory.load("odd", "o")
    assert "runs" in held.text and "daily" in held.text
    assert memory.recall("odd", "Who runs daily?").results[0].id == "o"


def test_no_limit_is_what_none_means(memory: Memory) -> None:
    from recollect.recall.request import recall_request

    asked = recall_request("q", now=datetime.now(), max_source_fact_tokens=None)
    assert asked.max_source_fact_tokens is None

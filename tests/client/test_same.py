"""Code moves between the library and a server by changing one line: the same script, the same
answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

import recollect
from recollect.errors import InvalidInput, NotFound, TooLarge
from recollect.testing import aopen_fake, open_fake
from recollect.types import StageEvent

BANK = "alice/ünï"  # a name that a path must quote
# Of two who ask one after the other: by the second's own clock what was found would be older.
MOMENT = {"query_timestamp": "2026-12-01T10:20:30Z"}
ITEMS: list[Any] = [
    {"id": "m1", "text": "Alice works at Google.", "timestamp": "2026-04-02", "tags": ["work"], "entities": ["Alice", "Google"]},
    {"id": "m2", "text": "Alice's manager is Dana Okafor.", "timestamp": "2026-04-03T10:20:30.123456Z", "tags": ["work", "people"], "metadata": {"source": "slack", "votes": 3}},
    {"id": "m3", "text": "The hiring freeze delayed the mobile app.", "timestamp": "2026-05-19", "document_id": "road/map", "context": "planning"},
    {"id": "m4", "text": "Dana thinks that tea is better than coffee.", "type": "opinion", "confidence": 0.0, "timestamp": "2026-05-20"},
    {"id": "m5", "text": "The app was late.", "timestamp": "2026-06-01", "kind": "lesson", "title": "Late", "summary": "It was late.", "topic_path": "app/time", "recall_when": ["late apps"], "valid_until": "2030-01-01", "scope": "mobile", "causal_relations": [{"type": "caused_by", "target": "m3", "weight": 0.8}]},
    {"id": "m6", "text": "Apps are late because of freezes.", "type": "observation", "source_ids": ["m3", "m5"], "timestamp": "2026-06-02", "entities": ["Alice"]},
]  # fmt: skip


def fill(memory: Any) -> list[Any]:
    """Every verb that writes; what they answer."""
    out: list[Any] = []
    say = lambda result: out.append(replace(result, timings={}))  # noqa: E731
    say(memory.retain(BANK, ITEMS[:5]))
    say(memory.retain(BANK, ITEMS[5]))
    say(memory.retain(BANK, "Alice runs every morning. She likes it.", document_id="note", timestamp="2026-06-03", tags=["sport"]))  # fmt: skip
    say(memory.retain(BANK, {"turns": [{"speaker": "Bob", "text": "Who swims?", "time": "2026-06-04"}, {"speaker": "Alice", "text": "Carol swims.", "time": "2026-06-04"}], "document_id": "chat"}))  # fmt: skip
    out.append(memory.update(BANK, "m1", text="Alice works at Meta.", tags=["job"]))
    out.append(memory.reinforce(BANK, "m4", "strong_support"))
    out.append(memory.review(BANK, "m5"))
    out.append(memory.invalidate(BANK, "m2"))
    out.append(memory.restore(BANK, "m2"))
    out.append(memory.supersede(BANK, "m3", "m5"))
    out.append(memory.update_document(BANK, "note", tags=["health"]))
    out.append(memory.create_bank("empty", {"name": "Empty", "odd": [1, {"a": None}]}))
    out.append(memory.create_bank("empty", {"name": "other"}))
    out.append(memory.configure_bank(BANK, {"mission": "remember", "name": "Alice"}))
    out.append(memory.configure_bank(BANK, {"mission": None, "odd": [1]}, merge=True))
    out.append(memory.relate(BANK, {"m5": {"m1": 0.5, "m4": 1.0}}))
    out.append(memory.forget(BANK, document_id="chat"))
    return out


def lookups(memory: Any) -> Iterator[tuple[str, Any]]:
    """Every verb that reads."""
    yield "banks", memory.banks()
    yield "bank", memory.bank(BANK)
    yield "stats", memory.stats(BANK)
    yield "memories", memory.memories(BANK)
    yield "memories, paged", memory.memories(BANK, limit=2, after="m5")
    yield "memories, filtered", memory.memories(BANK, type="opinion", tags=["x"], tags_match="any")
    yield "memories, searched", memory.memories(BANK, contains="alice", document_id="note")
    yield "memories, skipped", memory.memories(BANK, limit=2, after="m6", offset=1)
    yield "memories, by tag groups", memory.memories(BANK, tag_groups=[{"not": {"tags": ["work"]}}])
    yield (
        "memories, by time",
        memory.memories(BANK, time_field="mentioned_at", since="2026-05-01", until="2026-06-01"),
    )
    yield (
        "memories, paged by time",
        memory.memories(BANK, time_field="mentioned_at", limit=3, after="m4"),
    )
    yield "memories, after one without a date", memory.memories(BANK, limit=2, after="m5", offset=1)
    yield "documents, paged", memory.documents(BANK, limit=1, after=memory.documents(BANK)[0].id)
    yield "documents, skipped", memory.documents(BANK, limit=1, offset=1)
    yield "documents, by time", memory.documents(BANK, time_field="created_at", limit=2)
    yield "documents, by tags", memory.documents(BANK, tags=["nowhere"])
    yield "documents, by tag groups", memory.documents(BANK, tag_groups=[{"tags": ["health"]}])
    yield "due", memory.due(BANK, now=datetime(2029, 1, 1, tzinfo=UTC))
    yield "due, expired", memory.due(BANK, state="expired", now=datetime(2031, 1, 1, tzinfo=UTC))
    yield "linked", memory.linked(BANK, memory.memories(BANK))
    yield "linked, by ids", memory.linked(BANK, ["m5", "m4", "m3", "nobody"])
    yield "entity page", memory.entity_page(BANK, limit=2, offset=1)
    yield "entity page, by tags", memory.entity_page(BANK, tags=["job"], tags_match="any_strict")
    yield "entity", memory.entity(BANK, memory.entities(BANK)[0].id)
    yield "entity graph", memory.entity_graph(BANK)
    yield "arrivals", memory.arrivals()
    yield "count", memory.count(BANK, type="opinion")
    yield "documents counted", memory.count_documents(BANK)
    yield "tags", memory.tags(BANK)
    yield "load", memory.load(BANK, "m2")
    yield "load whole", memory.load(BANK, "m5")
    yield "revisions", memory.revisions(BANK, "m1")
    yield "links", memory.links(BANK, "m5")
    yield "documents", memory.documents(BANK)
    yield "document", memory.document(BANK, "road/map")
    yield "chunks", memory.chunks(BANK, "note")
    yield "entities", memory.entities(BANK)
    yield "export", orjson.dumps(list(memory.export(BANK)))
    yield "why", memory.why(BANK, "Who is the manager?", "m4", budget="low", **MOMENT)


RECALLS: list[tuple[str, dict[str, Any]]] = [
    ("Where does Alice work?", {}),
    ("Where does Alice work?", {"types": []}),
    ("Where does Alice work?", {"min_score": 1}),
    ("Why was the app late?", {"budget": "high", "expand_hops": 1, "types": ["world"]}),
    ("What happened?", {"temporal_window": ("2026-05-01", "2026-05-31")}),
    ("What happened?", {"temporal_window": ("2026-05-01T00:00:00Z", "2026-05-20T00:00:00Z")}),
    ("What happened last month?", {"query_timestamp": "2026-06-15"}),
    ("Where does Alice work?", {"as_of": "2026-01-01"}),
    ("app", {"include_chunks": True, "max_chunk_tokens": None, "include_entities": True, "max_entity_tokens": None, "include_source_facts": True, "max_source_fact_tokens": None}),
    ("app", {"include_chunks": True, "max_chunk_tokens": 50, "include_entities": True, "include_source_facts": True}),
    ("Who runs?", {"tags": ["health"], "tags_match": "any_strict", "min_score": 0.1}),
    ("Who runs?", {"tag_groups": [{"not": {"tags": ["health"]}}], "max_tokens": 20}),
    ("Who knits?", {"min_scores": {"semantic": 0.9}}),
    ("Who runs?", {"without": ["rerank", "graph"], "explain": True, "prefer_observations": True}),
    ("late apps", {"include_source_facts": True, "max_source_fact_tokens": None, "max_tokens_per_observation": 3}),
]  # fmt: skip


@pytest.fixture
def both(serve, tmp_path: Path) -> Iterator[tuple[recollect.Recollect, recollect.Client]]:
    """One store, opened here and asked for over HTTP."""
    db = tmp_path / "both.db"
    with open_fake(db) as here, recollect.connect(serve(db)) as there:
        yield here, there


async def heard(event: StageEvent) -> None:
    raise AssertionError(event)


@pytest.mark.parametrize("on_event", [5, heard])
def test_what_cannot_be_told_of_stages_is_refused(both, on_event: Any) -> None:
    here, there = both
    fill(here)
    for memory in (here, there):
        with pytest.raises(InvalidInput, match="not a plain function"):
            memory.recall(BANK, "Who runs?", on_event=on_event)


def test_writing_gives_the_same_answers(serve, tmp_path: Path) -> None:
    with open_fake(tmp_path / "here.db") as here, recollect.connect(serve()) as there:
        for mine, theirs in zip(fill(here), fill(there), strict=True):
            assert _timeless(theirs) == _timeless(mine)


def test_reading_gives_the_same_answers(both) -> None:
    here, there = both
    fill(here)
    for (name, mine), (_, theirs) in zip(lookups(here), lookups(there), strict=True):
        assert theirs == mine, name


@pytest.mark.parametrize(("query", "options"), RECALLS)
def test_recall_gives_the_same_answers(both, query: str, options: dict[str, Any]) -> None:
    here, there = both
    fill(here)
    mine, theirs = (m.recall(BANK, query, **{**MOMENT, **options}) for m in (here, there))
    assert _steady(theirs) == _steady(mine)
    assert theirs.as_context() == mine.as_context()
    for hit, told in zip(mine, theirs, strict=True):
        assert told.stages == hit.stages
        assert told.arms == hit.arms
        assert told.scores == pytest.approx(hit.scores)
        assert told.matched_terms == hit.matched_terms
        assert told.explanation == hit.explanation


def test_a_trace_tells_the_same(both) -> None:
    here, _ = both
    fill(here)
    mine, theirs = (m.recall(BANK, "What happened in May?", trace=True, **MOMENT) for m in both)
    assert mine.trace is not None and theirs.trace is not None
    assert theirs.trace.query.terms == mine.trace.query.terms
    assert theirs.trace.query.window == mine.trace.query.window
    assert theirs.trace.candidates == mine.trace.candidates
    assert {s.stage for s in theirs.trace.stages} == {s.stage for s in mine.trace.stages}
    assert theirs.trace.as_dict().keys() == mine.trace.as_dict().keys()


def test_lean_results_are_as_lean(both) -> None:
    here, _ = both
    fill(here)
    mine, theirs = (m.recall(BANK, "app", verbosity="lean", **MOMENT) for m in both)
    assert theirs.as_dict()["results"] == mine.as_dict()["results"]
    assert [h.arms for h in theirs] == [h.arms for h in mine]
    assert [h.explanation for h in theirs] == [h.explanation for h in mine]


async def test_lean_results_are_explained_to_who_asks(both) -> None:
    here, there = both
    fill(here)
    asked: dict[str, Any] = {"verbosity": "lean", "explain": True, **MOMENT}
    mine = here.recall(BANK, "app", **asked)
    async with recollect.aconnect(there._server.url) as client:
        theirs = await client.recall(BANK, "app", **asked)
        assert [h.explanation for h in theirs] == [h.explanation for h in mine]


def test_stages_are_told_while_it_runs(both) -> None:
    here, there = both
    fill(here)
    *events, result = there.recall_events(BANK, "Who runs?", **MOMENT)
    assert all(isinstance(e, StageEvent) for e in events)
    assert {"understand", "fuse", "pack"} <= {e.stage for e in events}
    assert _steady(result) == _steady(here.recall(BANK, "Who runs?", **MOMENT))
    seen: list[StageEvent] = []
    there.recall(BANK, "Who swims?", on_event=seen.append)
    assert {e.phase for e in seen} == {"start", "stop"}


def test_a_bank_moves_through_a_server(both) -> None:
    here, there = both
    fill(here)
    there.import_bank(there.export(BANK), "copy")
    mine, theirs = (here.recall(bank, "Who runs?", **MOMENT) for bank in ("copy", BANK))
    assert [(h.text, h.score) for h in mine] == [(h.text, h.score) for h in theirs]
    assert there.clear("copy") == len(here.memories(BANK, limit=1000))
    there.delete_bank("copy")
    assert "copy" not in [b.id for b in there.banks()]


ERRORS = [
    (NotFound, lambda m: m.recall("nobody", "Who?")),
    (NotFound, lambda m: m.load(BANK, "nothing")),
    (NotFound, lambda m: m.document(BANK, "nothing")),
    (NotFound, lambda m: m.revisions(BANK, "nothing")),
    (NotFound, lambda m: m.chunks(BANK, "nothing")),
    (NotFound, lambda m: m.delete_bank("nobody")),
    (NotFound, lambda m: m.memories("nobody", limit=0)),
    (InvalidInput, lambda m: m.memories(BANK, limit=-1)),
    (InvalidInput, lambda m: m.documents(BANK, limit=-1)),
    (InvalidInput, lambda m: m.entities(BANK, limit=-1)),
    (InvalidInput, lambda m: m.retain(BANK, "Alice runs.", metadata={"a": object()})),
    (InvalidInput, lambda m: m.retain(BANK, "Alice runs.", metadata={"a": 2**70})),
    (NotFound, lambda m: m.load(BANK, "")),
    (NotFound, lambda m: m.forget(BANK, "")),
    (NotFound, lambda m: m.forget(BANK, document_id="")),
    (NotFound, lambda m: m.memories(BANK, after="nothing")),
    (NotFound, lambda m: m.documents(BANK, after="nothing")),
    (InvalidInput, lambda m: m.retain(BANK, {"contents": "x"})),
    (InvalidInput, lambda m: m.retain(BANK, 7)),
    (InvalidInput, lambda m: m.recall(BANK, "")),
    (InvalidInput, lambda m: m.recall(BANK, "Who?", budget="huge")),
    (InvalidInput, lambda m: m.recall(BANK, "Who?", no_such_option=1)),
    (InvalidInput, lambda m: m.forget(BANK)),
    (InvalidInput, lambda m: m.memories(BANK, sort="newest")),
    (InvalidInput, lambda m: m.documents(BANK, type="world")),
    (InvalidInput, lambda m: m.entity_page(BANK, contains="x")),
    (InvalidInput, lambda m: m.memories(BANK, tag_groups=[{"nor": []}])),
    (InvalidInput, lambda m: m.due(BANK, state="ripe")),
    (InvalidInput, lambda m: m.relate(BANK, {"a": {"b": 2}})),
    (NotFound, lambda m: m.entity(BANK, 999)),
    (NotFound, lambda m: m.due("nobody")),
    (NotFound, lambda m: m.relate("nobody", {})),
    (NotFound, lambda m: m.reembed("nobody")),
    (NotFound, lambda m: m.copy("nobody", m)),
    (InvalidInput, lambda m: m.import_bank([{"recollect": 2, "bank": "x"}, {"half": 1}])),
    (InvalidInput, lambda m: m.import_bank([{"recollect": 99}], "x")),
]


@pytest.mark.parametrize(("kind", "call"), ERRORS)
def test_the_same_errors_are_raised(both, kind, call) -> None:
    here, _ = both
    here.retain(BANK, "Alice runs.")
    for memory in both:
        with pytest.raises(kind) as raised:
            call(memory)
        assert raised.value.hint


async def test_the_async_client_gives_the_same_answers(both, serve, tmp_path: Path) -> None:
    here, there = both
    fill(here)
    url = there._server.url
    async with recollect.aconnect(url) as client:
        assert await client.memories(BANK) == here.memories(BANK)
        lines = [line async for line in client.export(BANK)]
        assert orjson.dumps(lines) == orjson.dumps(list(here.export(BANK)))
        result = await client.recall(BANK, "Where does Alice work?", explain=True, **MOMENT)
        mine = here.recall(BANK, "Where does Alice work?", **MOMENT)
        assert _steady(result) == _steady(mine)
        assert [h.explanation for h in result] == [h.explanation for h in mine]
        items = [item async for item in client.recall_events(BANK, "Who runs?")]
        assert isinstance(items[0], StageEvent)
        many = await asyncio.gather(*(client.recall(BANK, f"Who runs {n}?") for n in range(8)))
        assert len(many) == 8
        plain = await client.recall(BANK, "Where does Alice work?")
        with pytest.raises(InvalidInput, match="not asked"):
            _ = plain.results[0].explanation


def test_vectors_are_made_anew_over_http(serve, tmp_path: Path) -> None:
    db = tmp_path / "re.db"
    with open_fake(db, dimensions=32) as before:
        fill(before)
    seen: list[tuple[int, int]] = []
    with recollect.connect(serve(db)) as there:
        held = there.stats(BANK).memories
        made = there.reembed(BANK, progress=lambda *told: seen.append(told))
        assert made >= held  # with earlier versions
        assert there.recall(BANK, "Who runs?").results
        assert there.reembed(BANK) == 0
    assert seen[-1] == (made, made)


def test_banks_are_copied_between_files_and_servers(both, serve, tmp_path: Path) -> None:
    here, there = both
    fill(here)
    with open_fake(tmp_path / "other.db") as other, recollect.connect(serve()) as far:
        for source, target, name in ((here, far, "a"), (there, other, "b"), (there, far, "c")):
            copied = source.copy(BANK, target, name=name)
            assert copied.same and not copied.there and copied.source["memory"].count > 6
            assert source.copy(BANK, target, name=name).there
            assert orjson.dumps(list(target.export(name))[1:]) == orjson.dumps(
                list(source.export(BANK))[1:]
            )
        other.forget("b", "m1")
        with pytest.raises(InvalidInput, match="other content"):
            there.copy(BANK, other, name="b")


async def test_banks_are_copied_by_the_async_ones(both, tmp_path: Path) -> None:
    here, there = both
    fill(here)
    async with (
        recollect.aconnect(there._server.url) as client,
        aopen_fake(tmp_path / "a.db") as library,
    ):
        assert (await client.copy(BANK, library, name="there")).same
        assert (await library.copy("there", client, name="back")).same
        seen: list[tuple[int, int]] = []
        told = lambda *so_far: seen.append(so_far)  # noqa: E731
        await client.import_bank(client.export("back"), "again", progress=told)
        lines = [line async for line in library.export("there")]
        assert seen[-1] == (len(lines), 0)
        await library.import_bank(client.export("again"), "here")
        await client.import_bank(library.export("here"), "once more")
        after = [line async for line in client.export("once more")]
        assert orjson.dumps(after[1:]) == orjson.dumps(lines[1:])
        await client.warm()


def test_pages_by_time_follow_each_other(both, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = both
    fill(here)
    monkeypatch.setattr("recollect.client.call.PAGE", 2)
    by_time = here.memories(BANK, time_field="mentioned_at")
    assert there.memories(BANK, time_field="mentioned_at") == by_time and len(by_time) > 5
    first = by_time[0].id
    for memory in both:
        assert memory.memories(BANK, time_field="mentioned_at", after=first) == by_time[1:]


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_is_a_step_in_a_path_is_a_name(both, name: str) -> None:
    """Or forgetting one memory would be the deletion of its bank."""
    here, there = both
    there.retain(name, "Alice runs.")
    there.retain(BANK, {"text": "Bob swims.", "document_id": name})
    assert [b.id for b in here.banks()] == [b.id for b in there.banks()] == [name, BANK]
    for memory in both:
        assert memory.document(BANK, name).text == "Bob swims."
        with pytest.raises(NotFound):
            memory.forget(BANK, name)
        with pytest.raises(NotFound):
            memory.document(name, name)
    assert there.forget(BANK, document_id=name) == 1
    assert [b.id for b in there.banks()] == [name, BANK]


def test_lines_are_not_broken_by_what_a_text_may_hold(both) -> None:
    here, there = both
    odd = "Alice \u2028 runs \x0b and \x85 swims \x1c today."
    here.retain(BANK, {"text": odd})
    (memory,) = (line["memory"] for line in there.export(BANK) if "memory" in line)
    assert memory["text"] == here.memories(BANK)[0].text
    *_, result = there.recall_events(BANK, "Who runs?")
    assert [h.text for h in result] == [memory["text"]]


def test_a_bank_larger_than_a_request_may_be_is_imported(both, serve, tmp_path: Path) -> None:
    here, _ = both
    here.retain(BANK, [{"text": f"Alice counts to {n}."} for n in range(40)])
    lines = list(here.export(BANK))
    with recollect.connect(serve(body_limit=10_000)) as small:
        assert sum(len(orjson.dumps(line)) for line in lines) > 20_000
        assert small.import_bank(lines).memories == 40
        with pytest.raises(TooLarge):
            small.import_bank([lines[0], {"memory": "x" * 20_000}], "long")
        assert [b.id for b in small.banks()] == [BANK] and small.arrivals() == []


def _timeless(value: Any) -> Any:
    """Without the clock of the store it is from."""
    if isinstance(value, recollect.Memory):
        return replace(
            value, created_at=None, updated_at=None, last_reviewed_at=None, mentioned_at=None
        )
    if hasattr(value, "updated_at"):
        return replace(value, created_at=None, updated_at=None)
    if isinstance(value, recollect.RetainResult):
        items = tuple(replace(i, memory_ids=len(i.memory_ids)) for i in value.items)
        return replace(value, items=items, new=len(value.new))
    return value


def _steady(result: Any) -> Any:
    return replace(result, timings={}, cached=False)

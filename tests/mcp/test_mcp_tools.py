"""Each tool, through the real client."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp_clients import connected

import recollect
from recollect.errors import ModelError
from recollect.mcp.tools import TOOLS
from recollect.testing import open_fake


async def test_there_are_at_most_seven_tools_and_each_says_what_it_is_for(
    filled: recollect.Recollect,
) -> None:
    async with connected(filled) as agent:
        tools = (await agent.client.list_tools()).tools
    assert [t.name for t in tools] == [t.name for t in TOOLS] and len(tools) <= 7
    assert all(t.description and t.output_schema for t in tools)
    assert all(
        argument["description"] for t in tools for argument in t.input_schema["properties"].values()
    )


async def test_recall_gives_lean_hits(filled: recollect.Recollect) -> None:
    async with connected(filled) as agent:
        reply = await agent("recall", query="I am about to write a migration")
    hit = reply.data["results"][0]
    assert set(hit) == {"id", "title", "type", "kind", "scope", "summary", "score", "band", "date"}
    assert hit["title"] == "Migrations go to staging first" and hit["scope"] == "web"
    assert len(hit["summary"]) <= 160 and hit["summary"].endswith("…")
    assert filled.load("default", hit["id"]).text.startswith(hit["summary"][:-1] + " ")


async def test_the_text_says_what_the_structured_answer_says(filled: recollect.Recollect) -> None:
    async with connected(filled) as agent:
        reply = await agent("recall", query="Who is Alice's manager?")
    (hit,) = reply.data["results"]
    assert hit["id"] in reply.text and hit["summary"] in reply.text and hit["band"] in reply.text
    assert reply.data["advice"] in reply.text


async def test_a_hit_says_who_told_it_and_is_dated_by_their_days_and_by_when_it_was_said(
    tmp_path: Path,
) -> None:
    turn = {
        "speaker": "Kei",
        "text": "We sold the boat yesterday.",
        "time": "2026-04-20T12:00+09:00",
    }
    with recollect.open(tmp_path / "m.db") as memory:
        memory.retain("dated", {"turns": [turn]})
        async with connected(memory) as agent:
            reply = await agent("recall", bank="dated", query="Who sold the boat?")
    (hit,) = reply.data["results"]
    assert hit["date"] == "2026-04-19, said 2026-04-20"
    assert hit["summary"].startswith("Kei: We sold the boat") and len(hit["summary"]) <= 160
    assert hit["summary"] in reply.text


async def test_a_memory_without_a_title_is_called_by_its_first_words(
    filled: recollect.Recollect,
) -> None:
    async with connected(filled) as agent:
        reply = await agent("recall", query="Who is Alice's manager?")
    title = reply.data["results"][0]["title"]
    assert title.startswith("Alice joined Google") and len(title) <= 60


async def test_each_band_comes_with_its_advice(filled: recollect.Recollect) -> None:
    async with connected(filled) as agent:
        reply = await agent("recall", query="Who is Alice's manager?")
    assert reply.data["results"][0]["band"] == "strong"
    assert "strong: rely on it" in reply.data["advice"] and "maybe:" not in reply.data["advice"]


async def test_what_nobody_said_is_answered_with_nothing_known(filled: recollect.Recollect) -> None:
    async with connected(filled) as agent:
        reply = await agent("recall", query="What is the wifi password of the guest house?")
    assert reply.data["nothing_known"] and reply.data["results"] == []
    assert reply.text.startswith("Nothing is known")


async def test_noise_is_shown_to_who_sets_a_floor_of_zero(filled: recollect.Recollect) -> None:
    async with connected(filled) as agent:
        reply = await agent("recall", query="Which team has the wifi password?", min_score=0)
    assert "noise" in {hit["band"] for hit in reply.data["results"]}


async def test_a_floor_that_nothing_reaches_is_not_called_ignorance(
    filled: recollect.Recollect,
) -> None:
    async with connected(filled) as agent:
        reply = await agent("recall", query="Who runs the team?", min_score=1)
    assert reply.data["results"] == [] and not reply.data["nothing_known"]
    assert reply.data["under_floor"].startswith("nothing scores at least 1")
    assert "Nothing is known" not in reply.text and "lower min_score" in reply.text


async def test_what_could_not_be_searched_is_not_called_unknown(
    filled: recollect.Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Sequence[str]) -> Any:
        raise ModelError("the embedding service does not answer", hint="start it")

    monkeypatch.setattr(filled.embedder, "encode_queries", fails)
    async with connected(filled) as agent:
        reply = await agent("recall", query="Which tea does Zoltan like?")
    assert reply.data["results"] == [] and not reply.data["nothing_known"]
    assert "Nothing is known" not in reply.text and "Answered without embed" in reply.text


async def test_an_unknown_bank_knows_nothing_and_names_those_there_are(
    filled: recollect.Recollect,
) -> None:
    async with connected(filled) as agent:
        reply = await agent("recall", query="anything", bank="nope")
    assert reply.data["nothing_known"] and "default, other" in reply.text and not reply.failed


async def test_the_default_bank_is_the_one_the_server_was_given(
    filled: recollect.Recollect,
) -> None:
    async with connected(filled, bank="other") as agent:
        assert "44" in (await agent("recall", query="What is Bob's shoe size?")).text
        assert (await agent("banks")).data["default"] == "other"


async def test_max_tokens_bounds_what_is_read(memory: recollect.Recollect) -> None:
    for n in range(8):
        memory.retain("default", f"Deploy number {n} of the web shop went to region {n} at night.")
    async with connected(memory) as agent:
        all_of_them = await agent("recall", query="deploy web shop region", k=8, min_score=0)
        few = await agent(
            "recall", query="deploy web shop region", k=8, min_score=0, max_tokens=100, again=True
        )
    assert 0 < len(few.data["results"]) < len(all_of_them.data["results"]) == 8
    assert few.data["more"] == 8 - len(few.data["results"])


async def test_full_adds_ranks_terms_and_timings(filled: recollect.Recollect) -> None:
    async with connected(filled) as agent:
        reply = await agent("recall", query="Who is Alice's manager?", verbosity="full")
    hit = reply.data["results"][0]
    assert hit["arms"]["semantic"]["rank"] == 1 and hit["matched_terms"] and hit["text"]
    assert reply.data["timings"]["total"] > 0


async def test_load_memory_gives_the_whole_text(filled: recollect.Recollect) -> None:
    async with connected(filled) as agent:
        hits = (await agent("recall", query="about to write a migration")).data["results"]
        reply = await agent("load_memory", id=hits[0]["id"])
    assert reply.data["text"].endswith("nobody could log in.") and "created_at" not in reply.data
    assert reply.text.endswith(reply.data["text"])


async def test_load_memory_in_full_has_links_and_provenance(memory: recollect.Recollect) -> None:
    memory.retain("default", "The deploy of the web shop failed at night.", document_id="log")
    made = memory.retain("default", "The deploy of the web shop failed again at night.").new[0]
    async with connected(memory) as agent:
        reply = await agent("load_memory", id=made, verbosity="full")
    assert reply.data["links"] and reply.data["document_id"] and reply.data["created_at"]
    assert reply.data["source"] == "The deploy of the web shop failed again at night."


async def test_load_memory_knows_the_bank_a_hit_came_from(filled: recollect.Recollect) -> None:
    async with connected(filled) as agent:
        hits = await agent("recall", query="What is Bob's shoe size?", bank="other")
        reply = await agent("load_memory", id=hits.data["results"][0]["id"])
    assert reply.data["bank"] == "other"


async def test_retain_makes_the_bank_and_the_next_recall_sees_it(
    memory: recollect.Recollect,
) -> None:
    async with connected(memory) as agent:
        made = await agent("retain", content="The staging server is called heron.", bank="ops")
        reply = await agent("recall", query="staging server called", bank="ops")
    assert made.data["new"] == [reply.data["results"][0]["id"]]


async def test_retaining_the_same_again_is_evidence(memory: recollect.Recollect) -> None:
    async with connected(memory) as agent:
        first = await agent("retain", content="The staging server is called heron.")
        second = await agent("retain", content="The staging server is called heron.")
    assert second.data["known"] == first.data["new"] and not second.data["new"]


async def test_a_note_with_a_title_stays_one_memory(memory: recollect.Recollect) -> None:
    body = "Heron is staging. It is rebuilt every night. Crane is production. Ask Dana for access."
    async with connected(memory) as agent:
        made = await agent("retain", content=body, title="The servers", kind="project-fact")
    (one,) = made.data["new"]
    kept = memory.load("default", one)
    assert (kept.text, kept.title, kept.kind) == (body, "The servers", "project-fact")


async def test_retain_with_an_id_corrects_that_memory(memory: recollect.Recollect) -> None:
    made = memory.retain("default", "The staging server is called heron.").new[0]
    async with connected(memory) as agent:
        reply = await agent("retain", content="The staging server is called crane.", id=made)
    assert reply.data["corrected"] == [made]
    assert memory.load("default", made).text == "The staging server is called crane."


async def test_save_memory_takes_a_note_in_the_other_systems_words(
    memory: recollect.Recollect,
) -> None:
    async with connected(memory) as agent:
        made = await agent(
            "save_memory",
            title="Use CONCURRENTLY",
            type="lesson",
            scope="web",
            summary="Indexes lock the table otherwise.",
            body="Build indexes with CONCURRENTLY. **Why:** the table is locked otherwise.",
            tags=["postgres"],
            topic_path=["web", "database"],
            recall_when=["about to add an index"],
            confidence=0.9,
            source="retro",
        )
    kept = memory.load("default", made.data["new"][0])
    assert (kept.title, kept.kind, kept.scope) == ("Use CONCURRENTLY", "lesson", "web")
    assert kept.topic_path == "web/database" and kept.tags == ("postgres",)
    assert kept.recall_when == ("about to add an index",)
    assert kept.metadata == {"source": "retro", "confidence": 0.9}


async def test_save_memory_overwrites_only_when_told_to(memory: recollect.Recollect) -> None:
    async with connected(memory) as agent:
        await agent("save_memory", id="indexes", title="Indexes", body="Build them at night.")
        refused = await agent("save_memory", id="indexes", title="Indexes", body="At noon.")
        await agent(
            "save_memory", id="indexes", title="Indexes", body="With CONCURRENTLY.", overwrite=True
        )
    assert refused.failed and "indexes" in refused.text
    assert memory.load("default", "indexes").text == "With CONCURRENTLY."


async def test_forget_deletes_one_memory(memory: recollect.Recollect) -> None:
    made = memory.retain("default", "The staging server is called heron.").new[0]
    async with connected(memory) as agent:
        reply = await agent("forget", id=made)
        again = await agent("load_memory", id=made)
    assert reply.data["forgotten"] == 1 and again.failed


async def test_forget_deletes_a_document(memory: recollect.Recollect) -> None:
    memory.retain("default", "The staging server is called heron.", document_id="servers")
    async with connected(memory) as agent:
        assert (await agent("forget", document_id="servers")).data["forgotten"] == 1
    assert memory.memories("default") == []


async def test_forget_deletes_a_document_without_memories(memory: recollect.Recollect) -> None:
    made = memory.retain("default", "The server is called heron.", document_id="servers").new[0]
    memory.forget("default", made)
    async with connected(memory) as agent:
        reply = await agent("forget", document_id="servers")
        again = await agent("forget", document_id="servers")
    assert not reply.failed and reply.data["forgotten"] == 0
    assert "document servers, which had no memories left" in reply.text
    assert again.failed and "has no document 'servers'" in again.text
    assert memory.documents("default") == []


async def test_why_names_the_stage_at_which_a_memory_left(filled: recollect.Recollect) -> None:
    lesson = next(m for m in filled.memories("default") if m.kind == "lesson")
    async with connected(filled) as agent:
        reply = await agent("why", query="Who is Alice's manager?", id=lesson.id)
    assert reply.data["returned"] is False and reply.data["left_at"] in reply.text


async def test_banks_lists_what_there_is(filled: recollect.Recollect) -> None:
    async with connected(filled) as agent:
        reply = await agent("banks")
    sizes = {bank["bank"]: bank["memories"] for bank in reply.data["banks"]}
    assert sizes == {"default": 2, "other": 1} and "default (default): 2 memories" in reply.text


async def test_what_has_grown_old_is_marked_and_comes_with_advice(
    memory: recollect.Recollect,
) -> None:
    note = {"text": "The staging server is called heron.", "kind": "project-fact"}
    memory.retain("default", {**note, "valid_until": "2026-01-01"})
    async with connected(memory) as agent:
        reply = await agent("recall", query="staging server called", min_score=0)
    assert reply.data["results"][0]["freshness"] == "expired"
    assert "· expired" in reply.text and "check that it still holds" in reply.data["advice"]


async def test_recall_when_brings_a_note_up_though_its_text_says_it_otherwise(
    real: recollect.Recollect,
) -> None:
    note = {"text": "Dana wants at most 300 changed lines.", "title": "Keep it small"}
    real.retain("without", note)
    real.retain("with", {**note, "recall_when": ["opening a pull request"]})
    async with connected(real) as agent:
        asked = {"query": "I am opening a pull request now"}
        assert (await agent("recall", bank="without", **asked)).data["nothing_known"]
        (found,) = (await agent("recall", bank="with", **asked)).data["results"]
    assert found["title"] == "Keep it small" and found["score"] > 0.2


async def test_the_tools_work_over_a_server_as_over_a_file(db: Path, served: Any) -> None:
    with served(open_fake(db)) as url, recollect.connect(url) as there:
        async with connected(there) as agent:
            kept = await agent("retain", content="Alice's manager is Dana.", title="Manager")
            (one,) = kept.data["new"]
            found = await agent("recall", query="Who is Alice's manager?", min_score=0)
            assert [hit["id"] for hit in found.data["results"]] == [one]
            assert (await agent("load_memory", id=one, verbosity="full")).data["id"] == one
            assert (await agent("why", query="Who is the manager?", id=one)).data
            assert len((await agent("banks")).data["banks"]) == 1
            assert (await agent("forget", id=one)).data
        assert there.memories("default") == []

"""recall, why, load and when from the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect


def _first(ask: Any, query: str, *options: str) -> dict[str, Any]:
    return ask("recall", "alice", query, "--json", *options).json["results"][0]


def test_recall_prints_tab_separated_hits_into_a_pipe(ask: Any) -> None:
    number, score, band, date, memory_id, text = (
        ask("recall", "alice", "E-1093").out.splitlines()[0].split("\t")
    )
    assert (number, date, text) == (
        "1",
        "2026-02-17",
        "The error code E-1093 means that an invoice has no tax region.",
    )
    assert float(score) > 0 and band in ("strong", "maybe", "noise") and len(memory_id) == 36


@pytest.mark.parametrize(
    ("told", "date"),
    [("in 1987", "1987"), ("last month", "2026-03"), ("yesterday", "2026-04-19")],
)
def test_lines_date_no_closer_than_it_was_told_and_by_the_days_of_who_told_it(
    run: Any, tmp_path: Path, told: str, date: str
) -> None:
    db = ("--db", tmp_path / "m.db")
    run(*db, "retain", "b", f"Ann sold the house {told}.", "--timestamp", "2026-04-20T08:00+09:00")
    assert run(*db, "recall", "b", "Who sold the house?").out.split("\t")[3] == date
    assert run(*db, "memories", "b").out.split("\t")[3] == date


def test_recall_json_is_the_librarys_own_answer(ask: Any) -> None:
    answer = ask("recall", "alice", "Where does Alice work?", "--json").json
    assert answer["bank"] == "alice"
    assert answer["results"][0]["text"] == "Alice works at Google."
    assert set(answer["results"][0]["arms"]) <= {"semantic", "keyword", "graph", "temporal"}


def test_json_may_stand_before_the_command(ask: Any) -> None:
    assert ask("--json", "recall", "alice", "E-1093").json["query"] == "E-1093"


def test_talk_goes_to_stderr_and_not_among_the_data(ask: Any) -> None:
    ran = ask("recall", "alice", "E-1093")
    assert "tokens" in ran.err and "tokens" not in ran.out


def test_k_limits_the_hits_in_json_too(ask: Any) -> None:
    assert len(ask("recall", "alice", "Alice", "-k", "1", "--json").json["results"]) == 1


def test_k_counts_the_tokens_of_the_hits_shown_alone(ask: Any) -> None:
    answer = ask("recall", "alice", "Alice", "-k", "2", "--json").json
    assert answer["tokens"] == sum(hit["tokens"] for hit in answer["results"])
    assert answer["tokens"] < ask("recall", "alice", "Alice", "--json").json["tokens"]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two documents, and an observation on each."""
    path = tmp_path_factory.mktemp("notes") / "m.db"
    items: list[dict[str, Any]] = []
    for name, sport in (("Eva", "sailing"), ("Bertram", "chess")):
        fact = {"id": sport, "text": f"{name} won a {sport} cup.", "entities": [name]}
        seen = {"type": "observation", "source_ids": [sport], "entities": [name]}
        items += [
            {"content": f"{name} loves {sport} and goes every week.", "document_id": name},
            fact,
            {**seen, "text": f"{name} is good at {sport}."},
        ]
    with recollect.open(path) as memory:
        memory.retain("b", items)
    return path


@pytest.mark.parametrize(
    ("options", "part", "field"),
    [
        (["--chunks"], "chunks", "text"),
        (["--entities"], "entities", "name"),
        (["--source-facts", "--types", "observation"], "source_facts", "text"),
    ],
)
def test_k_brings_along_what_belongs_to_the_hits_shown_alone(
    run: Any, notes: Path, options: list[str], part: str, field: str
) -> None:
    asked = ("--db", notes, "recall", "b", "How good is Eva at sailing?", "--json", *options)
    everything = {one[field] for one in run(*asked).json[part]}
    assert any("Bertram" in said for said in everything)
    shown = run(*asked, "-k", "1").json
    assert "Eva" in shown["results"][0]["text"]
    assert not any("Bertram" in one[field] for one in shown.get(part, []))


def test_k_brings_the_sources_of_the_hits_shown_alone_in_a_picture_too(
    run: Any, notes: Path
) -> None:
    asked = ("--db", notes, "recall", "b", "How good is Eva at sailing?", "--chunks")
    assert "--- Bertram#0" in run(*asked).out
    shown = run(*asked, "-k", "1")
    assert "Eva" in shown.out and "Bertram" not in shown.out
    answer = run(*asked, "-k", "1", "--json").json
    assert f"· {answer['tokens']} tokens ·" in shown.err


def test_the_question_can_come_from_stdin(ask: Any) -> None:
    assert ask("recall", "alice", "-", "--json", stdin="E-1093\n").json["query"] == "E-1093\n"


def test_types_filter(ask: Any) -> None:
    found = ask("recall", "alice", "What does Dana think?", "--types", "opinion", "--json").json[
        "results"
    ]
    assert [hit["type"] for hit in found] == ["opinion"]


@pytest.mark.parametrize(
    "floors", [["semantic=0.2,final=0.5"], ["semantic=0.2", "--min-scores", " final = 0.5 "]]
)
def test_min_scores_are_the_librarys_floors(ask: Any, store: Path, floors: list[str]) -> None:
    asked = {"min_scores": {"semantic": 0.2, "final": 0.5}}
    with recollect.open(store) as memory:
        given = [hit.id for hit in memory.recall("alice", "Alice", **asked)]
    found = ask("recall", "alice", "Alice", "--json", "--min-scores", *floors).json
    assert [hit["id"] for hit in found["results"]] == given
    assert len(given) < len(ask("recall", "alice", "Alice", "--json").json["results"])


def test_why_names_the_floor_that_min_scores_set(ask: Any) -> None:
    last = ask("recall", "alice", "Alice", "--json").json["results"][-1]["id"]
    why = ask("why", "alice", "Alice", last, "--min-scores", "final=0.99", "--json").json
    assert why["left_at"] == "pack" and "under the floor" in why["stages"][-1]["says"]


def test_tags_filter_with_their_mode(ask: Any) -> None:
    found = ask(
        "recall", "alice", "Alice", "--tags", "work,people", "--tags-match", "all_strict", "--json"
    ).json
    assert [hit["text"] for hit in found["results"]] == ["Alice's manager is Dana Okafor."]


def test_tag_groups_are_json(ask: Any) -> None:
    group = '[{"and": [{"tags": ["work"]}, {"not": {"tags": ["people"]}}]}]'
    found = ask("recall", "alice", "Alice", "--tag-groups", group, "--json").json["results"]
    assert [hit["text"] for hit in found] == ["Alice works at Google."]


def test_as_of_leaves_out_what_was_learned_later(ask: Any) -> None:
    assert (
        ask("recall", "alice", "hiring freeze", "--as-of", "2026-01-01", "--json").json["results"]
        == []
    )


def test_at_anchors_last_spring(ask: Any) -> None:
    window = ask("recall", "alice", "last spring", "--at", "2026-11-15", "--json").json["window"]
    assert (window["start"][:10], window["end"][:10]) == ("2026-03-01", "2026-06-01")


def test_from_and_to_name_the_window_with_the_last_day_in_it(ask: Any) -> None:
    options = ("--from", "2026-02-01", "--to", "2026-02-28", "--json")
    window = ask("recall", "alice", "what happened", *options).json["window"]
    assert (window["start"][:10], window["end"][:10]) == ("2026-02-01", "2026-03-01")


def test_min_score_is_a_floor(ask: Any) -> None:
    found = ask("recall", "alice", "Where does Alice work?", "--min-score", "0.3", "--json").json[
        "results"
    ]
    assert found and all(hit["score"] >= 0.3 for hit in found)


def test_lean_answers_leave_the_long_fields_out(ask: Any) -> None:
    assert "arms" not in _first(ask, "E-1093", "--verbosity", "lean")


def test_explain_adds_the_tree_behind_the_score(ask: Any) -> None:
    hit = _first(ask, "E-1093", "--explain")
    assert hit["explanation"]["value"] == pytest.approx(hit["score"], abs=1e-3)


def test_the_drawn_tree_leaves_out_what_changes_nothing(ask: Any) -> None:
    out = ask("recall", "alice", "E-1093", "--explain", "-k", "1").out
    assert "0.0000  each of " in out and "0.0000 × " not in out


def test_explain_draws_the_tree(ask: Any) -> None:
    out = ask("recall", "alice", "E-1093", "--explain", "-k", "1").out
    assert "final score = product of" in out and "recency factor" in out


def test_trace_is_a_waterfall_on_stderr(ask: Any) -> None:
    ran = ask("recall", "alice", "E-1093", "--trace")
    assert all(
        stage in ran.err
        for stage in ("understand", "semantic", "keyword", "fuse", "pack", "MainThread")
    )
    assert "█" not in ran.out


def test_trace_is_in_the_json(ask: Any) -> None:
    stages = ask("recall", "alice", "E-1093", "--trace", "--json").json["trace"]["stages"]
    assert {"understand", "retrieve", "fuse", "pack"} <= {s["stage"] for s in stages}


def test_chunks_bring_the_source_text(run: Any, tmp_path: Any) -> None:
    db = tmp_path / "m.db"
    run("--db", db, "retain", "b", "Bob plays chess.", "--document-id", "note")
    answer = run("--db", db, "recall", "b", "chess", "--chunks", "--json").json
    assert answer["chunks"][0]["document_id"] == "note"


def test_as_context_is_ready_for_a_prompt(ask: Any) -> None:
    out = ask("recall", "alice", "Where does Alice work?", "--as-context").out
    assert out.startswith("[1] (2026-04-02) Alice works at Google.")


def test_the_stages_come_with_a_context_too(ask: Any) -> None:
    asked = ("recall", "alice", "Where does Alice work?", "--as-context")
    ran = ask(*asked, "--trace")
    assert ran.out == ask(*asked).out and "understand" in ran.err


def test_what_a_context_had_to_do_without_is_said(ask: Any) -> None:
    ran = ask("recall", "alice", "Where does Alice work?", "--as-context", "--deadline-ms", "0.001")
    assert "degraded: " in ran.err


def test_parts_left_out_that_name_nothing_are_refused(ask: Any) -> None:
    ran = ask("recall", "alice", "Where does Alice work?", "--without", "")
    assert ran.code == 2 and "--without names nothing" in ran.err


def test_nothing_known_is_said_and_is_no_error(ask: Any) -> None:
    ran = ask("recall", "alice", "zebra crossings in Antarctica", "--min-score", "0.5")
    assert (ran.code, ran.out) == (0, "") and "nothing is known" in ran.err


def test_a_floor_that_nothing_reaches_is_not_called_ignorance(ask: Any) -> None:
    ran = ask("recall", "alice", "Where does Alice work?", "--min-score", "1")
    assert (ran.code, ran.out) == (0, "") and "nothing is known" not in ran.err
    assert "something is known about this, but nothing scores at least 1" in ran.err


def test_markup_in_a_memory_is_only_text(ask: Any) -> None:
    assert (
        "[bold]deploy[/bold]" in ask("recall", "alice", "deploy script", "--explain", "-k", "1").out
    )


def test_escape_sequences_in_a_memory_do_not_reach_the_terminal(ask: Any) -> None:
    out = ask("recall", "alice", "deploy script").out
    assert "script prints" in out and "\x1b" not in out


def test_json_keeps_every_character_of_a_memory(run: Any, tmp_path: Path) -> None:
    db, text = ("--db", tmp_path / "m.db"), "Ann pays \u202eBob\u2069 \x1b[31mtoday."
    run(*db, "retain", "b", text)
    assert run(*db, "recall", "b", "Who pays?", "--json").json["results"][0]["text"] == text


def test_why_follows_a_returned_memory_to_its_rank(ask: Any) -> None:
    memory_id = _first(ask, "E-1093")["id"]
    answer = ask("why", "alice", "E-1093", memory_id, "--json").json
    assert (answer["returned"], answer["rank"]) == (True, 1)


def test_why_not_names_the_stage_and_what_was_needed(ask: Any) -> None:
    memory_id = _first(ask, "E-1093")["id"]
    ran = ask("why", "alice", "What does Dana think?", memory_id, "--types", "opinion")
    assert "left at filter" in ran.out and "needed" in ran.out


def test_why_as_of_a_time_is_headed_by_the_wording_of_then(run: Any, tmp_path: Path) -> None:
    db, query = ("--db", tmp_path / "m.db"), "When does the depot open?"
    told = run(*db, "retain", "b", "The depot opens at seven.", "--json").json["new"][0]
    then = datetime.now(UTC).isoformat()
    run(*db, "update", "b", told, "--text", "The depot opens at nine.")
    assert run(*db, "why", "b", query, told).out.startswith("The depot opens at nine.")
    ran = run(*db, "why", "b", query, told, "--as-of", then)
    assert ran.out.startswith("The depot opens at seven.") and "nine" not in ran.out


def test_why_of_what_a_filter_hides_is_headed_by_its_id(ask: Any) -> None:
    memory_id = _first(ask, "E-1093")["id"]
    ran = ask("why", "alice", "E-1093", memory_id, "--types", "opinion")
    assert ran.out.startswith(memory_id) and "invoice" not in ran.out


def test_load_shows_one_memory_whole(ask: Any) -> None:
    memory_id = _first(ask, "What does Dana think about tea?")["id"]
    loaded = ask("load", "alice", memory_id, "--json").json
    assert (loaded["type"], loaded["confidence"]) == ("opinion", 0.6)


def test_load_can_show_links_and_revisions(ask: Any) -> None:
    loaded = ask(
        "load", "alice", _first(ask, "E-1093")["id"], "--links", "--revisions", "--json"
    ).json
    assert loaded["revisions"] == [] and isinstance(loaded["links"], list)


def test_when_reads_last_spring(run: Any) -> None:
    (found,) = run("when", "last spring", "--at", "2026-11-15", "--json").json["expressions"]
    assert found["range"]["start"].startswith("2026-03-01") and found["range"]["end"].startswith(
        "2026-06-01"
    )
    assert (found["range"]["through"], found["grain"], found["span"]) == (
        "2026-05-31",
        "season",
        [0, 11],
    )


def test_when_in_text_shows_the_last_day_included(run: Any) -> None:
    assert "2026-05-31" in run("when", "last spring", "--at", "2026-11-15").out


def test_when_finds_no_time_where_none_is_named(run: Any) -> None:
    ran = run("when", "What may Alice do?", "--at", "2026-11-15", "--json")
    assert ran.json["expressions"] == [] and ran.code == 0


def test_recall_leaves_the_bank_unchanged(ask: Any) -> None:
    before = ask("memories", "alice", "--json").out
    ask("recall", "alice", "E-1093")
    assert json.loads(ask("memories", "alice", "--json").out) == json.loads(before)


def test_why_knows_what_a_recall_brought_along(run: Any, tmp_path: Path) -> None:
    db = ("--db", tmp_path / "m.db")
    told = run(*db, "retain", "b", "The cellar flooded.", "Nina plays chess.", "--json").json["new"]
    run(*db, "relate", "b", told[0], told[1])
    asked = ("b", "cellar flooded", "--expand-hops", "1", "--without", "graph", "--json")
    assert [hit["id"] for hit in run(*db, "recall", *asked).json["results"]] == told
    assert run(*db, "why", *asked[:2], told[1], *asked[2:]).json["rank"] == 2

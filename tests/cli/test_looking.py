"""banks, memories, documents, entities, stats, config and doctor."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest


def test_banks_lists_the_banks(ask: Any) -> None:
    (bank,) = ask("banks", "--json").json
    assert (bank["id"], bank["memories"]) == ("alice", 6)


def test_lists_are_tab_separated_in_a_pipe(ask: Any) -> None:
    assert ask("banks").out.split("\t")[:2] == ["alice", "6"]


def test_memories_can_be_of_one_type(ask: Any) -> None:
    assert [m["type"] for m in ask("memories", "alice", "--type", "opinion", "--json").json] == [
        "opinion"
    ]


def test_memories_page_on_after_an_id(ask: Any) -> None:
    whole = [m["id"] for m in ask("memories", "alice", "--json").json]
    paged = ask("memories", "alice", "--limit", "2", "--after", whole[1], "--json").json
    assert [m["id"] for m in paged] == whole[2:4]


def test_documents_of_a_bank(ask: Any) -> None:
    assert "roadmap" in [d["id"] for d in ask("documents", "alice", "--json").json]


def test_entities_of_a_bank(ask: Any) -> None:
    assert "Google" in [e["name"] for e in ask("entities", "alice", "--json").json]


def test_stats_count_what_the_bank_holds(ask: Any) -> None:
    stats = ask("stats", "alice", "--json").json
    assert (stats["memories"], stats["by_type"]["opinion"]) == (6, 1)


def test_config_shows_where_a_setting_came_from(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_RRF_K", "30")
    assert run("config", "--json").json["rrf_k"] == {"value": 30, "origin": "$RECOLLECT_RRF_K"}


def test_config_knows_a_store_named_in_the_environment_from_one_on_the_command_line(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_DB", "there.db")
    assert run("config", "--json").json["db"] == {"value": "there.db", "origin": "$RECOLLECT_DB"}
    said = run("config", "--db", "here.db", "--json").json["db"]
    assert said == {"value": "here.db", "origin": "argument"}


def test_config_reads_the_file_named(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("budget_mid = 250\n", "utf-8")
    assert run("config", "--config", file, "--json").json["budget_mid"]["value"] == 250


def test_the_store_can_come_from_the_environment(
    run: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_DB", str(store))
    assert run("stats", "alice", "--json").json["memories"] == 6


@pytest.mark.parametrize("before", [True, False])
def test_a_store_and_settings_on_the_command_line_win_over_the_environment(
    run: Any, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("budget_mid = 250\n", "utf-8")
    monkeypatch.setenv("RECOLLECT_DB", str(tmp_path / "another.db"))
    monkeypatch.setenv("RECOLLECT_CONFIG", str(tmp_path / "another.toml"))
    typed = ("--db", store, "--config", file)
    config = run(*typed, "config", "--json") if before else run("config", "--json", *typed)
    assert config.json["db"] == {"value": str(store), "origin": "argument"}
    assert config.json["budget_mid"]["value"] == 250
    stats = (
        run(*typed, "stats", "alice", "--json")
        if before
        else run("stats", "alice", "--json", *typed)
    )
    assert stats.json["memories"] == 6


def test_doctor_finds_a_sound_store_sound(ask: Any) -> None:
    ran = ask("doctor", "--json")
    assert (ran.code, ran.json["ok"]) == (0, True)
    assert {"python", "sqlite", "onnxruntime", "integrity", "schema"} <= {
        f["check"] for f in ran.json["findings"]
    }


def _wrong(run: Any, path: Path) -> list[dict[str, Any]]:
    ran = run("doctor", "--db", path, "--json")
    assert ran.code == 1
    return [f for f in ran.json["findings"] if not f["ok"]]


def test_doctor_says_when_a_file_is_something_else(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "letter.db"
    path.write_text("Dear Alice, " * 500, "utf-8")
    (finding,) = _wrong(run, path)
    assert finding["check"] == "integrity" and finding["hint"]


def test_doctor_says_when_a_file_is_damaged(run: Any, store: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    with sqlite3.connect(store) as source, sqlite3.connect(path) as copy:
        source.backup(copy)
    raw = bytearray(path.read_bytes())
    raw[8192 * 2 : 8192 * 6] = b"\x5a" * (8192 * 4)
    path.write_bytes(raw)
    findings = _wrong(run, path)
    assert findings[0]["check"] == "integrity" and findings[0]["hint"]


def test_doctor_says_when_a_file_is_from_a_newer_release(
    run: Any, store: Path, tmp_path: Path
) -> None:
    path = tmp_path / "newer.db"
    with sqlite3.connect(store) as source, sqlite3.connect(path) as copy:
        source.backup(copy)
        copy.execute("PRAGMA user_version = 999")
    (finding,) = _wrong(run, path)
    assert finding["check"] == "schema" and "upgrade" in finding["hint"]


@pytest.mark.parametrize("reranker", ["http://127.0.0.1:9/v1/rerank#gone", "no-such-model"])
def test_doctor_says_when_the_reranker_cannot_be_used(
    run: Any, store: Path, reranker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_RERANKER", reranker)
    (finding,) = _wrong(run, store)
    assert finding["check"] == "reranker" and finding["hint"]


@pytest.mark.parametrize("reranker", ["none", "rrf", "late-interaction"])
def test_doctor_does_not_miss_a_cross_encoder_that_nobody_wants(
    ask: Any, reranker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_RERANKER", reranker)
    assert ask("doctor").code == 0


def test_doctor_says_what_a_bank_answers_without(
    run: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "http://127.0.0.1:9/v1#recollect-embed-6")
    embedder, bank = _wrong(run, store)
    assert (embedder["check"], bank["check"]) == ("embedder", "bank alice")
    assert "without embed" in bank["says"]


def test_doctor_does_not_make_a_store(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    assert run("doctor", "--db", path).code == 0
    assert not path.exists()

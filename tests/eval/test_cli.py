"""`recollect eval` with the real engine: what it prints, writes and exits with."""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest

from recollect.cli.run import run as ended
from recollect.models.registry import DEFAULT_EMBEDDER, DEFAULT_RERANKER

LINES = [
    {"unit": "u1", "text": "I moved to Lisbon last week.", "speaker": "Ana", "time": "2024-05-02"},
    {
        "unit": "u2",
        "text": "My sister repaired the old kayak.",
        "speaker": "Ben",
        "time": "2024-05-03",
    },
    {
        "unit": "u3",
        "text": "The quarterly budget was approved.",
        "speaker": "Ana",
        "tags": ["work"],
    },
    {
        "query": "Where does Ana live now?",
        "gold": ["u1"],
        "category": "where",
        "time": "2024-06-01",
    },
    {"query": "Who repaired the kayak?", "gold": ["u2"], "category": "who", "time": "2024-06-01"},
    {"query": "What about the budget?", "gold": ["u3"], "forbidden": ["u1"], "category": "what"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in LINES))
    return path


@dataclass
class Result:
    exit_code: int
    stdout: str
    stderr: str


def run(*arguments: str) -> Result:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = ended(["eval", *arguments])
    return Result(code, out.getvalue(), err.getvalue())


def test_json_goes_to_stdout_and_holds_every_figure(file: Path) -> None:
    result = run(str(file), "--json", "--k", "1,10")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["overall"]["recall@10"]["value"] == 1.0
    assert set(report["by_category"]) == {"where", "who", "what"}


def test_a_file_may_come_through_a_pipe(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(file.read_bytes()),))
    writing.start()
    assert json.loads(run(str(pipe), "--json").stdout)["units"] == 3
    writing.join()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(file.read_bytes())))
    assert json.loads(run("-", "--json").stdout)["units"] == 3


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_an_error_has_a_line_of_its_own_below_the_progress(file: Path) -> None:
    bad = {"unit": "u9", "text": "The kiln broke.", "title": ["a list"]}
    file.write_text("\n".join(map(json.dumps, (*LINES, bad))))
    with redirect_stderr(Terminal()) as err:
        assert ended(["eval", str(file)]) == 2
    before, _, _ = err.getvalue().partition("error:")
    assert "retain default" in before
    assert before.endswith("\r\x1b[K")


def test_a_store_that_is_not_there_is_said_and_not_made(tmp_path: Path) -> None:
    asked, db = tmp_path / "asked.jsonl", tmp_path / "nowhere.db"
    asked.write_text(json.dumps({"query": "Who moved?", "gold": ["u1"]}))
    result = run(str(asked), "--db", str(db), "--bank", "ana")
    assert result.exit_code == 2 and "no memory at" in result.stderr
    assert not db.exists()


def test_many_categories_are_readable_in_a_narrow_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"a-category-{n}" for n in range(12)]
    asked = [{"query": "Who moved?", "gold": ["u1"], "category": name} for name in names]
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in (LINES[0], *asked)))
    shown = run(str(path)).stdout
    assert all(f"{name} " in shown for name in names)
    assert "…" not in shown


def test_a_terminal_too_narrow_for_a_table_still_shows_all_of_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = run(str(file)).stdout
    assert all(name in shown for name in ("all-evidence@10", "category", "where", "stage fuse"))
    assert "…" not in shown


def test_names_from_the_file_are_shown_as_they_are(tmp_path: Path) -> None:
    names = ("[/]", "[hop]", "a:smile:b", "red \x1b[31m")
    asked = [{"query": "Who moved?", "gold": ["u1"], "category": name} for name in names]
    path = tmp_path / "mine[1].jsonl"
    path.write_text("\n".join(json.dumps(line) for line in (LINES[0], *asked)))
    result = run(str(path), "--k", "10")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in ("mine[1]: ", "[/]", "[hop]", "a:smile:b"))
    assert "\x1b" not in result.stdout


def test_stages_and_cpu_are_timed(file: Path) -> None:
    latency = json.loads(run(str(file), "--json").stdout)["latency"]
    assert latency["cpu"]["p50"] > 0
    assert any(name.startswith("stage ") for name in latency)


def test_a_gate_that_holds_exits_with_0_and_one_that_does_not_with_1(file: Path) -> None:
    assert run(str(file), "--fail-under", "recall@10=1").exit_code == 0
    assert run(str(file), "--fail-under", "hit@5<=0.5").exit_code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--fail-under", "nonsense"),
        ("--fail-under", "recall@7=0.5"),
        ("--k", "0"),
        ("--k", "²"),
        ("--k", "99999999999999999999"),
        ("--format", "tarot"),
        ("--split", "holdout"),
        ("--bank", "nobody"),
        ("--budget", "endless"),
        ("--seed", "-1"),
        ("--fail-under", ""),
    ],
)
def test_an_option_that_cannot_be_used_exits_with_2_and_a_hint(
    file: Path, arguments: tuple[str, ...]
) -> None:
    result = run(str(file), *arguments)
    assert result.exit_code == 2
    assert "hint:" in result.stderr


def test_ablations_show_every_part(file: Path) -> None:
    ablations = json.loads(run(str(file), "--json", "--ablate").stdout)["ablations"]
    assert {"only keyword", "only fusion", "without graph", "fusion + rerank"} <= set(ablations)


def test_the_html_report_is_written(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run(str(file), "--html", str(page)).exit_code == 0
    assert "<svg" in page.read_text()


def test_queries_alone_are_asked_of_a_bank_that_exists(tmp_path: Path) -> None:
    import recollect

    db = tmp_path / "own.db"
    with recollect.open(str(db)) as memory:
        made = memory.retain("ana", "Ana moved to Lisbon.").items[0].memory_ids[0]
    path = tmp_path / "queries.jsonl"
    path.write_text(json.dumps({"query": "Where did Ana move?", "gold": [made]}))
    result = run(str(path), "--db", str(db), "--bank", "ana", "--json")
    assert json.loads(result.stdout)["overall"]["recall@10"]["value"] == 1.0


def test_of_queries_for_several_banks_one_bank_is_asked(tmp_path: Path) -> None:
    import recollect

    db, path = tmp_path / "own.db", tmp_path / "queries.jsonl"
    with recollect.open(str(db)) as memory:
        held = {bank: memory.retain(bank, f"{bank} moved to Lisbon.") for bank in ("ana", "ben")}
    made = {bank: [outcome.items[0].memory_ids[0]] for bank, outcome in held.items()}
    asked = ({"query": "Who moved?", "bank": bank, "gold": made[bank]} for bank in made)
    path.write_text("\n".join(map(json.dumps, asked)))
    result = run(str(path), "--db", str(db), "--bank", "ben", "--json")
    assert json.loads(result.stdout)["queries"] == 1
    assert json.loads(result.stdout)["overall"]["recall@10"]["value"] == 1.0


def test_the_settings_in_force_are_measured(file: Path, tmp_path: Path) -> None:
    settings = tmp_path / "wrong.toml"
    settings.write_text('reranker = "/no/such/reranker"\n')
    result = run(str(file), "--config", str(settings))
    assert result.exit_code == 1
    assert "/no/such/reranker" in result.stderr


def test_gold_that_is_no_memory_of_the_bank_is_an_error_and_not_a_miss(tmp_path: Path) -> None:
    import recollect

    db = tmp_path / "own.db"
    with recollect.open(str(db)) as memory:
        memory.retain("ana", "Ana moved to Lisbon.")
    path = tmp_path / "queries.jsonl"
    path.write_text(json.dumps({"query": "Where did Ana move?", "gold": ["m-1"]}))
    result = run(str(path), "--db", str(db), "--bank", "ana")
    assert result.exit_code == 2
    assert "m-1" in result.stderr


def test_measuring_a_file_leaves_the_users_store_alone(file: Path, tmp_path: Path) -> None:
    import recollect

    db = tmp_path / "own.db"
    with recollect.open(str(db)) as memory:
        memory.retain("ana", "Ana moved to Lisbon.")
    run(str(file), "--db", str(db), "--json")
    with recollect.open(str(db)) as memory:
        assert [bank.id for bank in memory.banks()] == ["ana"]


def test_another_file_is_not_written_over(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "homepage.html"
    page.write_text("<!doctype html><title>my homepage</title>")
    refused = run(str(file), "--html", str(page))
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert "my homepage" in page.read_text()
    assert run(str(file), "--html", str(page), "--force").exit_code == 0
    assert run(str(file), "--html", str(page)).exit_code == 0  # its own report is renewed


@pytest.mark.parametrize(
    "arguments", [("--fail-under", "recall@7=0.5"), ("--budget", "endless"), ("--max-tokens", "0")]
)
def test_what_cannot_be_asked_is_refused_before_anything_is_retained(
    file: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, str]
) -> None:
    import recollect

    def untouched(*_: object) -> None:
        raise AssertionError("the store was opened")

    monkeypatch.setattr(recollect, "open", untouched)
    assert run(str(file), *arguments).exit_code == 2


def test_a_sample_asks_fewer_queries_and_says_so(file: Path) -> None:
    result = run(str(file), "--sample", "2")
    assert "2 queries, 3 units" in result.stdout
    assert "2 of 3 queries, spread evenly" in result.stdout


def test_the_report_says_what_was_asked_with(file: Path) -> None:
    settings = json.loads(run(str(file), "--json", "--budget", "low").stdout)["settings"]
    assert settings == {
        "budget": "low", "max_tokens": 8192, "embedder": DEFAULT_EMBEDDER, "reranker": DEFAULT_RERANKER,
        "token_vectors": True,
    }  # fmt: skip


def test_the_report_says_what_was_turned_off(file: Path, tmp_path: Path) -> None:
    off = tmp_path / "off.toml"
    off.write_text('reranker = "none"\ntoken_vectors = false\n')
    settings = json.loads(run(str(file), "--json", "--config", str(off)).stdout)["settings"]
    assert (settings["reranker"], settings["token_vectors"]) == ("none", False)


@pytest.fixture
def down(tmp_path: Path) -> Path:
    """Settings with a rerank service that nobody answers for."""
    settings = tmp_path / "down.toml"
    settings.write_text('reranker = "tei+http://127.0.0.1:9"\n')
    return settings


def test_a_gate_fails_where_recalls_had_to_do_without_a_part(file: Path, down: Path) -> None:
    result = run(str(file), "--config", str(down), "--fail-under", "recall@10=0.1")
    assert result.exit_code == 1
    assert "FAILED: degraded <= 0 (is 1.000)" in result.stderr
    assert "3 of 3 recalls had to do without" in result.stderr


def test_a_gate_may_allow_recalls_that_had_to_do_without_a_part(file: Path, down: Path) -> None:
    rules = "recall@10=0.1, degraded<=1"
    assert run(str(file), "--config", str(down), "--fail-under", rules).exit_code == 0


def test_a_rule_about_what_no_query_asks_for_is_refused_before_anything_is_measured(
    file: Path,
) -> None:
    result = run(str(file), "--json", "--fail-under", "abstention_recall=0.5")
    assert result.exit_code == 2
    assert "abstention_recall" in result.stderr and not result.stdout


def test_a_rule_about_what_turns_out_unmeasured_fails_and_keeps_the_report(file: Path) -> None:
    result = run(str(file), "--json", "--fail-under", "abstention_precision=0.5")
    assert result.exit_code == 2
    assert "abstention_precision" in result.stderr
    assert json.loads(result.stdout)["overall"]["recall@10"]["value"] == 1.0


def test_queries_for_a_bank_that_is_not_there_ask_which_is_meant(tmp_path: Path) -> None:
    import recollect

    db, path = tmp_path / "own.db", tmp_path / "queries.jsonl"
    with recollect.open(str(db)) as memory:
        memory.create_bank("ana")
    path.write_text(json.dumps({"query": "Where did Ana move?", "gold": ["m-1"]}))
    result = run(str(path), "--db", str(db))
    assert result.exit_code == 2
    assert "--bank" in result.stderr


def test_a_bank_that_nothing_is_asked_of_is_refused(tmp_path: Path) -> None:
    lines = ({**line, "bank": "ana"} for line in LINES)
    path = tmp_path / "mine.jsonl"
    other = {"unit": "u9", "text": "The kiln broke.", "bank": "ben"}
    path.write_text("\n".join(map(json.dumps, (*lines, other))))
    result = run(str(path), "--bank", "ben")
    assert result.exit_code == 2
    assert "no query of 'mine' is for ben" in result.stderr
    assert "hint: banks with queries: ana" in result.stderr


def test_a_split_that_holds_nothing_is_named(file: Path) -> None:
    result = run(str(file), "--split", "training")
    assert result.exit_code == 2
    assert "no query of 'mine' is in the training split" in result.stderr


@pytest.mark.parametrize("name", ["chats.jsonl", "scifact.jsonl"])
def test_a_file_named_like_a_set_with_splits_is_not_taken_for_it(
    file: Path, tmp_path: Path, name: str
) -> None:
    result = run(str(file.rename(tmp_path / name)), "--split", "reported")
    assert result.exit_code == 2
    assert "'default' is no bank of the set" in result.stderr
    assert "hint:" in result.stderr


def test_nothing_but_times_is_shown_where_nothing_is_judged(tmp_path: Path) -> None:
    lines = [LINES[0], *({"query": f"Who is {name}?", "category": name} for name in ("Ana", "Ben"))]
    path = tmp_path / "unjudged.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    told = run(str(path)).stdout
    assert "nothing but times" in told and "a recall, ms" in told
    assert "95 % interval" not in told and "category" not in told

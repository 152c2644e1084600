"""The benchmark scripts' own promises: deterministic data, honest samples, a page from results."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from recollect.eval.data import Bank, Dataset, Query, Unit

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
QUALITY = re.compile(r"\| (?:… )?(.+?) \| (\d\S+ / \d\S+) \| \*\*(\d\S+ / \d\S+)\*\* \|")
INTERVAL = re.compile(r"\| \d+\.\d \[\d+\.\d, \d+\.\d\] \|")


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for path in BENCHMARKS.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_made_up_facts_are_the_same_every_time() -> None:
    from synthetic import facts

    assert list(facts(200)) == list(facts(200))
    assert list(facts(50, seed=1)) != list(facts(50, seed=2))


def test_made_up_facts_are_not_near_duplicates() -> None:
    from synthetic import facts

    texts = [set(fact.text.lower().split()) for fact in facts(400)]
    close = sum(len(a & b) / len(a | b) > 0.8 for i, a in enumerate(texts) for b in texts[i + 1 :])
    assert close == 0


def test_new_words_keep_appearing_as_facts_are_added() -> None:
    from synthetic import facts

    words = [{w for f in list(facts(n))[n // 2 :] for w in f.text.split()} for n in (2000, 8000)]
    assert len(words[1]) > 2 * len(words[0])


def test_a_sample_keeps_the_gold_of_its_queries_and_its_size() -> None:
    import sets

    units = tuple(Unit(f"u{i}", "x") for i in range(500))
    queries = tuple(Query(f"q{i}", "?", (f"u{i * 3}",)) for i in range(40))
    kept = sets.sample(Bank("b", units, queries), 100, 20)
    assert (len(kept.units), len(kept.queries)) == (100, 20)
    assert {g for q in kept.queries for g in q.gold} <= {u.id for u in kept.units}


def test_a_sample_is_the_same_every_time_and_in_order() -> None:
    import sets

    bank = Bank("b", tuple(Unit(f"u{i}", "x") for i in range(300)), ())
    kept = [int(u.id[1:]) for u in sets.sample(bank, 50, None).units]
    assert kept == sorted(kept)
    assert kept == [int(u.id[1:]) for u in sets.sample(bank, 50, None).units]


def test_facts_about_the_machine_name_no_host_and_no_path() -> None:
    import platform

    import orjson

    from machine import facts

    text = orjson.dumps(facts()).decode()
    assert str(Path.cwd()) not in text
    assert f'"{platform.node()}"' not in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--only", "nobody"),
        ("run", "--only", ""),
        ("run", "--million"),
        ("run", "--short", "--full"),
        ("scale", "--sizes", "many"),
        ("scale", "--sizes", "0"),
        ("scale", "--queries", "0"),
        ("quality", "--sets", "nobody"),
        ("quality", "--budget", "endless"),
        ("quality", "--no-baseline", "--no-recollect"),
        ("peers", "--sets", "realmem,"),
        ("serving", "--facts", "0"),
        ("serving", "--queries", "-3"),
        ("moving", "--size", "0"),
        ("cli_start", "--runs", "0"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_before_anything_is_measured(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    script, *options = arguments
    with pytest.raises(SystemExit) as ended:
        import_module(script).main(options)
    assert ended.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_a_benchmark_that_measured_nothing_does_not_say_it_wrote_a_result(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import quality

    monkeypatch.setattr("sets.read", lambda *_, **__: Dataset("empty", ()))
    with pytest.raises(SystemExit, match="nothing measured"):
        quality.main(["--sets", "musique", "--split", "training"])
    assert "wrote" not in capsys.readouterr().err


@pytest.mark.parametrize("script", ["abstain", "hooks", "lean", "tokens"])
def test_help_is_not_taken_for_a_wish_to_begin(script: str) -> None:
    path = BENCHMARKS / f"{script}.py"
    asked = [sys.executable, str(path), "--help"]
    told = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=True).stdout
    assert f"usage: {path.name}" in told


@pytest.mark.parametrize(
    "script", ["fit_bridge", "fit_identifiers", "fit_scripts", "fit_time", "fit_words"]
)
def test_help_is_not_taken_for_a_wish_to_fit(script: str) -> None:
    asked = [sys.executable, "-m", f"training.{script}", "--help"]
    told = subprocess.run(
        asked, cwd=BENCHMARKS.parent, capture_output=True, text=True, timeout=120, check=True
    )
    assert f"usage: {script}.py" in told.stdout


@pytest.mark.parametrize(
    "script",
    ["cost_model", "forms", "moving", "peers", "quality", "render", "run"]
    + ["scale", "serving", "sizing", "skim"],
)
def test_help_shows_each_command_on_a_line_of_its_own(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module = import_module(script)
    with pytest.raises(SystemExit):
        module.main(["--help"])
    assert (module.__doc__ or "").strip() in capsys.readouterr().out


def test_the_page_is_rendered_from_results_alone() -> None:
    import render

    pages = render.render({"quality-short": quality(), "scale-short": scale()})
    page = pages["benchmarks.md"]
    assert "| tiny (10 units, 4 queries) | recollect | 80.0 (70–90) |" in page
    assert "| recall, reranker off, CPU ms p50 / p95 | 5.0 / 9.0 | 7.0 / 9.0 |" in page
    assert set(pages) == {"benchmarks.md", "img/quality-short.svg", "img/scale-short.svg"}


def test_sizes_that_were_measured_by_themselves_are_on_the_page() -> None:
    import render

    pages = render.render({"scale-100000": scale(), "scale-short": scale()})
    heads = [line for line in pages["benchmarks.md"].splitlines() if line.startswith("## Cost")]
    assert heads == ["## Cost as a bank grows (short)", "## Cost as a bank grows (100000)"]
    assert "img/scale-100000.svg" in pages


def test_the_page_names_every_commit_that_its_sets_were_measured_at() -> None:
    import render

    result = quality()
    result["sets"]["old"] = {**result["sets"]["tiny"], "commit": "abd"}
    page = render.render({"quality-short": result})["benchmarks.md"]
    assert "commits abc, abd, 2026-01-01." in page
    assert "commit abc, 2026-01-01." in render.render({"quality-short": quality()})["benchmarks.md"]


def figure(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.1, "high": value + 0.1, "queries": 4}


def about() -> dict[str, Any]:
    return {
        "when": "2026-01-01T00:00:00+00:00",
        "commit": "abc",
        "machine": {"cpu": "a cpu", "cores": 2, "memory_gib": 8},
        "versions": {"python": "3.11"},
    }


def quality() -> dict[str, Any]:
    measures = (
        "recall@10", "ndcg@10", "all-evidence@10", "hit@10", "mrr", "recall@2048tokens", "recall@4096tokens",
    )  # fmt: skip
    overall = {name: figure(0.8) for name in measures}
    ours = {
        "overall": overall,
        "by_category": {"who": overall},
        "ablations": {"only fusion": overall},
    }
    return {
        **about(),
        "kind": "quality",
        "sets": {"tiny": {"units": 10, "queries": 4, "systems": {"recollect": ours}}},
    }


def scale() -> dict[str, Any]:
    def one(cpu: float) -> dict[str, Any]:
        recall = {
            "cpu_p50": cpu,
            "cpu_p95": 9.0,
            "wall_p50": 6.0,
            "stages_wall_ms": {"fuse": 1.0},
            "known_item_hit@10": 1.0,
        }
        return {
            "recall_rerank_off": recall,
            "recall_rerank_on": recall,
            "recall_late_interaction": recall,
            "callers": [{"per_second": 100.0}, {"per_second": 180.0}],
            "retain_batch": {"cpu_ms": 4.0},
            "retain_single": {"cpu_p50": 10.0},
            "rss_mb": 150.0,
            "disk_bytes_a_fact": 3500.0,
            "cold": {"open_to_answer_ms": 300.0},
        }

    return {**about(), "kind": "scale", "sizes": {"1000": one(5.0), "10000": one(7.0)}}


def test_the_cost_model_is_the_line_through_what_was_measured() -> None:
    from cost_model import Line

    line = Line.through([(10_000, 12.0), (20_000, 14.0), (30_000, 16.0)])
    assert line.at(40_000) == pytest.approx(18.0)
    assert Line.through([(10_000, 12.0)]).at(1_000_000) == 12.0


def test_a_load_twice_as_large_needs_twice_the_disk_and_more_cores() -> None:
    from cost_model import Line, Load, Measured, embedded, postgres

    small = {"memory_bytes_a_fact": 2_000, "facts": 1_000, "first_recall_cpu_ms": 15.0}
    line = Line(20.0, 1e-4)
    known = Measured(
        line, Line(10.0, 1e-4), Line(0.0, 2_000.0), small, 10.0, 3_000.0, 5.0, 0.2,
        line, line, line, 20.0, 4_000.0, 0.2,
    )  # fmt: skip
    one = Load("one", 1_000, 1_000, 100, 10, 0.1)
    two = Load("two", 2_000, 1_000, 200, 20, 0.1)
    for needs in (embedded, postgres):
        assert needs(two, known)["disk_gb"] == pytest.approx(2 * needs(one, known)["disk_gb"])
        assert needs(two, known)["cores"] > needs(one, known)["cores"]
    huge = Load("huge", 1_000_000, 1_000, 2_000, 100, 0.05)
    assert postgres(huge, known)["nodes"] > 1


def test_every_benchmark_is_run_by_run() -> None:
    """A script with a command line is a benchmark, or one of the two that work on results."""
    import run

    scripts = {
        path.stem
        for path in BENCHMARKS.glob("*.py")
        if '__name__ == "__main__"' in path.read_text("utf-8")
    }
    started = {part.name for part in (*run.PARTS, *run.PEERS)}
    assert scripts - started == {"run", "render", "cost_model"}


def test_a_short_run_leaves_out_what_takes_long() -> None:
    import run

    names = {part.name for part in run.steps(run.parsed(["--short"]))}
    assert {"quality", "scale", "postgres", "lean"} <= names
    assert names.isdisjoint({"crash", "sizing"})
    assert "crash" in {part.name for part in run.steps(run.parsed(["--full"]))}
    assert [part.name for part in run.steps(run.parsed(["--only", "crash"]))] == ["crash"]


def test_a_short_run_of_serving_does_not_write_over_a_full_one() -> None:
    import run

    parts = [part for part in (*run.PARTS, *run.PEERS) if part.name == "serving"]
    assert len(parts) == 2
    for part in parts:
        assert "serving-short" in part.options(full=False)
        assert "--out" not in part.options(full=True)


def test_a_part_is_named_by_the_command_that_runs_it() -> None:
    import run

    named = {part.name: " ".join(run.command(part, False)) for part in run.PARTS}
    assert named["lean"] == "python benchmarks/lean.py"
    assert named["retain"] == "python -m benchmarks.retain"


def test_a_result_names_the_command_that_measured_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import machine

    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", [str(BENCHMARKS / "retain.py"), "--facts", "300"])
    written = json.loads(machine.write("retain-300", {"facts": 300}).read_text())
    assert written["command"] == "python -m benchmarks.retain --facts 300"


@pytest.mark.parametrize(
    "given",
    [
        ["--dsn", "postgresql://ann:secret@db/x"],
        ["--dsn=postgresql://ann:secret@db/x"],
        ["--dsn", "host=db password=secret"],
        ["--beside", "/home/ann/secret"],
    ],
)
def test_a_command_in_a_result_names_no_store_and_no_path(given: list[str]) -> None:
    from machine import typed

    told = typed("postgres", ["--sizes=1000", *given])
    assert told[2] == "--sizes=1000"
    assert "secret" not in " ".join(told)


def test_a_run_that_was_cut_short_goes_on_with_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import run

    tried: list[str] = []
    outcomes = {"lean": True, "hooks": None, "models": False}

    def attempt(part: run.Part, full: bool) -> bool | None:
        tried.append(part.name)
        return outcomes[part.name]

    monkeypatch.setattr(run, "attempt", attempt)
    monkeypatch.setattr(run, "PROGRESS", tmp_path / "run.json")
    monkeypatch.setattr(run.render, "main", lambda: None)
    monkeypatch.setattr(run.cost_model, "main", lambda _: None)
    some = ["--only", "lean,hooks,models"]
    for again in ([], ["--resume"]):
        with pytest.raises(SystemExit, match="failed: models"):
            run.main([*some, *again])
    assert tried == ["models", "lean", "hooks", "models", "hooks"]


def test_what_would_be_run_is_only_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import run

    held = tmp_path / "run.json"
    held.write_text(json.dumps({"commit": run.commit(), "done": ["python benchmarks/lean.py"]}))
    monkeypatch.setattr(run, "PROGRESS", held)
    run.main(["--only", "lean,hooks", "--list", "--resume"])
    assert capsys.readouterr().out == "python benchmarks/hooks.py\n"


def test_what_another_commit_did_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import run

    held = tmp_path / "run.json"
    held.write_text('{"commit": "another", "done": ["python benchmarks/lean.py"]}')
    monkeypatch.setattr(run, "PROGRESS", held)
    assert run.finished() == []


def test_a_clone_without_data_skips_what_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sets
    from machine import SKIPPED

    monkeypatch.setenv("RECOLLECT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(SystemExit) as stopped:
        sets.read("hotpot")
    assert stopped.value.code == SKIPPED


def test_what_a_part_only_printed_is_on_the_page() -> None:
    import render

    printed = {**about(), "kind": "printed", "command": "python benchmarks/x.py", "printed": "3 ms"}
    page = render.render({"part-x": printed})["benchmarks.md"]
    assert "## x\n\n`python benchmarks/x.py`" in page
    assert "```\n3 ms\n```" in page


def test_a_measured_part_is_shown_with_the_command_that_measured_it() -> None:
    import render

    found = {**about(), "command": "python benchmarks/moving.py --size 9", "memories": 9}
    page = render.render({"moving": found})["benchmarks.md"]
    assert "`python benchmarks/moving.py --size 9`, commit" in page
    assert "| command |" not in page


def test_a_part_is_explained_in_the_words_of_its_script() -> None:
    import render

    printed = {**about(), "kind": "printed", "command": "python benchmarks/lean.py", "printed": "3"}
    page = render.render({"part-lean": printed, "crash-copy": {**about(), "kills": 9}})
    told = page["benchmarks.md"]
    assert "## lean\n\nWhat a recall costs the agent that reads it" in told
    assert "## crash-copy\n\nKill a writing process with -9" in told
    assert "[--kills 1000]" not in told


def test_the_readme_shows_what_was_measured() -> None:
    import render

    told = {
        "our chats": "chats",
        "with assistants": "assistants",
        "notes": "notes",
        "real conversations": "answers",
        "RealMem": "realmem-as-of",
        "LifeBench": "lifebench",
        "FriendsQA": "friendsqa",
        "TimeQA": "timeqa",
        "MuSiQue": "musique",
        "HotpotQA": "hotpot",
        "SciFact": "scifact",
    }
    sets = render.results()["quality-short"]["sets"]

    def measured(name: str, system: str) -> str:
        figures = sets[name]["systems"][system]["overall"]
        return " / ".join(f"{100 * figures[m]['value']:.1f}" for m in ("recall@10", "ndcg@10"))

    readme = (BENCHMARKS.parent / "README.md").read_text("utf-8")
    shown = {label: figures for label, *figures in QUALITY.findall(readme)}
    assert shown == {
        label: [measured(told[start], "BM25 + MiniLM, RRF"), measured(told[start], "recollect")]
        for label, start in zip(shown, told, strict=True)
        if label.startswith(start)
    }


def test_the_readme_says_how_often_recall_knew_that_it_did_not_know() -> None:
    import render

    printed = render.results()["part-abstain"]["printed"]
    (precision, said), *_ = re.findall(r"precision (0\.\d+) .* recall (0\.\d+)", printed)
    turned_away, *_ = re.findall(r"^ *all +(0\.\d+)", printed, re.MULTILINE)
    readme = (BENCHMARKS.parent / "README.md").read_text("utf-8")
    shown = re.findall(r"(\d+) of 100", readme)
    assert shown == [f"{100 * float(share):.0f}" for share in (said, precision, turned_away)]


def test_the_figures_of_model_cards_are_what_was_measured() -> None:
    import render
    from render_cards import cards

    found = render.results()
    (name, *_) = [name for name in ("quality-full", "quality-short") if name in found]
    shown = cards(found[name], render.DOCS)
    assert shown == {name: (render.DOCS / name).read_text("utf-8") for name in shown}


def test_what_lean_answers_save_is_put_where_agents_are_told_of_them() -> None:
    import render
    from render_cards import answers

    printed = "story   1000  3000  67%   2000  8000  75%   1200  60%   (10 of 11 answered)\n"
    shown = answers({"printed": printed}, render.DOCS)["mcp.md"]
    assert "| demo story | 1,000 | 3,000 | 67 % | 1,200 | 75 % |" in shown


def test_what_lean_answers_save_is_what_was_measured() -> None:
    import render
    from render_cards import answers

    shown = answers(render.results()["part-lean"], render.DOCS)
    assert shown == {"mcp.md": (render.DOCS / "mcp.md").read_text("utf-8")}


def test_the_card_of_the_cross_encoder_has_the_cost_that_was_measured() -> None:
    import render
    from recollect.models.registry import DEFAULT_RERANKER

    printed = render.results()["part-models"]["printed"]
    cost = printed.partition("cross-encoder, a pair ")[2].split()[0]
    card = (render.DOCS / "model-cards" / f"{DEFAULT_RERANKER}.md").read_text("utf-8")
    assert f" {cost} CPU-ms for a pair" in card


def test_every_model_that_ships_has_a_card_with_intervals() -> None:
    from recollect.models.registry import shipped_models

    folder = BENCHMARKS.parent / "docs" / "model-cards"
    written = {card.stem: card.read_text("utf-8") for card in folder.glob("*.md")}
    assert set(written) == set(shipped_models())
    assert [name for name, text in written.items() if not INTERVAL.search(text)] == []


def test_figures_inside_figures_are_on_the_page() -> None:
    import render

    page = render.render({"moving": {**about(), "copy": {"cpu_ms": 0.25}, "same": True}})
    assert "| copy · cpu_ms | 0.25 |" in page["benchmarks.md"]


def test_the_ratio_to_the_peer_is_on_the_page() -> None:
    import render

    def side(cpu: float) -> dict[str, float]:
        parts = {"client_cpu_ms": cpu, "api_cpu_ms": 0.0, "postgres_cpu_ms": 0.0}
        return {"cpu_ms": cpu, "wall_p50_ms": 9.0, "known_item_hit@10": 1.0, **parts}

    sides = {"recollect": side(10.0), "hindsight": side(40.0)}
    both = {**sides, "ratio": 4.0, "ratio_by_block": [3.5, 4.0, 4.5]}
    run = {
        "kind": "postgres-peer",
        "facts": 500,
        "peer": "1.1.0",
        "server": {"version": "18", "pgvector": "0.8"},
        "recall": both,
        "recall_after_load": both,
        "retain": {**sides, "ratio": 4.0},
    }
    page = render.render({"postgres-peer-500": {**about(), **run}})["benchmarks.md"]
    assert "4.0 × (3.5–4.5 by block)" in page


def test_how_much_more_is_found_than_by_the_peer_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import peers
    import render

    kept = render.results()["peers"]
    peers.show(kept["recollect"], kept["hindsight"], kept["ratios"])
    told = [line for line in capsys.readouterr().out.splitlines() if "recall@10" in line]
    assert len(told) == len(kept["recollect"]["quality"])
    assert all(re.search(r"recollect finds \d+\.\d × as much", line) for line in told)


def test_cpu_counts_children_that_have_ended() -> None:
    import os
    import subprocess

    from processes import cpu_s, with_children

    before = cpu_s(with_children({os.getpid()}))
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert cpu_s(with_children({os.getpid()})) - before >= 0.25

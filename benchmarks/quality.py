"""Recall quality of the shipped defaults and of the plain baseline, on the reported splits.

python benchmarks/quality.py [--full] [--sets realmem,musique] [--split reported] [--ablate]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import orjson

import sets
from arguments import described, some_of
from machine import RESULTS, commit, write
from recollect.eval.data import Dataset
from recollect.eval.report import Report, ablate, evaluate
from recollect.eval.splits import Split
from recollect.types import Budget

KS = (5, 10, 20)
SHOWN = ("recall@10", "ndcg@10", "all-evidence@10", "hit@10", "mrr", "recall@4096tokens")
ABSTENTION = ("precisionmem", "abstain", "oracle")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = described(__doc__)
    parser.add_argument("--full", action="store_true", help="whole sets, none sampled")
    parser.add_argument(
        "--sets", type=some_of(sets.NAMES), default=",".join((*sets.QUALITY, *ABSTENTION))
    )
    parser.add_argument("--split", default=Split.REPORTED, choices=[str(split) for split in Split])
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--no-baseline", action="store_true")
    parser.add_argument("--no-recollect", action="store_true")
    parser.add_argument("--budget", default="mid", choices=get_args(Budget))
    parser.add_argument("--merge", action="store_true", help="keep what the file has besides")
    parser.add_argument("--out", help="name of the result file (default quality-short or -full)")
    options = parser.parse_args(arguments)
    if options.no_baseline and options.no_recollect:
        parser.error("--no-baseline and --no-recollect leave nothing to measure")
    run(options)


def run(options: argparse.Namespace) -> None:
    name = options.out or default_name(options)
    found: dict[str, Any] = earlier(name) if options.merge else {}
    measured = False
    for set_name in options.sets:
        dataset = sets.read(set_name, Split(options.split), short=not options.full)
        if not any(True for _ in dataset.queries):
            say(f"{set_name}: nothing in the {options.split} split")
            continue
        about = {
            "units": sum(1 for _ in dataset.units),
            "queries": sum(1 for _ in dataset.queries),
            "note": dataset.note,
        }
        held = found.get(set_name, {})
        same = all(held.get(key) == value for key, value in about.items())
        systems = (held["systems"] if same else {}) | measure(dataset, options)
        found[set_name] = {**about, "commit": commit(), "systems": ordered(systems)}
        measured = True
        # written after every set: a long run that is cut short keeps what it has
        write(name, {"kind": "quality", "ks": KS, "split": options.split, "sets": found})
    if not measured:
        raise SystemExit(f"nothing measured, and results/{name}.json not written")
    say(f"wrote results/{name}.json")


def ordered(systems: dict[str, Any]) -> dict[str, Any]:
    """recollect last, whichever was measured first."""
    return dict(sorted(systems.items(), key=lambda item: item[0] == "recollect"))


def default_name(options: argparse.Namespace) -> str:
    name = f"quality-{'full' if options.full else 'short'}"
    return name if options.split == Split.REPORTED else f"{name}-{options.split}"


def earlier(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    return orjson.loads(path.read_bytes())["sets"] if path.exists() else {}


def measure(dataset: Dataset, options: argparse.Namespace) -> dict[str, Any]:
    reports: list[Report] = []
    if not options.no_baseline:
        reports += baselines(dataset)
    if not options.no_recollect:
        reports.append(ours(dataset, options))
    for report in reports:
        say(line(report))
    return {report.system: slim(report) for report in reports}


def baselines(dataset: Dataset) -> list[Report]:
    from baseline import Baseline

    fused = Baseline("rrf")
    reports = [evaluate(dataset, fused, ks=KS)]
    for kind in ("bm25", "minilm"):
        reports.append(evaluate(dataset, fused.sharing(kind), ks=KS, index=False))
    return reports


def ours(dataset: Dataset, options: argparse.Namespace) -> Report:
    import recollect
    from recollect.eval.systems import RecallOptions, Recollect

    with (
        tempfile.TemporaryDirectory() as folder,
        recollect.open(str(Path(folder) / "q.db")) as memory,
    ):
        system = Recollect(memory, RecallOptions(budget=options.budget))
        started = time.perf_counter()
        report = evaluate(dataset, system, ks=KS)
        say(f"{dataset.name}: recollect took {time.perf_counter() - started:.0f} s")
        if options.ablate:
            report = ablate(report, dataset, system)
            for part, figures in report.ablations.items():
                if "recall@10" in figures:
                    say(f"  {part:18} " + cells(figures))
        return report


def slim(report: Report) -> dict[str, Any]:
    whole = report.as_dict()
    kept = ("overall", "by_category", "latency", "merged", "ablations")
    return {key: whole[key] for key in kept if whole[key]}


def line(report: Report) -> str:
    return f"{report.dataset:13} {report.system:19} " + cells(report.overall)


def cells(figures: Any) -> str:
    shown = (*SHOWN, "abstention_precision", "abstention_recall", "forbidden@10")
    return "  ".join(f"{name} {100 * figures[name].value:.1f}" for name in shown if name in figures)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

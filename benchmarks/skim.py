"""What skimming queries saves, and what it costs in quality: recall without a reranker, its queries read whole
and skimmed.

    python benchmarks/skim.py [--split reported] [--sets chats,assistants,notes,lifebench,friendsqa,hotpot]

Skimmed is what `reranker="none"` does; whole is what it would do otherwise. Abstention is shown where questions have no
answer. CPU time is of recalls of 10,000 facts, in turns, in one process.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

import recollect
import serving
import sets
from arguments import described, some_of
from recollect.eval.report import Report, evaluate
from recollect.eval.splits import Split
from recollect.eval.systems import Recollect as System
from recollect.models.base import skimming

SETS = ("chats", "assistants", "notes", "lifebench", "friendsqa", "hotpot")
MEANT = ("recall@10", "ndcg@10")
FACTS, QUERIES, ROUNDS = 10_000, 200, 5
SHOWN = (*MEANT, "abstention_precision", "abstention_recall")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = described(__doc__)
    parser.add_argument("--sets", type=some_of(sets.NAMES), default=",".join(SETS))
    parser.add_argument("--split", default=Split.REPORTED, choices=list(Split))
    options = parser.parse_args(arguments)
    for way, cpu_ms in cost().items():
        print(f"{way:8} {cpu_ms:.2f} CPU-ms a recall of {FACTS:,} facts", flush=True)
    found: dict[str, list[Report]] = {"whole": [], "skimmed": []}
    for name in options.sets:
        dataset = sets.read(name, Split(options.split), short=True)
        with recollect.open(":memory:", reranker="none", cache_entries=0) as memory:
            system = System(memory)
            for way in found:
                asking(memory, way)
                found[way].append(evaluate(dataset, system, index=way == "whole"))
                figures = {n: f.value for n, f in found[way][-1].overall.items() if n in SHOWN}
                print(f"{name:12} {way:8} {shown(figures)}", flush=True)
    for way, reports in found.items():
        means = {n: fmean(report.overall[n].value for report in reports) for n in MEANT}
        print(f"{'mean':12} {way:8} {shown(means)}")


def asking(memory: recollect.Recollect, way: str) -> None:
    """Have a memory without a reranker read its queries this way."""
    embedder = skimming(memory.embedder) if way == "skimmed" else memory.embedder
    memory.__dict__["_recalling"] = replace(memory._recalling, embedder=embedder)


def cost() -> dict[str, float]:
    asked = serving.questions(FACTS, QUERIES)
    spent: dict[str, list[float]] = {"whole": [], "skimmed": []}
    with tempfile.TemporaryDirectory() as folder:
        db = shutil.copyfile(serving.filled(FACTS), Path(folder) / "memory.db")
        with recollect.open(str(db), reranker="none", cache_entries=0) as memory:
            for _ in range(1 + ROUNDS):
                for way, times in spent.items():
                    asking(memory, way)
                    started = time.process_time()
                    for text in asked:
                        memory.recall(serving.BANK, text)
                    times.append((time.process_time() - started) / len(asked) * 1e3)
    return {way: median(times[1:]) for way, times in spent.items()}  # the first warms up


def shown(figures: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {100 * value:.1f}" for name, value in figures.items())


if __name__ == "__main__":
    main()

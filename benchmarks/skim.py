"""What skimming queries costs in quality: recall without a reranker, its queries read whole and skimmed.

    python benchmarks/skim.py [--split reported] [--sets chats,assistants,notes,lifebench,friendsqa,hotpot]

Skimmed is what `reranker="none"` does; whole is what it would do otherwise. Abstention is shown where questions have no
answer.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import recollect
import sets
from recollect.eval.report import Report, evaluate
from recollect.eval.splits import Split
from recollect.eval.systems import Recollect as System
from recollect.models.base import skimming

SETS = ("chats", "assistants", "notes", "lifebench", "friendsqa", "hotpot")
MEANT = ("recall@10", "ndcg@10")
SHOWN = (*MEANT, "abstention_precision", "abstention_recall")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--split", default=Split.REPORTED, choices=list(Split))
    options = parser.parse_args(arguments)
    found: dict[str, list[Report]] = {"whole": [], "skimmed": []}
    for name in options.sets.split(","):
        dataset = sets.read(name, Split(options.split), short=True)
        with recollect.open(":memory:", reranker="none", cache_entries=0) as memory:
            system, plain = System(memory), memory._recalling
            ways = {"whole": memory.embedder, "skimmed": skimming(memory.embedder)}
            for way, embedder in ways.items():
                memory.__dict__["_recalling"] = replace(plain, embedder=embedder)
                found[way].append(evaluate(dataset, system, index=way == "whole"))
                figures = {n: f.value for n, f in found[way][-1].overall.items() if n in SHOWN}
                print(f"{name:12} {way:8} {shown(figures)}", flush=True)
    for way, reports in found.items():
        means = {n: fmean(report.overall[n].value for report in reports) for n in MEANT}
        print(f"{'mean':12} {way:8} {shown(means)}")


def shown(figures: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {100 * value:.1f}" for name, value in figures.items())


if __name__ == "__main__":
    main()

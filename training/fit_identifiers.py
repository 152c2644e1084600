"""What an identifier in a query is worth (the weight of `exact` in `recall/calibration.json`).

    python -m training.fit_identifiers

No data set asks for identifiers, and coding agents do all the time. So the pages of this repository and the development
chats with coding agents are asked for identifiers that stand in one to three of their memories, and the pages for
flags of the command line, in the ways people ask. Printed for each weight: how often the first memory, and one of the first five, holds it, and how often
nothing is said to be known.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from benchmarks.arguments import no_options
from benchmarks.sets import read

import recollect
from recollect.eval.splits import Split
from recollect.eval.systems import Recollect as System
from recollect.language.entities.technical import technical_spans
from recollect.language.terms import flags
from recollect.recall import pipeline, relevance
from recollect.recall.relevance import Calibration

ROOT = Path(__file__).resolve().parent.parent

PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/[!b]*.md")  # no tables of figures
WEIGHTS = (0.0, 1.0, 2.0, 4.0)
ASKED = 60  # identifiers of a bank
MOST = 3  # memories that hold one
KINDS = ("pages", "agent", "flags")
WAYS = (
    "{}",
    "What does {} do?",
    "What is {} for?",
    "Where is {} used?",
    "What did we say about {}?",
    "Tell me about {}",
)


def fill(memory: recollect.Recollect) -> Iterator[str]:
    """Banks of both kinds."""
    for pattern in PAGES:
        for page in sorted(ROOT.glob(pattern)):
            memory.retain("pages", {"content": page.read_text("utf-8"), "document_id": page.name})
    yield "pages"
    for bank in read("assistants", Split.DEVELOPMENT).banks:
        if bank.id.startswith("agent"):
            System(memory).index(bank)
            yield bank.id


def identifiers(memory: recollect.Recollect, bank: str, kind: str) -> dict[str, set[str]]:
    """Some of them, and the memories in which each stands."""
    texts = {m.id: m.text.lower() for m in memory.memories(bank, limit=5000)}
    if kind == "flags":
        found = {name for t in texts.values() for name in flags(t)}
    else:
        found = {t[a:b] for t in texts.values() for a, b in technical_spans(t)}
    named = sorted(name for name in found if len(name) > 3 and not name.count(" "))
    held = {name: {id for id, text in texts.items() if name in text} for name in named}
    rare = [name for name, ids in held.items() if len(ids) <= MOST]
    return {n: held[n] for n in random.Random(3).sample(rare, min(ASKED, len(rare)))}


def weighed(weight: float) -> None:
    @cache
    def calibrations(model: str, *, message: bool) -> Mapping[str, Calibration]:
        known = relevance.calibrations(model, message=message)
        return {
            name: replace(c, weights={**c.weights, "exact": weight}) for name, c in known.items()
        }

    pipeline.calibrations = calibrations


def main() -> None:
    with recollect.open(":memory:") as memory:
        asked = {bank: identifiers(memory, bank, "names") for bank in fill(memory)}
        asked_flags = {"pages": identifiers(memory, "pages", "flags")}
        for weight in WEIGHTS:
            weighed(weight)
            for kind in KINDS:
                rows: list[tuple[bool, bool, bool]] = []
                of_kind = asked_flags if kind == "flags" else asked
                for bank in (b for b in of_kind if kind == "flags" or b.startswith(kind)):
                    for name, held in of_kind[bank].items():
                        for way in WAYS:
                            query = way.format(name)
                            # a moment of its own, so that no answer comes from the cache
                            result = memory.recall(
                                bank, query, query_timestamp=f"{2030 + weight:.0f}-01-01"
                            )
                            best = [hit.id in held for hit in result.results[:5]]
                            rows.append((any(best[:1]), any(best), result.nothing_known))
                first, five, denied = 100 * np.array(rows, float).mean(axis=0)
                print(
                    f"{weight:g}: {kind:6} {len(rows):4} questions, first {first:.1f}, "
                    f"among five {five:.1f}, nothing known {denied:.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    no_options(__doc__)
    main()

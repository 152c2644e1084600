"""How much alike the shipped embedder finds texts in a script that it never learnt (`scripts` in `recall/calibration.json`).

    python -m training.fit_scripts

`data/scripts.jsonl` holds small banks in several languages, questions that each of their facts answers, and questions that
none does. By script and by the signals that are there: what the bias has to be lower by, so that nine in ten of the
best hits of unanswered questions are not rated strong, though never so low that the answered are said to be unknown. It is
found on every other question; then for the rest, how many best hits are rated strong without and with it, how
many of the answered are known, and of how many of these the best hit is the answer. Last, what it is when found on all
questions: that is what ships.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from benchmarks.arguments import no_options

import recollect
from recollect.language.script import script_of
from recollect.models.registry import DEFAULT_EMBEDDER
from recollect.recall import pipeline, relevance
from recollect.recall.result import RecallResult
from recollect.types import Explanation

ROOT = Path(__file__).resolve().parent.parent
STAGES: dict[str, dict[str, Any]] = {
    "first": {"reranker": "none"},
    "late": {"reranker": "late-interaction"},
    "cross": {},
}
SHARE = 0.9  # of the unanswered, not strong
DAY = datetime(2026, 11, 1, tzinfo=UTC)
KNOWN = 0.95  # of the answered, known, though that leave more of the others strong
MARGIN = 0.5  # of a logit: other dates read a little differently


@contextmanager
def shifted(shift: float) -> Iterator[None]:
    """Recall with every bias lower by so much, whatever the script."""
    plain = relevance.calibrations(DEFAULT_EMBEDDER)
    lower = {name: replace(c, bias=float(np.float32(c.bias - shift))) for name, c in plain.items()}
    kept, pipeline.calibrations = pipeline.calibrations, lambda *_, **__: lower
    try:
        yield
    finally:
        pipeline.calibrations = kept


def asked(banks: Iterable[dict[str, Any]], stage: str, kind: str) -> list[RecallResult]:
    """Of every bank twice: a model reads a date in Latin letters before what is told with one."""
    found: list[RecallResult] = []
    with recollect.open(":memory:", **STAGES[stage]) as memory:
        for at, bank in enumerate(banks):
            for told, asked_at in ((None, None), (DAY, DAY + timedelta(days=1))):
                memory.retain(name := f"{at} {told}", bank["facts"], timestamp=told)
                found += [
                    memory.recall(name, text, explain=True, query_timestamp=asked_at)
                    for text in bank[kind]
                ]
    return found


def excess(found: RecallResult, band: float) -> float:
    """How far the logit of the best hit lies above what it takes to be in a band, being new."""
    if not found.results:
        return -math.inf
    terms = {each.description: each.value for each in walk(found.results[0].explanation)}
    least = band / terms["recency factor"]
    return terms["logit"] - math.log(least / (1 - least))


def walk(explanation: Explanation | None) -> Iterator[Explanation]:
    if explanation is not None:
        yield explanation
        for each in explanation.details:
            yield from walk(each)


def fitted(banks: list[dict[str, Any]], stage: str) -> float:
    bands = relevance.calibrations(DEFAULT_EMBEDDER)[stage]
    with shifted(0.0):
        over = [excess(each, bands.strong) for each in asked(banks, stage, "unrelated")]
        room = [excess(each, bands.maybe) for each in asked(banks, stage, "answered")]
    wanted = float(np.quantile(over, SHARE, method="higher"))
    most = float(np.quantile(room, 1 - KNOWN, method="lower")) - MARGIN
    return round(max(0.0, min(wanted, most)), 1)


def strong(results: list[RecallResult]) -> float:
    rated = [bool(r.results) and r.results[0].band is recollect.Band.STRONG for r in results]
    return sum(rated) / len(rated)


def _every_other(bank: dict[str, Any], start: int) -> dict[str, Any]:
    half = {kind: bank[kind][start::2] for kind in ("unrelated", "answered")}
    return {**bank, **half, "answers": bank["facts"][start::2]}


def main() -> int:
    lines = (ROOT / "data" / "scripts.jsonl").read_bytes().splitlines()
    by_script: dict[str, list[dict[str, Any]]] = {}
    for bank in map(orjson.loads, lines):
        by_script.setdefault(script_of(bank["facts"][0]) or "latin", []).append(bank)
    print(
        "script      stage   lower by  strong, unanswered    strong, answered (known)           best is right  on all"
    )
    for script, banks in by_script.items():
        fitting = [_every_other(bank, 0) for bank in banks]
        resting = [_every_other(bank, 1) for bank in banks]
        for stage in STAGES:
            shift = fitted(fitting, stage)
            figures: list[str] = []
            for kind in ("unrelated", "answered"):
                for by in (0.0, shift):
                    with shifted(by):
                        results = asked(resting, stage, kind)
                    known = sum(not r.nothing_known for r in results) / len(results)
                    figures.append(f"{100 * strong(results):5.0f} %")
                    if kind == "answered":
                        figures.append(f"(known {100 * known:3.0f} %)")
            answers = [fact for bank in resting for _ in range(2) for fact in bank["answers"]]
            right = sum(r.results[0].text == a for r, a in zip(results, answers, strict=True))
            figures.append(f"{100 * right / len(answers):5.0f} %")
            figures.append(f"{fitted(banks, stage):6.1f}")
            print(f"{script:11} {stage:7} {shift:8.1f}  {'  '.join(figures)}", flush=True)
    return 0


if __name__ == "__main__":
    no_options(__doc__)
    sys.exit(main())

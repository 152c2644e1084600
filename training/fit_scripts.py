"""Questions in scripts that the shipped embedder never learnt are judged by words (`scripts` in `recall/calibration.json`).

    python -m training.fit_scripts

`data/scripts.jsonl` holds small banks in several languages, questions that each of their facts answers, and questions that
none does. By script: of how many answered questions the best hit is the answer, and how many of either kind are said to
be known, judged by meanings and by words. For words the bias is higher, since words that are inflected or written without
spaces are shared less: by so much that nineteen in twenty of the answered are known, though no more than one in ten
of the others. It is found on every other question, the figures are of the rest; last, what it is when found on all
questions: that is what ships.
"""

from __future__ import annotations

import json
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
from recollect.recall import pipeline, relevance
from recollect.recall.result import RecallResult
from recollect.types import Explanation

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "recollect" / "recall" / "calibration.json"
KNOWN = 0.95  # of the answered
WRONGLY = 0.1  # of the others, known, at most
MARGIN = 0.1  # of a logit
DAY = datetime(2026, 11, 1, tzinfo=UTC)


@contextmanager
def judged(*, by_words: bool, shift: float) -> Iterator[None]:
    """Recall by words, with a bias higher by so much, or by meanings, whatever the script."""
    words = relevance.by_words()
    words = replace(words, bias=float(np.float32(words.bias + shift)))
    kept = pipeline.by_words, pipeline.tells_apart
    pipeline.by_words, pipeline.tells_apart = lambda *_: words, lambda *_: not by_words
    try:
        yield
    finally:
        pipeline.by_words, pipeline.tells_apart = kept


def asked(banks: Iterable[dict[str, Any]], kind: str) -> list[RecallResult]:
    """Of every bank twice: a model reads a date in Latin letters before what is told with one."""
    found: list[RecallResult] = []
    with recollect.open(":memory:") as memory:
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


def fitted(banks: list[dict[str, Any]]) -> float:
    band = relevance.by_words().maybe
    with judged(by_words=True, shift=0.0):
        room = [excess(each, band) for each in asked(banks, "answered")]
        over = [excess(each, band) for each in asked(banks, "unrelated")]
    wanted = MARGIN - float(np.quantile(room, 1 - KNOWN, method="lower"))
    most = -float(np.quantile(over, 1 - WRONGLY, method="higher")) - MARGIN
    return round(max(0.0, min(wanted, most)), 1)


def share(found: Iterable[bool]) -> str:
    return f"{100 * float(np.mean(list(found))):4.0f} %"


def _every_other(bank: dict[str, Any], start: int) -> dict[str, Any]:
    half = {kind: bank[kind][start::2] for kind in ("unrelated", "answered")}
    return {**bank, **half, "answers": bank["facts"][start::2]}


def measured(banks: list[dict[str, Any]], *, by_words: bool, shift: float) -> str:
    with judged(by_words=by_words, shift=shift):
        found, others = asked(banks, "answered"), asked(banks, "unrelated")
    answers = [fact for bank in banks for _ in range(2) for fact in bank["answers"]]
    right = (r.results[0].text == a for r, a in zip(found, answers, strict=True))
    strong = (r.results[0].band is recollect.Band.STRONG for r in found)
    known, wrongly = ([not r.nothing_known for r in each] for each in (found, others))
    return "  ".join(map(share, (right, known, strong, wrongly)))


def main() -> int:
    lines = (ROOT / "data" / "scripts.jsonl").read_bytes().splitlines()
    by_script: dict[str, list[dict[str, Any]]] = {}
    for bank in map(orjson.loads, lines):
        by_script.setdefault(script_of(bank["facts"][0]) or "latin", []).append(bank)
    print("of the answered: best is right, known, strong; of the others: known")
    print(
        "script      by meanings                       by words                       higher by  on all"
    )
    shifts: dict[str, float] = {}
    for script, banks in by_script.items():
        resting = [_every_other(bank, 1) for bank in banks]
        shift = fitted([_every_other(bank, 0) for bank in banks])
        shifts[script] = fitted(banks)
        meanings = measured(resting, by_words=False, shift=0.0)
        words = measured(resting, by_words=True, shift=shift)
        print(f"{script:11} {meanings}    {words}  {shift:6.1f}  {shifts[script]:6.1f}", flush=True)
    table = json.loads(TARGET.read_text())
    del shifts["latin"]  # which the embedder learnt
    TARGET.write_text(json.dumps({**table, "scripts": shifts}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    no_options(__doc__)
    sys.exit(main())

"""What lifting candidates towards better hits is worth (`recall/bridge.py`), and its constants.

    python -m training.fit_bridge [set …]

Prints recall@10 / NDCG@10 of development queries without it, with it, and with each constant changed.
Of questions that need two steps only reported ones are at hand, so they are composed here: of two
training pairs, the second question asks about a name that the first one's passage brings up, and
the first question takes the place of that name.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.sets import folder, read, sample  # noqa: E402
from training.compare import at_ten  # noqa: E402

import recollect  # noqa: E402
from recollect.eval.data import Bank, Query, Unit  # noqa: E402
from recollect.eval.splits import Split  # noqa: E402
from recollect.eval.systems import Recollect as System  # noqa: E402
from recollect.recall import bridge as stage  # noqa: E402
from recollect.recall import pipeline  # noqa: E402
from recollect.recall.pool import Pool  # noqa: E402
from recollect.recall.relevance import least_similarity  # noqa: E402
from recollect.telemetry import Run  # noqa: E402

# (set, units kept, queries kept); LifeBench's evidence lies among thousands of records: all are kept
PLAN = (
    ("lifebench", None, None),
    ("realmem-as-of", None, 140),
    ("friendsqa", None, None),
    ("timeqa", 2500, 150),
)
SETS = ("composed", *(name for name, _, _ in PLAN))
NEVER = 10**9
VARIANTS: tuple[dict[str, float], ...] = (
    {"BRIDGES": 0},
    {},
    {"LONG": NEVER, "LIKEST": 0},  # names alone
    {"COMMON": 0},  # likeness alone
    {"SAME_DAY": 0},  # names and likeness
    {"LIKEST": 0},
    {"LIKEST": 0.7},
    {"LIKEST": 1},
    {"LONG": 1, "LIKEST": 0},  # likeness in full for short questions, too
    {"LIFT": 0.5},
    {"LIFT": 0.9},
    {"CEILING": 0.1},
    {"CEILING": 0.99},
    {"BRIDGES": 1},
    {"BRIDGES": 5},
)
PAIRS = ("qa/task1327", "iirc/task235", "boolq/task381", "super/task1660", "aquamuse/task519")
FIRST = ("qa/task1327", "iirc/task235", "aquamuse/task519")  # whose answers are mostly names
OTHERS = 2500  # passages beside those of the questions
WORD = r"[A-ZÀ-Ý][\w'’.-]*"
LEAD = re.compile(rf"^(?:The |A |An )?({WORD}(?: (?:{WORD}|of|the|de|von|and|in|for|\d+))*)")
TITLE = re.compile(r"^(.{3,60}?)(?: \(.*?\))? -- ")
NO_NAME = re.compile(r"^(In|On|At|By|As|After|During|For|From|While|When|With|His|Her|He|She)\b")
ASKING = re.compile(
    r"^((in|on|at|to|by) )?(what|which|whom?|where|when|how)\b('s)?\s*"
    r"((is|was|are|were|does|did|do|has|had)\b)?\s*(the )?",
    re.IGNORECASE,
)


def subject(passage: str) -> str | None:
    """What a passage is about: its title, or the name that it begins with."""
    title = TITLE.match(passage)
    if title:
        return title.group(1)
    lead = LEAD.match(passage)
    words = lead.group(1).split() if lead else []
    while words and not (words[-1][0].isupper() or words[-1][0].isdigit()):
        words.pop()
    name = re.sub(r"('s|,|\.)$", "", " ".join(words))
    return name if len(words) > 1 and not NO_NAME.match(name) else None


def within(name: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE) is not None


def steps(passages: dict[str, list[tuple[str, str]]]) -> Iterator[tuple[str, str, str]]:
    """(question, first passage, second passage); no passage is the first step of two questions."""
    about: dict[str, list[str]] = {}
    holding: dict[str, list[str]] = {}  # by each word
    for passage in passages:
        for word in set(re.findall(r"\w+", passage)):
            holding.setdefault(word, []).append(passage)
        name = subject(passage)
        if name:
            about.setdefault(name, []).append(passage)
    used: Counter[str] = Counter()
    for name, seconds in about.items():
        fewest = min((holding.get(word, []) for word in re.findall(r"\w+", name)), key=len)
        naming = [p for p in fewest if name in p and within(name, p)]
        if len(naming) > 12:
            continue
        for first in naming:
            for second in seconds:
                if first in seconds or used[first] or used[second] > 1 or used[name] > 1:
                    continue
                question = composed(passages[first], passages[second], name)
                if question:
                    used.update((first, second, name))
                    yield question, first, second


def composed(first: list[tuple[str, str]], second: list[tuple[str, str]], name: str) -> str | None:
    for source, asked in first:
        if source not in FIRST or within(name, asked):
            continue
        described = "the " + ASKING.sub("", asked.strip().rstrip("?")).strip()
        for _, asking in second:
            if within(name, asking):
                return re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE).sub(
                    described.replace("\\", ""), asking
                )
    return None


def two_steps() -> Bank:
    passages: dict[str, list[tuple[str, str]]] = {}
    for part in sorted((folder() / "train").glob("qp_train.part*.jsonl.gz")):
        with gzip.open(part, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if row["src"] in PAIRS:
                    passages.setdefault(row["p"], []).append((row["src"], row["q"]))
    found = list(steps(passages))
    needed = {passage for _, *golds in found for passage in golds}
    random = Random(5)
    others = [passage for passage in passages if passage not in needed]
    kept = sorted(needed) + random.sample(others, OTHERS)
    random.shuffle(kept)  # an order of arrival that says nothing
    ids = {passage: f"p{number}" for number, passage in enumerate(kept)}
    units = tuple(Unit(ids[passage], passage) for passage in kept)
    queries = tuple(
        Query(f"q{number}", question, (ids[a], ids[b]))
        for number, (question, a, b) in enumerate(found)
    )
    return Bank("composed", units, queries)


def banks(name: str) -> Iterable[Bank]:
    if name == "composed":
        return [two_steps()]
    units, queries = next((u, q) for n, u, q in PLAN if n == name)
    return [sample(bank, units, queries) for bank in read(name, Split.DEVELOPMENT).banks]


def figures(bank: Bank) -> Iterator[NDArray[np.float64]]:
    """Of each query: recall@10 and NDCG@10 under every variant."""
    with recollect.open(":memory:") as memory:
        system = System(memory)
        system.index(bank)
        view = memory._store.view(bank.id)
        bar = least_similarity(memory._recalling.embedder.name)
        limit = memory.settings.rerank_candidates
        for query in bank.queries:
            gold = {system.gold_key(bank, g) for g in query.gold}
            if not gold:
                continue
            request = memory._request(bank.id, query.text[:2000], dict(system._arguments(query)))
            ranked = pipeline.rank(memory._recalling, view, request, Run())
            pool = ranked.pool
            loaded = view.load(pool.keys.tolist())
            units = [system._keys.get((bank.id, loaded[k].id), "") for k in pool.keys.tolist()]
            relevant = np.array([unit in gold for unit in units])
            yield np.array(
                [
                    scores(varied(view, ranked.query, pool, limit, bar, v), relevant, len(gold))
                    for v in VARIANTS
                ]
            )


def varied(view, query, pool: Pool, limit: int, bar: float, variant: dict[str, float]) -> Pool:
    """As the stage would have it with other constants."""
    kept = {name: getattr(stage, name) for name in variant}
    try:
        for name, value in variant.items():
            setattr(stage, name, value)
        return stage.bridge(view, query, pool, limit, bar)
    finally:
        for name, value in kept.items():
            setattr(stage, name, value)


def scores(pool: Pool, relevant: NDArray[np.bool_], gold: int) -> tuple[float, float]:
    return at_ten(relevant[np.lexsort((pool.keys, -pool.relevance))[:10]], gold)


def main() -> None:
    pipeline.bridge = lambda view, query, pool, limit, bar: pool  # candidates as it meets them
    for name in sys.argv[1:] or SETS:
        each = [row for bank in banks(name) for row in figures(bank)]
        mean = 100 * np.mean(each, axis=0)
        print(f"{name}, {len(each)} queries")
        for variant, (recall, ndcg) in zip(VARIANTS, mean, strict=True):
            changed = ", ".join(f"{k} {v:g}" for k, v in variant.items()) or "as it is"
            print(f"  {changed:20} {recall:5.1f} / {ndcg:4.1f}", flush=True)


if __name__ == "__main__":
    main()

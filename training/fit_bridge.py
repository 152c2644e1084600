"""What lifting candidates towards better hits is worth (`recall/bridge.py`), and its constants.

    python -m training.fit_bridge [set …]

Prints recall@10 / NDCG@10 of development queries without it, with it, and with each constant changed.
The public questions of several steps are reported ones; those used here are our own (`data/README.md`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from benchmarks.arguments import chosen
from benchmarks.sets import read, sample
from numpy.typing import NDArray
from training import splits
from training.compare import at_ten

import recollect
from recollect.eval.data import Bank, Query, Unit
from recollect.eval.splits import Split, share
from recollect.eval.systems import Recollect as System
from recollect.recall import bridge as stage
from recollect.recall import pipeline
from recollect.recall.pool import Pool
from recollect.recall.relevance import least_likeness
from recollect.telemetry import Run

# (set, units kept, queries kept); LifeBench's evidence lies among thousands of records: all are kept
PLAN = (
    ("lifebench", None, None),
    ("realmem-as-of", None, 140),
    ("friendsqa", None, None),
    ("timeqa", 2500, 150),
    ("chats", None, 20),
    ("assistants", None, 20),
    ("answers", None, None),
)
SETS = ("steps", *(name for name, _, _ in PLAN))
BAR = "likeness"  # from which cosine on two are alike, where it is not the model's own
VARIANTS: tuple[dict[str, float], ...] = (
    {"BRIDGES": 0},
    {},
    {"COMMON": 0},  # likeness alone
    {"ABOUT": 0},
    {"ABOUT": 1},
    {"SAME_DAY": 0},  # names and likeness
    {BAR: 0.99},  # names and the day alone
    {BAR: 0.2},
    {BAR: 0.4},
    {"LIFT": 0.5},
    {"LIFT": 0.95},
    {"CEILING": 0.1},
    {"CEILING": 0.6},
    {"CEILING": 0.99},
    {"BRIDGES": 1},
    {"BRIDGES": 5},
)


def several_steps() -> Bank:
    """Questions that need two passages or more, which choices are made on, among all such passages."""
    held = next(collection for part, collection in splits.steps() if part)
    # In an order of arrival that says nothing.
    units = [Unit(u.id, u.text) for u in sorted(held.units, key=lambda unit: share(unit.id))]
    asked = [q for q in held.queries if q.gold]
    queries = (Query(f"q{number}", q.text, q.gold) for number, q in enumerate(asked))
    return Bank("steps", tuple(units), tuple(queries))


def banks(name: str) -> Iterable[Bank]:
    if name == "steps":
        return [several_steps()]
    units, queries = next((u, q) for n, u, q in PLAN if n == name)
    return [sample(bank, units, queries) for bank in read(name, Split.DEVELOPMENT).banks]


def figures(bank: Bank) -> Iterator[NDArray[np.float64]]:
    """Of each query: recall@10 and NDCG@10 under every variant."""
    with recollect.open(":memory:") as memory:
        system = System(memory)
        system.index(bank)
        view = memory._store.view(bank.id)
        bar = least_likeness(memory._recalling.embedder.name)
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
    constants = {name: value for name, value in variant.items() if name != BAR}
    kept = {name: getattr(stage, name) for name in constants}
    try:
        for name, value in constants.items():
            setattr(stage, name, value)
        return stage.bridge(view, query, pool, limit, variant.get(BAR, bar))
    finally:
        for name, value in kept.items():
            setattr(stage, name, value)


def scores(pool: Pool, relevant: NDArray[np.bool_], gold: int) -> tuple[float, float]:
    return at_ten(relevant[np.lexsort((pool.keys, -pool.relevance))[:10]], gold)


def main() -> None:
    pipeline.bridge = lambda view, query, pool, limit, bar: pool  # candidates as it meets them
    for name in chosen(__doc__, SETS):
        each = [row for bank in banks(name) for row in figures(bank)]
        mean = 100 * np.mean(each, axis=0)
        print(f"{name}, {len(each)} queries")
        for variant, (recall, ndcg) in zip(VARIANTS, mean, strict=True):
            changed = ", ".join(f"{k} {v:g}" for k, v in variant.items()) or "as it is"
            print(f"  {changed:20} {recall:5.1f} / {ndcg:4.1f}", flush=True)


if __name__ == "__main__":
    main()

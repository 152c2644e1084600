"""What a time in a question is worth: with it, as if turns were dated facts, and without it.

    python -m training.fit_time [SET …]

Development questions that name a time, recall@10 / NDCG@10. SAID and ELSEWHERE of `recall/relevance.py` were
chosen with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from unittest import mock

import numpy as np
from benchmarks.arguments import chosen
from benchmarks.sets import read, sample
from training.compare import at_ten

import recollect
from recollect.eval.data import Bank
from recollect.eval.splits import Split
from recollect.eval.systems import Recollect as System
from recollect.recall import relevance
from recollect.recall.pipeline import rank
from recollect.recall.request import RecallRequest
from recollect.recall.understand import understand
from recollect.storage.base import View
from recollect.telemetry import Run

# (units kept, queries kept)
PLAN: dict[str, tuple[int | None, int]] = {
    "chats": (None, 60),
    "assistants": (None, 60),
    "notes": (None, 60),
    "realmem": (None, 130),
    "lifebench": (1200, 130),
    "timeqa": (2000, 120),
}
WAYS = ("as it is", "turns as dated facts", "without")


def main(names: list[str]) -> None:
    for name in names:
        found = [row for bank in read(name, Split.DEVELOPMENT).banks for row in _bank(name, bank)]
        means = 100 * np.array(found).mean(axis=0)
        cells = "  ".join(f"{w} {r:.1f} / {n:.1f}" for w, (r, n) in zip(WAYS, means, strict=True))
        print(f"{name:11} {len(found):3} questions  {cells}", flush=True)


def _bank(name: str, bank: Bank) -> list[list[tuple[float, float]]]:
    """Recall@10 and NDCG@10 of each question that names a time, each way."""
    bank = sample(bank, *PLAN[name])
    rows: list[list[tuple[float, float]]] = []
    with recollect.open(":memory:") as memory:
        system = System(memory)
        system.index(bank)
        view = memory._store.view(bank.id)

        def hits(request: RecallRequest, gold: set[str]) -> tuple[float, float]:
            ranked = rank(memory._recalling, view, request, Run())
            keys = ranked.pool.keys[ranked.rows[:10]].tolist()
            loaded = view.load(keys)
            ids = [system._keys.get((bank.id, loaded[key].id), "") for key in keys]
            return at_ten(np.array([i in gold for i in ids]), len(gold))

        for query in bank.queries:
            gold = {system.gold_key(bank, g) for g in query.gold}
            request = memory._request(bank.id, query.text[:2000], dict(system._arguments(query)))
            if gold and _names_a_time(request, view):
                rows.append(_each_way(hits, request, gold))
    return rows


def _names_a_time(request: RecallRequest, view: View) -> bool:
    query = understand(request, view.resolver)
    return bool(query.windows or query.time.excluded)


def _each_way(
    hits: Callable[[RecallRequest, set[str]], tuple[float, float]],
    request: RecallRequest,
    gold: set[str],
) -> list[tuple[float, float]]:
    with mock.patch.object(relevance, "_loosely", lambda signal: signal):
        strictly = hits(request, gold)
    without = replace(request, without=frozenset({"temporal"}))
    return [hits(request, gold), strictly, hits(without, gold)]


if __name__ == "__main__":
    main(chosen(__doc__, PLAN))

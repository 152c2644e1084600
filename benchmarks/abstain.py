"""How well recall knows that it does not know: questions asked of a bank that cannot answer them.

Four banks of the reported splits (`recollect.eval.splits`; the bands were chosen on development ones); each is asked its own questions, which it can
answer, and those of the other three, which it cannot. Prints the share that is turned away at
several floors, with the reranker and without it: a score must mean the same in both.

python benchmarks/abstain.py
"""

from __future__ import annotations

import numpy as np

import recollect
import sets
from recollect.eval.data import Bank
from recollect.eval.splits import Split
from recollect.eval.systems import Recollect as System

SIZES = {
    "realmem": (None, 126),
    "friendsqa": (800, 98),
    "lifebench": (600, 30),
    "timeqa": (600, 96),
}
ASKED = 25  # questions of each bank
FLOORS = (0.01, 0.02, 0.03, 0.05, 0.1)


def main() -> None:
    banks = {
        name: sets.sample(sets.read(name, Split.REPORTED).banks[0], units, queries)
        for name, (units, queries) in SIZES.items()
    }
    with recollect.open(":memory:") as memory:
        for bank in banks.values():
            System(memory).index(bank)
        for mode, without in (("reranked", ()), ("not reranked", ("rerank",))):
            known, unknown = measure(memory, banks, without)
            print(f"{mode}: floor, unknown turned away, known turned away")
            for floor in FLOORS:
                print(
                    f"  {floor:5.2f}  {(unknown < floor).mean():.3f}  {(known < floor).mean():.3f}"
                )


def measure(
    memory: recollect.Recollect, banks: dict[str, Bank], without: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The relevance of the best hit, for questions the bank can and cannot answer."""
    scores: dict[bool, list[float]] = {True: [], False: []}
    for asked, bank in banks.items():
        for other, source in banks.items():
            for query in source.queries[:ASKED]:
                when = {"query_timestamp": query.time} if query.time else {}
                result = memory.recall(bank.id, query.text[:1500], without=without, **when)
                best = result.results[0].scores["relevance"] if result.results else 0.0
                scores[asked == other].append(best)
    return np.array(scores[True]), np.array(scores[False])


if __name__ == "__main__":
    main()

"""Kill -9 a worker again and again while it works off accepted retains.

    python benchmarks/crash_queue.py [--rounds 100] [--seed 1]

Every round accepts retains (long ones, stored in two parts, and versions of one document), lets
a worker process begin, and kills it at a random moment. In the end whatever is left is worked off,
and then everything accepted must be there exactly once: no fact lost, none stored or counted
twice, and of each document the last version.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import signal
import tempfile
import time
from pathlib import Path

from arguments import count
from recollect.memory import Recollect
from recollect.server.operations import Operations, QueueRules
from recollect.testing import open_fake
from recollect.types import OperationState

FACTS = 270  # more than one transaction takes
BANKS = 7
PATIENT = QueueRules(look_s=0.05, crashes=10**9)  # nobody is given up for being killed here


def work(db: str) -> None:
    with open_fake(db) as memory, Operations(memory, PATIENT):
        signal.pause()


def accept(operations: Operations, number: int) -> None:
    bank = f"bank-{number % BANKS}"
    facts = [{"text": f"Fact {number}-{n} is about {n * (number + 1)}"} for n in range(FACTS)]
    operations.submit_retain(bank, facts)
    version = {"content": f"This is version {number}.", "document_id": "page"}
    operations.submit_retain(bank, [version])


def crash(db: Path, after: float) -> None:
    worker = CONTEXT.Process(target=work, args=(str(db),), daemon=True)
    worker.start()
    time.sleep(after)
    worker.kill()
    worker.join()


def check(memory: Recollect, rounds: int) -> int:
    """Raises AssertionError when anything is wrong; gives how many memories there are."""
    found = [m for b in memory.banks() for m in memory.memories(b.id, limit=10**9)]
    told = sorted(m.text for m in found if m.document_id != "page")
    given = [f"Fact {r}-{n} is about {n * (r + 1)}" for r in range(rounds) for n in range(FACTS)]
    assert told == sorted(given), "a fact is missing, or there twice"
    assert {m.proof_count for m in found} == {1}, "a fact was counted twice"
    last = {f"bank-{r % BANKS}": f"This is version {r}." for r in range(rounds)}
    pages = {m.bank: m.text for m in found if m.document_id == "page"}
    assert pages == last, "an earlier version of a document came last"
    return len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=count, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "memory.db"
        with open_fake(db) as memory:
            operations = Operations(memory, PATIENT)
            for number in range(given.rounds):
                accept(operations, number)
                crash(db, chance.uniform(0.05, 1.5))
            left = 2 * given.rounds - operations.counts()[OperationState.DONE]
            operations.take_over()
            operations.work_off()
            memories = check(memory, given.rounds)
            counts = operations.counts()
    attempts = f"{given.rounds} kills, {left} of {2 * given.rounds} retains left by them"
    print(
        f"{attempts}; in the end {counts[OperationState.DONE]} done, {memories} memories, each once"
    )


CONTEXT = multiprocessing.get_context("forkserver")

if __name__ == "__main__":
    CONTEXT.set_forkserver_preload(["recollect.testing", "recollect.server.operations"])
    main()

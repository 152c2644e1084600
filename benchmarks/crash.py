"""Kill a writing process with -9 a thousand times; nothing acknowledged may be lost. Kill one that
brings a bank in; the bank must be whole or not there.

python -m benchmarks.crash [--kills 1000] [--check-every 10] [--job write|import|copy]
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
from benchmarks.arguments import count, described
from benchmarks.machine import disk_bytes, write

from recollect.memory import Recollect
from recollect.testing import open_fake
from recollect.testing.crash import BANK, Nursery

FACTS = 1_000  # of the bank that is brought in


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--kills", type=count, default=1000)
    parser.add_argument("--check-every", type=count, default=10)
    parser.add_argument("--job", choices=("write", "import", "copy"), default="write")
    given = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "memory.db"
        if given.job == "write":
            found = writing(db, given.kills, given.check_every)
        else:
            found = bringing(db, given.kills, given.job)
        found["seconds"] = round(time.perf_counter() - began, 1)
        found["megabytes"] = round(disk_bytes(db) / 1e6, 1)
    print(found)
    write("crash" if given.job == "write" else f"crash-{given.job}", found)


def writing(db: Path, kills: int, check_every: int) -> dict[str, Any]:
    moments = random.Random(1)
    with Nursery(db) as nursery:
        for number in range(1, kills + 1):
            nursery.crash(after=moments.uniform(0.0, 0.05), opening=number % 5 == 0)
            if number % check_every == 0 or number == kills:
                nursery.check()
        return {
            "kills": nursery.crashes,
            "acknowledged": len(nursery.acknowledged),
            "lost": 0,  # `check` has looked for every one of them
        }


def bringing(db: Path, kills: int, job: str) -> dict[str, Any]:
    """After every kill: each bank that can be seen is the whole one."""
    source = db.with_suffix(".source")
    with open_fake(source) as memory:
        memory.retain(BANK, {"facts": [f"Person{n % 97} has {n} cats" for n in range(FACTS)]})
        whole = exported(memory, BANK)
        lines = (orjson.dumps(line) for line in memory.export(BANK))
        db.with_suffix(".jsonl").write_bytes(b"\n".join(lines))
    moments, seen = random.Random(1), Counter[str]()
    with Nursery(db, job) as nursery:
        for _ in range(kills):
            nursery.crash(after=moments.uniform(0.0, 0.6), opening=True)
            with open_fake(db) as memory:
                seen["in the making"] += len(memory.arrivals())
                for bank in memory.banks():
                    assert exported(memory, bank.id) == whole, "a half that looks whole"
                    seen["whole"] += 1
                    memory.delete_bank(bank.id)
                if job == "import":  # each under a name of its own: nothing takes it up
                    for half in memory.arrivals():
                        memory.delete_bank(half)
    return {"kills": kills, **seen, "half": 0}


def exported(memory: Recollect, bank: str) -> list[bytes]:
    return [orjson.dumps(line) for line in memory.export(bank)][1:]


if __name__ == "__main__":
    main()

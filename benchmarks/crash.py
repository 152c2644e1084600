"""Kill a writing process with -9 a thousand times; nothing acknowledged may be lost.

python -m benchmarks.crash [--kills 1000] [--check-every 10]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from benchmarks.machine import disk_bytes, write

from recollect.testing.crash import Nursery


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--check-every", type=int, default=10)
    given = parser.parse_args()
    moments = random.Random(1)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "memory.db"
        with Nursery(db) as nursery:
            for number in range(1, given.kills + 1):
                nursery.crash(after=moments.uniform(0.0, 0.05), opening=number % 5 == 0)
                if number % given.check_every == 0 or number == given.kills:
                    nursery.check()
            found = {
                "kills": nursery.crashes,
                "acknowledged": len(nursery.acknowledged),
                "lost": 0,  # `check` has looked for every one of them
                "seconds": round(time.perf_counter() - began, 1),
                "megabytes": round(disk_bytes(db) / 1e6, 1),
            }
    print(found)
    write("crash", found)


if __name__ == "__main__":
    main()

"""kill -9 while writing: what was acknowledged is there, and nothing needs repair.
`benchmarks/crash.py` does the same a thousand times."""

from __future__ import annotations

import random
from pathlib import Path

from recollect.testing.crash import Nursery


def test_nothing_acknowledged_is_lost_by_kill_9(db: Path) -> None:
    moments = random.Random(7)
    with Nursery(db) as nursery:
        for number in range(40):
            # Every fourth while it opens the file, the others in the midst of writing.
            nursery.crash(after=moments.uniform(0.0, 0.05), opening=number % 4 == 0)
            nursery.check()
        assert len(nursery.acknowledged) >= 30

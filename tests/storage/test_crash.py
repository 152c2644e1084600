"""kill -9 while writing: what was acknowledged is there, and nothing needs repair.
`benchmarks/crash.py` does the same a thousand times."""

from __future__ import annotations

import random
from pathlib import Path

from recollect.testing.crash import Nursery


def test_nothing_acknowledged_is_lost_by_kill_9(db: Path) -> None:
    moments = random.Random(7)
    with Nursery(db) as nursery:
        for _ in range(40):
            nursery.crash(after=moments.uniform(0.01, 0.25))
            nursery.check()
        assert len(nursery.acknowledged) > 15

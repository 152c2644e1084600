"""Timing that can be believed on a busy machine: CPU time and medians."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Cost:
    """Milliseconds a call."""

    cpu_p50: float
    cpu_p95: float
    wall_p50: float
    wall_p95: float
    calls: int

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def cost(calls: Sequence[Callable[[], Any]]) -> Cost:
    """Each call once, alone; CPU counts every thread of this process."""
    cpus, walls = [], []
    for call in calls:
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        cpus.append((time.process_time() - cpu) * 1e3)
        walls.append((time.perf_counter() - wall) * 1e3)
    return Cost(_at(cpus, 50), _at(cpus, 95), _at(walls, 50), _at(walls, 95), len(calls))


def throughput(call: Callable[[int], Any], *, callers: int, calls: int) -> dict[str, float]:
    """Calls a second with so many callers at once, and the CPU each call cost."""
    with ThreadPoolExecutor(callers) as pool:
        wall, cpu = time.perf_counter(), time.process_time()
        list(pool.map(call, range(calls)))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"callers": callers, "per_second": calls / wall, "cpu_ms": cpu / calls * 1e3}


def _at(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return (
        ordered[min(len(ordered) - 1, round((len(ordered) - 1) * percent / 100))]
        if ordered
        else 0.0
    )

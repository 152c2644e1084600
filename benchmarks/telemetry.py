"""What watching costs: a recall and a retain with nobody watching, with metrics, with spans.

    python benchmarks/telemetry.py [--calls 200]

CPU time of the process, medians, the three taking turns call by call so that a busy machine
treats them alike. The model is a fake one: the less a recall costs, the more watching shows.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from arguments import count
from recollect.memory import Recollect
from recollect.server.metrics import Metrics
from recollect.telemetry import Run, watch
from recollect.testing import open_fake

MEMORIES = 2000
STAGES = 1000


@contextmanager
def unwatched() -> Iterator[None]:
    yield


@contextmanager
def metrics() -> Iterator[None]:
    unwatch = watch(_METRICS)
    try:
        yield
    finally:
        unwatch()


@contextmanager
def spans() -> Iterator[None]:
    import sys

    sys.modules["opentelemetry.sdk.trace"] = _SDK
    try:
        yield
    finally:
        del sys.modules["opentelemetry.sdk.trace"]


def timed(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1e3


def stages() -> None:
    """Nothing but the wrapper."""
    with Run(name="nothing") as run:
        for _ in range(STAGES):
            with run.stage("empty"):
                pass


def measure(memory: Recollect, calls: int) -> None:
    ways = {"nobody": unwatched, "metrics": metrics, "spans": spans}
    recalls: dict[str, list[float]] = {name: [] for name in ways}
    retains: dict[str, list[float]] = {name: [] for name in ways}
    number = 0
    for _ in range(calls):
        for name, watched in ways.items():
            number += 1
            with watched():
                asked = f"What is fact {number % MEMORIES} about, and {number}?"
                recalls[name].append(timed(lambda q=asked: memory.recall("b", q)))
                told = f"New fact {number} is about {number * 7}"
                retains[name].append(timed(lambda t=told: memory.retain("b", {"text": t})))
    print(f"{'watched by':12}{'recall':>10}{'retain':>10}   ms of CPU, median of {calls}", end="")
    print(f"{'a stage':>12}   µs")
    for name, watched in ways.items():
        recall, retain = (statistics.median(found[name]) for found in (recalls, retains))
        with watched():
            alone = statistics.median(timed(stages) for _ in range(20))
        print(f"{name:12}{recall:10.3f}{retain:10.3f}{alone * 1e3 / STAGES:43.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=count, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_fake(Path(folder) / "m.db") as memory:
        memory.retain("b", [{"text": f"Fact {n} is about {n * n}"} for n in range(MEMORIES)])
        measure(memory, given.calls)


def _loaded() -> object:
    """The SDK, set up to make spans and drop them, and then out of sight."""
    import sys

    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    trace.set_tracer_provider(TracerProvider())
    return sys.modules.pop("opentelemetry.sdk.trace")


if __name__ == "__main__":
    _SDK = _loaded()
    _METRICS = Metrics()
    _METRICS.close()
    main()

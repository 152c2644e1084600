"""What Prometheus reads: requests, the stages of every run, the cache, the queue.

Where several processes serve one address, they count in files of a folder that all of them know
(`TOGETHER`), and whichever is asked adds them up. The variable must be set before this module is
imported: the library decides then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from recollect.errors import RecollectError
from recollect.server.tally import Tally
from recollect.telemetry import Run, watch
from recollect.types import Arm, StageTrace

if TYPE_CHECKING:
    from recollect.server.operations import Operations

CONTENT_TYPE = CONTENT_TYPE_LATEST
TOGETHER = "PROMETHEUS_MULTIPROC_DIR"
_ARMS = frozenset(Arm)
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_COUNTS = (0, 1, 3, 10, 30, 100, 300, 1000)


class Metrics:
    """A registry of its own, and a `Watch` on every run of the process."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        histogram = partial(Histogram, buckets=_SECONDS, registry=registry)
        counter = partial(Counter, registry=registry)
        self._requests = histogram(
            "recollect_http_request_seconds",
            "Requests by operation and status.",
            ("operation", "status"),
        )
        self.in_flight = Gauge(
            "recollect_http_requests_in_flight",
            "Requests being answered now.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._queue: Collector | None = None
        self._runs = histogram(
            "recollect_run_seconds", "Recalls and retains, whole.", ("run", "outcome")
        )
        folder = os.environ.get(TOGETHER)
        self._stages = Tally(
            "recollect_stage_seconds",
            "Stages of recalls and retains.",
            ("run", "stage"),
            _SECONDS,
            folder,
        )
        self._found = Tally(
            "recollect_arm_candidates",
            "How many memories each arm found.",
            ("arm",),
            _COUNTS,
            folder,
        )
        for tally in (self._stages, self._found):
            registry.register(tally)
        self._cache = counter(
            "recollect_recall_cache", "Recalls by what the cache had.", ("result",)
        )
        self._degraded = counter(
            "recollect_degraded", "Parts that an answer had to do without.", ("part",)
        )
        self._waits = histogram(
            "recollect_wait_seconds",
            "Waiting for something shared, such as a connection of a pool.",
            ("what",),
        )
        # `labels` finds each anew.
        self._request = cache(self._requests.labels)
        self._run = cache(self._runs.labels)
        self._unwatch: Callable[[], None] = watch(self)

    def watch_queue(self, operations: Operations) -> None:
        self._queue = _Queue(operations)
        self.registry.register(self._queue)

    def request(self, operation: str, status: int, seconds: float) -> None:
        self._request(operation, str(status)).observe(seconds)

    def text(self) -> bytes:
        if TOGETHER not in os.environ:
            return generate_latest(self.registry)
        whole = CollectorRegistry()
        MultiProcessCollector(whole)
        for tally in (self._stages, self._found):
            whole.register(tally)
        if self._queue is not None:
            whole.register(self._queue)
        return generate_latest(whole)

    def close(self) -> None:
        self._unwatch()

    # --- as a Watch --------------------------------------------------------------------------

    def stage(self, run: str, trace: StageTrace) -> None:
        self._stages.observe((run, trace.stage), trace.took_ms / 1000)
        if trace.stage in _ARMS and "found" in trace.detail:
            self._found.observe((trace.stage,), trace.detail["found"])

    def ended(self, run: Run, error: BaseException | None) -> None:
        outcome = "done" if error is None else "failed"
        self._run(run.name, outcome).observe(run.elapsed_ms() / 1000)
        if "cached" in run.detail:
            self._cache.labels("hit" if run.detail["cached"] else "miss").inc()
        for part in run.degraded:
            self._degraded.labels(part.part).inc()

    def waited(self, what: str, seconds: float) -> None:
        self._waits.labels(what).observe(seconds)


class _Queue(Collector):
    """Asked of the store when somebody looks."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "recollect_operations", "Operations of all banks by state.", labels=["state"]
        )
        try:
            counts = self._operations.counts()
        except RecollectError:
            return  # no figure is better than a wrong one; /health says what is the matter
        for state, count in counts.items():
            family.add_metric([state.value], count)
        yield family

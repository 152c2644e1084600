"""Histograms that are told a dozen numbers with every recall.

A number of `prometheus_client`'s takes two locks and, where processes count together, two searches and
two writes in Python; those of one recall took as long as finding its words. Here it is one step in a row of
plain numbers: in memory, or in a file that all processes of a server read.
"""

from __future__ import annotations

import mmap
import os
import threading
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import orjson
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

MOST = 256  # combinations of labels; a recall and a retain have some forty
Labels = tuple[str, ...]


class Tally(Collector):
    """One histogram. `folder` is where several processes count together."""

    def __init__(
        self,
        name: str,
        says: str,
        labels: Sequence[str],
        bounds: Sequence[float],
        folder: str | None,
    ) -> None:
        self._name, self._says, self._labels, self._bounds = name, says, labels, bounds
        self._wide = len(bounds) + 2  # how many up to each bound, how many above all, and their sum
        self._lock = threading.Lock()
        self._starts: dict[Labels, int] = {}  # of a row
        self._place = None if folder is None else Path(folder) / f"{name}-{os.getpid()}.rows"
        self._cells = self._opened()

    def observe(self, labels: Labels, value: float) -> None:
        with self._lock:
            start = self._starts.get(labels)
            if start is None:
                start = self._new_row(labels)
            self._cells[start + bisect_left(self._bounds, value)] += 1
            self._cells[start + self._wide - 1] += value

    def collect(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(self._name, self._says, labels=self._labels)
        bounds = [*(repr(float(bound)) for bound in self._bounds), "+Inf"]
        for labels, (*counts, total) in sorted(self._rows().items()):
            family.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), total)
        yield family

    def _opened(self) -> memoryview[float]:
        empty = array("d", bytes(8 * MOST * self._wide))
        if self._place is None:
            return memoryview(empty)
        self._place.write_bytes(empty.tobytes())
        with self._place.open("r+b") as file:
            return memoryview(mmap.mmap(file.fileno(), 0)).cast("d")

    def _new_row(self, labels: Labels) -> int:
        start = len(self._starts) * self._wide
        if len(self._starts) == MOST:
            raise RuntimeError(f"{self._name} has more than {MOST} combinations of labels")
        self._starts[labels] = start
        if self._place is not None:  # whole, so that whoever reads it meanwhile can
            written = self._place.with_suffix(".new")
            written.write_bytes(orjson.dumps(list(self._starts)))
            written.replace(self._place.with_suffix(".labels"))
        return start

    def _rows(self) -> dict[Labels, list[float]]:
        """Of all processes, added up."""
        with self._lock:
            found = [(list(self._starts), self._cells.tolist())]
        if self._place is not None:
            found = [_read(file) for file in self._place.parent.glob(f"{self._name}-*.labels")]
        wide, rows = self._wide, defaultdict[Labels, list[float]](lambda: [0.0] * self._wide)
        for names, cells in found:
            for number, labels in enumerate(names):
                own = cells[number * wide : (number + 1) * wide]
                rows[labels] = [a + b for a, b in zip(rows[labels], own, strict=True)]
        return rows


def _read(labels: Path) -> tuple[list[Labels], list[float]]:
    cells = array("d")
    cells.frombytes(labels.with_suffix(".rows").read_bytes())
    return [tuple(names) for names in orjson.loads(labels.read_bytes())], cells.tolist()

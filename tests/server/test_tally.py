"""Histograms that are cheap to tell a number, and that several processes count in together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Histogram

from recollect.server import tally
from recollect.server.tally import Tally

BOUNDS = (0.125, 1.0, 10.0)
TOLD = [("a", 0.0625), ("a", 0.125), ("a", 0.5), ("b", 10.0), ("b", 11.0), ("a", 3.0)]


def made(folder: Path | None = None) -> Tally:
    return Tally("seconds", "How long.", ("what",), BOUNDS, None if folder is None else str(folder))


def samples(tally: Tally) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    (family,) = tally.collect()
    return {(s.name, frozenset(s.labels.items())): s.value for s in family.samples}


def test_it_tells_what_a_histogram_tells() -> None:
    mine, registry = made(), CollectorRegistry()
    theirs = Histogram("seconds", "How long.", ("what",), buckets=BOUNDS, registry=registry)
    for what, value in TOLD:
        mine.observe((what,), value)
        theirs.labels(what).observe(value)
    found = samples(mine)
    (family,) = registry.collect()
    wanted = [s for s in family.samples if not s.name.endswith("_created")]
    assert found == {(s.name, frozenset(s.labels.items())): s.value for s in wanted}


def test_whichever_process_is_asked_tells_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = made()
    together: list[Tally] = []
    for number in range(2):
        monkeypatch.setattr(tally.os, "getpid", lambda number=number: number)
        together.append(made(tmp_path))
    for at, (what, value) in enumerate(TOLD):
        alone.observe((what,), value)
        together[at % 2].observe((what,), value)
    assert samples(together[0]) == samples(together[1]) == samples(alone)


def test_no_number_is_lost_among_threads() -> None:
    counting = made()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: counting.observe(("a",), n % 3), range(4000)))
    assert samples(counting)["seconds_count", frozenset({("what", "a")})] == 4000

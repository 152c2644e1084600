"""Several processes behind one address count together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
from prometheus_client.parser import text_string_to_metric_families

import recollect

from .test_operations_process import serving

CLIENTS, RECALLS = 4, 3


def counted(url: str, name: str, **labels: str) -> float:
    text = httpx2.get(f"{url}/metrics").text
    samples = [s for f in text_string_to_metric_families(text) for s in f.samples]
    return sum(s.value for s in samples if s.name == name and labels.items() <= s.labels.items())


def test_whichever_process_is_asked_tells_of_all(db: Path) -> None:
    with serving(db, "--workers", "2") as server:

        def ask(number: int) -> None:
            with recollect.connect(server.url) as client:  # a connection of its own
                for n in range(RECALLS):
                    client.recall("alice", f"What is {number} about {n}?")

        with recollect.connect(server.url) as client:
            client.retain("alice", "Alice runs.")
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(ask, range(CLIENTS)))
        for _ in range(3):
            found = counted(server.url, "recollect_run_seconds_count", run="recall")
            assert found == CLIENTS * RECALLS
        assert counted(server.url, "recollect_operations", state="done") == 1

"""Several processes behind one address count together."""

from __future__ import annotations

import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from prometheus_client.parser import text_string_to_metric_families

import recollect

from .conftest import PATIENCE_S, start
from .test_operations_process import serving
from .test_running import needs_proc, workers_of

CLIENTS, RECALLS = 4, 3


def counted(url: str, name: str, **labels: str) -> float:
    text = httpx2.get(f"{url}/metrics", timeout=PATIENCE_S).text
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


HALF = (
    b"POST /v1/default/banks/alice/memories HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
)


@needs_proc
def test_what_a_dead_process_was_about_is_not_in_flight(tmp_path: Path) -> None:
    server = start(tmp_path / "m.db", "--workers", "2")
    name = "recollect_http_requests_in_flight"
    try:
        where = urlsplit(server.url)
        with socket.create_connection((where.hostname or "", where.port or 0)) as asking:
            asking.sendall(HALF)
            while counted(server.url, name) != 2:  # this one, and who asks
                pass
            for pid in workers_of(server):
                os.kill(pid, signal.SIGKILL)
            assert asking.recv(1) == b""
        until = time.monotonic() + PATIENCE_S  # they are started anew one after the other
        while counted(server.url, name) != 1:
            assert time.monotonic() < until
    finally:
        assert server.stop() == 0

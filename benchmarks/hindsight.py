"""Hindsight as a system under test: installed in a venv of its own, run on loopback, stopped.

It runs with no LLM (its `chunks` mode), the same MiniLM weights and no cross-encoder, as an
unprivileged user because its embedded PostgreSQL refuses root.
"""

from __future__ import annotations

import http.client
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import psycopg

import minilm
from machine import CACHE, disk_bytes
from processes import cpu_s, rss_mb, with_children
from recollect.eval.data import Bank, Query, Unit
from recollect.eval.metrics import Ranked
from recollect.language.tokens import count_tokens

VERSION = "1.1.0"
# 1.5.0 of the date library raises on phrases that 1.4.2 reads
PACKAGES = (f"hindsight-api=={VERSION}", f"hindsight-client=={VERSION}", "dateparser==1.4.2")
VENV = CACHE / "hindsight"
BATCH = 100
STARTS_S = 240  # at the most, until it answers


def install() -> Path:
    """The venv with the peer in it; several gigabytes and minutes the first time."""
    server = VENV / "bin" / "hindsight-api"
    if not server.exists():
        subprocess.run([_interpreter(), "-m", "venv", str(VENV)], check=True)
        subprocess.run([str(VENV / "bin" / "pip"), "install", "-q", *PACKAGES], check=True)
    return server


def _interpreter() -> str:
    """A Python that an unprivileged user may run too: root's own is often out of reach."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        real = Path(candidate).resolve()
        if real.exists() and all(
            part.stat().st_mode & 0o005 == 0o005 for part in (real, *real.parents)
        ):
            return candidate
    raise SystemExit("no Python that an unprivileged user may run; install one system-wide")


@dataclass(frozen=True)
class Usage:
    cpu_s: float
    rss_mb: float


class Server:
    """The API server with its embedded PostgreSQL: what both cost, counted together."""

    def __init__(
        self, process: subprocess.Popen[bytes], home: Path, port: int, started_s: float
    ) -> None:
        self._process = process
        self.home = home
        self.port = port
        self.started_s = started_s

    def usage(self) -> Usage:
        pids = self.pids()
        return Usage(cpu_s(pids), sum(map(rss_mb, pids)))

    def pids(self) -> set[int]:
        """The server, PostgreSQL (which detaches from it), and all they started."""
        return {*self.api_pids(), *self.postgres_pids()}

    def api_pids(self) -> set[int]:
        return with_children({self._process.pid}) - self.postgres_pids()

    def postgres_pids(self) -> set[int]:
        return with_children(set(_postmasters(self.home)))

    def database(self, name: str) -> str:
        """The address of another database on the same PostgreSQL, made when it is not there."""
        (about,) = self.home.glob(".pg0/instances/*/instance.json")
        told = orjson.loads(about.read_bytes())
        address = "postgresql://{username}:{password}@127.0.0.1:{port}/".format(**told)
        if name != told["database"]:
            with psycopg.connect(address + told["database"], autocommit=True) as db:
                db.execute(f'CREATE DATABASE "{name}"'.encode())
        return address + name

    def disk(self) -> int:
        """Tables and indexes; its write-ahead log is preallocated and would say little."""
        return sum(disk_bytes(folder / "base") for folder in _data_folders(self.home))

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            payload = None if body is None else orjson.dumps(body)
            connection.request(method, path, payload, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return orjson.loads(content) if content else None


@contextmanager
def server() -> Iterator[Server]:
    """Start it on a free port with an empty home, and leave nothing running."""
    command = install()
    home = Path(tempfile.mkdtemp(prefix="hindsight-home-", dir=CACHE))
    user = _unprivileged()
    if user:
        os.chown(home, user.pw_uid, user.pw_gid)
    port = _free_port()
    log = (CACHE / "hindsight.log").open("wb")
    begun = time.perf_counter()
    process = subprocess.Popen(
        [str(command), "--host", "127.0.0.1", "--port", str(port)],
        env=_environment(home, port),
        cwd=home,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        **({"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}),
    )
    running = Server(process, home, port, 0.0)
    try:
        _wait(running, process)
        running.started_s = time.perf_counter() - begun
        yield running
    finally:
        _stop(running, process)
        log.close()
        shutil.rmtree(home, ignore_errors=True)


def _environment(home: Path, port: int) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "HINDSIGHT_API_LLM_PROVIDER": "none",
        "HINDSIGHT_API_DATABASE_URL": "pg0",
        "HINDSIGHT_API_HOST": "127.0.0.1",
        "HINDSIGHT_API_PORT": str(port),
        "HINDSIGHT_API_EMBEDDINGS_PROVIDER": "local",
        "HINDSIGHT_API_EMBEDDINGS_LOCAL_MODEL": str(minilm.folder()),
        "HINDSIGHT_API_EMBEDDINGS_LOCAL_FORCE_CPU": "true",
        "HINDSIGHT_API_RERANKER_PROVIDER": "rrf",
        "HINDSIGHT_API_LOG_LEVEL": "warning",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }


def _wait(running: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTS_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(
                f"the peer ended with {process.returncode}; see .cache/hindsight.log"
            )
        try:
            running.call("GET", "/health")
            return
        except (OSError, http.client.HTTPException, RuntimeError):
            time.sleep(0.25)
    raise RuntimeError("the peer did not answer in time; see .cache/hindsight.log")


def _stop(running: Server, process: subprocess.Popen[bytes]) -> None:
    own = running.pids()
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in own - {process.pid}:
        _end(pid)
    for _ in range(40):
        if not any(Path(f"/proc/{pid}").exists() for pid in own):
            return
        time.sleep(0.25)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGINT)  # PostgreSQL's fast shutdown
    except ProcessLookupError:
        return


def _postmasters(home: Path) -> list[int]:
    files = home.rglob("postmaster.pid")
    return [int(f.read_text().split()[0]) for f in files]


def _data_folders(home: Path) -> list[Path]:
    return [f.parent for f in home.rglob("PG_VERSION") if (f.parent / "base").is_dir()]


def _unprivileged() -> pwd.struct_passwd | None:
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Hindsight:
    """The peer behind the same protocol as recollect and the baseline."""

    name = f"Hindsight {VERSION}"

    def __init__(self, running: Server, *, budget: str = "mid", max_tokens: int = 8192) -> None:
        self._server = running
        self._budget = budget
        self._max_tokens = max_tokens

    def index(self, bank: Bank) -> None:
        remaining = iter(bank.units)
        while batch := list(islice(remaining, BATCH)):
            self.retain(bank.id, batch)

    def retain(self, bank: str, units: list[Unit]) -> None:
        items = [_item(unit) for unit in units]
        self._server.call(
            "POST", f"/v1/default/banks/{_name(bank)}/memories", {"items": items, "async": False}
        )

    def gold_key(self, bank: Bank, unit_id: str) -> str:
        return unit_id

    def search(self, bank: Bank, query: Query) -> Ranked:
        wall = time.perf_counter()
        hits = self.recall(bank.id, query)
        wall = time.perf_counter() - wall
        best: dict[str, int] = {}
        for hit in hits:
            best.setdefault(unit_of(hit), count_tokens(hit["text"]))
        return Ranked(tuple(best), tuple(best.values()), wall_ms=wall * 1e3)

    def recall(self, bank: str, query: Query) -> list[dict[str, Any]]:
        """The answer as it comes over the wire."""
        body: dict[str, Any] = {
            "query": query.text,
            "budget": self._budget,
            "max_tokens": self._max_tokens,
        }
        if query.time:
            body["query_timestamp"] = query.time.isoformat()
        path = f"/v1/default/banks/{_name(bank)}/memories/recall"
        return self._server.call("POST", path, body)["results"]


def unit_of(hit: Mapping[str, Any]) -> str:
    return (hit.get("metadata") or {}).get("unit", hit["id"])


def _item(unit: Unit) -> dict[str, Any]:
    said = f"{unit.speaker}: {unit.text}" if unit.speaker else unit.text
    if title := unit.fields.get("title"):
        said = f"{title}: {said}"
    item: dict[str, Any] = {"content": said, "metadata": {"unit": unit.id}}
    if unit.time:
        item["timestamp"] = unit.time.isoformat()
    if unit.tags:
        item["tags"] = list(unit.tags)
    return item


def _name(bank: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in bank)

"""What serving costs: the CPU that HTTP adds to a recall, recalls a second, memory, start.

    python benchmarks/serving.py [--facts 10000] [--queries 300] [--peer] [--out NAME]

The reranker is off, as it is for the peer. One server process is asked by one client (for the
CPU of a single recall) and by eight (for recalls a second); the same questions are asked of the
library in a process of its own. --peer runs Hindsight after it, asked by the same clients with the
same requests (`asking.py`).
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from arguments import count, described
from asking import ask, post
from machine import CACHE, rss_mb, write
from synthetic import facts

BANK = "served"
BATCH = 100
CLIENTS = 8
WARM = 20
WORKERS = 2
ROUNDS = 3
TURNS = 9  # with the peer: a second or two each, and busy seconds are long
TICKS = os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = described(__doc__)
    parser.add_argument("--facts", type=count, default=10_000)
    parser.add_argument("--queries", type=count, default=300)
    parser.add_argument("--peer", action="store_true", help="Hindsight, too")
    parser.add_argument("--out", default="serving")
    parser.add_argument("--library", metavar="DB", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.library:
        sys.stdout.buffer.write(
            orjson.dumps(library(options.library, options.queries, options.facts))
        )
    else:
        run(options.facts, options.queries, options.peer, options.out)


def run(size: int, queries: int, peer: bool, out: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "memory.db"
        shutil.copyfile(filled(size), db)
        found: dict[str, Any] = {"facts": size, "start": [start(db) for _ in range(3)]}
        asked = questions(size, queries)
        with served(db) as server:
            found["rss_idle_mb"] = server.rss_mb()
            found |= side_by_side(server, db, asked, size)
            found["clients_8"] = many(server.port, server.cpu_s, asked)
            found["rss_mb"] = server.rss_mb()
        with served(db, workers=WORKERS) as server:
            found["clients_8_workers_2"] = many(server.port, server.cpu_s, asked)
            found["rss_workers_2_mb"] = server.rss_mb()
        if peer:
            found["peer"] = hindsight(size, asked, db)
    found["http_adds_cpu_ms"] = {
        name: found[f"http_{name}"]["cpu_ms"] - found["library"]["cpu_ms"]
        for name in ("plain", "gzip")
    }
    say(found)
    print(f"wrote results/{write(out, {'kind': 'serving', **found}).name}", file=sys.stderr)


def side_by_side(server: Served, db: Path, asked: Sequence[str], size: int) -> dict[str, Any]:
    """The library and the server in turns, so that a busy minute is not one's alone; medians."""
    rounds: dict[str, list[dict[str, float]]] = {"library": [], "http_plain": [], "http_gzip": []}
    arguments = ("--library", str(db), "--queries", str(len(asked)), "--facts", str(size))
    for _ in range(ROUNDS):
        rounds["library"].append(fresh(*arguments))
        rounds["http_plain"].append(one_by_one(server, asked, "identity"))
        rounds["http_gzip"].append(one_by_one(server, asked, "gzip"))
    return {
        name: {key: median(r[key] for r in found) for key in found[0]}
        for name, found in rounds.items()
    }


def questions(size: int, count: int) -> list[str]:
    chosen = set(random.Random(3).sample(range(size), min(count, size)))
    return [f.question for n, f in enumerate(facts(size)) if n in chosen]


def filled(size: int) -> Path:
    """A store with so many made-up facts, made once for each embedder."""
    import recollect
    from recollect.models.registry import DEFAULT_EMBEDDER

    path = CACHE / f"served-{DEFAULT_EMBEDDER}-{size}.db"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        making = path.with_suffix(".making")
        making.unlink(missing_ok=True)
        source = iter(facts(size))
        with recollect.open(str(making)) as memory:
            while batch := list(islice(source, BATCH)):
                memory.retain(BANK, [{"text": f.text, "timestamp": f.time} for f in batch])
        making.rename(path)
    return path


def fresh(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, check=True
    )
    return orjson.loads(done.stdout)


def library(db: str, queries: int, size: int) -> dict[str, float]:
    """The same recalls without a server."""
    import recollect

    asked = questions(size, queries)
    with recollect.open(db, reranker="none") as memory:
        for text in asked[:WARM]:
            memory.recall(BANK, text + " again")
        cpu = time.process_time()
        for text in asked:
            memory.recall(BANK, text)
        return {"cpu_ms": (time.process_time() - cpu) / len(asked) * 1e3, "rss_mb": rss_mb()}


# --- the server ------------------------------------------------------------------------------


@dataclass
class Served:
    process: subprocess.Popen[bytes]
    port: int

    def cpu_s(self) -> float:
        return sum(sum(map(int, stat[11:13])) for stat in self._stats()) / TICKS

    def rss_mb(self) -> float:
        pages = sum(int(stat[21]) for stat in self._stats())
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def _stats(self) -> list[list[str]]:
        """Of the process, and of its workers where there are some."""
        pid = self.process.pid
        workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        texts = [Path(f"/proc/{p}/stat").read_text() for p in (pid, *workers)]
        return [text.rsplit(")", 1)[1].split() for text in texts]


@contextmanager
def served(db: Path, workers: int = 1) -> Iterator[Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect.cli", "--json", "serve", "--db", str(db), "--port", "0"]
        + ["--workers", str(workers)],
        stdout=subprocess.PIPE,
        env={**os.environ, "RECOLLECT_RERANKER": "none", "RECOLLECT_LOG_LEVEL": "warning"},
    )
    try:
        assert process.stdout is not None
        url = orjson.loads(process.stdout.readline())["url"]
        yield Served(process, int(url.rpartition(":")[2]))
    finally:
        process.terminate()
        process.wait(60)


def start(db: Path) -> dict[str, float]:
    """From nothing to ready."""
    begun = time.perf_counter()
    with served(db) as server:
        return {"wall_s": time.perf_counter() - begun, "cpu_s": server.cpu_s()}


def recalls(queries: Sequence[str], encoding: str = "identity") -> list[bytes]:
    where = f"/v1/default/banks/{BANK}/memories/recall"
    return [post(where, {"query": q, "include": {"entities": None}}, encoding) for q in queries]


def one_by_one(server: Served, asked: Sequence[str], encoding: str) -> dict[str, float]:
    ask(server.port, recalls([f"{text} {encoding} again" for text in asked[:WARM]], encoding))
    last = "" if encoding == "identity" else " "
    cpu = server.cpu_s()
    found = ask(server.port, recalls([f"{text} {last}" for text in asked], encoding))
    return {
        "cpu_ms": (server.cpu_s() - cpu) / len(asked) * 1e3,
        "wall_p50_ms": median(found.waits_s) * 1e3,
        "answer_bytes": median(map(len, found.answers)),
    }


def many(
    port: int, cpu_s: Callable[[], float], asked: Sequence[str], calls: int = 1200
) -> dict[str, float]:
    """Eight clients, each with its connection; a word more each time, so that no cache answers.
    The CPU is the server's, and beside it that of the clients: on a busy machine they say more than
    the clock."""

    def numbered(numbers: range) -> list[bytes]:
        return recalls([f"{asked[n % len(asked)]} {n}" for n in numbers])

    ask(port, numbered(range(5 * CLIENTS)), clients=CLIENTS)
    cpu = cpu_s()
    found = ask(port, numbered(range(calls, 2 * calls)), clients=CLIENTS)
    return {
        "callers": CLIENTS,
        "per_second": calls / found.wall_s,
        "cpu_ms": (cpu_s() - cpu) / calls * 1e3,
        "clients_cpu_ms": found.cpu_s / calls * 1e3,
    }


# --- the peer --------------------------------------------------------------------------------


def hindsight(size: int, asked: Sequence[str], db: Path) -> dict[str, Any]:
    """Both servers up, asked in turns."""
    from hindsight import server

    with server() as peer:
        source = iter(facts(size))
        while batch := list(islice(source, BATCH)):
            items = [{"content": f.text, "timestamp": f.time.isoformat()} for f in batch]
            peer.call("POST", f"/v1/default/banks/{BANK}/memories", {"items": items})
        with served(db, workers=WORKERS) as mine:
            turns = [
                (
                    many(mine.port, mine.cpu_s, asked, calls=400),
                    many(peer.port, lambda: peer.usage().cpu_s, asked, calls=80),
                )
                for _ in range(TURNS)
            ]
        return {
            "start_s": peer.started_s,
            "rss_mb": peer.usage().rss_mb,
            "turns": turns,
            "recollect": {k: median(m[k] for m, _ in turns) for k in turns[0][0]},
            "hindsight": {k: median(p[k] for _, p in turns) for k in turns[0][1]},
        }


def say(found: dict[str, Any]) -> None:
    adds, plain = found["http_adds_cpu_ms"], found["http_plain"]
    begun = median(s["wall_s"] for s in found["start"]), median(s["cpu_s"] for s in found["start"])
    lines = [
        f"{found['facts']:,} facts, reranker off",
        f"recall: library {found['library']['cpu_ms']:.2f} CPU-ms, over HTTP {plain['cpu_ms']:.2f}: "
        f"adds {adds['plain']:.2f} ({adds['gzip']:.2f} compressed); "
        f"wall p50 {plain['wall_p50_ms']:.1f} ms; answer {plain['answer_bytes'] / 1024:.0f} KB, "
        f"{found['http_gzip']['answer_bytes'] / 1024:.0f} KB compressed",
        *(
            f"8 clients, {name}: {found[key]['per_second']:.0f} recalls/s, "
            f"{found[key]['cpu_ms']:.1f} CPU-ms each and {found[key]['clients_cpu_ms']:.1f} to ask"
            for name, key in (("1 process", "clients_8"), ("2 workers", "clients_8_workers_2"))
        ),
        f"RSS {found['rss_idle_mb']:.0f} MB when ready, {found['rss_mb']:.0f} MB after the recalls, "
        f"{found['rss_workers_2_mb']:.0f} MB with 2 workers",
        f"ready after {begun[0]:.2f} s ({begun[1]:.2f} CPU-s)",
    ]
    if "peer" in found:
        peer = found["peer"]
        mine, theirs = peer["recollect"], peer["hindsight"]
        times = sorted(m["per_second"] / p["per_second"] for m, p in peer["turns"])
        lines.append(
            f"8 clients in turns: recollect (2 workers) {mine['per_second']:.0f} recalls/s for "
            f"{mine['cpu_ms']:.1f} CPU-ms each, Hindsight {theirs['per_second']:.1f} for "
            f"{theirs['cpu_ms']:.0f}: {median(times):.1f} times as many "
            f"({times[0]:.1f} to {times[-1]:.1f}), "
            f"1/{theirs['cpu_ms'] / mine['cpu_ms']:.0f} of the CPU; Hindsight takes "
            f"{peer['rss_mb']:.0f} MB and is ready after {peer['start_s']:.0f} s"
        )
    print("\n".join(lines), file=sys.stderr)


if __name__ == "__main__":
    main()

"""What a bank of any size takes, without waiting for it to be written: rows of a few thousand real
memories are multiplied, each with a key, an id and a vector of its own, and brought in as a copy is.

    python benchmarks/sizing.py [--sizes 10000,100000] [--banks 100x1000] [--queries 50] [--out NAME]

Prints disk and memory a fact, the time to open, and CPU a recall (p50, query embedding included);
every size is measured in a process of its own. With --banks also what many small banks take.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import orjson

import recollect
from arguments import count, counts, described
from machine import disk_bytes, rss_mb, write
from recollect.language.terms import label_hash
from recollect.storage.arrival import begin, parts
from recollect.storage.base import Batch, NewMemory
from synthetic import facts

BANK = "sizing"
POOL = 2_000
PART = 1_000
NOISE = 0.5  # length of what is added to a vector of unit length


def main(arguments: Sequence[str] | None = None) -> None:
    parser = described(__doc__)
    parser.add_argument("--sizes", type=counts, default="10000,100000")
    parser.add_argument("--banks", default="100x1000", help="how many, and facts in each")
    parser.add_argument("--queries", type=count, default=50)
    parser.add_argument("--out", default="sizing")
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.ask:
        sys.stdout.buffer.write(orjson.dumps(ask(options.ask, options.queries)))
        return
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        many = small_banks(*map(int, options.banks.split("x")), Path(folder))
    print(f"{options.banks:>9} {many}", file=sys.stderr)
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            found[str(size)] = one(size, options.queries, Path(folder))
        print(f"{size:>9,} {found[str(size)]}", file=sys.stderr)
        path = write(options.out, {"kind": "sizing", "banks": many, "sizes": found})
    print(f"wrote results/{path.name}", file=sys.stderr)


def one(size: int, queries: int, folder: Path) -> dict[str, Any]:
    path = folder / "bank.db"
    with pool(folder) as few, recollect.open(str(path)) as memory:
        began = time.process_time()
        grow(few, memory, size, BANK)
        cpu = time.process_time() - began
    asked = subprocess.run(
        [sys.executable, __file__, "--ask", str(path), "--queries", str(queries)],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    return {
        "bring_cpu_ms": round(cpu / size * 1e3, 4),
        "disk_bytes_a_fact": round(disk_bytes(path) / size),
        **orjson.loads(asked),
    }


@contextmanager
def pool(folder: Path) -> Iterator[recollect.Recollect]:
    with recollect.open(str(folder / "pool.db")) as few:
        source = iter(facts(POOL))
        while batch := list(islice(source, 100)):
            few.retain(BANK, [{"text": f.text, "timestamp": f.time} for f in batch])
        yield few


def small_banks(count: int, size: int, folder: Path) -> dict[str, Any]:
    """Each asked once, in this process: what they take in memory together, and to be opened."""
    with pool(folder) as few, recollect.open(str(folder / "banks.db")) as memory:
        for number in range(count):
            grow(few, memory, size, f"{BANK}-{number}")
        memory.recall(f"{BANK}-0", "Who was there?")
        held, opened = rss_mb(), list[float]()
        for number in range(1, count):
            began = time.process_time()
            memory.recall(f"{BANK}-{number}", "Who was there?")
            opened.append((time.process_time() - began) * 1e3)
        return {
            "count": count,
            "facts": size,
            "memory_bytes_a_fact": round((rss_mb() - held) * 2**20 / (count - 1) / size),
            "first_recall_cpu_ms": round(median(opened), 1),
            "disk_bytes_a_fact": round(disk_bytes(folder / "banks.db") / count / size),
        }


def grow(few: recollect.Recollect, memory: recollect.Recollect, size: int, bank: str) -> None:
    store = memory._store  # pyright: ignore[reportPrivateUsage]
    dump = few._store.dump(BANK)  # pyright: ignore[reportPrivateUsage]
    entities, held = list(dump.entities), list(dump.memories)
    arrival = begin(store, bank, {}, dump.model)
    arrival.bring(Batch(entities=entities), {})
    for part in parts(multiplied(held, size), PART):
        arrival.bring(Batch(memories=part), {})
    arrival.finish()


def multiplied(held: Sequence[NewMemory], size: int) -> Iterator[NewMemory]:
    rng = np.random.default_rng(1)
    for number in range(size):
        one = held[number % len(held)]
        assert one.vector is not None
        noise = rng.standard_normal(len(one.vector)).astype(np.float32)
        vector = one.vector + NOISE * noise / np.linalg.norm(noise)
        text = f"{one.memory.text} Case {number}."
        yield replace(
            one,
            key=number + 1,
            memory=replace(one.memory, bank=BANK, id=f"{number:032x}", text=text),
            vector=vector / np.linalg.norm(vector),
            statement=label_hash(text),
            slot=0,
            known_until=None,
            before=0,
        )


def ask(path: str, queries: int) -> dict[str, Any]:
    asked = [f.question for f in facts(queries)]
    began, cpu = time.perf_counter(), time.process_time()
    with recollect.open(path) as memory:
        memory.recall(BANK, asked[0])
        opened, opened_cpu = time.perf_counter() - began, time.process_time() - cpu
        size = memory.bank(BANK).memories
        held = rss_mb()
        found = {
            "open_to_answer_ms": round(opened * 1e3),
            "open_to_answer_cpu_ms": round(opened_cpu * 1e3),
            "rss_mb": round(held),
            "index_bytes_a_fact": round((held - empty_mb()) * 2**20 / size),
            "recall_cpu_ms": recalls(memory, asked),
            "recall_late_cpu_ms": recalls(memory, asked, without=["cross-encoder"]),
            "rss_after_recalls_mb": round(rss_mb()),
        }
    with recollect.open(path, reranker="none") as memory:
        memory.recall(BANK, asked[0])
        return {**found, "recall_off_cpu_ms": recalls(memory, asked)}


def empty_mb() -> float:
    """What a process needs that has answered from an empty bank."""
    script = (
        "import recollect, sys; sys.path.insert(0, sys.argv[1]); from machine import rss_mb\n"
        "with recollect.open(':memory:') as m:\n"
        "    m.retain('b', 'Bob runs.'); m.recall('b', 'Who runs?'); print(rss_mb())"
    )
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", script, here], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def recalls(memory: recollect.Recollect, asked: Sequence[str], **options: Any) -> float:
    costs: list[float] = []
    for query in asked:
        began = time.process_time()
        memory.recall(BANK, query, **options)
        costs.append((time.process_time() - began) * 1e3)
    return round(median(costs), 2)


if __name__ == "__main__":
    main()

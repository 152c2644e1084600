"""What it costs to remember: CPU a fact in batches and single, disk, cold open, memory.

    python -m benchmarks.retain [--facts 10000] [--repeats 5] [--stand-in]

The goals are for `--facts 100000`; `--stand-in` fills the bank with vectors of the right shape
that no model made (a tenth of the time; disk, opening and scans cost the same). Facts are `benchmarks.synthetic`, each with its own time, retained with the shipped model into
one bank until it holds --facts. Batches and single facts are measured on top of that, so the
figures are those of a bank of that size. Cold open runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from benchmarks.arguments import count, described
from benchmarks.machine import disk_bytes, write
from benchmarks.synthetic import Fact, facts
from benchmarks.timing import cost

import recollect
from recollect.models.base import Embedder, Encoded

BATCH = 100
COLD = """
import sys, time
wall, cpu = time.perf_counter(), time.process_time()
import recollect
from benchmarks.machine import rss_mb
with recollect.open(sys.argv[1]) as memory:
    found = memory.recall("b", sys.argv[2])
    first = (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3
    print(*first, rss_mb(), found.results[0].text == sys.argv[3], sep="\\t")
"""


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--facts", type=count, default=10_000)
    parser.add_argument("--repeats", type=count, default=5)
    parser.add_argument("--stand-in", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder) / "memory.db", given.facts, given.repeats, given.stand_in)
    print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    write(f"retain-{given.facts}", found)


class StandIn:
    """Vectors of a model's shape, drawn at random: nothing is near anything."""

    def __init__(self, model: Embedder) -> None:
        self.name, self.dimensions = model.name, model.dimensions
        self.token_dimensions = model.token_dimensions
        self._random = np.random.default_rng(3)

    def encode_passages(self, texts: Sequence[str]) -> Encoded:
        drawn = self._random.standard_normal((len(texts), self.dimensions)).astype(np.float32)
        vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        if not self.token_dimensions:
            return Encoded(vectors)
        shapes = ((len(text.split()), self.token_dimensions) for text in texts)
        return Encoded(
            vectors, tuple(self._random.integers(-127, 127, s).astype(np.int8) for s in shapes)
        )

    encode_queries = encode_passages


def measure(db: Path, size: int, repeats: int, stand_in: bool) -> dict[str, Any]:
    stream = facts(size + repeats * BATCH + 50)
    with recollect.open(db) as memory:
        if stand_in:
            memory.embedder = StandIn(memory.embedder)
        fill = _fill(memory, stream, size)
    with recollect.open(db) as memory:
        stored = memory.bank("b").memories
        memory.recall("b", "warm up")
        batches = [list(islice(stream, BATCH)) for _ in range(repeats)]
        batch = cost([lambda b=b: memory.retain("b", [_item(f) for f in b]) for b in batches])
        single = cost([lambda f=f: _visible(memory, f) for f in stream])
    size_on_disk = disk_bytes(db)
    asked = list(islice(facts(size), 10))[:repeats]
    cold = [_cold(db, fact) for fact in asked]
    return {
        "facts": stored,
        "filled_by": "stand-in" if stand_in else "model",
        "fill_cpu_ms_a_fact": round(fill, 2),
        "batch_cpu_ms_a_fact": round(batch.cpu_p50 / BATCH, 2),
        "single_cpu_ms": round(single.cpu_p50, 2),
        "disk_bytes_a_fact": round(size_on_disk / (stored + repeats * BATCH + 50)),
        "cold_first_recall_wall_ms": round(sorted(c[0] for c in cold)[len(cold) // 2]),
        "cold_first_recall_cpu_ms": round(sorted(c[1] for c in cold)[len(cold) // 2]),
        "cold_rss_mb": round(max(c[2] for c in cold)),
        "cold_right": sum(c[3] for c in cold) / len(cold),
    }


def _fill(memory: recollect.Recollect, stream: Any, size: int) -> float:
    cpu = time.process_time()
    for _ in range(0, size, BATCH):
        memory.retain("b", [_item(f) for f in islice(stream, BATCH)])
    return (time.process_time() - cpu) * 1e3 / size


def _item(fact: Fact) -> dict[str, Any]:
    return {"text": fact.text, "timestamp": fact.time}


def _visible(memory: recollect.Recollect, fact: Fact) -> None:
    """Durable when retain returns, visible when a view shows it."""
    (made,) = memory.retain("b", _item(fact)).ids
    memory.load("b", made)


def _cold(db: Path, fact: Fact) -> tuple[float, float, float, bool]:
    done = subprocess.run(
        [sys.executable, "-c", COLD, str(db), fact.question, fact.text],
        capture_output=True,
        text=True,
        check=True,
    )
    wall, cpu, rss, right = done.stdout.split("\t")
    return float(wall), float(cpu), float(rss), right.strip() == "True"


if __name__ == "__main__":
    main()

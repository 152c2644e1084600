"""What the shipped models cost: CPU milliseconds, one thread.

    python benchmarks/models.py [--json]

Query embedding, MaxSim over 300 stored memories, the cross-encoder per pair, encoding a memory
when it is retained, and the time to load each model in a fresh process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from recollect.models import load_embedder, load_reranker, maxsim

QUERY = "When did Caroline go to the LGBTQ support group with her friends?"
MEMORIES = [
    f"[Date: June {i % 28 + 1:02d}, 2022 (2022-06-{i % 28 + 1:02d})] Melanie: I took the kids to "
    f"museum number {i}, they loved the dinosaurs and we had ice cream afterwards."
    for i in range(300)
]
_LOAD = (
    "import time; t = time.process_time(); from recollect.models import load_{kind}; "
    "load_{kind}(); print(1000 * (time.process_time() - t))"
)


def cpu(work: Callable[[], object], times: int = 30) -> float:
    """The median CPU time of one call, in milliseconds."""
    work()
    spent: list[float] = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(1000 * (time.process_time() - start))
    return statistics.median(spent)


def load_time(kind: str) -> float:
    code = _LOAD.format(kind=kind)
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    return min(runs)


def measure() -> dict[str, float]:
    embedder = load_embedder()
    query = embedder.encode_queries([QUERY])
    stored = embedder.encode_passages(MEMORIES).tokens
    found = {
        "embed a query": cpu(lambda: embedder.encode_queries([QUERY])),
        "embed a memory, alone": cpu(lambda: embedder.encode_passages(MEMORIES[:1])),
        "embed a memory, of 64": cpu(lambda: embedder.encode_passages(MEMORIES[:64]), 5) / 64,
        "load the embedder ": load_time("embedder"),
    }
    if stored is not None and query.tokens is not None:
        tokens = query.tokens[0]
        found["MaxSim over 300 memories"] = cpu(lambda: maxsim(tokens, stored))
        found["token vectors a memory (bytes)"] = statistics.mean(t.nbytes for t in stored)
    reranker = load_reranker()
    if reranker is not None:
        found["cross-encoder, a pair"] = cpu(lambda: reranker.score(QUERY, MEMORIES[:12]), 10) / 12
        found["load the reranker "] = load_time("reranker")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    found = measure()
    if parser.parse_args().json:
        print(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        print(f"{name:32} {value:10.1f}")


if __name__ == "__main__":
    main()

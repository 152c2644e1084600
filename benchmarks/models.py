"""What the shipped models cost: CPU milliseconds, one thread.

    python benchmarks/models.py [--json] [--sets] [--beside FOLDER]

Query embedding, MaxSim over 300 stored memories, the cross-encoder per pair, encoding a memory
when it is retained, and the time to load each model in a fresh process. `--sets` adds what the token
vectors of a memory take on disk, on average over memories of the sets in ../shared/data. `--beside`
runs the models of another folder (as `training/export.py` writes them) in turn with the shipped
ones, in one process, and prints the median of their ratios: what else a machine does then hits both.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from arguments import described
from recollect.eval.splits import Split
from recollect.language.passage import passage
from recollect.models import load_embedder, load_reranker, maxsim, to_codes
from recollect.models.base import skimming
from sets import read, sample

QUERY = "When did Caroline go to the LGBTQ support group with her friends?"
MEMORIES = [
    f"June {i % 28 + 1}, 2022: Melanie: I took the kids to museum number {i}, they loved "
    "the dinosaurs and we had ice cream afterwards."
    for i in range(300)
]
LONG = [
    " ".join(MEMORIES[i : i + 9])[:1000] for i in range(0, 144, 9)
]  # as much as is read at once
MEMORY_SETS = ("realmem", "lifebench", "friendsqa")
UNITS = 500  # of a bank
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
        "skim a query": cpu(lambda: skimming(embedder).encode_queries([QUERY])),
        "embed a memory, alone": cpu(lambda: embedder.encode_passages(MEMORIES[:1])),
        "embed a memory, of 64": cpu(lambda: embedder.encode_passages(MEMORIES[:64]), 5) / 64,
        "embed a long memory, of 16": cpu(lambda: embedder.encode_passages(LONG), 5) / len(LONG),
        "load the embedder ": load_time("embedder"),
    }
    if stored is not None and query.tokens is not None:
        tokens, kept = query.tokens[0], [to_codes(t) for t in stored]
        found["MaxSim over 300 memories"] = cpu(lambda: maxsim(tokens, kept))
        found["token vectors a memory (bytes)"] = statistics.mean(t.nbytes for t in kept)
    reranker = load_reranker()
    if reranker is not None:
        found["cross-encoder, a pair"] = cpu(lambda: reranker.score(QUERY, MEMORIES[:12]), 10) / 12
        found["cross-encoder, a long pair"] = cpu(lambda: reranker.score(QUERY, LONG), 5) / len(
            LONG
        )
        found["load the reranker "] = load_time("reranker")
    return found


def ratios(one: Callable[[], object], other: Callable[[], object], times: int) -> float:
    """How much of the time of one the other takes, in turns."""
    found: list[float] = []
    for _ in range(times):
        spent: list[float] = []
        for work in (one, other):
            work()  # its weights are in the cache then
            start = time.process_time()
            work()
            spent.append(time.process_time() - start)
        found.append(spent[1] / spent[0])
    return statistics.median(found)


def beside(folder: Path) -> dict[str, float]:
    one = load_embedder()
    other = load_embedder(str(folder / one.name))
    a = load_reranker()
    b = None if a is None else load_reranker(str(folder / a.name))

    def embed(texts: list[str], times: int) -> float:
        return ratios(
            lambda: one.encode_passages(texts), lambda: other.encode_passages(texts), times
        )

    def pairs(count: int) -> float:
        assert a is not None and b is not None
        texts = MEMORIES[:count]
        return ratios(lambda: a.score(QUERY, texts), lambda: b.score(QUERY, texts), 60)

    return {
        "a query, of the shipped": embed([QUERY], 200),
        "a memory": embed(MEMORIES[:1], 100),
        "16 memories": embed(MEMORIES[:16], 20),
        "a text of 256 tokens": embed(LONG[:1], 20),
        "a pair": pairs(1),
        "4 pairs": pairs(4),
    }


def token_bytes(name: str) -> float:
    """What late interaction keeps of a memory of a set."""
    units = [u for b in read(name, Split.REPORTED).banks for u in sample(b, UNITS, None).units]
    texts = [passage(u.text, date=u.time, context=u.context, speaker=u.speaker) for u in units]
    tokens = load_embedder().encode_passages(texts).tokens
    return statistics.mean(to_codes(t).nbytes for t in tokens or ())


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sets", action="store_true")
    parser.add_argument("--beside", type=Path)
    given = parser.parse_args()
    if given.beside:
        for name, ratio in beside(given.beside).items():
            print(f"{name:32} {ratio:10.3f}")
        return
    found = measure()
    if given.sets:
        found |= {f"token bytes, {name}": token_bytes(name) for name in MEMORY_SETS}
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        print(f"{name:32} {value:10.1f}")


if __name__ == "__main__":
    main()

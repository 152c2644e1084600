"""What recollect costs as a bank grows: CPU, wall, memory, disk, cold start.

    python benchmarks/scale.py [--sizes 1000,10000] [--queries 100] [--out NAME]

Every size runs in a process of its own, and so does the cold start, so that one size's
memory is not another's. CPU time counts all threads; p50 unless said.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from arguments import count, counts, described
from machine import disk_bytes, rss_mb, write
from synthetic import Fact, facts
from timing import cost, throughput

BANK = "scale"
BATCH = 100
SINGLES = 50
ROUNDS = 3
CALLERS = 8
WARM_S = 6.0  # until all processes have opened the bank
SHORT = (1_000, 10_000)
FULL = (1_000, 10_000, 100_000)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = described(__doc__)
    parser.add_argument("--sizes", type=counts, default=",".join(map(str, SHORT)))
    parser.add_argument("--queries", type=count, default=100)
    parser.add_argument("--out", default="scale-short")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--cold", help=argparse.SUPPRESS)
    parser.add_argument(
        "--share", nargs=4, metavar=("DB", "RERANKER", "OF", "AT"), help=argparse.SUPPRESS
    )
    options = parser.parse_args(arguments)
    if options.one:
        sys.stdout.buffer.write(orjson.dumps(one(options.one, options.queries)))
    elif options.cold:
        sys.stdout.buffer.write(orjson.dumps(cold(Path(options.cold))))
    elif options.share:
        db, reranker, of, at = options.share
        opened = {"db": db} | ({"reranker": reranker} if reranker else {})
        sys.stdout.buffer.write(orjson.dumps(share(opened, int(of), float(at), options.queries)))
    else:
        run(options.sizes, options.queries, options.out)


def run(sizes: Sequence[int], queries: int, out: str) -> None:
    found: dict[str, Any] = {}
    for size in sizes:
        found[str(size)] = fresh("--one", str(size), "--queries", str(queries))
        say(size, found[str(size)])
        # written after every size: a long run that is cut short keeps what it has
        path = write(out, {"kind": "scale", "sizes": found})
    print(f"wrote results/{path.name}", file=sys.stderr)


def fresh(*arguments: str) -> dict[str, Any]:
    """Run this script in a new process and read its JSON."""
    done = subprocess.run(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, check=True
    )
    return orjson.loads(done.stdout)


def one(size: int, queries: int) -> dict[str, Any]:
    import recollect

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scale.db"
        found: dict[str, Any] = {"facts": size}
        with recollect.open(str(path)) as memory:
            found["rss_empty_mb"] = rss_mb()
            found["retain_batch"], ids, asked = fill(memory, size, queries)
            found["retain_single"] = singles(memory)
            found["rss_mb"] = rss_mb()
            found["recall_rerank_on"] = recalls(memory, asked, ids)
            found["callers"] = [callers(memory, asked, n) for n in (1, CALLERS)]
            found["rss_after_recall_mb"] = rss_mb()
        with recollect.open(str(path), reranker="none") as memory:
            found["recall_rerank_off"] = recalls(memory, asked, ids)
            found["callers_off"] = [callers(memory, asked, n, each=4) for n in (1, CALLERS)]
        with recollect.open(str(path), reranker="late-interaction") as memory:
            found["recall_late_interaction"] = recalls(memory, asked, ids)
        found["callers_processes"] = processes(path, "", 100)
        found["callers_off_processes"] = processes(path, "none", 400)
        found["disk_bytes_a_fact"] = disk_bytes(path) / (size + SINGLES)
        found["cold"] = fresh("--cold", str(path))
    return found


def fill(
    memory: Any, size: int, queries: int
) -> tuple[dict[str, float], dict[str, str], list[Fact]]:
    """Retain in batches; keep a sample of facts to ask about, and where each went."""
    chosen = set(random.Random(1).sample(range(size), min(queries, size)))
    asked: list[Fact] = []
    ids: dict[str, str] = {}
    merged = 0
    cpu = wall = 0.0
    stages: dict[str, float] = defaultdict(float)
    source = iter(facts(size))
    number = 0
    while batch := list(islice(source, BATCH)):
        items = [item(fact) for fact in batch]
        w, c = time.perf_counter(), time.process_time()
        made = memory.retain(BANK, items)
        cpu, wall = cpu + time.process_time() - c, wall + time.perf_counter() - w
        for stage, ms in made.timings.items():
            stages[stage] += ms / size
        for fact, outcome in zip(batch, made.items, strict=True):
            merged += outcome.known
            if number in chosen:
                asked.append(fact)
                ids[fact.id] = outcome.memory_ids[0]
            number += 1
    costs = {"cpu_ms": cpu / size * 1e3, "wall_ms": wall / size * 1e3, "merged": merged}
    return costs | {"stages_wall_ms": dict(stages)}, ids, asked


def singles(memory: Any) -> dict[str, float]:
    extra = islice(facts(SINGLES, seed=99), SINGLES)
    return cost([lambda f=f: memory.retain(BANK, [item(f)]) for f in extra]).as_dict()


def recalls(memory: Any, asked: Sequence[Fact], ids: dict[str, str]) -> dict[str, Any]:
    """In rounds, so that one bad second of a machine does not make the figure; a word more each time,
    so that the query cache does not answer. Memories are decoded when first returned, as ever."""
    memory.recall(BANK, "warm the caches once")
    results: list[Any] = []
    questions = [f.question + " again" * i for i in range(ROUNDS) for f in asked]
    spent = cost([lambda q=q: results.append(memory.recall(BANK, q)) for q in questions])
    stages: dict[str, list[float]] = defaultdict(list)
    found = sum(
        ids[fact.id] in [hit.id for hit in result.results[:10]]
        for fact, result in zip(asked, results, strict=False)
    )
    for result in results:
        for stage, ms in result.timings.items():
            stages[stage].append(ms)
    middle = {stage: sorted(values)[len(values) // 2] for stage, values in stages.items()}
    return {**spent.as_dict(), "stages_wall_ms": middle, "known_item_hit@10": found / len(asked)}


def callers(memory: Any, asked: Sequence[Fact], count: int, *, each: int = 1) -> dict[str, float]:
    """So many at once; what is fast is asked more, so that it takes as many seconds."""

    def call(i: int) -> None:
        # a word more each time, so that the query cache does not answer instead
        memory.recall(BANK, f"{asked[i % len(asked)].question} {count} {i}")

    return throughput(call, callers=count, calls=each * max(100, len(asked)))


def processes(path: Path, reranker: str, calls: int) -> dict[str, float]:
    """The eight in as many processes as there are cores, all on one file: what Python's lock does not hold up.
    They begin at the same moment; the last one to end says how long it took."""
    at, count = time.time() + WARM_S, os.cpu_count() or 1
    shared = [str(path), reranker, str(CALLERS // count or 1), str(at)]
    ask = [sys.executable, __file__, "--queries", str(calls), "--share", *shared]
    started = [subprocess.Popen(ask, stdout=subprocess.PIPE) for _ in range(count)]
    answers = [orjson.loads(process.communicate()[0]) for process in started]
    calls = sum(answer["calls"] for answer in answers)
    return {"processes": count, "per_second": calls / max(answer["took_s"] for answer in answers)}


def share(opened: dict[str, Any], callers: int, at: float, calls: int) -> dict[str, float]:
    """One process's part of them."""
    import recollect

    asked = [fact.question for fact in islice(facts(SHORT[0]), 100)]
    with recollect.open(**opened) as memory:
        for question in asked[:20]:
            memory.recall(BANK, f"{question} before")
        time.sleep(max(0.0, at - time.time()))
        begun = time.time()
        throughput(
            lambda i: memory.recall(BANK, f"{asked[i % len(asked)]} {i}"),
            callers=callers,
            calls=calls,
        )
        return {"calls": calls, "took_s": time.time() - begun, "late_s": begun - at}


def cold(path: Path) -> dict[str, float]:
    """Open and ask once, in a process that has done nothing else; imports are counted apart."""
    begun, used = time.perf_counter(), time.process_time()
    import recollect

    imported = time.perf_counter()
    with recollect.open(str(path)) as memory:
        opened = time.perf_counter()
        memory.recall(BANK, "Who repaired the broken telescope in Lisbon?")
        answered = time.perf_counter()
    return {
        "import_ms": (imported - begun) * 1e3,
        "open_ms": (opened - imported) * 1e3,
        "first_recall_ms": (answered - opened) * 1e3,
        "open_to_answer_ms": (answered - imported) * 1e3,
        "cpu_ms": (time.process_time() - used) * 1e3,
        "rss_mb": rss_mb(),
    }


def item(fact: Fact) -> dict[str, Any]:
    return {"text": fact.text, "timestamp": fact.time, "metadata": {"unit": fact.id}}


def say(size: int, found: dict[str, Any]) -> None:
    off, on = found["recall_rerank_off"], found["recall_rerank_on"]
    late = found["recall_late_interaction"]
    print(
        f"{size:>9,} facts: retain {found['retain_batch']['cpu_ms']:.2f} CPU-ms a fact,"
        f" single {found['retain_single']['cpu_p50']:.1f}; recall off {off['cpu_p50']:.1f},"
        f" late interaction {late['cpu_p50']:.1f}, as shipped {on['cpu_p50']:.1f} CPU-ms; wall {off['wall_p50']:.1f} / {on['wall_p50']:.1f} ms;"
        f" hit@10 {off['known_item_hit@10']:.2f} / {on['known_item_hit@10']:.2f};"
        f" 8 callers {found['callers_off'][1]['per_second']:.0f} /"
        f" {found['callers'][1]['per_second']:.0f} a second, in {found['callers_processes']['processes']} processes"
        f" {found['callers_off_processes']['per_second']:.0f} /"
        f" {found['callers_processes']['per_second']:.0f}; RSS {found['rss_mb']:.0f} MB;"
        f" disk {found['disk_bytes_a_fact'] / 1024:.1f} KB a fact;"
        f" cold {found['cold']['open_to_answer_ms']:.0f} ms",
        file=sys.stderr,
    )


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()

"""recollect and its peer side by side: the same facts, the same queries, one run, ratios.

    python benchmarks/peers.py [--facts 2000] [--queries 50] [--sets realmem,friendsqa]

Installs the peer into a venv of its own on the first run (several gigabytes), starts it on
loopback, stops it at the end.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import hindsight
import sets
from arguments import count, described, some_of
from machine import disk_bytes, write
from quality import cells, slim
from recollect.eval.data import Bank, Query, Unit
from recollect.eval.report import Report, evaluate
from synthetic import facts

KS = (5, 10, 20)
DEFAULT_SETS = "friendsqa,musique,realmem"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = described(__doc__)
    parser.add_argument("--facts", type=count, default=2000)
    parser.add_argument("--queries", type=count, default=50)
    parser.add_argument("--sets", type=some_of(sets.NAMES), default=DEFAULT_SETS)
    parser.add_argument("--out", default="peers")
    options = parser.parse_args(arguments)
    bank = made_up(options.facts, options.queries)
    mine = ours(bank, options.sets)
    theirs = peer(bank, options.sets)
    ratios = compare(mine, theirs)
    path = write(
        options.out,
        {
            "kind": "peers",
            "facts": options.facts,
            "recollect": mine,
            "hindsight": theirs,
            "ratios": ratios,
        },
    )
    show(mine, theirs, ratios)
    say(f"wrote results/{path.name}")


def made_up(count: int, queries: int) -> Bank:
    made = list(facts(count))
    step = max(1, count // queries)
    asked = tuple(
        Query(f.id, f.question, (f.id,), answerable=True) for f in islice(made, 0, None, step)
    )
    return Bank("cost", tuple(Unit(f.id, f.text, time=f.time) for f in made), asked)


def ours(bank: Bank, names: Sequence[str]) -> dict[str, Any]:
    import recollect
    from machine import rss_mb
    from recollect.eval.systems import Recollect

    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        path = Path(folder) / "peers.db"
        with recollect.open(str(path)) as memory:
            memory.retain("warm", "The server is ready.")
            found: dict[str, Any] = {
                "start_s": time.perf_counter() - begun,
                "rss_idle_mb": rss_mb(),
            }
            system = Recollect(memory)
            found |= costs(system, bank, time.process_time)
            plain = system.variant("recollect, reranker off", ("rerank",))
            found |= recall_costs(plain, bank, time.process_time, "recall_rerank_off")
            found["rss_mb"] = rss_mb()
            found["disk_bytes_a_fact"] = disk_bytes(path) / len(bank.units)
    found["quality"] = {}
    for name in names:
        with (
            tempfile.TemporaryDirectory() as folder,
            recollect.open(str(Path(folder) / "q.db")) as memory,
        ):
            found["quality"][name] = quality(Recollect(memory), name)
    return found


def peer(bank: Bank, names: Sequence[str]) -> dict[str, Any]:
    with hindsight.server() as running:
        empty = running.disk()
        found: dict[str, Any] = {
            "start_s": running.started_s,
            "rss_idle_mb": running.usage().rss_mb,
        }
        system = hindsight.Hindsight(running)

        def cpu() -> float:
            return running.usage().cpu_s

        found |= costs(system, bank, cpu)
        # its cross-encoder cannot be fetched without a hub: what was measured is "off"
        found["recall_rerank_off"] = found["recall"]
        found["rss_mb"] = running.usage().rss_mb
        found["disk_bytes_a_fact"] = (running.disk() - empty) / len(bank.units)
        found["quality"] = {name: quality(system, name) for name in names}
    return found


def costs(system: Any, bank: Bank, cpu: Any) -> dict[str, Any]:
    used, begun = cpu(), time.perf_counter()
    system.index(bank)
    spent = {"cpu_ms": (cpu() - used) * 1e3, "wall_ms": (time.perf_counter() - begun) * 1e3}
    retain = {key: value / len(bank.units) for key, value in spent.items()}
    return {"retain": retain, **recall_costs(system, bank, cpu, "recall")}


def recall_costs(system: Any, bank: Bank, cpu: Any, key: str) -> dict[str, Any]:
    """CPU as a mean over all queries: the peer's clock ticks only every 10 ms."""
    system.search(bank, bank.queries[0])
    used, walls, hits = cpu(), [], 0
    for query in bank.queries:
        begun = time.perf_counter()
        ranked = system.search(bank, query)
        walls.append((time.perf_counter() - begun) * 1e3)
        hits += system.gold_key(bank, query.gold[0]) in ranked.ids[:10]
    count = len(bank.queries)
    return {
        key: {
            "cpu_ms": (cpu() - used) / count * 1e3,
            "wall_p50_ms": sorted(walls)[count // 2],
            "known_item_hit@10": hits / count,
        }
    }


def quality(system: Any, name: str) -> dict[str, Any]:
    report: Report = evaluate(sets.read(name, short=True), system, ks=KS)
    say(f"{name:12} {report.system:16} " + cells(report.overall))
    return slim(report)


def compare(mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, float]:
    """Peer over recollect: 10 means the peer needs ten times as much."""
    paths = {
        "retain CPU": ("retain", "cpu_ms"),
        "retain wall": ("retain", "wall_ms"),
        "recall CPU, reranker off": ("recall_rerank_off", "cpu_ms"),
        "recall wall, reranker off": ("recall_rerank_off", "wall_p50_ms"),
        "recall CPU, recollect with its reranker": ("recall", "cpu_ms"),
        "RSS idle": ("rss_idle_mb",),
        "RSS with the facts": ("rss_mb",),
        "disk a fact": ("disk_bytes_a_fact",),
        "start": ("start_s",),
    }
    return {name: _at(theirs, path) / max(_at(mine, path), 1e-9) for name, path in paths.items()}


def _at(found: Any, path: Sequence[str]) -> float:
    for key in path:
        found = found[key]
    return float(found)


def show(mine: dict[str, Any], theirs: dict[str, Any], ratios: dict[str, float]) -> None:
    for name, ratio in ratios.items():
        print(f"{name:42} Hindsight needs {ratio:6.1f} × as much")
    for name, found in mine["quality"].items():
        a, b = (side["overall"]["recall@10"]["value"] for side in (found, theirs["quality"][name]))
        more = f"   recollect finds {a / b:.1f} × as much" if b else ""
        print(f"{name + ' recall@10':42} recollect {100 * a:5.1f}   Hindsight {100 * b:5.1f}{more}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

"""recollect and Hindsight on one PostgreSQL: `python benchmarks/postgres.py --peer`.

One server (the one that the peer brings: it has the extensions that the peer wants), a database
each, the same facts and queries, budget mid, reranker off on both sides, embedding included on
both. CPU counts whatever a call makes busy: this process, the peer's API process, and every
process of PostgreSQL, connections that have ended included. Blocks of queries take turns, so
that both meet the same machine, and other queries than those measured warm up. Of ourselves there
are two: as installed, where this process holds a bank that it asks often, and one that never
holds any, so that the server searches.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import psycopg

import hindsight
from machine import write
from peers import made_up, say
from processes import cpu_s
from recollect.eval.data import Bank, Query
from recollect.eval.systems import RecallOptions, Recollect
from recollect.memory import open_memory

BLOCK = 10  # queries; a clock that ticks every 10 ms cannot tell what one costs
ROUNDS = 2
THERE = "recollect, searched there"
MAX_TOKENS = 4096
Cpu = dict[str, float]


class Side(Protocol):
    def index(self, bank: Bank) -> None: ...

    def found(self, bank: str, query: Query) -> list[str]:
        """Units of the best ten hits, or of more."""
        ...


class Ours:
    """The library, on the peer's server."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self.index = Recollect(memory, RecallOptions(max_tokens=MAX_TOKENS)).index

    def found(self, bank: str, query: Query) -> list[str]:
        answer = self._memory.recall(bank, query.text, budget="mid", max_tokens=MAX_TOKENS)
        return [hit.memory.metadata["unit"] for hit in answer.results]


class Theirs:
    def __init__(self, running: hindsight.Server) -> None:
        self._system = hindsight.Hindsight(running, budget="mid", max_tokens=MAX_TOKENS)
        self.index = self._system.index

    def found(self, bank: str, query: Query) -> list[str]:
        return [hindsight.unit_of(hit) for hit in self._system.recall(bank, query)]


def run(size: int, queries: int) -> None:
    bank = made_up(size, 2 * queries)
    with hindsight.server() as running:
        dsn = running.database("recollect")

        def cpu() -> Cpu:
            return {
                "api": cpu_s(running.api_pids()),
                "postgres": cpu_s(running.postgres_pids()),
            }

        with (
            open_memory(dsn, reranker="none", cache_entries=0) as memory,
            open_memory(dsn, reranker="none", cache_entries=0, held_facts=0) as there,
        ):
            sides: dict[str, Side] = {
                "hindsight": Theirs(running),
                "recollect": Ours(memory),
                THERE: Ours(there),
            }
            found = measured(sides, bank, cpu, [dsn, running.database("hindsight")])
        found["server"] = server_facts(dsn)
    found |= {"facts": size, "budget": "mid", "reranker": "off", "peer": hindsight.VERSION}
    show(found)
    say(f"wrote results/{write(f'postgres-peer-{size}', {'kind': 'postgres-peer', **found}).name}")


def measured(
    sides: dict[str, Side], bank: Bank, cpu: Callable[[], Cpu], databases: Sequence[str]
) -> dict[str, Any]:
    """Recall twice: as the load left the tables, and after they were tidied up and counted."""
    retain = {name: retained(sides[name], bank, cpu) for name in ("hindsight", "recollect")}
    fresh = asked(sides, bank, cpu)
    for address in databases:
        settled(address)
    recall = asked(sides, bank, cpu)
    ratio = retain["hindsight"]["cpu_ms"] / retain["recollect"]["cpu_ms"]
    return {"retain": {**retain, "ratio": ratio}, "recall": recall, "recall_after_load": fresh}


def asked(sides: dict[str, Side], bank: Bank, cpu: Callable[[], Cpu]) -> dict[str, Any]:
    """What a recall costs each side, taking turns block by block, and how the two compare."""
    measured, others = bank.queries[::2], bank.queries[1::2]
    for side in sides.values():  # plans, pages and names warm, on every side
        for query in others:
            side.found(bank.id, query)
    blocks = {name: list[Block]() for name in sides}
    for at in range(0, ROUNDS * len(measured), BLOCK):
        queries = [measured[(at + i) % len(measured)] for i in range(BLOCK)]
        order = list(sides) if at // BLOCK % 2 else list(reversed(sides))
        for name in order:
            blocks[name].append(block(sides[name], bank.id, queries, cpu))
    found = {name: summed(done) for name, done in blocks.items()}
    ratios = [
        sum(t.cpu.values()) / sum(o.cpu.values())
        for t, o in zip(blocks["hindsight"], blocks["recollect"], strict=True)
    ]
    return {
        **found,
        "ratio": found["hindsight"]["cpu_ms"] / found["recollect"]["cpu_ms"],
        "ratio_there": found["hindsight"]["cpu_ms"] / found[THERE]["cpu_ms"],
        "ratio_by_block": [min(ratios), statistics.median(ratios), max(ratios)],
    }


def retained(side: Side, bank: Bank, cpu: Callable[[], Cpu]) -> dict[str, float]:
    before, mine, wall = cpu(), time.process_time(), time.perf_counter()
    side.index(bank)
    mine, wall, n = time.process_time() - mine, time.perf_counter() - wall, len(bank.units)
    return {**costs({"client": mine, **spent(before, cpu())}, n), "wall_ms": wall / n * 1e3}


class Block:
    """What so many queries cost, and how often the fact asked for was among the best ten."""

    def __init__(self, cpu: Cpu, walls: list[float], hits: int) -> None:
        self.cpu, self.walls, self.hits = cpu, walls, hits


def block(side: Side, bank: str, asked: Sequence[Query], cpu: Callable[[], Cpu]) -> Block:
    walls, hits, before, mine = list[float](), 0, cpu(), time.process_time()
    for query in asked:
        begun = time.perf_counter()
        found = side.found(bank, query)
        walls.append((time.perf_counter() - begun) * 1e3)
        hits += query.gold[0] in found[:10]
    mine = time.process_time() - mine
    return Block({"client": mine, **spent(before, cpu())}, walls, hits)


def summed(blocks: Sequence[Block]) -> dict[str, float]:
    walls = [wall for done in blocks for wall in done.walls]
    total = {part: sum(done.cpu[part] for done in blocks) for part in blocks[0].cpu}
    return {
        **costs(total, len(walls)),
        "wall_p50_ms": statistics.median(walls),
        "known_item_hit@10": sum(done.hits for done in blocks) / len(walls),
        "recalls": len(walls),
    }


def spent(before: Cpu, after: Cpu) -> Cpu:
    return {part: after[part] - before[part] for part in before}


def costs(spent: Cpu, calls: int) -> dict[str, float]:
    parts = {f"{part}_cpu_ms": seconds / calls * 1e3 for part, seconds in spent.items()}
    return {"cpu_ms": sum(parts.values()), **parts}


def settled(address: str) -> None:
    """As autovacuum leaves a database soon after a load; its statistics are there for both."""
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("VACUUM ANALYZE")
        db.execute("CHECKPOINT")


def server_facts(dsn: str) -> dict[str, str]:
    with psycopg.connect(dsn, autocommit=True) as db:
        row = db.execute(
            """SELECT current_setting('server_version'), current_setting('shared_buffers'),
              (SELECT extversion FROM pg_extension WHERE extname = 'vector')"""
        ).fetchone()
    assert row is not None
    return dict(zip(("version", "shared_buffers", "pgvector"), row, strict=True))


def show(found: dict[str, Any]) -> None:
    for verb in ("retain", "recall_after_load", "recall"):
        for name in ("hindsight", "recollect", THERE):
            if name not in found[verb]:
                continue
            one = found[verb][name]
            parts = "  ".join(
                f"{part} {one[f'{part}_cpu_ms']:.1f}" for part in ("client", "api", "postgres")
            )
            print(f"{verb:17} {name:25} {one['cpu_ms']:7.1f} CPU-ms  ({parts})")
        blocks = found[verb].get("ratio_by_block", ())
        spread = f" (blocks of {BLOCK}: {blocks[0]:.1f} to {blocks[-1]:.1f})" if blocks else ""
        print(f"{verb:17} Hindsight needs {found[verb]['ratio']:.1f} × as much{spread}")
        if "ratio_there" in found[verb]:
            print(f"{verb:17} … as when the server searches: {found[verb]['ratio_there']:.1f} ×")

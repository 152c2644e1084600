"""The tables of docs/benchmarks.md about PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Json = dict[str, Any]
SIDES = ("recollect", "hindsight")
THERE = "recollect, searched there"  # as postgres_peer.py names it


def sizes(results: Mapping[int, Json]) -> list[str]:
    ordered = dict(sorted(results.items()))
    rows: dict[str, Callable[[Json], str]] = {
        "recall from a bank that the caller holds, reranker off, CPU ms, caller + server": (
            lambda r: _recall(r["recall"])
        ),
        "recall that the server answers, reranker off, CPU ms, caller + server": lambda r: _recall(
            r["recall_there"]
        ),
        "round trips, held / by the server": lambda r: (
            f"{r['recall']['round_trips']} / {r['recall_there']['round_trips']}"
        ),
        "right fact in the top 10, held / by the server": lambda r: (
            f"{r['recall']['known_item_hit@10']:.2f} / {r['recall_there']['known_item_hit@10']:.2f}"
        ),
        "reading a bank to hold it, CPU µs a fact, caller + server": lambda r: (
            f"{r['read']['client_cpu_us_a_fact']:.0f} + {r['read']['server_cpu_us_a_fact']:.0f}"
        ),
        "facts retained a second, embedding aside, all / at the end": lambda r: (
            f"{r['retain']['facts_per_second']:.0f} / {r['retain']['facts_per_second_at_the_end']:.0f}"
            if "retain" in r
            else "–"
        ),
        "retain, CPU ms a fact, caller + server": lambda r: (
            f"{r['retain']['client_cpu_ms_a_fact']:.2f} + {r['retain']['server_cpu_ms_a_fact']:.2f}"
            if "retain" in r
            else "–"
        ),
        "… which is facts a second of CPU": lambda r: (
            f"{1e3 / (r['retain']['client_cpu_ms_a_fact'] + r['retain']['server_cpu_ms_a_fact']):.0f}"
            if "retain" in r
            else "–"
        ),
        "writing a fact that is ready, CPU ms": lambda r: f"{r['committed']['cpu_ms_a_fact']:.2f}",
        "of an exact search's 100, no filter / 30 % / 10 % / 1 %": lambda r: " / ".join(
            f"{one['recall@100']:.3f}" for one in r["search"].values()
        ),
        "disk, KB a fact": lambda r: f"{r['disk_bytes_a_fact'] / 1024:.1f}",
        "server, pgvector, shared_buffers": lambda r: (
            f"{r['server_version']}, {r['pgvector']}, {r['shared_buffers']}"
        ),
    }
    lines = ["| facts | " + " | ".join(f"{n:,}" for n in ordered) + " |"]
    lines.append("|---|" + "---|" * len(ordered))
    for label, cell in rows.items():
        lines.append(f"| {label} | " + " | ".join(map(cell, ordered.values())) + " |")
    return lines


def _recall(cost: Json) -> str:
    return f"{cost['client_cpu_ms']:.1f} + {cost['server_cpu_ms']:.1f} = {cost['cpu_ms']:.1f}"


def peer(result: Json) -> list[str]:
    facts, server = result["facts"], result["server"]
    lines = [
        f"### Beside Hindsight {result['peer']} on one PostgreSQL, {facts:,} facts",
        "",
        f"`python benchmarks/postgres.py --peer --sizes {facts}`: a database each on the server that the",
        f"peer brings (PostgreSQL {server['version']}, pgvector {server['pgvector']}), budget mid, reranker off,",
        "embedding included; CPU ms a call of everything that was busy, blocks of queries taking turns, other",
        "queries to warm up.",
        "",
        "| | recollect | Hindsight | ratio |",
        "|---|---|---|---|",
    ]
    rows = {
        "recall, tables tidied up (`VACUUM ANALYZE`)": result["recall"],
        "recall, as the load left them": result.get("recall_after_load"),
        "retain, batches of 100": result["retain"],
    }
    for label, both in rows.items():
        if both is None:
            continue
        cells = " | ".join(_parts(both[side]) for side in SIDES)
        blocks = both.get("ratio_by_block")
        spread = f" ({blocks[0]:.1f}–{blocks[-1]:.1f} by block)" if blocks else ""
        lines.append(f"| {label} | {cells} | {both['ratio']:.1f} ×{spread} |")
    ours, theirs = (result["recall"][side] for side in SIDES)
    there = result["recall"].get(THERE)
    if there is not None:
        lines.append(
            f"| recall when the server searches (`held_facts` 0), tidied up | {_parts(there)} |"
            f" {_parts(theirs)} | {result['recall']['ratio_there']:.1f} × |"
        )
    lines.append(
        f"| recall, wall ms p50 | {ours['wall_p50_ms']:.1f} | {theirs['wall_p50_ms']:.1f} |"
        f" {theirs['wall_p50_ms'] / ours['wall_p50_ms']:.1f} × |"
    )
    hits = (f"{side['known_item_hit@10']:.2f}" for side in (ours, theirs))
    return [*lines, f"| right fact in the top 10 | {' | '.join(hits)} | |", ""]


def _parts(one: Json) -> str:
    parts = ", ".join(
        f"{part} {one[f'{part}_cpu_ms']:.1f}" for part in ("client", "api", "postgres")
    )
    return f"{one['cpu_ms']:.1f} ({parts})"

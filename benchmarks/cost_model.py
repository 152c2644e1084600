"""How many cores, how much memory and disk: a cost model over what the benchmarks measured.

    python benchmarks/cost_model.py [--write]                         # the tables of docs/scale.md
    python benchmarks/cost_model.py --banks 2000 --facts 5000 --recalls 40 --retains 5 --hot 0.1

--facts are those of one bank, --recalls and --retains are a second, all banks together, --hot is the
share of the banks in use within an hour. It reads results/sizing.json (`sizing.py`: a file),
results/scale-short.json (`scale.py`: embedding), results/moving.json (`moving.py`) and
results/postgres-*.json (`postgres.py`). --write puts the tables into docs/scale.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from arguments import described
from machine import RESULTS

BUSY = 0.6  # of a core: more, and calls queue
PROCESS_MB = 130  # a process that has loaded the models and holds no bank
NODE = {"cores": 16, "memory_gb": 64, "disk_gb": 2_000}  # of a PostgreSQL cluster
GB = 1e9
FILE_LIMIT = 20_000_000  # facts: beyond, one writer and one machine's memory are too little
DOCUMENT = Path(__file__).parent.parent / "docs" / "scale.md"


@dataclass(frozen=True)
class Load:
    name: str
    banks: int
    facts: int  # a bank
    recalls: float  # a second
    retains: float  # facts a second
    hot: float  # share of banks in use

    @property
    def total(self) -> int:
        return self.banks * self.facts


EXAMPLES = (
    Load("one agent", 1, 100_000, 1, 0.1, 1.0),
    Load("a team's agents", 200, 20_000, 10, 2, 0.5),
    Load("a product, 10,000 users", 10_000, 1_000, 50, 20, 0.1),
    Load("a company's one bank", 1, 1_000_000, 5, 1, 1.0),
    Load("100 million facts", 100_000, 1_000, 300, 100, 0.1),
    Load("a billion facts", 1_000_000, 1_000, 2_000, 500, 0.05),
    Load("a billion, large banks", 10_000, 100_000, 500, 500, 0.05),
)


@dataclass(frozen=True)
class Line:
    """cost = base + slope × facts of the bank, fitted to what was measured."""

    base: float
    slope: float

    def at(self, facts: int) -> float:
        return self.base + self.slope * facts

    @staticmethod
    def through(points: Sequence[tuple[int, float]]) -> Line:
        sizes, costs = zip(*sorted(points), strict=True)
        if len(points) == 1:
            return Line(costs[0], 0.0)
        slope, base = np.polyfit(sizes, costs, 1)
        return Line(max(0.0, float(base)), float(slope))


@dataclass(frozen=True)
class Measured:
    recall: Line  # CPU ms of the calling process, as shipped
    recall_off: Line  # without neural reranking
    index: Line  # bytes of a bank in memory
    small: Mapping[str, Any]  # many small banks
    open: float  # CPU seconds until a bank of a million answers
    disk: float  # bytes a fact
    retain: float  # CPU ms a fact, embedding included
    copy: float  # CPU ms a fact
    pg_client: Line
    pg_server: Line
    pg_held: Line  # caller and server, from a bank that the caller holds
    pg_read: float  # CPU µs a fact to hold it, caller and server
    pg_disk: float
    pg_commit: float  # CPU ms to write a fact that is ready, caller and server together

    @property
    def models(self) -> float:
        """CPU ms that neural reranking takes, on any store."""
        return self.recall.base - self.recall_off.base


def measured() -> Measured:
    found = _read("sizing")
    sizing = {int(k): v for k, v in found["sizes"].items()}
    scale = _read("scale-short")["sizes"]
    held = (orjson.loads(p.read_bytes()) for p in sorted(RESULTS.glob("postgres-*.json")))
    postgres = [result for result in held if result["kind"] == "postgres"]
    largest = max(postgres, key=lambda p: p["facts"])
    return Measured(
        Line.through([(n, v["recall_cpu_ms"]) for n, v in sizing.items()]),
        Line.through([(n, v["recall_off_cpu_ms"]) for n, v in sizing.items()]),
        Line.through([(n, v["index_bytes_a_fact"] * n) for n, v in sizing.items()]),
        found["banks"],
        sizing[max(sizing)]["open_to_answer_cpu_ms"] / 1e3,
        sizing[max(sizing)]["disk_bytes_a_fact"],
        scale[max(scale, key=int)]["retain_batch"]["cpu_ms"],
        _read("moving")["copy_cpu_ms"],
        Line.through([(p["facts"], p["recall_there"]["client_cpu_ms"]) for p in postgres]),
        Line.through([(p["facts"], p["recall_there"]["server_cpu_ms"]) for p in postgres]),
        Line.through([(p["facts"], p["recall"]["cpu_ms"]) for p in postgres]),
        largest["read"]["client_cpu_us_a_fact"] + largest["read"]["server_cpu_us_a_fact"],
        largest["disk_bytes_a_fact"],
        largest["committed"]["cpu_ms_a_fact"],
    )


def _read(name: str) -> Any:
    return orjson.loads((RESULTS / f"{name}.json").read_bytes())


def embedded(load: Load, known: Measured) -> dict[str, Any]:
    """One process over one file; its memory holds the banks in use."""
    cpu = load.recalls * known.recall.at(load.facts) + load.retains * known.retain
    # What does not grow with a bank is the process's own, once.
    held = known.index.base + load.total * load.hot * max(
        known.index.slope, known.small["memory_bytes_a_fact"]
    )
    return {
        "cores": max(1, ceil(cpu / 1e3 / BUSY)),
        "memory_gb": PROCESS_MB / 1e3 + held / GB,
        "disk_gb": load.total * known.disk / GB,
    }


def postgres(load: Load, known: Measured) -> dict[str, Any]:
    """Callers embed and rank; the server searches. What is in use should be in its memory."""
    client = load.recalls * (known.pg_client.at(load.facts) + known.models)
    client += load.retains * known.retain
    server = load.recalls * known.pg_server.at(load.facts) + load.retains * known.pg_commit
    need = {
        "cores": server / 1e3 / BUSY,
        "memory_gb": load.total * load.hot * known.pg_disk / GB,
        "disk_gb": 2 * load.total * known.pg_disk / GB,  # as much again for indexes being built
    }
    nodes = max(1, *(ceil(need[part] / NODE[part]) for part in need))
    return {
        "caller_cores": max(1, ceil(client / 1e3 / BUSY)),
        "cores": max(1, ceil(need["cores"])),
        "memory_gb": need["memory_gb"],
        "disk_gb": need["disk_gb"] / 2,
        "nodes": nodes,
        "bound": max(need, key=lambda part: need[part] / NODE[part]).removesuffix("_gb"),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = described(__doc__)
    parser.add_argument("--banks", type=int)
    parser.add_argument("--facts", type=int, default=1_000)
    parser.add_argument("--recalls", type=float, default=10.0)
    parser.add_argument("--retains", type=float, default=1.0)
    parser.add_argument("--hot", type=float, default=0.1)
    parser.add_argument("--write", action="store_true", help="into docs/scale.md")
    given = parser.parse_args(arguments)
    known = measured()
    if given.banks:
        one = (given.banks, given.facts, given.recalls, given.retains, given.hot)
        print(needed([Load("yours", *one)], known))
        return
    tables = {"model": model(known), "examples": needed(EXAMPLES, known)}
    print("\n\n".join(tables.values()))
    if given.write:
        text = DOCUMENT.read_text("utf-8")
        for name, table in tables.items():
            mark = f"<!-- {name}: {{}} -->"
            head, _, rest = text.partition(mark.format("begin"))
            _, _, tail = rest.partition(mark.format("end"))
            text = f"{head}{mark.format('begin')}\n{table}\n{mark.format('end')}{tail}"
        DOCUMENT.write_text(text, "utf-8")


def model(known: Measured) -> str:
    small = known.small
    lines = {
        "recall from a file, reranker off": _cpu(known.recall_off),
        "… as shipped": _cpu(known.recall),
        "recall from PostgreSQL, searched by the server, reranker off, caller": _cpu(
            known.pg_client
        ),
        "… server": _cpu(known.pg_server),
        "… from a bank that the caller holds, both": _cpu(known.pg_held),
        "reading a bank from PostgreSQL to hold it": f"{known.pg_read:.0f} CPU-µs a fact, both",
        "retain into a file, embedding included": f"{known.retain:.1f} CPU-ms a fact",
        "writing a fact that is ready into PostgreSQL": f"{known.pg_commit:.2f} CPU-ms, caller and"
        " server together",
        "memory of a process, file": f"{PROCESS_MB} + {known.index.base / 1e6:.0f} MB, and"
        f" {known.index.slope / 1e3:.1f} KB a fact of the banks in use"
        f" ({small['memory_bytes_a_fact'] / 1e3:.1f} KB in banks of {small['facts']:,})",
        "first answer of a bank that is not in memory": f"{small['first_recall_cpu_ms']:.0f} CPU-ms"
        f" at {small['facts']:,} facts, {known.open:.0f} CPU-s at a million",
        "disk": f"{known.disk / 1e3:.1f} KB a fact in a file, {known.pg_disk / 1e3:.1f} KB in PostgreSQL"
        " with all indexes",
        "copy, file to file, compared": f"{known.copy:.2f} CPU-ms a fact",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {k} | {v} |" for k, v in lines.items())])


def _cpu(line: Line) -> str:
    return f"{line.base:.0f} CPU-ms + {line.slope * 1e3:.2f} for every 1,000 facts of the bank"


def needed(loads: Sequence[Load], known: Measured) -> str:
    rows = [
        "| load | banks × facts | recalls a second | store | cores | memory in use | disk |",
        "|---|---|---|---|---|---|---|",
    ]
    for load in loads:
        if load.total <= FILE_LIMIT:
            found = embedded(load, known)
            rows.append(_row(load, "a file", str(found["cores"]), found))
        found = postgres(load, known)
        cores = f"{found['caller_cores']} + {found['cores']}"
        nodes = (
            "one server" if found["nodes"] == 1 else f"{found['nodes']} nodes, by {found['bound']}"
        )
        rows.append(_row(load, f"PostgreSQL, {nodes}", cores, found))
    return "\n".join(rows)


def _row(load: Load, store: str, cores: str, found: Mapping[str, Any]) -> str:
    size = f"{load.banks:,} × {load.facts:,}"
    memory, disk = (_gigabytes(found[part]) for part in ("memory_gb", "disk_gb"))
    return f"| {load.name} | {size} | {load.recalls:g} | {store} | {cores} | {memory} | {disk} |"


def _gigabytes(value: float) -> str:
    return f"{value / 1e3:.1f} TB" if value >= 1e3 else f"{value:.1f} GB"


if __name__ == "__main__":
    main()

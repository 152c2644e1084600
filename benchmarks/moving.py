"""What it costs to move a bank: export, import, and a copy that is compared at the end.

    python benchmarks/moving.py [--size 10000] [--target DSN] [--out NAME]

CPU of this process, a memory, all rows that belong to it included. With --target, the copy goes
to that store and back; the CPU of a server is not counted.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

import recollect
from arguments import count, described
from machine import disk_bytes, rss_mb, write
from synthetic import facts

BANK = "copy"
BATCH = 100


def main(arguments: Sequence[str] | None = None) -> None:
    parser = described(__doc__)
    parser.add_argument("--size", type=count, default=10_000)
    parser.add_argument("--target", help="a DSN; otherwise another file")
    parser.add_argument("--out", default="moving")
    options = parser.parse_args(arguments)
    found = run(options.size, options.target)
    for name, value in found.items():
        print(f"{name:24} {value}", file=sys.stderr)
    path = write(options.out, {"kind": "moving", **found})
    print(f"wrote results/{path.name}", file=sys.stderr)


def run(size: int, target: str | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        with (
            recollect.open(str(here / "source.db")) as source,
            recollect.open(target or str(here / "target.db")) as other,
        ):
            fill(source, size)
            lines: list[bytes] = []
            found: dict[str, Any] = {"memories": source.bank(BANK).memories}
            found["file_bytes_a_memory"] = round(disk_bytes(here / "source.db") / size)
            found["export_cpu_ms"] = each(
                size, lambda: lines.extend(orjson.dumps(line) for line in source.export(BANK))
            )
            found["export_bytes_a_memory"] = round(sum(map(len, lines)) / size)
            found["import_cpu_ms"] = each(
                size, lambda: source.import_bank((orjson.loads(x) for x in lines), "imported")
            )
            lines.clear()
            there: list[Any] = []
            found["copy_cpu_ms"] = each(size, lambda: there.append(source.copy(BANK, other)))
            found["copy_back_cpu_ms"] = each(
                size, lambda: there.append(other.copy(BANK, source, name="back"))
            )
            found["same"] = all(copied.same for copied in there)
            found["rss_mb"] = round(rss_mb())
            if target:
                other.delete_bank(BANK)
    return found


def fill(memory: recollect.Recollect, size: int) -> None:
    source = iter(facts(size))
    while batch := list(islice(source, BATCH)):
        memory.retain(BANK, [{"text": f.text, "timestamp": f.time} for f in batch])


def each(size: int, work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return round((time.process_time() - began) / size * 1e3, 4)


if __name__ == "__main__":
    main()

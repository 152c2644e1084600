"""Run the benchmarks and render docs/benchmarks.md.

    python benchmarks/run.py --short          minutes: sampled sets, 1k and 10k facts
    python benchmarks/run.py --full           whole sets, up to 100k facts (--million: 1M too)
    python benchmarks/run.py --peers          side by side with the peer

Benchmarks of single parts (time phrases, entities, …) are run too, each in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import peers
import quality
import render
import scale

HERE = Path(__file__).parent
PARTS = ("time_phrases", "entities", "causal", "models", "tokens", "cli_start")
LONG_PARTS = ("retain", "crash")
"""Benchmarks of single parts, each a script of its own that prints and writes its figures."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="the default")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args(arguments)
    failed = [name for name, step in steps(options) if not attempt(name, step)]
    render.main()
    if failed:
        raise SystemExit("failed: " + ", ".join(failed))


def steps(options: argparse.Namespace) -> list[tuple[str, Callable[[], None]]]:
    if options.peers:
        return [("peers", lambda: peers.main(["--facts", "10000"] if options.full else []))]
    sizes = scale.FULL if options.full else scale.SHORT
    if options.million:
        sizes = (*sizes, 1_000_000)
    kind = "full" if options.full else "short"
    chosen = ["--sizes", ",".join(map(str, sizes)), "--out", f"scale-{kind}"]
    parts = (*PARTS, *LONG_PARTS) if options.full else PARTS
    return [
        *((name, part(name)) for name in parts if (HERE / f"{name}.py").exists()),
        ("quality", lambda: quality.main(["--full", "--ablate"] if options.full else ["--ablate"])),
        ("scale", lambda: scale.main(chosen)),
    ]


def part(name: str) -> Callable[[], None]:
    def run() -> None:
        root = HERE.parent
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root), str(HERE)))}
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        subprocess.run(command, cwd=root, env=environment, check=True)

    return run


def attempt(name: str, step: Callable[[], None]) -> bool:
    """One benchmark that fails must not cost the others; the exit code still says so."""
    begun = time.perf_counter()
    try:
        step()
    except Exception as error:  # noqa: BLE001
        print(f"{name} failed: {error!r}", file=sys.stderr)
        return False
    print(f"{name} took {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    return True


if __name__ == "__main__":
    main()

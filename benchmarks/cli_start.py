"""How long the command line takes to answer before it does any work.

    python benchmarks/cli_start.py [--runs 15]

Each figure is the wall time of a whole process, interpreter included, as a person waits for
it; the CPU time of the process is beside it, because a busy machine makes wall time lie. The
goal is `recollect --help` in at most 0.3 s.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from arguments import count

GOAL_SECONDS = 0.3
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import typer": [sys.executable, "-c", "import typer"],
    "import recollect": [sys.executable, "-c", "import recollect"],
    "recollect --help": [sys.executable, "-m", "recollect.cli", "--help"],
    "recollect recall --help": [sys.executable, "-m", "recollect.cli", "recall", "--help"],
    "recollect --version": [sys.executable, "-m", "recollect.cli", "--version"],
    "recollect when": [sys.executable, "-m", "recollect.cli", "when", "last spring"],
}
HEAVY = ("numpy", "onnxruntime", "tokenizers", "rich", "asyncio", "sqlite3", "recollect.memory")


def timed(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of one process."""
    before = os.times()
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - began
    after = os.times()
    cpu = (
        after.children_user - before.children_user + after.children_system - before.children_system
    )
    return wall, cpu


def loaded_by_help() -> list[str]:
    """Which of the heavy modules `--help` brings in; each is time it could do without."""
    code = (
        "import sys; from recollect.cli import main; main(['--help'])\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [name.strip(" '[]") for name in ran.stderr.strip().split(",") if name.strip(" '[]")]


def a_store(folder: str) -> list[str]:
    """The command that asks a small bank: the model's start is in it."""
    db = str(Path(folder) / "memory.db")
    base = [sys.executable, "-m", "recollect.cli", "--db", db]
    subprocess.run([*base, "retain", "b", "Bob plays chess."], capture_output=True, check=True)
    return [*base, "recall", "b", "What does Bob play?"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=count, default=15)
    runs = parser.parse_args(arguments).runs
    with tempfile.TemporaryDirectory() as folder:
        commands = COMMANDS | {"recollect recall, bank of 1": a_store(folder)}
        print(f"{'':28} {'wall p50':>9} {'best':>9} {'cpu p50':>9}")
        for name, command in commands.items():
            timed(command)  # compile and warm the file cache
            figures = [timed(command) for _ in range(runs)]
            walls, cpus = zip(*figures, strict=True)
            middle = statistics.median(walls)
            goal = ""
            if name == "recollect --help":
                goal = "  reached" if middle <= GOAL_SECONDS else "  NOT reached"
                goal += f" (goal {GOAL_SECONDS} s)"
            print(
                f"{name:28} {middle:8.3f}s {min(walls):8.3f}s {statistics.median(cpus):8.3f}s{goal}"
            )
    print("heavy modules that --help loads:", ", ".join(loaded_by_help()) or "none")


if __name__ == "__main__":
    main()

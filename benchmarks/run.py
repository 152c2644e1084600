"""Run the benchmarks and render docs/benchmarks.md.

    python benchmarks/run.py --short          about 20 minutes: sampled sets, 1k and 10k facts
    python benchmarks/run.py --full           whole sets, up to 100k facts (--million: 1M too)
    python benchmarks/run.py --peers          side by side with the peer
    python benchmarks/run.py --only lean,hooks [--full]
    python benchmarks/run.py --list [--full]  what would be run
    python benchmarks/run.py --full --resume  what an earlier run of the same commit has not done yet

Each is a process of its own, and one that fails does not keep the others from running.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

import cost_model
import render
import scale
from arguments import described, some_of
from machine import CACHE, SKIPPED, commit, typed, write

HERE = Path(__file__).parent
PROGRESS = CACHE / "run.json"


@dataclass(frozen=True, slots=True)
class Part:
    """A script with its options; what it only prints is kept as printed."""

    name: str
    short: str | None = ""  # None: takes too long for a short run
    full: str = ""
    writes: bool = False  # figures of its own into results/

    def options(self, *, full: bool) -> list[str]:
        return (self.full if full else self.short or "").split()


PARTS = (
    Part("time_phrases"),
    Part("entities"),
    Part("causal"),
    Part("models"),
    Part("tokens"),
    Part("cli_start"),
    Part("telemetry"),
    Part("lean"),
    Part("skim"),
    Part("abstain"),
    Part("forms"),
    Part("hooks"),
    Part("moving", writes=True),
    Part("serving", short="--facts 2000 --out serving-short", writes=True),
    Part("postgres", short="--sizes 10000", full="--sizes 10000,100000", writes=True),
    Part("vault", short=None, writes=True),
    Part("retain", short=None, full="--facts 100000", writes=True),
    Part("sizing", short=None, full="--sizes 10000,100000,1000000", writes=True),
    Part("crash", short=None, writes=True),
    Part("crash_queue", short=None),
    Part("quality", short="--ablate", full="--full --ablate", writes=True),
    Part(
        "scale",
        short=f"--sizes {','.join(map(str, scale.SHORT))} --out scale-short",
        full=f"--sizes {','.join(map(str, scale.FULL))} --out scale-full",
        writes=True,
    ),
)
PEERS = (
    Part("peers", full="--facts 10000", writes=True),
    Part("postgres", short="--peer", full="--peer", writes=True),
    Part("serving", short="--facts 2000 --peer --out serving-short", full="--peer", writes=True),
)
MILLION = Part(
    "scale", full=f"--sizes {','.join(map(str, scale.FULL))},1000000 --out scale-full", writes=True
)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = described(__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--short", action="store_true", help="the default")
    size.add_argument("--full", action="store_true")
    parser.add_argument("--million", action="store_true", help="with --full")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--only", help="some of them, by name", metavar="NAME,NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--resume", action="store_true", help="after a run that was cut short")
    options = parser.parse_args(arguments)
    if options.million and not options.full:
        parser.error("--million goes with --full")
    if options.only is not None:
        known = dict.fromkeys(part.name for part in (PEERS if options.peers else PARTS))
        try:
            options.only = some_of(known)(options.only)
        except argparse.ArgumentTypeError as error:
            parser.error(f"--only: {error}")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    chosen = list(steps(options))
    done = finished() if options.resume else []
    if options.list:
        lines = (" ".join(command(part, options.full)) for part in chosen)
        print("\n".join(line for line in lines if line not in done))
        return
    failed = [part.name for part in chosen if not tried(part, chosen, options.full, done)]
    render.main()
    cost_model.main(["--write"])
    if failed:
        raise SystemExit("failed: " + ", ".join(failed))


def tried(part: Part, chosen: Sequence[Part], full: bool, done: list[str]) -> bool:
    """`done` is added to, and kept for a run that goes on where this one is cut short."""
    place = f"[{chosen.index(part) + 1}/{len(chosen)}]"
    line = " ".join(command(part, full))
    if line in done:
        print(f"{place} done before: {line}", file=sys.stderr)
        return True
    print(f"{place} {line}", file=sys.stderr, flush=True)
    try:
        went = attempt(part, full)
    except KeyboardInterrupt:
        raise SystemExit("cut short; --resume goes on from here") from None
    if went:
        done.append(line)
        PROGRESS.parent.mkdir(exist_ok=True)
        PROGRESS.write_bytes(orjson.dumps({"commit": commit(), "done": done}))
    return went is not False


def finished() -> list[str]:
    """What was run of this very commit: figures of two would not belong on one page."""
    held = orjson.loads(PROGRESS.read_bytes()) if PROGRESS.exists() else {}
    return held["done"] if held.get("commit") == commit() else []


def steps(options: argparse.Namespace) -> Iterable[Part]:
    wanted = options.only
    for part in PEERS if options.peers else PARTS:
        if wanted is not None and part.name not in wanted:
            continue
        if part.short is None and not options.full and wanted is None:
            continue
        yield MILLION if options.million and part.name == MILLION.name else part


def command(part: Part, full: bool) -> list[str]:
    return typed(part.name, part.options(full=full))


def attempt(part: Part, full: bool) -> bool | None:
    """One benchmark that fails must not cost the others; the exit code still says so. None: it
    cannot be run here."""
    begun = time.perf_counter()
    done = subprocess.run(
        # as a module, because some import each other as `benchmarks.…`
        [sys.executable, "-m", f"benchmarks.{part.name}", *part.options(full=full)],
        cwd=HERE.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(HERE.parent), str(HERE)))},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(done.stdout, end="", flush=True)
    took = time.perf_counter() - begun
    if done.returncode == SKIPPED:
        print(f"{part.name} cannot be run here", file=sys.stderr)
        return None
    if done.returncode:
        print(f"{part.name} failed with {done.returncode}", file=sys.stderr)
        return False
    print(f"{part.name} took {took:.0f} s", file=sys.stderr)
    if not part.writes:
        kept = {"command": " ".join(command(part, full)), "printed": done.stdout}
        write(f"part-{part.name}", {"kind": "printed", "seconds": round(took, 1), **kept})
    return True


if __name__ == "__main__":
    main()

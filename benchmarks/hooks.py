"""How long a coding agent waits for its hooks, and what they would cost without a helper.

Each line is a real process, started as the agent starts it, with the documented JSON on stdin:
wall and CPU milliseconds from start to exit. The bank holds 10,000 made-up facts. "no helper" is
the first prompt of all: it starts the helper and does without. The last two are what the hooks
would be without a resident helper: the command line, and recall by keywords alone, which needs no
model but still reads the bank.

python benchmarks/hooks.py
"""

from __future__ import annotations

import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import recollect
import synthetic
from arguments import no_options
from recollect.mcp import places

MEMORIES = 10_000
RUNS = 20
HOOK = [sys.executable, "-P", "-m", "recollect.mcp.hook"]
KEYWORDS = (
    "import sys, recollect\n"
    "memory = recollect.open(sys.argv[1])\n"
    "memory.recall('default', sys.argv[2], without=('semantic', 'graph', 'rerank'))"
)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rec") as home:
        os.environ |= {"HOME": home, "XDG_RUNTIME_DIR": home, "XDG_STATE_HOME": f"{home}/state"}
        measure(Path(home))


def measure(home: Path) -> None:
    db = str(home / "memory.db")
    facts = list(synthetic.facts(MEMORIES))
    with recollect.open(db) as memory:
        for at in range(0, MEMORIES, 500):
            memory.retain("default", [{"text": f.text} for f in facts[at : at + 500]])
    prompts = [f.question for f in facts[:: MEMORIES // RUNS]][:RUNS]
    options = ["--db", db]
    print(f"{'milliseconds':34s} {'wall p50':>9s} {'p95':>6s} {'max':>6s} {'CPU p50':>9s}")

    def prompt(at: int) -> Any:
        return _prompt(options, prompts[at], f"s{at}")

    with _helper(options) as ready_ms:
        _prompt(options, prompts[0], "warm")
        row("prompt, helper running", prompt)
        row("stop", lambda at: _run([*HOOK, "stop", *options], _input("Stop")))
        print(f"{'  helper ready after':34s} {ready_ms:9.0f}")
        print(f"{'  helper memory, MB':34s} {_rss_mb(options):9.0f}")
    row("prompt, no helper", prompt, after=lambda: _end_begun(options))
    with _silent(options):
        row("prompt, helper hangs", prompt)
    broken = ["--db", str(home / "broken.db")]
    Path(broken[1]).write_text("not a store", "utf-8")
    row("prompt, broken store", lambda at: _prompt(broken, prompts[at], "s"))
    cli = [sys.executable, "-m", "recollect.cli", "recall", "default"]
    row("without: recollect recall", lambda at: _run([*cli, prompts[at], *options], ""))
    row(
        "without: keywords alone",
        lambda at: _run([sys.executable, "-c", KEYWORDS, db, prompts[at]], ""),
    )


def row(name: str, call: Callable[[int], Any], after: Callable[[], Any] | None = None) -> None:
    walls, cpus = list[float](), list[float]()
    for at in range(RUNS):
        cpu, wall = _children(), time.perf_counter()
        call(at)
        walls.append((time.perf_counter() - wall) * 1e3)
        cpus.append((_children() - cpu) * 1e3)
        if after is not None:
            after()
    walls.sort()
    p95 = walls[int(0.95 * (RUNS - 1))]
    print(
        f"{name:34s} {statistics.median(walls):9.0f} {p95:6.0f} {walls[-1]:6.0f} "
        f"{statistics.median(cpus):9.0f}"
    )


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _input(event: str, **fields: str) -> str:
    given = {"session_id": "s", "transcript_path": "/nowhere.jsonl", "cwd": "/", **fields}
    return json.dumps({**given, "hook_event_name": event, "permission_mode": "default"})


def _prompt(options: list[str], prompt: str, session: str) -> bytes:
    given = _input("UserPromptSubmit", prompt=prompt, session_id=session)
    return _run([*HOOK, "prompt", *options], given)


def _run(command: list[str], given: str) -> bytes:
    ran = subprocess.run(command, input=given.encode(), capture_output=True, check=True)
    return ran.stdout


@contextmanager
def _helper(options: list[str]) -> Iterator[float]:
    began = time.perf_counter()
    command = [sys.executable, "-P", "-m", "recollect.mcp.resident", *options]
    with subprocess.Popen(command):
        _await(options)
        yield (time.perf_counter() - began) * 1e3
        _end(options)


@contextmanager
def _silent(options: list[str]) -> Iterator[None]:
    path = places.socket_path(options)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        yield
    path.unlink()


def _await(options: list[str]) -> None:
    while _ask(options, {"do": "start", "session": "", "bank": "default"}) is None:
        time.sleep(0.01)


def _end_begun(options: list[str]) -> None:
    """One that is still loading holds no lock yet, and would answer in the place of what comes next."""
    _await(options)
    _end(options)


def _end(options: list[str]) -> None:
    """And wait until it has ended, which it has when its lock is free."""
    import fcntl

    lock = places.socket_path(options).with_suffix(".lock")
    deadline = time.monotonic() + 20
    while lock.exists() and time.monotonic() < deadline:
        _ask(options, {"do": "end"})
        with lock.open("w") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.02)
            else:
                return


def _ask(options: list[str], request: dict[str, Any]) -> Any:
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(str(places.socket_path(options)))
            line.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(line.makefile("rb").readline())
        except (OSError, ValueError):
            return None


def _rss_mb(options: list[str]) -> float:
    """Of the process that has these options on its command line."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        if "recollect.mcp.resident" in words and options[1] in words:
            pages = int((entry / "statm").read_text("utf-8").split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return float("nan")


if __name__ == "__main__":
    no_options(__doc__)
    main()

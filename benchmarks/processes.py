"""What processes cost, read from /proc: CPU with that of children that have ended, and memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def _parents() -> dict[int, int]:
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = int(stat(int(entry.name))[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def with_children(roots: set[int]) -> set[int]:
    parents = _parents()
    found = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found & set(parents)


def cpu_s(pids: Iterable[int]) -> float:
    """Of these processes, and of their children that have ended (a finished connection)."""
    ticks = 0
    for pid in pids:
        try:
            ticks += sum(map(int, stat(pid)[11:15]))
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended between listing and reading: counted with its parent from now on
    return ticks / os.sysconf("SC_CLK_TCK")


def rss_mb(pid: int) -> float:
    """Proportional where it can be read: PostgreSQL's processes share their buffers."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return (
            sum(int(line.split()[1]) for line in rollup.splitlines() if line[:4] == "Pss:") / 1024
        )
    except PermissionError:
        return int(stat(pid)[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def stat(pid: int) -> list[str]:
    """The fields after the name, which may itself hold blanks: the state is number 0."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()

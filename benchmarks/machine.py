"""Where and with what a figure was measured. No host names, no paths."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson

HERE = Path(__file__).parent
RESULTS = HERE / "results"
CACHE = HERE / ".cache"
SKIPPED = 77  # what a script exits with when something it measures with is not here
PACKAGES = ("recollect", "numpy", "onnxruntime", "tokenizers", "simsimd", "bm25s", "ir-measures")


def facts() -> dict[str, Any]:
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpu": _cpu_model(),
            "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(
                os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1
            ),
            "system": platform.system(),
            "load_1m": round(os.getloadavg()[0], 2),
        },
        "versions": {"python": platform.python_version(), **_versions()},
        "commit": commit(),
    }


def write(name: str, content: dict[str, Any]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    told = {**facts(), "command": " ".join(typed(Path(sys.argv[0]).stem, sys.argv[1:])), **content}
    path.write_bytes(
        orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS) + b"\n"
    )
    return path


def typed(script: str, options: Iterable[str]) -> list[str]:
    """As a person would type it: those that import `benchmarks.…` only run as modules."""
    path = HERE / f"{script}.py"
    module = path.exists() and "from benchmarks." in path.read_text("utf-8")
    begun = ["-m", f"benchmarks.{script}"] if module else [f"benchmarks/{script}.py"]
    return ["python", *begun, *map(_open, options)]


def _open(option: str) -> str:
    """Where a store or a folder is, and with which password it is asked, is nobody's business."""
    value = option.partition("=")[2] if option.startswith("--") else option
    return "…" if {"/", "="} & {*value} else option


def commit() -> str:
    """The commit, with + when the package's own sources differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=HERE, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    head = git("rev-parse", "--short=12", "HEAD") or "unknown"
    return head + ("+" if git("status", "--porcelain", "--", "../src") else "")


def rss_mb() -> float:
    """Of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def disk_bytes(path: Path) -> int:
    """A file with the -wal and -shm beside it, or a folder with everything in it."""
    if path.is_dir():
        return sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    return sum(f.stat().st_size for f in path.parent.glob(path.name + "*"))


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found

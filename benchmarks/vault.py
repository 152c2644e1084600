"""What it costs to keep a folder of notes and a bank in step.

    python -m benchmarks.vault [--notes 5000] [--repeats 5]

Notes are made up: frontmatter as in a Bastra vault, some 50 words of `benchmarks.synthetic`
facts, links to other notes. They are synced with the shipped model into a new bank, then again
unchanged, then after one note changed; at last a watching process is told how soon it sees one.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from benchmarks.arguments import count, described
from benchmarks.machine import disk_bytes, write
from benchmarks.synthetic import facts
from benchmarks.timing import cost

import recollect
from recollect.vault import sync

BANK = "vault"
FACTS = 3  # some 50 words a note, as long as those of the sample vault that Bastra publishes
KINDS = ("lesson", "decision", "project-fact", "workflow", "reference")


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--notes", type=count, default=5_000)
    parser.add_argument("--repeats", type=count, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), given.notes, given.repeats)
    print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    write("vault", found)


def measure(folder: Path, count: int, repeats: int) -> dict[str, Any]:
    root, db = folder / "notes", folder / "memory.db"
    words = make(root, count)
    with recollect.open(db) as memory:
        memory.embedder  # noqa: B018  loaded before the clock starts
        first = cost([lambda: sync(memory, BANK, root)])
        same = cost([lambda: sync(memory, BANK, root)] * repeats)
        changed = cost([lambda n=n: _change(memory, root, n) for n in range(repeats)])
        written = cost([lambda n=n: _retain(memory, root, n) for n in range(repeats)])
        size = memory.bank(BANK).memories
    cold = _cold(db, root)
    return {
        "notes": count,
        "words_a_note": round(words / count),
        "memories": size,
        "first_sync_s": {
            "wall": round(first.wall_p50 / 1e3, 1),
            "cpu": round(first.cpu_p50 / 1e3, 1),
        },
        "cpu_ms_a_note": round(first.cpu_p50 / count, 2),
        "unchanged_ms": same.as_dict(),
        "one_note_changed_ms": changed.as_dict(),
        "one_memory_written_ms": written.as_dict(),
        "unchanged_in_a_new_process_ms": cold,
        "watch_to_bank_ms": _watched(db, root, repeats),
        "megabytes": round(disk_bytes(db) / 1e6, 1),
    }


def make(root: Path, count: int) -> int:
    rnd, stream = random.Random(5), facts(count * FACTS)
    words = 0
    for n in range(count):
        said = [f.text for f in islice(stream, FACTS)]
        folder = root / f"topic{n % 50}"
        folder.mkdir(parents=True, exist_ok=True)
        body = "\n\n".join(
            ["## Context", " ".join(said[: FACTS // 2]), "## Rule", " ".join(said[FACTS // 2 :])]
        )
        title = " ".join(said[0].split()[:7])
        links = " ".join(f"[[note-{rnd.randrange(count)}]]" for _ in range(2))
        words += len(body.split())
        (folder / f"note-{n}.md").write_text(
            f"---\nid: note-{n}\ntitle: {orjson.dumps(title).decode()}\ntype: {KINDS[n % 5]}\n"
            f"summary: {orjson.dumps(said[1]).decode()}\ntags: [topic{n % 50}]\n"
            f"recall_when:\n  - working on topic {n % 50}\ncreated: 2026-05-01\nupdated: 2026-05-02\n"
            f"---\n\n{body}\n\nSee also {links}\n",
            encoding="utf-8",
        )
    return words


def _change(memory: recollect.Recollect, root: Path, n: int) -> None:
    path = root / f"topic{n % 50}" / f"note-{n}.md"
    path.write_text(path.read_text("utf-8") + f"\nChanged for the {n}th time.\n", encoding="utf-8")
    assert len(sync(memory, BANK, root).updated) == 1


def _retain(memory: recollect.Recollect, root: Path, n: int) -> None:
    memory.retain(BANK, {"text": f"Somebody else remembered {n} more things."})
    assert len(sync(memory, BANK, root).written) == 1


COLD = """
import sys, time
import recollect
from recollect.vault import sync
wall, cpu = time.perf_counter(), time.process_time()
with recollect.open(sys.argv[1]) as memory:
    assert not sync(memory, "vault", sys.argv[2]).changed
print((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3)
"""


def _cold(db: Path, root: Path) -> dict[str, float]:
    ran = subprocess.run(
        [sys.executable, "-c", COLD, str(db), str(root)], capture_output=True, text=True, check=True
    )
    wall, cpu = map(float, ran.stdout.split())
    return {"wall": round(wall, 1), "cpu": round(cpu, 1)}


def _watched(db: Path, root: Path, repeats: int) -> dict[str, float]:
    """From the moment a note is saved to the moment the bank has it."""
    command = [sys.executable, "-m", "recollect.cli", "--db", str(db), "vault", "sync", str(root)]
    watcher = subprocess.Popen(
        [*command, "--bank", BANK, "--watch"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert watcher.stderr is not None
    took: list[float] = []
    try:
        while "watching" not in watcher.stderr.readline():
            pass
        with recollect.open(db) as memory:
            for n in range(repeats):
                path = root / "topic7" / "note-7.md"
                path.write_text(path.read_text("utf-8") + f"\nSeen {n}.\n", encoding="utf-8")
                began = time.perf_counter()
                while f"Seen {n}." not in memory.load(BANK, "note-7").text:
                    assert time.perf_counter() - began < 60
                    time.sleep(0.005)
                took.append((time.perf_counter() - began) * 1e3)
                time.sleep(0.7)
    finally:
        watcher.terminate()
        watcher.wait()
    return {"median": round(sorted(took)[len(took) // 2], 1), "most": round(max(took), 1)}


if __name__ == "__main__":
    main()

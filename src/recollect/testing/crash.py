"""Kill a writing process again and again, and see that nothing acknowledged is lost.

    with Nursery(db) as nursery:
        nursery.crash(after=0.05)     # let it write for so long, then kill -9
        nursery.check()               # raises AssertionError when anything is wrong

A nursery is a process that has everything imported and forks a writer when asked, so that a
crash costs milliseconds. The writer notes an id in a file only after retain has returned.
`Nursery(db, "import")` and `Nursery(db, "copy")` fork a process that brings a bank in, from an
export or from another store beside the file; it notes every part that is there.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import orjson

from recollect.testing.fakes import open_fake

BANK = "crash"
PATIENCE = 60.0  # seconds for a writer to write anything at all


class Nursery:
    def __init__(self, db: Path, job: str = "write") -> None:
        self._db = db
        self._acknowledged = db.with_suffix(".ids")
        self._acknowledged.touch()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(db), str(self._acknowledged), job],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.crashes = 0
        self._ask("ready")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def crash(self, *, after: float, opening: bool = False) -> None:
        """Kill so many seconds after the first thing it notes, or after the fork."""
        before = self._acknowledged.stat().st_size
        writer = int(self._ask(f"fork {self.crashes * 100_000}"))
        deadline = time.monotonic() + PATIENCE
        while not opening and self._acknowledged.stat().st_size == before:
            assert time.monotonic() < deadline, "the writer writes nothing"
            time.sleep(0.001)
        time.sleep(after)
        os.kill(writer, signal.SIGKILL)
        self._ask("reap")
        self.crashes += 1

    @property
    def acknowledged(self) -> list[str]:
        # The last line may be cut by the kill; only what ends in a newline was written whole.
        whole = self._acknowledged.read_text().rpartition("\n")[0]
        return whole.split()

    def check(self) -> None:
        """Opens without repair, is whole, agrees with itself, and holds all it promised."""
        with open_fake(self._db) as memory:
            if self.acknowledged:
                assert len(memory.recall(BANK, "standing fact")) > 0
        connection = sqlite3.connect(self._db)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = [
            {n for (n,) in connection.execute(f"SELECT n FROM {table}")}
            for table in ("memories", "features", "tokens")
        ]
        assert rows[0] == rows[1] == rows[2], "a memory is half there"
        there = {i for (i,) in connection.execute("SELECT id FROM memories")}
        connection.close()
        lost = set(self.acknowledged) - there
        assert not lost, f"{len(lost)} acknowledged memories are gone"


def write(db: str, acknowledged: str, start: int) -> None:
    """Retain, replace, correct and forget without end. Only standing facts are promised."""
    out = os.open(acknowledged, os.O_WRONLY | os.O_APPEND)
    with open_fake(db) as memory:
        for n in _from(start):
            standing = memory.retain(BANK, {"text": f"Standing fact {n} of {n * n}"}).ids[0]
            os.write(out, f"{standing}\n".encode())
            facts = [f"Part {k} of version {n} is {n * k}" for k in range(n % 5 + 1)]
            part = memory.retain(BANK, {"facts": facts, "document_id": f"d{n % 7}"}).ids[0]
            memory.update(BANK, part, text=f"Corrected version {n} of {n + 1}")
            if n % 3 == 0:
                memory.forget(BANK, part)


def import_(db: str, acknowledged: str, start: int) -> None:
    """What stands in the file beside the store, again and again."""
    with open_fake(db) as memory:
        for n in _from(start):
            lines = Path(db).with_suffix(".jsonl").read_bytes().splitlines()
            memory.import_bank(
                (orjson.loads(line) for line in lines),
                f"{BANK}-{n}",
                progress=lambda done, _: _note(acknowledged, f"{done}"),
            )


def copy(db: str, acknowledged: str, start: int) -> None:
    """From the store beside it, under one name: a later copy goes on with an earlier one."""
    del start
    with open_fake(db) as memory, open_fake(Path(db).with_suffix(".source")) as source:
        source.copy(BANK, memory, progress=lambda done, _: _note(acknowledged, f"{done}"))
        _note(acknowledged, "all")


def _note(acknowledged: str, what: str) -> None:
    out = os.open(acknowledged, os.O_WRONLY | os.O_APPEND)
    os.write(out, f"{what}\n".encode())
    os.close(out)


JOBS = {"write": write, "import": import_, "copy": copy}


def _from(start: int) -> Iterator[int]:
    while True:
        start += 1
        yield start


def _serve(db: str, acknowledged: str, job: str) -> None:
    with open_fake(":memory:") as memory:  # everything that is made when first needed
        memory.retain("b", "Alice met Bob in Rome last spring because it rained.")
        memory.recall("b", "When did Alice meet Bob?")
    writer = 0
    for line in sys.stdin:
        verb, *rest = line.split()
        if verb == "fork":
            writer = os.fork()
            if not writer:
                JOBS[job](db, acknowledged, int(rest[0]))
                os._exit(0)
        elif verb == "reap":
            os.waitpid(writer, 0)
        print(writer, flush=True)


if __name__ == "__main__":
    _serve(*sys.argv[1:])

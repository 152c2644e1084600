"""Several processes and threads on one file."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import recollect
from recollect.testing import open_fake

OPENER = """
import sys
from recollect.testing import open_fake
with open_fake(sys.argv[1]) as memory:
    memory.create_bank("b")
    print(memory.banks()[0].id)
"""

ADDER = """
import sys
from recollect.testing import open_fake
who, times = sys.argv[2], int(sys.argv[3])
with open_fake(sys.argv[1]) as memory:
    for n in range(times):
        memory.retain("b", [{"text": "Everybody says this."}, {"text": f"{who} wrote line {n * n}"}])
        memory.recall("b", "line")
"""

TALKER = """
import sys
from recollect.testing import open_fake
with open_fake(sys.argv[1]) as memory:
    for line in sys.stdin:
        verb, text = line.rstrip("\\n").split(" ", 1)
        if verb == "retain":
            print(memory.retain("b", {"text": text}).ids[0], flush=True)
        elif verb == "forget":
            print(memory.forget("b", text), flush=True)
        else:
            print("|".join(sorted(h.text for h in memory.recall("b", text))), flush=True)
"""


class Talker:
    """Another process with the same file open, asked one thing at a time."""

    def __init__(self, db: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", TALKER, str(db)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, line: str) -> str:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


def test_many_processes_may_create_the_same_file_at_once(db: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, str(db)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    results = [process.communicate() for process in started]
    assert [out for out, _ in results] == ["b\n"] * 4, results


def test_each_process_sees_what_the_other_committed_at_its_next_recall(db: Path) -> None:
    with open_fake(db) as memory:
        memory.retain("b", {"text": "Zebras have stripes"})
        other = Talker(db)
        assert other("recall stripes") == "Zebras have stripes"
        theirs = other("retain Tigers have stripes")
        assert {h.text for h in memory.recall("b", "stripes")} == {
            "Zebras have stripes",
            "Tigers have stripes",
        }
        memory.update("b", theirs, text="Okapis have stripes")
        assert other("recall stripes") == "Okapis have stripes|Zebras have stripes"
        assert other(f"forget {theirs}") == "1"
        assert [h.text for h in memory.recall("b", "stripes")] == ["Zebras have stripes"]
        other.close()


def test_no_update_is_lost_between_processes(db: Path) -> None:
    with open_fake(db) as memory:
        memory.create_bank("b")
        children = [
            subprocess.Popen([sys.executable, "-c", ADDER, str(db), name, "15"])
            for name in ("Ann", "Bob")
        ]
        for n in range(15):
            memory.retain("b", [{"text": "Everybody says this."}, {"text": f"Cara has {n * n}"}])
        assert [c.wait() for c in children] == [0, 0]
        found = memory.memories("b", limit=1000)
        assert {m.text: m.proof_count for m in found}["Everybody says this."] == 45
        assert len(found) == 46
        assert memory.bank("b").memories == 46


def test_names_learnt_by_two_processes_do_not_collide(db: Path) -> None:
    with open_fake(db) as memory:
        memory.retain("b", {"text": "Zelda Quux sails"})
        other = Talker(db)
        other("retain Marvin Plonk sails")
        memory.retain("b", {"text": "Ottilie Brandt sails"})
        names = {m.text: m.entities for m in memory.memories("b")}
        assert names == {
            "Zelda Quux sails": ("Zelda Quux",),
            "Marvin Plonk sails": ("Marvin Plonk",),
            "Ottilie Brandt sails": ("Ottilie Brandt",),
        }
        other.close()


def test_threads_share_one_store(memory: recollect.Recollect) -> None:
    memory.create_bank("b")
    stop = threading.Event()
    troubles: list[BaseException] = []

    def read() -> None:
        while not stop.is_set():
            try:
                memory.recall("b", "Who met Alice in Rome?")
                memory.memories("b")
            except BaseException as error:  # noqa: BLE001  shown by the assertion below
                troubles.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda n: memory.retain(
                    "b", [{"text": "All agree."}, {"text": f"Alice met Nr{n} in Rome on day {n}"}]
                ),
                range(40),
            )
        )
    stop.set()
    for reader in readers:
        reader.join()
    assert troubles == []
    found = {m.text: m for m in memory.memories("b", limit=100)}
    assert found["All agree."].proof_count == 40
    assert len(found) == 41


def test_a_recall_in_one_thread_never_shows_a_stale_memory_to_later_ones(
    memory: recollect.Recollect,
) -> None:
    one = memory.retain("b", {"text": "Count me", "timestamp": "2026-01-01T00:00:00Z"}).ids[0]
    old = memory._store.view("b")
    memory.retain("b", {"text": "Count me", "timestamp": "2026-01-02T00:00:00Z"})
    new = memory._store.view("b")
    old.load([1])  # an older view may still be reading rows
    assert new.load([1])[1].proof_count == 2
    assert memory.load("b", one).proof_count == 2

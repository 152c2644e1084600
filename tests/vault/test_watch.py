"""Watching: real processes, a real folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.testing import open_fake

from .conftest import BANK

PATIENCE = 120.0

WATCH = """
import sys, json, threading
from recollect.testing import open_fake
from recollect.vault.watch import watch
with open_fake(sys.argv[1]) as memory:
    began = lambda: print(json.dumps({"began": True}), flush=True)
    try:
        for report in watch(memory, "v", sys.argv[2], began=began):
            print(json.dumps(report.as_dict()), flush=True)
    except KeyboardInterrupt:
        print(json.dumps({"ended": True}), flush=True)
"""


class Watching:
    def __init__(self, db: Path, vault: Path) -> None:
        command = [sys.executable, "-c", WATCH, str(db), str(vault)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.patience = threading.Timer(PATIENCE, self.process.kill)
        self.patience.start()

    def next(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


@pytest.fixture
def watching(db: Path, vault: Path) -> Iterator[Watching]:
    saved(vault / "a.md", "Tea is served at four.")
    here = Watching(db, vault)
    try:
        assert here.next()["retained"] == ["a.md"]
        assert here.next() == {"began": True}
        yield here
    finally:
        here.patience.cancel()
        here.process.kill()
        here.process.wait()


def saved(path: Path, text: str) -> None:
    """At once, as editors do: nobody ever sees half of it."""
    beside = path.with_suffix(".saving")
    beside.write_text(text)
    beside.replace(path)


def _first(here: Watching, what: str) -> list[str]:
    """Of the reports to come, the first that has it."""
    while not (found := here.next()[what]):
        pass
    return found


def _soon(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_a_changed_note_is_picked_up(watching: Watching, memory: Recollect, vault: Path) -> None:
    saved(vault / "a.md", "Tea is served at five.")
    assert _first(watching, "updated") == ["a.md"]
    assert [m.text for m in memory.memories(BANK)] == ["Tea is served at five."]


def test_a_new_folder_with_a_note_is_picked_up(watching: Watching, vault: Path) -> None:
    (vault / "sub").mkdir()
    saved(vault / "sub" / "b.md", "The gate is green.")
    assert _first(watching, "retained") == ["sub/b.md"]


def test_a_memory_of_another_process_becomes_a_note(
    watching: Watching, db: Path, vault: Path
) -> None:
    with open_fake(db) as other:
        other.retain(BANK, "Priya prefers coffee.")
    assert _first(watching, "written") == ["memories/Priya prefers coffee.md"]
    assert _soon((vault / "memories" / "Priya prefers coffee.md").exists)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_pipe_hears_of_a_change_when_it_happens(
    db: Path, vault: Path, form: tuple[str, ...]
) -> None:
    saved(vault / "a.md", "Tea is served at four.")
    command = [sys.executable, "-m", "recollect", "--db", str(db), "vault", "sync", str(vault)]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(
        [*command, "--bank", BANK, "--watch", *form], stdout=subprocess.PIPE, text=True, env=env
    )
    patience = threading.Timer(PATIENCE, process.kill)
    patience.start()
    try:
        assert process.stdout is not None
        assert "a.md" in process.stdout.readline()
        assert process.poll() is None
    finally:
        patience.cancel()
        process.kill()
        process.wait()


def test_it_ends_cleanly(watching: Watching) -> None:
    watching.process.send_signal(signal.SIGINT)
    assert watching.next() == {"ended": True}
    assert watching.process.wait(PATIENCE) == 0

"""Whatever is done on both sides, in any order: nothing is lost, and a second sync has nothing
left to do."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Recollect
from recollect.errors import InvalidInput
from recollect.testing import open_fake
from recollect.types import State
from recollect.vault import Options, sync

BANK = "v"
OPTIONS = Options(force=True)
SUBJECTS = ["tea", "the gate", "Priya", "the boiler", "Apollo", "the north stair"]


@dataclass
class World:
    """A vault, a bank, and every text that nobody took away."""

    memory: Recollect
    root: Path
    made: int = 0
    must: set[str] = field(default_factory=set[str])

    def word(self) -> str:
        """A text of its own, and alive."""
        self.made += 1
        self.must.add(f"wording{self.made}q")
        return f"{SUBJECTS[self.made % 6]} is as wording{self.made}q says."

    # --- what there is ---------------------------------------------------------------------

    def files(self) -> list[Path]:
        found = (p for p in self.root.rglob("*.md") if ".recollect" not in p.parts)
        return sorted(p for p in found if "conflict_of:" not in p.read_text())

    def memories(self) -> list[str]:
        if not self.memory.banks():
            return []
        held = self.memory.memories(BANK, limit=1000)
        return sorted(m.id for m in held if m.state is not State.INVALIDATED)

    def everything(self) -> str:
        texts = [p.read_text() for p in self.root.rglob("*.md")]
        if self.memory.banks():
            texts += [m.text for m in self.memory.memories(BANK, limit=1000)]
        return "\n".join(texts)

    # --- what may happen -------------------------------------------------------------------

    def write(self, n: int) -> None:
        name = self.root / ["a.md", "b.md", "sub/c.md", "sub/d e.md"][n % 4]
        name.parent.mkdir(exist_ok=True)
        if name.exists():
            return
        own = f"id: own{self.made}\ntype: lesson\n" if n % 3 else ""
        head = f"---\n{own}extra: [1, 2] # mine\n---\n\n" if n % 2 else ""
        name.write_text(f"{head}{self.word()}\nSee [[b]]. #tag{n % 3}\n")

    def write_long(self, n: int) -> None:
        path = self.root / f"long{n % 2}.md"
        if not path.exists():
            body = [
                f"## Part {i}\n\n{self.word()} " + "More is said of it here. " * 12
                for i in range(8)
            ]
            path.write_text("\n\n".join(body) + "\n")

    def edit(self, n: int) -> None:
        if not (found := self.files()):
            return
        path = found[n % len(found)]
        text = path.read_text()
        old = next((w for w in sorted(self.must) if w in text), None)
        if old is None:
            return
        self.must.discard(old)
        path.write_text(text.replace(old, self.word().split()[-2]))

    def tag(self, n: int) -> None:
        if found := self.files():
            path = found[n % len(found)]
            path.write_text(path.read_text() + f"\n#more{n}\n")

    def rename(self, n: int) -> None:
        if found := self.files():
            path = found[n % len(found)]
            target = self.root / f"moved{self.made}-{n}.md"
            if not target.exists():
                path.rename(target)

    def delete(self, n: int) -> None:
        if found := self.files():
            path = found[n % len(found)]
            text = path.read_text()
            self.must -= {w for w in self.must if w in text}
            path.unlink()

    def retain(self, n: int) -> None:
        item = {"text": self.word(), "tags": ["kept"] if n % 2 else []}
        self.memory.retain(BANK, {**item, "id": f"given{self.made}"})

    def correct(self, n: int) -> None:
        if not (found := self.memories()):
            return
        own = found[n % len(found)]
        text = self.memory.load(BANK, own).text
        old = next((w for w in sorted(self.must) if w in text), None)
        if old is None:
            return
        self.must.discard(old)
        self.memory.update(BANK, own, text=text.replace(old, self.word().split()[-2]))

    def annotate(self, n: int) -> None:
        if found := self.memories():
            self.memory.update(BANK, found[n % len(found)], scope=f"scope{n}")

    def review(self, n: int) -> None:
        if found := self.memories():
            self.memory.review(BANK, found[n % len(found)])

    def invalidate(self, n: int) -> None:
        if found := self.memories():
            self.memory.invalidate(BANK, found[n % len(found)])

    def supersede(self, n: int) -> None:
        found = self.memories()
        if len(found) > 1:
            with suppress(InvalidInput):  # it may have been replaced by it
                self.memory.supersede(BANK, found[n % len(found)], found[(n + 1) % len(found)])

    def forget(self, n: int) -> None:
        if found := self.memories():
            own = found[n % len(found)]
            text = self.memory.load(BANK, own).text
            self.must -= {w for w in self.must if w in text}
            self.memory.forget(BANK, own)

    def lose_state(self, n: int) -> None:
        for path in (self.root / ".recollect").glob("*.json"):
            path.unlink()

    def sync(self, n: int) -> None:
        report = sync(self.memory, BANK, self.root, OPTIONS)
        # A successor may have been forgotten since; that is said, and no harm.
        assert [p for p in report.problems if "superseded_by names" not in p.cause] == []
        text = self.everything()
        assert {w for w in self.must if w not in text} == set()


OPERATIONS = [
    "write", "write", "write_long", "edit", "edit", "tag", "rename", "delete", "retain", "correct", "correct",
    "annotate", "review", "invalidate", "supersede", "forget", "lose_state", "sync", "sync",
]  # fmt: skip


@contextmanager
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        root.mkdir()
        with open_fake(Path(folder) / "m.db") as memory:
            yield World(memory, root)


@given(
    st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 11)), min_size=6, max_size=30)
)
@settings(max_examples=60)
def test_no_text_is_lost_and_a_second_sync_has_nothing_to_do(
    operations: list[tuple[str, int]],
) -> None:
    with world() as here:
        for name, n in operations:
            getattr(here, name)(n)
        here.sync(0)
        before = snapshot(here.memory, here.root)
        assert not sync(here.memory, BANK, here.root, OPTIONS).changed
        assert snapshot(here.memory, here.root) == before


@given(st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 11)), max_size=12))
@settings(max_examples=20)
def test_after_a_sync_notes_and_memories_say_the_same(operations: list[tuple[str, int]]) -> None:
    from recollect.vault.fields import plain
    from recollect.vault.note import read

    with world() as here:
        for name, n in operations:
            if name != "write_long":  # a document is many memories
                getattr(here, name)(n)
        here.sync(0)
        held = {m.id: m for m in here.memory.memories(BANK, limit=1000)}
        notes = sorted(read(p.name, p.read_text()).text for p in here.files())
        active = sorted(plain(m.text) for m in held.values() if m.state is State.ACTIVE)
        assert set(active) <= set(notes)


def snapshot(memory: Recollect, root: Path) -> tuple[object, ...]:
    """Everything that both sides say, less ids and times that chance gave."""
    found = (p for p in root.rglob("*") if p.is_file() and ".recollect" not in p.parts)
    files = {str(p.relative_to(root)): p.read_bytes() for p in found}
    held = memory.memories(BANK, limit=10_000)
    said = sorted((m.title or "", m.text, m.state.value, m.tags, str(m.scope)) for m in held)
    return files, said


# --- killed in the middle --------------------------------------------------------------------


@pytest.fixture
def pending(tmp_path: Path) -> Path:
    """Much to do on both sides: new notes, edits, deletions, memories without notes, conflicts."""
    root = tmp_path / "begun" / "vault"
    root.mkdir(parents=True)
    with open_fake(tmp_path / "begun" / "m.db") as memory:
        for n in range(40):
            (root / f"old{n:02}.md").write_text(
                f"---\nid: o{n}\n---\nThe gate of hall {n} is green.\n"
            )
        sync(memory, BANK, root)
        for n in range(40):
            (root / f"new{n:02}.md").write_text(f"The stair of house {n} is narrow. [[old01]]\n")
        for n in range(10):
            path = root / f"old{n:02}.md"
            path.write_text(path.read_text().replace("green", f"blue since {n}"))
        for n in range(5, 15):
            memory.update(BANK, f"o{n}", text=f"The gate of hall {n} is red.")
        for n in range(15, 20):
            (root / f"old{n:02}.md").unlink()
        for n in range(30):
            memory.retain(
                BANK,
                {"id": f"m{n}", "text": f"The lamp of floor {n} hums.", "timestamp": "2026-01-01"},
            )
    return tmp_path


def test_killed_at_any_moment_the_next_sync_ends_where_it_would_have(pending: Path) -> None:
    shutil.copytree(pending / "begun", pending / "whole")
    with open_fake(pending / "whole" / "m.db") as memory:
        began = time.monotonic()
        sync(memory, BANK, pending / "whole" / "vault")
        took = time.monotonic() - began
        expected = snapshot(memory, pending / "whole" / "vault")
    moments = random.Random(8)
    for attempt in range(6):
        broken = pending / f"broken{attempt}"
        shutil.copytree(pending / "begun", broken)
        _killed(broken, [moments.uniform(0.0, took) for _ in range(3)])
        with open_fake(broken / "m.db") as memory:
            sync(memory, BANK, broken / "vault")
            assert snapshot(memory, broken / "vault") == expected


# In a process of its own: one with threads must not fork.
KILLED = """
import os, signal, sys, time
from pathlib import Path
from recollect.testing import open_fake
from recollect.vault import sync
folder = Path(sys.argv[1])
for after in sys.argv[2:]:
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        with open_fake(folder / "m.db") as memory:
            os.write(told, b".")
            sync(memory, "v", folder / "vault")
        os._exit(0)
    os.close(told)
    os.read(ready, 1)
    os.close(ready)
    time.sleep(float(after))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def _killed(folder: Path, moments: list[float]) -> None:
    """Processes that sync, each killed so many seconds after it began to."""
    after = [str(moment) for moment in moments]
    subprocess.run([sys.executable, "-c", KILLED, str(folder), *after], check=True)


def test_a_file_changed_while_it_is_synced_is_left_to_its_author(
    tmp_path: Path, memory: Recollect
) -> None:
    from recollect.vault.files import digest, write_text

    (tmp_path / "a.md").write_text("mine")
    with pytest.raises(InvalidInput, match="changed while it was synced"):
        write_text(tmp_path, "a.md", "yours", digest(b"older"))
    with pytest.raises(InvalidInput):
        write_text(tmp_path, "a.md", "yours", None)
    assert [p.name for p in tmp_path.iterdir() if p.suffix != ".db"] == ["a.md"]
    assert (tmp_path / "a.md").read_text() == "mine"

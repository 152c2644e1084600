"""What both sides looked like when they last agreed.

The state lives in the vault, in `.recollect/`, one file a bank: a bank that was made anew, or a
copy of the vault on another machine with another store, starts without one. Nothing hangs on it:
it holds no text, only digests, and without it a sync compares the two sides and keeps both.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import orjson

from recollect.errors import InvalidInput
from recollect.types import Bank
from recollect.vault.files import PRIVATE

FORMAT = 1
# A file changed within the grain of its clock cannot be told from one that was not.
GRAIN_NS = 2_000_000_000
Form = Literal["memory", "document"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One note and the memory (or document) it is kept in step with."""

    id: str
    form: Form
    digest: str  # of the file, byte by byte
    stamp: tuple[int, ...]  # of the file: a hint that saves reading it
    file: Mapping[str, str]  # digest of each field, as the note had it
    bank: Mapping[str, str]  # and as the bank had it
    stamps: str = ""  # of the bank's side: a hint that saves comparing it field by field
    names: tuple[str, ...] = ()  # what links may call it
    links: Mapping[str, float] = field(default_factory=dict[str, float])  # as the note has them
    anchor: str | None = None  # the memory that links to a document lead to
    # Of a document: the statement in which a link stands, by what the link says.
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    linked: str = ""  # digest of the links as they were last handed to the bank


_NAMES = tuple(f.name for f in fields(Entry))


@dataclass
class State:
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])  # by path
    seen: str = ""  # the bank's last change that is accounted for
    saved_ns: int = 0
    dirty: bool = False  # it differs from what is on disk

    def unchanged(self, path: str, stamp: tuple[int, ...]) -> bool:
        """By the hint alone; a file touched shortly before the state was saved is read again."""
        entry = self.entries.get(path)
        if entry is None or entry.stamp != stamp or not stamp:
            return False
        return max(stamp[0], stamp[1]) + GRAIN_NS < self.saved_ns


def state_path(root: Path, bank: Bank) -> Path:
    """The file for a bank, which is identified by its name and the time it was made."""
    identity = f"{bank.id}\n{bank.created_at.isoformat()}".encode()
    return root / PRIVATE / f"{blake2b(identity, digest_size=8).hexdigest()}.json"


def load(path: Path) -> State:
    """A state that is missing or damaged is no state: the sides are compared instead."""
    try:
        given = orjson.loads(path.read_bytes())
        if given["format"] != FORMAT:
            return State()
        entries = {name: _entry(value) for name, value in given["entries"].items()}
        return State(entries, str(given["seen"]), int(given["saved_ns"]))
    except (FileNotFoundError, KeyError, TypeError, ValueError, AttributeError):
        return State()


def _entry(value: dict[str, Any]) -> Entry:
    held: dict[str, Any] = {
        **value,
        "stamp": tuple(value["stamp"]),
        "names": tuple(value["names"]),
    }
    return Entry(**held)


def _values(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in _NAMES}


def save(path: Path, state: State) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    ignore = path.parent / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    state.saved_ns = time.time_ns()
    entries = {name: _values(entry) for name, entry in state.entries.items()}
    raw = orjson.dumps(
        {"format": FORMAT, "seen": state.seen, "saved_ns": state.saved_ns, "entries": entries}
    )
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    state.dirty = False


@contextmanager
def alone(root: Path, patience: float = 60.0) -> Generator[None]:
    """One sync at a time in a folder; others wait for it."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system; the digests still guard every write
        yield
        return
    folder = root / PRIVATE
    folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + patience
    with (folder / "lock").open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if time.monotonic() > deadline:
                    raise InvalidInput(
                        f"another sync of {root} is running", hint="wait for it, or end it"
                    ) from error
                time.sleep(0.05)
        yield

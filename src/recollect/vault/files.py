"""The vault's files: found, read and written without ever leaving one half written."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Any

from recollect.errors import InvalidInput

SUFFIXES = (".md", ".markdown")
PRIVATE = ".recollect"
PARTIAL = ".recollect-partial"  # ends the name of a file that is still being written
LARGEST = 4_000_000  # bytes; what is larger is data, not a note


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that was left alone, or something in it that was, and why."""

    path: str
    cause: str
    hint: str | None = None
    partly: bool = False  # the rest of the file is synced

    def as_dict(self) -> dict[str, Any]:
        return {"path": self.path, "cause": self.cause, "hint": self.hint, "partly": self.partly}


@dataclass(frozen=True, slots=True)
class Seen:
    """A note on disk. `stamp` changes whenever the file does, short of a forged clock."""

    path: str
    stamp: tuple[int, ...]
    size: int
    mtime_ns: int


@dataclass
class Scan:
    files: dict[str, Seen] = field(default_factory=dict[str, Seen])
    problems: list[Problem] = field(default_factory=list[Problem])
    closed: list[str] = field(default_factory=list[str])  # folders that could not be looked into
    leftovers: list[str] = field(default_factory=list[str])  # of a sync that was killed

    def hidden(self, path: str) -> bool:
        """Whether the file may exist although it was not found."""
        return any(path == p or path.startswith(f"{p}/") for p in self.closed)


def scan(root: Path) -> Scan:
    """Every note below the folder. What begins with a dot is not ours to read."""
    out = Scan()
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda e: e.name)
        except OSError as error:
            out.closed.append(folder)
            out.problems.append(Problem(folder or ".", f"cannot be read: {error.strerror}"))
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith(".") and entry.name.endswith(PARTIAL):
                out.leftovers.append(path)
            if entry.name.startswith(".") or entry.name == "node_modules":
                continue
            if not _nameable(path):
                shown = path.encode("utf-8", "replace").decode()
                out.problems.append(Problem(shown, "its name is not UTF-8", "rename it"))
            elif entry.is_symlink():
                _linked(root, path, out)
            elif entry.is_dir():
                pending.append(path)
            elif entry.name.lower().endswith(SUFFIXES):
                _seen(entry, path, out)
    return out


def _nameable(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _linked(root: Path, path: str, out: Scan) -> None:
    """A link inside the folder is read at its target; one that leads out of it is not followed."""
    target = Path(os.path.realpath(root / path))
    if not target.exists():
        if path.lower().endswith(SUFFIXES):
            out.closed.append(path)
            out.problems.append(Problem(path, "is a link to nothing", "remove the link"))
    elif not target.is_relative_to(root.resolve()):
        wanted = target.is_dir() or path.lower().endswith(SUFFIXES)
        if wanted:
            out.closed.append(path)
            out.problems.append(
                Problem(path, "is a link that leads out of the folder", "sync that folder itself")
            )


def seen(root: Path, path: str) -> Seen:
    """A note as it is on disk now."""
    return _seen_of(path, (root / path).stat())


def _seen_of(path: str, found: os.stat_result) -> Seen:
    stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
    return Seen(path, stamp, found.st_size, found.st_mtime_ns)


def _seen(entry: os.DirEntry[str], path: str, out: Scan) -> None:
    try:
        found = entry.stat()
    except OSError as error:  # gone since the folder was listed
        out.closed.append(path)
        out.problems.append(Problem(path, f"cannot be read: {error.strerror}"))
        return
    if stat.S_ISREG(found.st_mode):
        out.files[path] = _seen_of(path, found)


def read_text(root: Path, path: str) -> tuple[str, str]:
    """A note's text, exactly, and its digest."""
    full = root / path
    try:
        if full.stat().st_size > LARGEST:
            raise InvalidInput(
                f"{path}: larger than {LARGEST // 1_000_000} MB",
                hint="split it, or move it out of the vault",
            )
        raw = full.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}", hint=None) from error
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path}: is not UTF-8 (byte {error.start})", hint="save it as UTF-8"
        ) from error
    if "\x00" in text:
        raise InvalidInput(f"{path}: holds NUL bytes: no text", hint="is it UTF-16 or data?")
    return text, digest(raw)


def digest(raw: bytes) -> str:
    return blake2b(raw, digest_size=16).hexdigest()


def write_text(root: Path, path: str, text: str, expected: str | None) -> str:
    """Put a note in its place, whole or not at all; gives its digest. `expected` is the digest of
    what is there now, None for nothing: whatever somebody wrote meanwhile is left alone."""
    full = root / path
    full.parent.mkdir(parents=True, exist_ok=True)
    raw = text.encode()
    partial = full.with_name(f".{full.name}.{os.getpid()}{PARTIAL}")
    try:
        with partial.open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        if expected is not None:
            partial.chmod(stat.S_IMODE(full.stat().st_mode))
        _still(root, path, expected)
        if expected is None:
            _place_new(partial, full)
        else:
            partial.replace(full)
    except OSError as error:
        raise InvalidInput(
            f"{path}: cannot be written: {error.strerror or error}", hint="check the folder"
        ) from error
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()
    return digest(raw)


def _place_new(partial: Path, full: Path) -> None:
    """Fails where a file exists already, so that nothing is overwritten unseen."""
    try:
        os.link(partial, full)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        partial.replace(full)  # a file system without links; looked for a moment ago


def _still(root: Path, path: str, expected: str | None) -> None:
    full = root / path
    now = digest(full.read_bytes()) if full.exists() else None
    if now != expected:
        raise InvalidInput(f"{path}: was changed while it was synced", hint="sync again")


def move(root: Path, path: str, target: str) -> None:
    (root / target).parent.mkdir(parents=True, exist_ok=True)
    (root / path).rename(root / target)


def settle(root: Path, paths: Iterable[str]) -> None:
    """Make new names durable by syncing their folders. Called once for many files, before
    anything relies on them."""
    for folder in sorted({(root / path).parent for path in paths}):
        with suppress(FileNotFoundError, PermissionError):  # not every system opens folders
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def free_name(taken: set[str], folder: str, stem: str) -> str:
    """A path nobody uses, not even in other capitals."""
    at = PurePosixPath(folder) / f"{stem}.md" if folder else PurePosixPath(f"{stem}.md")
    number = 2
    while str(at).casefold() in taken:
        at = at.with_name(f"{stem} {number}.md")
        number += 1
    taken.add(str(at).casefold())
    return str(at)

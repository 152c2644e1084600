"""Where the hooks and their resident helper meet: bank, socket, spool, log. Only the standard
library, and little of it: a hook has half a second in all."""

from __future__ import annotations

import os
import stat
import time
from hashlib import blake2b
from pathlib import Path

import recollect

SOCKET_BYTES = 100  # a socket's whole path; systems allow 104 or 108
PROJECT = "{project}"
LOG_BYTES = 1_000_000  # then the log starts anew, the old one is kept once


def state_folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "recollect"


def run_folder() -> Path:
    """For sockets. Only its owner may enter: whoever can connect can read the memories."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime) / "recollect" if runtime else state_folder() / "run"
    if len(os.fsencode(folder)) > SOCKET_BYTES - 22:
        folder = Path("/tmp") / f"recollect-{os.getuid()}"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def helper_key(options: list[str]) -> str:
    """One helper for each store and settings, and another after an upgrade."""
    settings = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("RECOLLECT_"))
    return _hash([recollect.__version__, *options, *settings])


def socket_path(options: list[str]) -> Path:
    return run_folder() / f"{helper_key(options)}.sock"


def store_key(options: list[str]) -> str:
    """The same for every helper of a store, so that the next one finds what was noted for it."""
    return _hash([*options, *(os.environ.get(f"RECOLLECT_{n}", "") for n in ("DB", "CONFIG"))])


def spool_folder(options: list[str]) -> Path:
    return state_folder() / "spool" / store_key(options)


def marks_folder(options: list[str]) -> Path:
    """How far each transcript was read."""
    return state_folder() / "sessions" / store_key(options)


def _hash(parts: list[str]) -> str:
    said = "\0".join(parts).encode(errors="surrogateescape")
    return blake2b(said, digest_size=8).hexdigest()


def bank_for(name: str, folder: Path) -> str:
    """A bank's name, where {project} stands for the folder's project: its repository's name, or
    its own."""
    if PROJECT not in name:
        return name
    above = (folder, *folder.parents)
    root = next((f for f in above if (f / ".git").exists()), folder)
    return name.replace(PROJECT, root.name or "default")


def helpers() -> int:
    """How many run: a socket that nobody listens on is left over from one that was killed."""
    import socket

    running = 0
    for path in run_folder().glob("*.sock"):
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(1.0)
            try:
                line.connect(str(path))
            except OSError:
                continue
            running += 1
    return running


def noted() -> int:
    """How many stops wait to be retained."""
    return len(list((state_folder() / "spool").glob("*/*.json")))


def log_path() -> Path:
    return state_folder() / "hooks.log"


def log(text: str) -> None:
    path = log_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    with path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}\n")

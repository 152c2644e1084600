"""Keeping a folder and a bank in step for as long as somebody wants it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path, PurePath

from recollect.errors import ConfigError, InvalidInput
from recollect.memory import Recollect
from recollect.vault.files import PARTIAL, PRIVATE, Problem
from recollect.vault.report import Report
from recollect.vault.sync import Options, sync

# Milliseconds. An editor writes a file in a few steps: wait until it has been quiet for SETTLED,
# but no longer than AT_MOST. Other processes' memories are looked for every LOOK.
SETTLED, AT_MOST, LOOK = 50, 300, 500


def watch(
    memory: Recollect,
    bank: str,
    folder: str | Path,
    options: Options | None = None,
    *,
    stop: threading.Event | None = None,
    began: Callable[[], None] | None = None,
) -> Iterator[Report]:
    """Sync, then sync again whenever the folder or the bank changes; one report for each time
    that something happened. `began` is called once changes are being watched for."""
    root = Path(folder).expanduser()
    changes = _changes(root, stop or threading.Event())
    yield sync(memory, bank, root, options)
    memory.warm()  # the first change is to be seen as soon as any other
    known: datetime | None = None  # so the first look is a sync: nothing is missed meanwhile
    troubles: set[str] = set()
    for found in changes:
        if began is not None:
            began()
            began = None
        now = memory.bank(bank).updated_at
        if not found and now == known:
            continue
        report = _synced(memory, bank, root, options)
        known = now  # as it was before the sync: whatever came since is looked at again
        shown = {f"{p.path} {p.cause}" for p in report.problems}
        if report.changed or shown - troubles:
            yield report
        troubles = shown


def _changes(root: Path, stop: threading.Event) -> Iterator[bool]:
    """Whether files changed, as soon as they did, and every now and then that they did not."""
    try:
        from watchfiles import watch as changes
    except ImportError as error:
        raise ConfigError(
            "watching a folder needs watchfiles", hint="pip install 'recollect[mcp]'"
        ) from error
    found = changes(
        root,
        watch_filter=lambda _, path: _ours(root, path),
        debounce=AT_MOST,
        step=SETTLED,
        rust_timeout=LOOK,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=True,
    )
    return (bool(one) for one in found)


def _synced(memory: Recollect, bank: str, root: Path, options: Options | None) -> Report:
    """A sync that refuses, because most notes are gone at once, does not end the watch."""
    try:
        return sync(memory, bank, root, options)
    except InvalidInput as error:
        return Report(problems=[Problem(".", error.message, error.hint)])


def _ours(root: Path, path: str) -> bool:
    """Not our own notes about the vault, nor what tools keep in folders with a dot."""
    try:
        parts = PurePath(path).relative_to(root.resolve()).parts
    except ValueError:
        parts = PurePath(path).parts[-1:]
    hidden = any(part.startswith(".") for part in parts)
    return not hidden and PRIVATE not in parts and not path.endswith(PARTIAL)

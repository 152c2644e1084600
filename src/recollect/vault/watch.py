"""Keeping a folder and a bank in step for as long as somebody wants it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
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
    try:
        from watchfiles import watch as changes
    except ImportError as error:
        raise ConfigError(
            "watching a folder needs watchfiles", hint="pip install 'recollect[mcp]'"
        ) from error
    ended = stop or threading.Event()
    root = Path(folder).expanduser()
    report = sync(memory, bank, root, options)
    known = memory.bank(bank).updated_at
    yield report
    memory.warm()  # the first change is to be seen as soon as any other
    troubles: set[str] = set()
    # The first look comes at once: what changed while the watch was being set up is not missed.
    for found in changes(
        root,
        watch_filter=lambda _, path: _ours(root, path),
        debounce=AT_MOST,
        step=SETTLED,
        rust_timeout=LOOK,
        yield_on_timeout=True,
        stop_event=ended,
        raise_interrupt=True,
    ):
        if began is not None:
            began()
            began, found = None, {*found, None}
        now = memory.bank(bank).updated_at
        if not found and now == known:
            continue
        report = _synced(memory, bank, root, options)
        known = now  # as it was before the sync: whatever came since is looked at again
        shown = {f"{p.path} {p.cause}" for p in report.problems}
        if report.changed or shown - troubles:
            yield report
        troubles = shown


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

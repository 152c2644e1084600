"""What a coding agent runs on its hooks: recall on a prompt, retain when it stops.

    python -m recollect.mcp.hook prompt|stop|start [--bank NAME] [--db …] [--config …] < JSON

It fails open: within half a second it is done, with exit code 0 and at worst without an answer,
whatever the disk, the store or the helper do. Loading a model takes longer than that, so a
resident helper (`resident.py`) holds it; this only asks over a socket, and starts the helper
when there is none. It is a program of its own because the command line takes three times as
long to load.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from recollect.mcp import places

LIMIT = "RECOLLECT_HOOKS_LIMIT_MS"
LIMIT_MS = 450.0  # since the process began: then it ends, whatever it is doing
MARGIN_S = 0.06  # kept of it for starting the helper, writing the answer, ending
LONGEST = 20_000  # characters of a prompt that are sent
OFF = "RECOLLECT_HOOKS"
_COMMAND = re.compile(r"/[\w:-]+(?:\s|$)")  # of the agent's own; "/var/log is full" is not one


def main(arguments: Sequence[str]) -> int:
    ends_at = time.monotonic() + _left_s()
    watchdog = threading.Timer(ends_at - time.monotonic(), _give_up, (arguments,))
    watchdog.daemon = True
    watchdog.start()
    try:
        if os.environ.get(OFF, "").lower() not in ("off", "0", "false", "no"):
            _run(list(arguments), ends_at)
    except Exception as error:  # noqa: BLE001  an agent must never wait for, or fail on, its memory
        _log(f"{' '.join(arguments[:1])}: {type(error).__name__}: {error}")
    return 0


def _give_up(arguments: Sequence[str]) -> None:
    # First of all the end: what keeps the hook may be the very disk the log is on.
    threading.Timer(0.02, os._exit, (0,)).start()
    _log(f"{' '.join(arguments[:1])}: out of time")
    os._exit(0)


def _left_s() -> float:
    try:
        limit_ms = float(os.environ.get(LIMIT, LIMIT_MS))
    except ValueError:
        limit_ms = LIMIT_MS
    return max(0.02, limit_ms / 1000 - _age_s())


def _age_s() -> float:
    """How long this process has lived: on a busy machine starting Python is half of it."""
    try:
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, ValueError, AttributeError):
        return 0.1  # not Linux: a cautious guess


def _run(arguments: list[str], ends_at: float) -> None:
    event, *rest = arguments
    bank, options = _split(rest)
    helper = Helper(options, ends_at - MARGIN_S)
    given: Any = json.loads(sys.stdin.buffer.read() or b"{}")
    if not isinstance(given, dict):
        raise TypeError("the hook's input is no object")
    fields = cast("dict[str, Any]", given)
    bank = places.bank_for(bank, Path(str(fields.get("cwd") or Path.cwd())))
    _EVENTS[event](fields, bank, helper)


def _split(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The bank, and what the helper needs to open the store."""
    bank, options = "default", list[str]()
    for name, value in zip(arguments[::2], arguments[1::2], strict=True):
        if name == "--bank":
            bank = value
        else:
            options += [name, value]
    return bank, options


# --- the helper ------------------------------------------------------------------------------


class Helper:
    """The resident process that holds the model, as long as there is time to ask it."""

    def __init__(self, options: list[str], until: float) -> None:
        self.options = options
        self._until = until

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """The helper's answer. If it is not running, it is started, and there is no answer this
        time."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(self._left_s())
            try:
                line.connect(str(places.socket_path(self.options)))
            except (FileNotFoundError, ConnectionRefusedError):
                self._wake()
                return None
            deadline_ms = 1000 * self._left_s() * 0.8
            line.sendall(json.dumps({**request, "deadline_ms": deadline_ms}).encode() + b"\n")
            with line.makefile("rb") as answer:
                return json.loads(answer.readline() or b"null")

    def _left_s(self) -> float:
        return max(0.01, self._until - time.monotonic())

    def _wake(self) -> None:
        import subprocess

        subprocess.Popen(
            [sys.executable, "-P", "-m", "recollect.mcp.resident", *self.options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # it outlives the hook; the agent's Ctrl-C is not meant for it
            cwd="/",
        )


# --- events ----------------------------------------------------------------------------------


def _prompt(given: Mapping[str, Any], bank: str, helper: Helper) -> None:
    """Before the agent sees a prompt: what is known about it, and only what surely is."""
    prompt = given.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip() or _COMMAND.match(prompt):
        return
    asked = {"do": "recall", "bank": bank, "query": prompt[:LONGEST], "session": _session(given)}
    context = (helper.ask(asked) or {}).get("context")
    if context:
        inner = {"hookEventName": "UserPromptSubmit", "additionalContext": context}
        os.write(1, json.dumps({"hookSpecificOutput": inner}).encode() + b"\n")


def _stop(given: Mapping[str, Any], bank: str, helper: Helper) -> None:
    """The agent has answered: note where its transcript is; the helper reads it in its own time."""
    kept = ("session_id", "transcript_path", "cwd", "last_assistant_message")
    note = {name: given[name] for name in kept if isinstance(given.get(name), str)}
    folder = places.spool_folder(helper.options)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    written = folder / f"{time.time_ns()}-{os.getpid()}.tmp"
    written.write_text(json.dumps({**note, "bank": bank}), encoding="utf-8")
    written.replace(written.with_suffix(".json"))  # whole, or not there
    helper.ask({"do": "retain"})


def _start(given: Mapping[str, Any], bank: str, helper: Helper) -> None:
    """A session begins: have the helper ready for its first prompt. After a compaction or a
    clear the agent no longer has what it was given."""
    fresh = given.get("source") in ("clear", "compact", "startup")
    helper.ask({"do": "start", "session": _session(given), "fresh": fresh, "bank": bank})


_EVENTS: Mapping[str, Callable[[Mapping[str, Any], str, Helper], None]] = {
    "prompt": _prompt,
    "stop": _stop,
    "start": _start,
}


def _session(given: Mapping[str, Any]) -> str:
    return str(given.get("session_id") or "")


def _log(text: str) -> None:
    with suppress(OSError):  # a full disk must not stop an agent either
        places.log(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

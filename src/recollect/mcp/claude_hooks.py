"""Claude Code's settings with our hooks in them, among those its user has."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from recollect.errors import ConfigError, InvalidInput
from recollect.mcp import jsonc
from recollect.mcp.clients import Scope, claude_folder
from recollect.mcp.settings import Change, read, undone

PROGRAM = "recollect.mcp.hook"
TIMEOUT_S = 5  # the agent's own bound; ours ends after half a second
Only = Literal["recall", "retain"]
_EVENTS: Mapping[str, tuple[str, Only | None]] = {
    "SessionStart": ("start", None),
    "UserPromptSubmit": ("prompt", "recall"),
    "Stop": ("stop", "retain"),
}


def settings_file(scope: Scope) -> Path:
    """The settings file. For a project the local one, because the hooks name a program on this
    machine, which does not belong in its repository."""
    if scope == "user":
        return claude_folder() / "settings.json"
    return Path.cwd() / ".claude" / "settings.local.json"


def hooks(options: Sequence[str], only: Only | None = None) -> dict[str, dict[str, Any]]:
    """The entry for each event. With -P, because the agent's folder may hold a `json.py` of its
    own; with `|| true`, so that the agent does not fail when recollect was uninstalled."""
    program = [sys.executable, "-P", "-m", PROGRAM]
    return {
        event: {
            "hooks": [
                {
                    "type": "command",
                    "command": shlex.join([*program, does, *options]) + " || true",
                    "timeout": TIMEOUT_S,
                }
            ]
        }
        for event, (does, serves) in _EVENTS.items()
        if serves is None or only is None or serves == only
    }


def hooked(path: Path, wanted: Mapping[str, Any]) -> Change:
    before = read(path)
    after = _with(path, before or "", wanted)
    ours = any(_ours(_parsed(path, before or "")))
    return Change(path, before, after, "again" if ours else "first")


def unhooked(path: Path) -> Change:
    before = read(path)
    held = {} if before is None else dict(_ours(_parsed(path, before)))
    if before is None or not held:
        return Change(path, before, before, "undo")
    entries = {event: item for (event, _), item in held.items()}
    return undone(
        path,
        before,
        again=lambda text: _with(path, text, entries),
        removed=lambda text: _without(path, text),
    )


def _with(path: Path, text: str, wanted: Mapping[str, Any]) -> str:
    held = {event: item for (event, _), item in _ours(_parsed(path, text))}
    if held == dict(wanted):
        return text
    text = _without(path, text)
    expected = _parsed(path, text)
    for event, entry in wanted.items():
        text = jsonc.with_item(text, ["hooks", event], entry)
        expected.setdefault("hooks", {}).setdefault(event, []).append(entry)
    if jsonc.parse(text) != expected:
        raise _refused(path, "they are written in an unusual way")
    return text


def _without(path: Path, text: str) -> str:
    """Remove our entries, and the lists and the object that held nothing else."""
    while (found := next(_ours(_parsed(path, text)), None)) is not None:
        (event, at), _ = found
        text = jsonc.without(text, ["hooks", event], at)
        left = _parsed(path, text)["hooks"]
        if not left[event]:
            text = jsonc.without(text, ["hooks"], event)
            if len(left) == 1:
                text = jsonc.without(text, [], "hooks")
    return text


def _ours(settings: Mapping[str, Any]) -> Iterator[tuple[tuple[str, int], Any]]:
    """((event, position), entry) of what we put there."""
    for event, entries in cast("dict[str, list[Any]]", settings.get("hooks", {})).items():
        for at, entry in enumerate(entries):
            if any(PROGRAM in str(hook.get("command", "")) for hook in entry.get("hooks", [])):
                yield (event, at), entry


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        settings = jsonc.parse(text)
    except InvalidInput as error:
        raise ConfigError(f"{path}: {error.message}", hint=error.hint) from error
    events = settings.get("hooks", {}) if isinstance(settings, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(events, dict) or not all(_is_list(e) for e in events.values()):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType, reportUnknownMemberType]
        raise _refused(path, "its hooks are not what Claude Code's are")
    return cast("dict[str, Any]", settings)


def _is_list(entries: Any) -> bool:
    return isinstance(entries, list) and all(
        isinstance(entry, dict) for entry in cast("list[Any]", entries)
    )


def _refused(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"the hooks in {path} cannot be changed safely: {why}",
        hint="see docs/mcp.md for what to add by hand",
    )

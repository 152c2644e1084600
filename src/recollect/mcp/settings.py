"""Changing other programs' settings: shown before, whole or not at all, and undone exactly.

A change is a function from the file's text to its new text. Before the first one a copy is put
beside the file; taking recollect out again gives that copy back when the file is what we made of
it, and otherwise removes only what is ours, so that edits made since are kept.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from recollect.errors import ConfigError, InvalidInput
from recollect.mcp import jsonc, toml
from recollect.mcp.clients import Client, Scope

BACKUP = ".before-recollect"


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of a file; `after` is None when it goes away."""

    path: Path
    before: str | None
    after: str | None
    step: Literal["first", "again", "undo"] = "first"  # what it means for the copy kept beside it

    @property
    def backup(self) -> Path:
        return self.path.with_name(self.path.name + BACKUP)

    @property
    def needed(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        lines = difflib.unified_diff(
            (self.before or "").splitlines(),
            (self.after or "").splitlines(),
            str(self.path) if self.before is not None else os.devnull,
            str(self.path) if self.after is not None else os.devnull,
            lineterm="",
        )
        return "\n".join(lines)


# --- an MCP server among a client's others ---------------------------------------------------


def installed(client: Client, path: Path, name: str, entry: Mapping[str, Any]) -> Change:
    before = read(path)
    after = _checked(client, path, before or "", name, entry)
    ours = _entry(client, path, before or "", name) is not None
    return Change(path, before, after, "again" if ours else "first")


def uninstalled(client: Client, path: Path, name: str) -> Change:
    before = read(path)
    if before is None:
        return Change(path, None, None, "undo")
    entry = _entry(client, path, before, name)
    if entry is None:
        return Change(path, before, before, "undo")
    return undone(
        path,
        before,
        again=lambda text: _checked(client, path, text, name, entry),
        removed=lambda text: _taken_out(client, path, text, name),
    )


def _entry(client: Client, path: Path, text: str, name: str) -> Any:
    held = _parsed(client, path, text).get(client.under)
    return cast("dict[str, Any]", held).get(name) if isinstance(held, dict) else None


def entries(client: Client) -> Iterator[tuple[Scope, Path, list[str]]]:
    """Each settings file of the client that exists, with the names of our servers in it."""
    for scope in client.files:
        path = client.file(scope)
        text = read(path)
        if text is None:
            continue
        try:
            held = _parsed(client, path, text).get(client.under)
        except ConfigError:  # unreadable for the client, too
            held = None
        servers = cast("dict[str, Any]", held) if isinstance(held, dict) else {}
        yield scope, path, [name for name, entry in servers.items() if _is_ours(entry)]


def _is_ours(entry: Any) -> bool:
    """Whatever it is called: it runs `recollect mcp`."""
    held = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    command, arguments = held.get("command"), held.get("args", [])
    words = [*(command if isinstance(command, list) else [command]), *arguments]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return "mcp" in words and any("recollect" in str(word) for word in words)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def undone(
    path: Path, before: str, again: Callable[[str], str], removed: Callable[[str], str]
) -> Change:
    """Back to the copy from before, if making the change `again` to that gives what is there
    now; otherwise only without our part."""
    kept = read(Change(path, None, None).backup)
    with suppress(ConfigError):  # a copy that is not what it was is of no use, that is all
        if again(kept or "") == before:
            return Change(path, before, kept, "undo")
    return Change(path, before, removed(before), "undo")


def _checked(client: Client, path: Path, text: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with the entry. If anything else would change, it is refused, and the error says
    what to paste."""
    expected = _parsed(client, path, text)
    held = expected.setdefault(client.under, {})
    if not isinstance(held, dict):
        raise _by_hand(client, path, name, entry, f"{client.under} holds something else")
    expected[client.under] = {**held, name: dict(entry)}
    if client.form == "toml":
        edited = toml.with_table(text, [client.under, name], entry)
    else:
        edited = jsonc.with_member(text, [client.under], name, dict(entry))
    if _reads(client, edited) != expected:
        raise _by_hand(client, path, name, entry, "it is written in an unusual way")
    return edited


def _taken_out(client: Client, path: Path, text: str, name: str) -> str:
    expected = _parsed(client, path, text)
    del expected[client.under][name]
    if client.form == "toml":
        edited = toml.without_table(text, [client.under, name])
        if not expected[client.under]:
            del expected[client.under]
    else:
        edited = jsonc.without(text, [client.under], name)
    if _reads(client, edited) != expected:
        raise ConfigError(
            f"cannot take {name} out of {path} and leave the rest alone",
            hint=f"remove it from {client.under} by hand",
        )
    return edited


def _parsed(client: Client, path: Path, text: str) -> dict[str, Any]:
    try:
        value = toml.parse(text) if client.form == "toml" else jsonc.parse(text)
    except InvalidInput as error:
        raise ConfigError(f"{path}: {error.message}", hint=error.hint) from error
    if not isinstance(value, dict):
        raise ConfigError(f"{path} holds no object", hint="is this the right file?")
    return value  # pyright: ignore[reportUnknownVariableType]


def _reads(client: Client, text: str) -> Any:
    try:
        return toml.parse(text) if client.form == "toml" else jsonc.parse(text)
    except InvalidInput:
        return None


def _by_hand(
    client: Client, path: Path, name: str, entry: Mapping[str, Any], why: str
) -> ConfigError:
    if client.form == "toml":
        snippet = toml.with_table("", [client.under, name], entry)
    else:
        snippet = json.dumps({client.under: {name: dict(entry)}}, indent=2, ensure_ascii=False)
    return ConfigError(
        f"{path} cannot be changed safely: {why}", hint=f"add this to it yourself:\n\n{snippet}"
    )


# --- files -----------------------------------------------------------------------------------


def read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8", hint="is this the right file?") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="check it") from error


def apply(change: Change) -> None:
    """Write it. The text from before the first change is the copy that undoing gives back."""
    if read(change.path) != change.before:
        raise ConfigError(
            f"{change.path} was changed meanwhile", hint="run the command again to see the new diff"
        )
    try:
        if change.step == "first":
            change.backup.unlink(missing_ok=True)  # of an installation long ago
            if change.before is not None:
                shutil.copy2(change.path, change.backup)
        if change.after is None:
            change.path.unlink(missing_ok=True)
        else:
            _write(change.path.resolve(), change.after)  # through links: dotfiles are often linked
        if change.step == "undo":
            change.backup.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{change.path} cannot be written: {error.strerror}", hint="check its permissions"
        ) from error


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        else:
            temporary.chmod(0o600)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

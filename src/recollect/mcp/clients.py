"""The agents that recollect knows how to set up: where their settings are and what they want."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from recollect.errors import InvalidInput

Scope = Literal["user", "project"]
Entry = Callable[[str, list[str]], dict[str, Any]]


def _home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _here(*parts: str) -> Callable[[], Path]:
    return lambda: Path.cwd().joinpath(*parts)


def _application(*parts: str) -> Callable[[], Path]:
    """Where desktop applications keep their settings, by system."""

    def path() -> Path:
        if sys.platform == "darwin":
            base = Path.home() / "Library" / "Application Support"
        elif sys.platform == "win32":
            base = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
        else:
            base = _xdg()
        return base.joinpath(*parts)

    return path


def _xdg() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def claude_folder() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def _claude_file() -> Path:
    """Beside the folder, unless the folder was moved: then in it."""
    moved = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(moved) if moved else Path.home()) / ".claude.json"


def _plain(command: str, arguments: list[str]) -> dict[str, Any]:
    return {"command": command, "args": arguments}


def _typed(command: str, arguments: list[str]) -> dict[str, Any]:
    return {"type": "stdio", "command": command, "args": arguments}


def _zed(command: str, arguments: list[str]) -> dict[str, Any]:
    return {"source": "custom", "command": command, "args": arguments, "env": {}}


def _opencode(command: str, arguments: list[str]) -> dict[str, Any]:
    return {"type": "local", "command": [command, *arguments], "enabled": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    title: str
    files: Mapping[Scope, Callable[[], Path]]
    under: str  # the member, or table, that holds the servers
    entry: Entry = _plain
    form: Literal["json", "toml"] = "json"
    then: str  # what to do after it was written

    def file(self, scope: Scope) -> Path:
        found = self.files.get(scope)
        if found is None:
            raise InvalidInput(
                f"{self.title} has no settings for a {scope}",
                hint="scopes: " + ", ".join(self.files),
            )
        return found()


CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(
        title="Claude Code",
        files={"user": _claude_file, "project": _here(".mcp.json")},
        under="mcpServers",
        entry=_typed,
        then="start a new session; /mcp shows it. Hooks: recollect hooks install claude-code",
    ),
    "claude-desktop": Client(
        title="Claude Desktop",
        files={"user": _application("Claude", "claude_desktop_config.json")},
        under="mcpServers",
        then="quit Claude Desktop and start it again",
    ),
    "cursor": Client(
        title="Cursor",
        files={"user": _home(".cursor", "mcp.json"), "project": _here(".cursor", "mcp.json")},
        under="mcpServers",
        then="see Settings > MCP; Cursor may ask you to enable it",
    ),
    "codex": Client(
        title="Codex",
        files={
            "user": lambda: (
                Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml"
            ),
            "project": _here(".codex", "config.toml"),
        },
        under="mcp_servers",
        form="toml",
        then="start a new session; /mcp shows it",
    ),
    "vscode": Client(
        title="VS Code",
        files={
            "user": _application("Code", "User", "mcp.json"),
            "project": _here(".vscode", "mcp.json"),
        },
        under="servers",
        entry=_typed,
        then="run `MCP: List Servers` and start recollect",
    ),
    "windsurf": Client(
        title="Windsurf",
        files={"user": _home(".codeium", "windsurf", "mcp_config.json")},
        under="mcpServers",
        then="refresh the MCP servers in Cascade",
    ),
    "gemini-cli": Client(
        title="Gemini CLI",
        files={
            "user": _home(".gemini", "settings.json"),
            "project": _here(".gemini", "settings.json"),
        },
        under="mcpServers",
        then="start a new session; /mcp shows it",
    ),
    "zed": Client(
        title="Zed",
        files={
            "user": lambda: _xdg() / "zed" / "settings.json",
            "project": _here(".zed", "settings.json"),
        },
        under="context_servers",
        entry=_zed,
        then="the agent panel's settings show it",
    ),
    "opencode": Client(
        title="OpenCode",
        files={
            "user": lambda: _xdg() / "opencode" / "opencode.json",
            "project": _here("opencode.json"),
        },
        under="mcp",
        entry=_opencode,
        then="start a new session",
    ),
}


def client_named(name: str) -> Client:
    found = CLIENTS.get(name)
    if found is None:
        import difflib

        near = difflib.get_close_matches(name, CLIENTS, 1)
        known = "clients: " + ", ".join(CLIENTS)
        raise InvalidInput(
            f"unknown client {name!r}",
            hint=f"did you mean {near[0]!r}? {known}" if near else known,
        )
    return found

"""`recollect mcp`: memory for agents, and the way it gets into their settings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.arguments import words
from recollect.cli.confirming import confirm
from recollect.cli.session import Session, add, command
from recollect.mcp.clients import CLIENTS, Scope

if TYPE_CHECKING:
    from recollect.client import Client
    from recollect.mcp.settings import Change
    from recollect.memory import Recollect

INTERRUPTED = 130


BankName = Annotated[
    str,
    typer.Option(
        "--bank",
        metavar="NAME",
        help="The bank used when nothing else is said; {project} is the current project's name.",
    ),
]
ClientName = Annotated[
    str,
    typer.Argument(
        metavar="CLIENT",
        help=", ".join(CLIENTS) + ".",
        autocompletion=words(*CLIENTS),
    ),
]
ScopeName = Annotated[
    str,
    typer.Option("--scope", metavar="SCOPE", help="user: everywhere; project: in this folder."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change, write nothing.")]
ServerName = Annotated[
    str, typer.Option("--name", metavar="NAME", help="What the client calls the server.")
]

mcp_app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)


def unless_below(function: Callable[..., None]) -> Callable[..., None]:
    """What a group does when no command below it was named."""
    own = command(function)

    @wraps(own)
    def run(ctx: typer.Context, **given: Any) -> None:
        if ctx.invoked_subcommand is None:
            own(ctx, **given)

    run.__signature__ = signature(own)  # pyright: ignore[reportAttributeAccessIssue]
    del run.__wrapped__
    return run


def serve(session: Session, bank: BankName = "default") -> None:
    """Serve an agent over the Model Context Protocol, on stdin and stdout.

    Seven tools, and banks and memories as resources; ends when the client goes away. Agents
    start this themselves: `recollect mcp install claude-code` tells yours to.
    """
    from recollect.cli.output import talk
    from recollect.mcp.places import bank_for

    try:
        from recollect.mcp import serve_stdio
    except ModuleNotFoundError as error:
        raise _incomplete(error.name) from error
    memory = Memory(session)
    if sys.stdin.isatty():
        memory()
        talk("an agent talks to this, not a person: see `recollect mcp install`; Ctrl-C ends it")
    _end_at_once(memory)
    try:
        serve_stdio(memory, bank=bank_for(bank, Path.cwd()))
    finally:
        memory.close()


class Memory:
    """The store, opened when it is first needed; when that fails, the next call tries again."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = Lock()
        self._opened: Recollect | Client | None = None

    def __call__(self) -> Recollect | Client:
        with self._lock:
            if self._opened is None:
                self._opened = self._session.open()
            return self._opened

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def _incomplete(package: str | None) -> Exception:
    from recollect.errors import ConfigError

    return ConfigError(
        f"serving agents needs a package that is not here: {package}",
        hint="pip install 'recollect[mcp]'",
    )


def _end_at_once(memory: Memory) -> None:
    """On Ctrl-C: the thread that reads stdin cannot be woken, and would be waited for."""
    import os
    import signal

    def end(number: int, frame: object) -> None:
        memory.close()
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, end)


def install(
    session: Session,
    client: ClientName,
    bank: BankName = "default",
    scope: ScopeName = "user",
    name: ServerName = "recollect",
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Put recollect into an agent's settings: shows the change first, and asks."""
    from recollect.mcp.clients import client_named
    from recollect.mcp.settings import installed

    found = client_named(client)
    if find_spec("mcp") is None:
        raise _incomplete("mcp")
    program, *arguments = executable()
    arguments += ["mcp", *session_options(session)]
    if bank != "default":
        arguments += ["--bank", bank]
    change = installed(found, found.file(scope_named(scope)), name, found.entry(program, arguments))
    carry_out(session, [change], f"{found.title} knows {name} now: {found.then}", yes, dry_run)


def uninstall(
    session: Session,
    client: ClientName,
    scope: ScopeName = "user",
    name: ServerName = "recollect",
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Take recollect out of an agent's settings again: the file is as it was before."""
    from recollect.mcp.clients import client_named
    from recollect.mcp.settings import uninstalled

    found = client_named(client)
    change = uninstalled(found, found.file(scope_named(scope)), name)
    carry_out(session, [change], f"{found.title} no longer knows {name}", yes, dry_run)


def status(session: Session) -> None:
    """Which agents know recollect, and where that is written."""
    from recollect.cli.output import emit, rows, talk
    from recollect.mcp.settings import entries

    found = [(name, *entry) for name, client in CLIENTS.items() for entry in entries(client)]
    if session.json:
        emit(
            [
                {"client": name, "scope": scope, "file": str(file), "servers": known}
                for name, scope, file, known in found
            ]
        )
        return
    if not any(servers for *_, servers in found):
        talk("no agent knows recollect yet: recollect mcp install CLIENT")
    rows((name, scope, ", ".join(known) or "-", file) for name, scope, file, known in found)


# --- shared with `recollect hooks` -----------------------------------------------------------


def scope_named(scope: str) -> Scope:
    from recollect.errors import InvalidInput

    if scope == "user" or scope == "project":
        return scope
    raise InvalidInput(f"--scope is {scope!r}", hint="use user or project")


def executable() -> list[str]:
    """This installation's own `recollect`: what PATH has may be another one, or none."""
    import sysconfig

    suffix = ".exe" if sys.platform == "win32" else ""
    script = Path(sysconfig.get_path("scripts")) / f"recollect{suffix}"
    return [str(script)] if script.exists() else [sys.executable, "-m", "recollect.cli"]


def session_options(session: Session) -> list[str]:
    """--db and --config as they must be said from any folder."""
    out: list[str] = []
    if session.db is not None:
        plain = "://" in session.db or session.db == ":memory:"
        out += ["--db", session.db if plain else str(Path(session.db).expanduser().absolute())]
    if session.config is not None:
        out += ["--config", str(session.config.expanduser().absolute())]
    return out


def carry_out(
    session: Session,
    changes: Sequence[Change],
    done: str,
    yes: bool,
    dry_run: bool,
) -> None:
    """Show what would change, ask, and do it."""
    from recollect.cli.output import emit, talk
    from recollect.mcp.settings import apply

    wanted = [change for change in changes if change.needed]
    write = bool(wanted) and not dry_run
    if not session.json:
        for change in wanted:
            sys.stdout.write(change.diff() + "\n")
        sys.stdout.flush()
    if write:
        confirm(
            "write this?",
            yes=yes,
            refusal="this writes settings of another program",
            hint="add --yes, or --dry-run to only see the change",
        )
        for change in wanted:
            apply(change)
    if session.json:
        emit([_told(change, write and change.needed) for change in changes])
    elif not wanted:
        talk("nothing to change: it is so already")
    elif dry_run:
        talk("nothing was written (--dry-run)")
    else:
        talk(done)


def _told(change: Change, written: bool) -> dict[str, Any]:
    return {
        "file": str(change.path),
        "changed": written,
        "diff": change.diff(),
        "backup": str(change.backup) if change.backup.exists() else None,
    }


mcp_app.callback(invoke_without_command=True)(unless_below(serve))
add(mcp_app, install, "install")
add(mcp_app, uninstall, "uninstall")
add(mcp_app, status, "status")

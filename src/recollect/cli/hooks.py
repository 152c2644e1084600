"""`recollect hooks`: recall on every prompt and retain when the agent stops, in Claude Code."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from recollect.cli.mcp import (
    BankName,
    DryRun,
    ScopeName,
    Yes,
    carry_out,
    scope_named,
    session_options,
)
from recollect.cli.session import Session, add

LOGGED = 5  # lines of the log that are shown
HookedClient = Annotated[str, typer.Argument(metavar="CLIENT", help="claude-code.")]

hooks_app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Recall on every prompt, retain when the agent stops. Without being asked.",
)


def install(
    session: Session,
    client: HookedClient,
    bank: BankName = "default",
    only: Annotated[
        str | None, typer.Option(metavar="PART", help="recall or retain; both when omitted.")
    ] = None,
    scope: ScopeName = "user",
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Put the hooks into the agent's settings: shows the change first, and asks.

    They fail open: within half a second they are done, with or without an answer.
    """
    from recollect.errors import InvalidInput
    from recollect.mcp.claude_hooks import hooked, hooks, settings_file

    _check(client)
    if only is not None and only != "recall" and only != "retain":
        raise InvalidInput(f"--only is {only!r}", hint="use recall or retain, or leave it out")
    options = [*(["--bank", bank] if bank != "default" else []), *session_options(session)]
    change = hooked(settings_file(scope_named(scope)), hooks(options, only))
    done = "new sessions of Claude Code recall and retain by themselves; docs/mcp.md says how"
    carry_out(session, [change], done, yes, dry_run)


def uninstall(
    session: Session,
    client: HookedClient,
    scope: ScopeName = "user",
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Take the hooks out of the agent's settings again."""
    from recollect.mcp.claude_hooks import settings_file, unhooked

    _check(client)
    change = unhooked(settings_file(scope_named(scope)))
    carry_out(session, [change], "Claude Code runs no hooks of recollect any more", yes, dry_run)


def status(session: Session) -> None:
    """Whether the hooks are set, whether their helper runs, and what they logged last."""
    from recollect.mcp.claude_hooks import settings_file, unhooked
    from recollect.mcp.places import helpers, log_path, noted

    log = log_path()
    last = log.read_text("utf-8", "replace").splitlines()[-LOGGED:] if log.exists() else []
    out: dict[str, Any] = {
        "hooks": [
            str(change.path)
            for scope in ("user", "project")
            if (change := unhooked(settings_file(scope))).needed
        ],
        "helpers": helpers(),
        "waiting": noted(),
        "log": str(log),
        "last": last,
    }
    session.show(out)


def _check(client: str) -> None:
    from recollect.errors import InvalidInput

    if client != "claude-code":
        raise InvalidInput(f"no hooks for {client!r}", hint="there are hooks for claude-code")
    if sys.platform == "win32":
        raise InvalidInput(
            "the hooks need Unix sockets, which Python does not have here",
            hint="use the tools: recollect mcp install claude-code",
        )


add(hooks_app, install, "install")
add(hooks_app, uninstall, "uninstall")
add(hooks_app, status, "status")

"""`recollect mcp`: memory for agents, and the way it gets into their settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Annotated, Any

import typer

from recollect.cli.session import Session, command

BankName = Annotated[
    str, typer.Option("--bank", metavar="NAME", help="The bank used when a call names none.")
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
    from recollect.errors import ConfigError

    try:
        from recollect.mcp import serve_stdio
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"serving agents needs the package {error.name}",
            hint="pip install 'recollect[mcp]'",
        ) from error
    with session.open() as memory:
        serve_stdio(memory, bank=bank)


mcp_app.callback(invoke_without_command=True)(unless_below(serve))

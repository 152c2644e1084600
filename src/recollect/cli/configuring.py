"""The command that gives a bank settings of its own."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from recollect.cli.arguments import Bank
from recollect.cli.session import Session


def configure(
    session: Session,
    bank: Bank,
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=VALUE]...", help="Values are JSON or text; NAME= removes."),
    ] = None,
) -> None:
    """Show or change the settings of a bank. It is made if it is not there."""
    from recollect.cli.output import talk

    changes = dict(_setting(text) for text in settings or ())
    with session.open() if changes else session.open_existing() as memory:
        held = memory.create_bank(bank) if changes else memory.bank(bank)
        if changes:
            held = memory.configure_bank(bank, changes, merge=True)
    session.show({"bank": held.id, **held.config})
    if not held.config and not session.json:
        talk(
            f"no settings of its own; for example: recollect configure {bank} enable_reranking=false"
        )


def _setting(text: str) -> tuple[str, Any]:
    """A name and its value; None takes the setting back."""
    import json

    from recollect.errors import InvalidInput

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidInput(f"{text!r} is not NAME=VALUE", hint="for example enable_reranking=false")
    if not value:
        return name.strip(), None
    try:
        return name.strip(), json.loads(value)
    except (json.JSONDecodeError, RecursionError):
        return name.strip(), value

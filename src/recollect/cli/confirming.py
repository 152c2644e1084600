"""Asking before what cannot be taken back."""

from __future__ import annotations

import sys

import typer


def confirm(question: str, *, yes: bool, refusal: str, hint: str = "add --yes") -> None:
    """Go on only after a yes: --yes, or a person's at the terminal."""
    from recollect.errors import InvalidInput

    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"{refusal}, and nobody can be asked", hint=hint)
    typer.confirm(question, abort=True, err=True)

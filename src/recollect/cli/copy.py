"""The command that moves banks from one store or server to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.session import Session

if TYPE_CHECKING:
    from recollect.client import Client
    from recollect.memory import Recollect
    from recollect.storage.copy import Copied


def copy(
    session: Session,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A file, DSN or server to copy from.")
    ],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A file, DSN or server to copy to.")
    ],
    bank: Annotated[
        list[str] | None,
        typer.Option("--bank", metavar="NAME", help="Only this bank; may be repeated."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="The name in the target, for one bank."),
    ] = None,
    target_key: Annotated[
        str | None,
        typer.Option(
            "--target-api-key",
            metavar="KEY",
            envvar="RECOLLECT_TARGET_API_KEY",
            show_envvar=True,
            help="Of a target that is a server with a key of its own.",
        ),
    ] = None,
) -> None:
    """Copy banks to another store or server, exactly. An interrupted copy goes on where it stopped.

    Both sides are compared at the end, by counts and hashes. Exit code 1: they differ.
    """
    from recollect.errors import InvalidInput

    with _opened(source, session) as here:
        wanted = bank or [b.id for b in here.banks()]
        if name is not None and len(wanted) != 1:
            raise InvalidInput(
                f"--as names one bank, and there are {len(wanted)} to copy", hint="add --bank NAME"
            )
        for each in wanted:
            here.bank(each)  # all of them are there, before a target is made
        with Session(target, session.config, api_key=target_key).open() as there:
            copied = [_copied(here, there, each, name) for each in wanted]
    _report(session, copied)
    if not all(c.same for c in copied):
        raise typer.Exit(1)


def _opened(source: str, session: Session) -> Recollect | Client:
    from recollect.errors import NotFound

    try:
        return Session(source, session.config).open_existing()
    except NotFound as error:
        raise NotFound(error.message, hint="name a store or a server that holds banks") from error


def _copied(
    here: Recollect | Client, there: Recollect | Client, bank: str, name: str | None
) -> Copied:
    from recollect.cli.progress import progress_bar
    from recollect.errors import ServerError

    try:
        with progress_bar(f"copying {bank}") as progress:
            return here.copy(bank, there, name=name, progress=progress)
    except ServerError as error:
        again = "then copy again: it goes on where it stopped"
        raise ServerError(error.message, hint=f"{error.hint}; {again}") from error


def _report(session: Session, copied: list[Copied]) -> None:
    from recollect.cli.output import emit, talk
    from recollect.cli.tables import show_table

    if session.json:
        emit([_json(c) for c in copied])
        return
    show_table(
        ("bank", "rows", "source", "target", "hash", ""),
        [
            (c.name, kind, mine.count, yours.count, _hashes(mine.hash, yours.hash), _verdict(c, kind))
            for c in copied
            for kind, mine in c.source.items()
            if (yours := c.target[kind])
        ],
    )  # fmt: skip
    for c in copied:
        done = "was there already" if c.there else "copied" if c.same else "NOT copied"
        again = f" ({c.resumed} rows by an earlier attempt)" if c.resumed else ""
        talk(f"{c.bank}: {done}{again}, {'the same' if c.same else 'it differs'} on both sides")
        if not c.same:
            talk("hint: did somebody write to the source meanwhile? copy it again")


def _hashes(mine: str, yours: str) -> str:
    return mine if mine == yours else f"{mine} / {yours}"


def _verdict(copied: Copied, kind: str) -> str:
    return "same" if copied.source[kind] == copied.target[kind] else "DIFFERS"


def _json(copied: Copied) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(copied), "same": copied.same}

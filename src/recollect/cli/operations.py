"""`recollect operations`: what a server has accepted and not yet done, or could not do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.arguments import Bank, Limit, words
from recollect.cli.session import Session, add

if TYPE_CHECKING:
    from recollect.types import Operation

operations_app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Accepted work of a server: list, retry, cancel.",
)
OperationId = Annotated[str, typer.Argument(metavar="ID", help="The operation's id.")]


def list_(
    session: Session,
    bank: Bank,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="Only pending, running, done, failed or cancelled ones.",
            autocompletion=words("pending", "running", "done", "failed", "cancelled"),
        ),
    ] = None,
    limit: Limit = 20,
) -> None:
    """Operations of a bank, newest first."""
    from recollect.cli.output import emit, flat, minute
    from recollect.cli.tables import show_table

    where = {} if state is None else {"state": _state(state)}
    with session.existing_store() as memory:
        memory.bank(bank)
        found = memory.store.queue.operations(bank, limit, None, where)
    if session.json:
        emit([_described(o) for o in found])
        return
    show_table(
        ("id", "kind", "items", "state", "tries", "accepted", "error"),
        [
            (
                o.id,
                o.kind,
                o.items,
                o.state.value,
                o.attempts,
                minute(o.created_at),
                flat(o.error or ""),
            )
            for o in found
        ],
        none=f"{bank} has no such operation; a server has one for what it accepts to do later",
    )


def retry(session: Session, bank: Bank, operation_id: OperationId) -> None:
    """Go on with one that failed or was cancelled; a running server does it within seconds."""
    from recollect.language.dates import now_micros

    with session.existing_store() as memory:
        waiting = memory.store.queue.retry(bank, operation_id, now_micros())
        _told(session, waiting, "waiting to be tried")


def cancel(session: Session, bank: Bank, operation_id: OperationId) -> None:
    """Stop one that waits or is being done; what it has stored stays."""
    from recollect.language.dates import now_micros

    with session.existing_store() as memory:
        gone = memory.store.queue.cancel(bank, operation_id, now_micros())
        _told(session, gone, "cancelled")


for _function, _name in ((list_, "list"), (retry, "retry"), (cancel, "cancel")):
    add(operations_app, _function, _name)


def _state(name: str) -> str:
    from recollect.errors import InvalidInput
    from recollect.types import OperationState

    try:
        return OperationState(name).value
    except ValueError as error:
        raise InvalidInput(
            f"unknown state {name!r}", hint="one of " + ", ".join(s.value for s in OperationState)
        ) from error


def _told(session: Session, operation: Operation, word: str) -> None:
    session.tell(_described(operation), f"{operation.id}: {word}")


def _described(o: Operation) -> dict[str, Any]:
    return {
        "id": o.id,
        "bank": o.bank,
        "kind": o.kind,
        "items": o.items,
        "state": o.state.value,
        "attempts": o.attempts,
        "error": o.error,
        "created_at": o.created_at,
        "updated_at": o.updated_at,
        "finished_at": o.finished_at,
    }

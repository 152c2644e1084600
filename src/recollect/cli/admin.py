"""`recollect admin …`: what the keeper of a PostgreSQL server does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.arguments import Bank
from recollect.cli.confirming import confirm
from recollect.cli.session import Session, add

if TYPE_CHECKING:
    from recollect.storage.postgres.store import PostgresStore

admin_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Keep a PostgreSQL server: schema, indexes, distribution.",
)


def migrate(session: Session) -> None:
    """Make the schema, or bring it up to date, and stop."""
    from recollect.storage.postgres.schema import migrations, prepare

    dsn, schema = _server(session)
    prepare(dsn, schema)
    version = migrations()[-1][0]
    _answer(session, {"schema": schema, "format": version}, f"schema {schema}: format {version}")


def index(
    session: Session,
    bank: Bank,
) -> None:
    """Make a bank's vector index now, beside the traffic.

    A bank gets one by itself when it is large, and another when it has grown by a quarter.
    """

    with session.existing_store() as memory:
        reach = _postgres(memory.store).index(bank)
    said = f"{bank}: indexed up to memory {reach}" if reach else f"{bank}: nothing to index"
    _answer(session, {"bank": bank, "indexed_key": reach}, said)


def distribute(
    session: Session,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask; it moves all rows to the workers.")
    ] = False,
) -> None:
    """Spread the tables over a Citus cluster, each bank on one node."""
    from recollect.storage.postgres.schema import distribute as spread

    dsn, schema = _server(session)
    confirm(
        "move all rows of all banks to the workers?",
        yes=yes,
        refusal="this moves all rows of all banks",
    )
    done = spread(dsn, schema)
    said = (
        f"distributed by bank: {', '.join(done)}" if done else "everything is distributed already"
    )
    _answer(session, {"distributed": done}, said)


def _answer(session: Session, value: dict[str, Any], said: str) -> None:
    from recollect.cli.output import emit

    if session.json:
        emit(value)
    else:
        typer.echo(said)


def _server(session: Session) -> tuple[str, str]:
    from recollect.errors import InvalidInput

    settings = session.settings()
    dsn = settings.db or ""
    if not dsn.startswith(("postgres://", "postgresql://")):
        raise InvalidInput(
            "this is for a PostgreSQL server",
            hint="name it with --db postgresql://… or RECOLLECT_DB",
        )
    return dsn, settings.pg_schema


def _postgres(store: object) -> PostgresStore:
    from recollect.errors import InvalidInput
    from recollect.storage.postgres.store import PostgresStore

    if not isinstance(store, PostgresStore):
        raise InvalidInput(
            "this is for a PostgreSQL server",
            hint="the embedded store keeps its index by itself",
        )
    return store


for _function in (migrate, index, distribute):
    add(admin_app, _function, _function.__name__)

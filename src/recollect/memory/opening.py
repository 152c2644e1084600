"""Which store a path or an address names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recollect.config import Settings, without_password
from recollect.errors import ConfigError
from recollect.storage.base import ModelIdentity, Store

Identify = Callable[[], ModelIdentity]


def open_store(where: str, settings: Settings, model: Identify) -> Store:
    if where.startswith(("postgres://", "postgresql://")):
        return _open_postgres(where, settings, model)
    _check_path(where)
    from recollect.storage.sqlite.store import SqliteStore

    return SqliteStore(
        Path(where).expanduser(),
        model=model,
        busy_timeout_ms=settings.busy_timeout_ms,
        held_facts=settings.held_facts,
    )


def _check_path(where: str) -> None:
    """A file's name, or what was meant by it: it must not become a folder named `http:`."""
    if where.startswith(("http://", "https://")):
        raise ConfigError(
            f"{without_password(where)} is a server, not a store",
            hint=f'connect to it: recollect.connect("{without_password(where)}")',
        )
    scheme, _, rest = where.partition("://")
    if rest and scheme.isidentifier():
        raise ConfigError(
            f"there is no store for {scheme}://",
            hint="give the path of a file, or postgresql://user@host/database",
        )
    try:
        plain = bool(where.strip()) and b"\x00" not in where.encode()
    except UnicodeEncodeError:
        plain = False
    if not plain:
        raise ConfigError(f"{where!r} is no path of a file", hint="for example memory.db")


def _open_postgres(dsn: str, settings: Settings, model: Identify) -> Store:
    try:
        from recollect.storage.postgres.store import PostgresStore
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("psycopg", "psycopg_pool", "pgvector"):
            raise
        raise ConfigError(
            f"PostgreSQL needs a package that is not here: {error.name}",
            hint="pip install 'recollect[postgres]'",
        ) from error
    return PostgresStore(
        dsn,
        model=model,
        read_dsn=settings.read_dsn,
        schema=settings.pg_schema,
        pool_size=settings.pool_size,
        busy_timeout_ms=settings.busy_timeout_ms,
        held_facts=settings.held_facts,
    )


def default_path() -> Path:
    from platformdirs import user_data_path

    return user_data_path("recollect", appauthor=False) / "memory.db"

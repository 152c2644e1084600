"""Which store a path or an address names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recollect.config import Settings
from recollect.errors import ConfigError
from recollect.storage.base import ModelIdentity, Store

Identify = Callable[[], ModelIdentity]


def open_store(where: str, settings: Settings, model: Identify) -> Store:
    if where.startswith(("postgres://", "postgresql://")):
        return _open_postgres(where, settings, model)
    from recollect.storage.sqlite.store import SqliteStore

    return SqliteStore(
        Path(where).expanduser(),
        model=model,
        busy_timeout_ms=settings.busy_timeout_ms,
        held_facts=settings.held_facts,
    )


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
    )


def default_path() -> Path:
    from platformdirs import user_data_path

    return user_data_path("recollect", appauthor=False) / "memory.db"

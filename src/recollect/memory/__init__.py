"""The facade: every verb of recollect, thin over the write path, the read path and the store.

`parts` holds what they are made of; `banks`, `looking`, `writing` and `reading` are the verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recollect.config import Settings, load_settings
from recollect.errors import ConfigError
from recollect.memory.checks import check_bank_name
from recollect.memory.opening import default_path
from recollect.memory.reading import Reading
from recollect.memory.writing import Writing

__all__ = ["Recollect", "check_bank_name", "default_path", "open_memory", "settings_of"]


class Recollect(Writing, Reading):
    """Memory banks in one store. Made by `recollect.open()`; safe to use from many threads."""


def open_memory(db: str | Path | None = None, **settings: Any) -> Recollect:
    """The memory in a file or a database; `recollect.open` is this."""
    return Recollect(settings_of(db, **settings))


def settings_of(db: str | Path | None, **settings: Any) -> Settings:
    """The settings in force for what a caller names, however it is opened."""
    if not isinstance(db, str | Path | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"{db!r} is no path of a file", hint="for example memory.db")
    return load_settings(db=None if db is None else str(db), **settings)

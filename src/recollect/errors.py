"""Every error recollect raises, in one tree.

An error says what happened and, after ``hint:``, the way out. Catch `RecollectError` to
catch them all.

    RecollectError
    ├── InvalidInput        the caller's argument cannot be used (also a ValueError)
    ├── NotFound            no such bank, document or memory (also a LookupError)
    ├── ConfigError         settings that cannot be read or do not fit together
    ├── StoreError          the store cannot be opened, read or written
    │   ├── NotAStore       the file is something else
    │   ├── NewerStore      written by a newer recollect
    │   ├── StoreLocked     another process holds the write lock for too long
    │   ├── StoreReadOnly   the file or its folder cannot be written
    │   ├── StoreFull       no room left on the disk
    │   └── StoreDamaged    the file is damaged
    └── ModelError          a model is missing, wrong or does not answer
"""

from __future__ import annotations


class RecollectError(Exception):
    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n\nhint: {self.hint}"


class InvalidInput(RecollectError, ValueError):
    pass


class NotFound(RecollectError, LookupError):
    pass


class ConfigError(RecollectError):
    pass


class StoreError(RecollectError):
    pass


class NotAStore(StoreError):
    pass


class NewerStore(StoreError):
    pass


class StoreLocked(StoreError):
    pass


class StoreReadOnly(StoreError):
    pass


class StoreFull(StoreError):
    pass


class StoreDamaged(StoreError):
    pass


class ModelError(RecollectError):
    pass

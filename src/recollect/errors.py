"""Every error recollect raises, in one tree.

An error says what happened and, after ``hint:``, the way out. Catch `RecollectError` to
catch them all.

    RecollectError
    ├── InvalidInput        the caller's argument cannot be used (also a ValueError)
    │   └── TooLarge        more than the server takes in one request
    ├── NotFound            no such bank, document or memory (also a LookupError)
    ├── Conflict            it contradicts what is there: an id or key used for something else
    ├── NotAllowed          the server does not let this caller do it
    │   └── NotAuthenticated  it does not know the caller
    ├── TooManyRequests     slower, please; `retry_after` says how long to wait
    ├── ServerError         a server cannot be reached, or answers what nobody expects
    ├── ConfigError         settings that cannot be read or do not fit together
    ├── StoreError          the store cannot be opened, read or written
    │   ├── NotAStore       the file is something else
    │   ├── NewerStore      written by a newer recollect
    │   ├── StoreLocked     another process holds the write lock for too long
    │   ├── StoreReadOnly   the file or its folder cannot be written
    │   ├── StoreFull       no room left on the disk
    │   ├── StoreDamaged    the file is damaged
    │   ├── StoreUnavailable  the database server cannot be reached, or gave up
    │   ├── OtherModel      the bank's vectors are of another model than this process's
    │   └── LeaseLost       another worker has taken over the operation; nothing was written
    └── ModelError          a model is missing, wrong or does not answer
"""

from __future__ import annotations

import re


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


class TooLarge(InvalidInput):
    pass


class Conflict(RecollectError):
    pass


class NotAllowed(RecollectError):
    pass


class NotAuthenticated(NotAllowed):
    pass


class TooManyRequests(RecollectError):
    def __init__(self, message: str, *, hint: str | None = None, retry_after: float) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after  # seconds


class ServerError(RecollectError):
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


class StoreUnavailable(StoreError):
    pass


class OtherModel(StoreError):
    pass


class LeaseLost(StoreError):
    pass


class ModelError(RecollectError):
    pass


def kind_of(error: type[RecollectError]) -> str:
    """What a server calls it: NotFound is not-found, and a client raises the same one again."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", error.__name__).lower()

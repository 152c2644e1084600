"""What a server tells of itself: what is wrong, never where things are kept. Its log says it all."""

from __future__ import annotations

import re

from recollect.errors import (
    LeaseLost,
    ModelError,
    NewerStore,
    OtherModel,
    RecollectError,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
)

_LOG = "the server's log says more"
# The first class that fits decides.
_SAID: tuple[tuple[type[RecollectError], str, str], ...] = (
    (StoreLocked, "another process is writing to the store for too long", "try again"),
    (
        StoreFull,
        "there is no room left; nothing of this request was stored",
        "free some space; " + _LOG,
    ),
    (StoreReadOnly, "the store cannot be written", _LOG),
    (StoreUnavailable, "the database cannot be reached, or gave up", "try again; " + _LOG),
    (StoreDamaged, "the store is damaged or cannot be read", "restore a copy; " + _LOG),
    (NewerStore, "the store was written by a newer recollect", "upgrade the server"),
    (StoreError, "the store cannot be used", _LOG),
    (ModelError, "a model is missing, wrong or does not answer", _LOG),
)
_OPEN = (OtherModel, LeaseLost)  # these name nothing but the bank and its model
_PLACE = re.compile(
    r"""[a-z][a-z0-9+.-]*://[^\s'",;)]+ | (?<![\w.])(?:~|[A-Za-z]:)?(?:[\\/][^\s\\/:'",;()]+){2,}""",
    re.VERBOSE,
)


def told(error: RecollectError) -> tuple[str, str]:
    """The message and the hint that others may read."""
    if not isinstance(error, _OPEN):
        for kind, message, hint in _SAID:
            if isinstance(error, kind):
                return message, hint
    return error.message, error.hint or _LOG


def without_places(text: str) -> str:
    """Files and addresses left out of what a part of a recall or an operation said."""
    return _PLACE.sub("…", text)

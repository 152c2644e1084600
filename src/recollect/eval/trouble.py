"""The one error an evaluation raises about what it was given, and where it was found."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from recollect.errors import InvalidInput


class DatasetError(InvalidInput):
    """The data or an option of an evaluation cannot be used."""


@contextmanager
def reading(where: str) -> Generator[None]:
    """What is wrong with a record is said with its place: a file of thousands has one bad line."""
    try:
        yield
    except DatasetError as cause:
        raise DatasetError(f"{where}: {cause.message}", hint=cause.hint) from cause
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as cause:
        what = f"{cause} is missing" if isinstance(cause, KeyError) else f"not understood: {cause}"
        raise DatasetError(f"{where}: {what}", hint="docs/eval.md shows the format") from cause

"""The one error an evaluation raises about what it was given."""

from __future__ import annotations

from recollect.errors import InvalidInput


class DatasetError(InvalidInput):
    """The data or an option of an evaluation cannot be used."""

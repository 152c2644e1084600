"""What every verb asks first: a name that can be one, settings that can be kept, the time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from recollect.errors import InvalidInput


def check_bank_name(bank: str) -> None:
    if not isinstance(bank, str) or not bank.strip() or len(bank) > 200 or "\x00" in bank:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"{bank!r} is no name for a bank", hint="use a text of 1 to 200 characters"
        )


def as_json(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A bank's settings as they will be read back."""
    try:
        return orjson.loads(orjson.dumps(dict(config)))
    except TypeError as error:
        raise InvalidInput(
            f"these settings cannot be written as JSON: {error}",
            hint="use text, numbers of 64 bits, booleans, lists and dicts with text as keys",
        ) from error


def now() -> datetime:
    return datetime.now(UTC)

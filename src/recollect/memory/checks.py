"""What every verb asks of its arguments, by their names, before anything is read or written."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import orjson

from recollect.config import setting_names
from recollect.errors import InvalidInput
from recollect.options import BANK_SWITCHES

P = ParamSpec("P")
T = TypeVar("T")
MOST = 2**62  # a number that every store can hold


def checked(verb: Callable[P, T]) -> Callable[P, T]:
    """A verb whose banks, ids and numbers can be ones. None is as good as its default."""
    given = inspect.signature(verb).parameters.values()
    order = [p.name for p in given]
    asked = {p.name: _CHECKS[p.name] for p in given if p.name in _CHECKS}
    optional = {p.name for p in given if p.default is None}

    @wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for name, value in (*zip(order, args, strict=False), *kwargs.items()):
            check = asked.get(name)
            if check is not None and not (value is None and name in optional):
                check(name, value)
        return verb(*args, **kwargs)

    return call


def check_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InvalidInput(
            f"{name} is a {type(value).__name__}, not a text", hint=f"give {name} as a text"
        )
    if not _plain(value):
        raise InvalidInput(
            f"{name} {value[:80]!r} holds what no text holds", hint="decode it as UTF-8 first"
        )


def _plain(text: str) -> bool:
    try:
        return b"\x00" not in text.encode()
    except UnicodeEncodeError:  # half a character
        return False


def _count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MOST:
        raise InvalidInput(f"{name} is {value!r}", hint=f"{name} is a whole number from 0 up")


_CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    **dict.fromkeys(
        ("bank", "memory_id", "document_id", "operation_id", "request_key", "by", "after"),
        check_text,
    ),
    **dict.fromkeys(("limit", "offset", "min_count", "entity"), _count),
}


def check_bank_name(bank: str) -> None:
    named = isinstance(bank, str) and bank.strip() and len(bank) <= 200 and _plain(bank)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not named:
        shown = repr(bank)
        raise InvalidInput(
            f"{shown if len(shown) <= 80 else shown[:79] + '…'} is no name for a bank",
            hint="use a text of 1 to 200 characters",
        )


def listed(name: str, value: Any) -> list[Any]:
    """What is given as several things; a text is one."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        kind = type(cast("object", value)).__name__
        raise InvalidInput(f"{name} is a {kind}", hint=f"give {name} as a list")
    return list(cast("Iterable[Any]", value))


def check_links(given: Any) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"links are a {type(given).__name__}", hint='for example {"m1": {"m2": 1.0, "m3": 0.5}}'
        )
    return cast("Mapping[Any, Any]", given)


def bank_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A bank's settings as they will be read back. What only the process has would have no effect
    there, and a switch that is not one would be none."""
    given = _as_json(config)
    foreign = sorted(setting_names().intersection(given))
    if foreign:
        raise InvalidInput(
            f"{foreign[0]} is a setting of the process, not of a bank",
            hint=f"open the store or start the server with it: RECOLLECT_{foreign[0].upper()}",
        )
    for name in BANK_SWITCHES & given.keys():
        if not isinstance(given[name], bool | None):
            raise InvalidInput(f"{name} is {given[name]!r}", hint=f"{name} is true or false")
    return given


def _as_json(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A bank's settings as they will be read back."""
    if not isinstance(config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"the settings are a {type(config).__name__}", hint='give a dict: {"name": "Alice"}'
        )
    try:
        return orjson.loads(orjson.dumps(dict(config)))
    except TypeError as error:
        raise InvalidInput(
            f"these settings cannot be written as JSON: {error}",
            hint="use text, numbers of 64 bits, booleans, lists and dicts with text as keys",
        ) from error


def now() -> datetime:
    return datetime.now(UTC)

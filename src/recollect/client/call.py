"""One request to a server, and what its answers mean. Nothing here sends anything."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, TypeVar, cast
from urllib.parse import quote

import orjson

from recollect import errors
from recollect.errors import (
    Conflict,
    InvalidInput,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    RecollectError,
    ServerError,
    StoreFull,
    TooLarge,
    TooManyRequests,
    kind_of,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    again: bool = True  # may be sent again when nobody knows whether it arrived

    @property
    def streamed(self) -> bool:
        """Whether its body is sent as it is made, and so only once."""
        return isinstance(self.body, Iterator)

    def content(self) -> bytes | Iterator[bytes] | None:
        if self.body is None or isinstance(self.body, bytes) or self.streamed:
            return self.body
        try:
            return orjson.dumps(self.body, default=plain)
        except orjson.JSONEncodeError as error:
            raise InvalidInput(
                f"what was given cannot be written as JSON: {error}",
                hint="use text, numbers of 64 bits, booleans, lists and dicts with text as keys",
            ) from error

    def query(self) -> list[tuple[str, str]]:
        """Parameters as a URL has them; what is None is not said."""
        out: list[tuple[str, str]] = []
        for name, value in self.params.items():
            many: list[Any] = list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
            out += [(name, _text(v)) for v in many if v is not None]
        return out


# A verb is a generator: it yields the calls it needs, is sent their answers as JSON, and returns
# the result. Who drives it decides whether the calls are awaited.
Steps = Generator[Call, Any, T]


def path(bank: str, *parts: str) -> str:
    """Below a bank; ids may hold anything."""
    return "/".join(["/v1/default/banks", *map(_part, (bank, *parts))])


def _part(given: str) -> str:
    """A part that is . or .. would take the ones before it away: a path that names a memory would
    be the path of the whole bank."""
    quoted = quote(given, safe="")
    return quoted.replace(".", "%2E") if given in (".", "..") else quoted


PAGE = 500


def pages(first: Call, items: str, limit: int | None) -> Steps[list[Any]]:
    """Everything, or so many, however the server cuts it."""
    out: list[Any] = []
    cursor: dict[str, Any] = {}
    while True:  # asked once also for none or fewer: the server says what is wrong with that
        size = PAGE if limit is None else min(PAGE, limit - len(out))
        given = yield Call(first.method, first.path, {**first.params, **cursor, "limit": size})
        out += given[items]
        if not given.get("next_cursor") or len(out) == limit:
            return out
        cursor = {"cursor": given["next_cursor"], "offset": None}


def plain(value: Any) -> Any:
    """What orjson does not know by itself."""
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, tuple | set | frozenset):
        return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _text(value: Any) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- problems --------------------------------------------------------------------------------


_BY_KIND = {
    kind_of(value): value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, RecollectError)
}
_BY_STATUS: dict[int, type[RecollectError]] = {
    400: InvalidInput,
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    405: NotFound,
    409: Conflict,
    413: TooLarge,
    422: InvalidInput,
    507: StoreFull,
}


def error_of(status: int, content: bytes, retry_after: str | None = None) -> RecollectError:
    """The error that a server's answer is: the very one it had, where it says so."""
    try:
        given = orjson.loads(content)
    except orjson.JSONDecodeError:
        given = None
    said = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    message = str(said.get("detail") or f"the server answered {status}")
    hint = said.get("hint") or "look at the server's log"
    if status == 429:
        wait = float(retry_after) if retry_after and retry_after.isdigit() else 1.0
        return TooManyRequests(message, hint=hint, retry_after=wait)
    kind = str(said.get("type", "")).rpartition(":")[2]
    found = _BY_KIND.get(kind) or _BY_STATUS.get(status, ServerError)
    return found(message, hint=hint)

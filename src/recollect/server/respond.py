"""JSON answers, written once: what a handler returns is not validated a second time, and
`answers` tells the documentation what it looks like."""

from __future__ import annotations

from typing import Any

import orjson
from pydantic import BaseModel
from starlette.responses import Response

from recollect.server.problems import MEDIA_TYPE, Problem

_USUAL = (400, 401, 403, 404, 413, 422, 429, 503)
_SAYS = {
    400: "The request cannot be read.",
    401: "A key is needed.",
    403: "The key may not do this.",
    404: "There is no such thing.",
    409: "It contradicts what is there.",
    413: "The request is too large.",
    422: "The request cannot be used.",
    429: "Too many requests.",
    503: "Not now.",
}


def _plain(value: Any) -> Any:
    """What orjson does not know by itself."""
    if hasattr(value, "items"):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content, default=_plain)


DOCUMENTED: dict[str, type[BaseModel]] = {}  # what `answers` has named


def answers(
    model: type[BaseModel], *more: int, status: int = 200, says: str = "As asked."
) -> dict[int | str, dict[str, Any]]:
    """For a route's `responses`: the answer, and the problems it may be instead. By name only: the
    schemas are made when somebody asks for the documentation, not while the server starts."""
    DOCUMENTED[model.__name__] = model
    out: dict[int | str, dict[str, Any]] = {
        status: {"description": says, "content": {"application/json": {"schema": _named(model)}}}
    }
    for code in sorted({*_USUAL, *more}):
        content = {MEDIA_TYPE: {"schema": _named(Problem)}}
        out[code] = {"description": _SAYS.get(code, "A problem."), "content": content}
    return out


def _named(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}

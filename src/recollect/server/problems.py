"""Every answer that is not a success, as an RFC 9457 problem with a hint.

What recollect raises becomes a problem here and nowhere else; no stack trace leaves the process.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, cast

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.discretion import told
from recollect.errors import (
    Conflict,
    InvalidInput,
    LeaseLost,
    ModelError,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    OtherModel,
    RecollectError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
    TooLarge,
    TooManyRequests,
    kind_of,
)

log = logging.getLogger("recollect.server")
MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1

# The first class that fits decides.
_STATUS: tuple[tuple[type[RecollectError], int], ...] = (
    (TooLarge, 413),
    (InvalidInput, 422),
    (NotFound, 404),
    (Conflict, 409),
    (NotAuthenticated, 401),
    (NotAllowed, 403),
    (TooManyRequests, 429),
    (StoreLocked, 503),
    (StoreFull, 507),
    (StoreReadOnly, 503),
    (StoreUnavailable, 503),
    (LeaseLost, 409),
    (OtherModel, 409),
    (ModelError, 503),
)
_HINTS = {
    400: "send JSON, encoded as UTF-8",
    404: "see /openapi.json for the paths there are",
    405: "see /openapi.json for the paths and their methods",
    413: "send less at a time",
}


class FieldProblem(BaseModel):
    where: str = Field(description="Which part of the request, as a dotted path.")
    message: str


class Problem(BaseModel):
    """RFC 9457, with a way out."""

    type: str = Field(description="A URN that names the kind of problem.")
    title: str
    status: int
    detail: str = Field(description="What happened.")
    hint: str = Field(description="What to do about it.")
    instance: str | None = Field(None, description="The path that was asked for.")
    errors: list[FieldProblem] | None = Field(None, description="What is wrong, field by field.")


def problem(
    status: int,
    detail: str,
    hint: str,
    *,
    kind: str | None = None,
    instance: str | None = None,
    errors: Sequence[Mapping[str, str]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    title = HTTPStatus(status).phrase
    body: dict[str, Any] = {
        "type": f"urn:recollect:problem:{kind or title.lower().replace(' ', '-')}",
        "title": title,
        "status": status,
        "detail": detail,
        "hint": hint,
        "instance": instance,
    }
    if errors:
        body["errors"] = errors
    return Response(orjson.dumps(body), status, media_type=MEDIA_TYPE, headers=dict(headers or {}))


def add_handlers(app: FastAPI) -> None:
    app.add_exception_handler(RecollectError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


class Unbroken:
    """ASGI middleware: what nobody expected is answered like any other problem, with its request
    id, on a connection that stays open. Starlette's own last resort hangs up after it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sent(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, sent)
        except Exception as error:
            if begun or scope["type"] != "http":  # there is no way back: half an answer is none
                raise
            answer = _unexpected(Request(scope), error)
            await answer(scope, receive, send)


def status_of(error: Exception) -> int:
    return next((s for kind, s in _STATUS if isinstance(error, kind)), 500)


def of_error(error: RecollectError, instance: str | None = None) -> Response:
    """The problem that an error of the library is."""
    status = status_of(error)
    if status >= 500:
        log.error("%s: %s", instance or "-", error.message)
    headers: dict[str, str] = {}
    if isinstance(error, TooManyRequests):
        headers["Retry-After"] = str(math.ceil(error.retry_after or RETRY_AFTER_S))
    elif status == 503:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    elif status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    message, hint = told(error)
    kind = kind_of(type(error))
    return problem(status, message, hint, kind=kind, instance=instance, headers=headers)


async def _known(request: Request, error: Exception) -> Response:
    return of_error(cast("RecollectError", error), request.url.path)


async def _invalid(request: Request, error: Exception) -> Response:
    raised = cast("RequestValidationError", error).errors()
    found = [{"where": _where(e), "message": _message(e)} for e in raised]
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return problem(
        422,
        f"{first['where']}: {first['message']}{more}",
        _way_out(request, first["where"]),
        instance=request.url.path,
        errors=found,
    )


def _where(error: Mapping[str, Any]) -> str:
    """A position in a text that is not JSON is no field."""
    return "body" if _unreadable(error) else ".".join(str(part) for part in error["loc"])


def _message(error: Mapping[str, Any]) -> str:
    if _unreadable(error):
        why = error.get("ctx", {}).get("error", "it cannot be read")
        return f"not JSON, at character {error['loc'][-1]}: {why}"
    if error["loc"] == ("body",):
        return "missing" if error["type"] == "missing" else "not a JSON object"
    return str(error["msg"])


def _unreadable(error: Mapping[str, Any]) -> bool:
    return error["type"] == "json_invalid"


def _way_out(request: Request, where: str) -> str:
    if where == "body":
        kind = request.headers.get("content-type", "none")
        told = "" if "json" in kind else f" (this request has {kind})"
        return f"send a JSON object, with the header Content-Type: application/json{told}"
    return "`errors` names every field to change; /openapi.json describes them"


async def _http(request: Request, error: Exception) -> Response:
    """What Starlette itself raises: an unknown path or method, a body that is not JSON."""
    raised = cast("HTTPException", error)
    path, status = request.url.path, raised.status_code
    hint = _HINTS.get(status, "see /openapi.json")
    detail = str(raised.detail) or HTTPStatus(status).phrase
    if status == 404:
        detail = f"there is no path {path[:200]}"
    elif status == 405:
        detail = f"this path has no {request.method}"
        allowed = (raised.headers or {}).get("Allow")
        hint = f"it has {allowed}; {hint}" if allowed else hint
    return problem(status, detail, hint, instance=path, headers=raised.headers)


def _unexpected(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(
        500,
        "something in the server broke",
        "the server's log has the details, under the request id of this answer",
        instance=request.url.path,
    )

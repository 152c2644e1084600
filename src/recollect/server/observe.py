"""Seeing what a server does: a request id, a log line, metrics, a span and the audit of each
request, in one place around the application."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Generator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from recollect.errors import ConfigError
from recollect.ids import new_id
from recollect.server.audit import Audit, Entry
from recollect.server.limits import App, Message, Receive, Send
from recollect.types import Scope

if TYPE_CHECKING:
    from recollect.server.metrics import Metrics

log = logging.getLogger("recollect.http")
request_id: ContextVar[str] = ContextVar("request_id", default="-")
_GIVEN_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_NOTHING = nullcontext()
_QUIET = frozenset(
    {"get_health", "get_liveness", "get_readiness", "get_metrics"}
)  # asked all the time


class Observe:
    """ASGI middleware, outermost. What a route knows it leaves in `request.state`: `caller`,
    `scope` and `bank` are set when it asks who may pass, `counts` says what it changed, `refused` that
    it was not let, and `failed` with which status it failed, although the answer has another."""

    def __init__(
        self, app: App, metrics: Metrics | None = None, audit: Audit | None = None
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._audit = audit

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        seen = _Seen(identify(headers), time.perf_counter())
        scope.setdefault("state", {})["request_id"] = seen.id
        token = request_id.set(seen.id)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen.status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", seen.id.encode())]
            await send(message)

        try:
            with self._in_flight(), _followed(headers):
                await self._app(scope, receive, sent)
        finally:
            self._tell(scope, seen)
            request_id.reset(token)

    def _in_flight(self) -> AbstractContextManager[None]:
        return _NOTHING if self._metrics is None else self._metrics.in_flight.track_inprogress()

    def _tell(self, scope: Mapping[str, Any], seen: _Seen) -> None:
        took = time.perf_counter() - seen.began
        operation = _operation(scope)
        if self._metrics is not None:
            self._metrics.request(operation, seen.status, took)
        state = scope["state"]
        caller = getattr(state.get("caller"), "id", "-")
        level = logging.DEBUG if operation in _QUIET and seen.status < 400 else logging.INFO
        if log.isEnabledFor(level):
            _say(level, scope, operation, seen.status, took * 1000, caller)
        if self._audit is not None and state.get("scope") in (Scope.WRITE, Scope.ADMIN):
            entry = Entry(
                request_id=seen.id,
                key=caller,
                bank=state.get("bank"),
                action=operation,
                status=403 if state.get("refused") else state.get("failed") or seen.status,
                counts=state.get("counts") or {},
                took_ms=took * 1000,
            )
            self._audit.record(entry)


def _say(
    level: int, scope: Mapping[str, Any], operation: str, status: int, took_ms: float, key: str
) -> None:
    said = {
        "operation": operation,
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "took_ms": round(took_ms, 1),
        "key": key,
    }
    line = f"{scope['method']} {_printable(scope['path'])} {status} {took_ms:.1f} ms"
    log.log(level, line, extra={"fields": said})


@dataclass(slots=True)
class _Seen:
    id: str
    began: float
    status: int = 500  # until an answer begins


def identify(headers: Mapping[str, str]) -> str:
    """The caller's X-Request-Id, else the trace it is in, else a new one."""
    given = headers.get("x-request-id", "")
    if _GIVEN_ID.fullmatch(given):
        return given
    traced = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
    return traced[1] if traced else new_id()


def _operation(scope: Mapping[str, Any]) -> str:
    """Of the route, never the path: a label has few values."""
    route = scope.get("route")
    return getattr(route, "operation_id", None) or getattr(route, "name", None) or "unknown"


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _followed(headers: Mapping[str, str]) -> AbstractContextManager[None]:
    """In the caller's trace, where spans are made at all."""
    return _in_trace(headers) if "opentelemetry.sdk.trace" in sys.modules else _NOTHING


@contextmanager
def _in_trace(headers: Mapping[str, str]) -> Generator[None]:
    from opentelemetry import context, propagate

    token = context.attach(propagate.extract(headers))
    try:
        yield
    finally:
        context.detach(token)


# --- logs ------------------------------------------------------------------------------------


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        out: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "request_id": request_id.get(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            out["error"] = self.formatException(record.exc_info)
        return orjson.dumps(out, default=str).decode()


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        asked = request_id.get()
        line = f"{when} {record.levelname.lower():7} {record.getMessage()}"
        line += "" if asked == "-" else f" [{asked}]"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class _Stderr(logging.Handler):
    """To whatever stderr is now: it may have been replaced since."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # nobody reads it any more; a server goes on regardless
            self.handleError(record)


def configure_logging(format: str = "text", level: str = "info") -> None:
    """Logs of recollect and of the server under it, on stderr, one line each."""
    formatters: dict[str, type[logging.Formatter]] = {"text": _Text, "json": _Json}
    if format not in formatters:
        raise ConfigError(f"log_format = {format!r}", hint="use text or json")
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ConfigError(f"log_level = {level!r}", hint="use debug, info, warning or error")
    handler = _Stderr()
    handler.setFormatter(formatters[format]())
    for name, least in (("recollect", number), ("uvicorn", max(number, logging.WARNING))):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(least)
        logger.propagate = False

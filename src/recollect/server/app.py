"""The application: which paths there are, in which order things happen to a request."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect import __version__
from recollect.errors import RecollectError
from recollect.server.audit import Audit
from recollect.server.keys import Gate
from recollect.server.limits import Acquainted, BodyLimit, Buckets, SecurityHeaders
from recollect.server.mounted import McpAtWork
from recollect.server.observe import Observe
from recollect.server.operations import Operations, QueueRules
from recollect.server.pages import keep_in_large_pages
from recollect.server.problems import MEDIA_TYPE, Problem, Unbroken, add_handlers
from recollect.server.respond import DOCUMENTED
from recollect.server.routes import (
    banks,
    documents,
    entities,
    health,
    library,
    memories,
    operations,
    recall,
    unserved,
    whole,
)
from recollect.server.serving import Serving
from recollect.server.uploading import is_streamed

if TYPE_CHECKING:
    from recollect.memory import Recollect

log = logging.getLogger("recollect.server")
# An answer of 100 kB: level 1 makes it 14 kB in 1 ms, level 9 makes it 12 kB in 4 ms.
GZIP_LEVEL, GZIP_FROM = 1, 1400
_NEVER = re.compile(rb"[qQ]=0(\.0*)?")
API = "/v1/"
# Asked in this order which of them a path is: what is asked most comes first.
ROUTERS = (
    recall,
    memories,
    health,
    documents,
    entities,
    operations,
    banks,
    library,
    whole,
    unserved,
)
DESCRIPTION = """A memory for AI agents: retain what was said, recall what matters, see why.

The paths, names and shapes of Hindsight 1.1.0's API, so that its clients work unchanged; what is
marked as an addition is recollect's own. Errors are RFC 9457 problems with a hint."""


class RawPaths:
    """ASGI middleware: the API is routed by the path as it was sent, still percent-encoded, so
    that an id may hold a slash. `schemas.Decoded` decodes each part once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path") or b""
        if scope["type"] == "http" and raw.startswith(API.encode()):
            scope["path"] = raw.decode("latin-1")  # in place: the route is noted in it as well
        await self._app(scope, receive, send)


def _takes_gzip(accepted: bytes) -> bool:
    """Whether gzip is named, and not with a weight of nothing."""
    for coding in accepted.split(b","):
        name, *parameters = (part.strip() for part in coding.split(b";"))
        if name == b"gzip":
            return not any(_NEVER.fullmatch(said) for said in parameters)
    return False


class Compressed(GZipMiddleware):
    """Compresses for clients that ask for it. Other answers are passed on as they are, without a
    Vary header: no cache may keep an answer, so none needs to be told what it depends on."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = (v for k, v in scope.get("headers", ()) if k == b"accept-encoding")
        asked = any(_takes_gzip(v) for v in given)
        await (super().__call__ if asked else self.app)(scope, receive, send)


def create_app(
    memory: Recollect, *, on_ready: Callable[[], None] | None = None, together: Path | None = None
) -> FastAPI:
    """The server over one memory, which it closes when it stops. `together` is the folder of
    several processes behind one address."""
    serving = _serving(memory)
    mcp = McpAtWork(memory, serving.gate, together) if find_spec("mcp") is not None else None

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(memory.close)
            for part in (serving.metrics, serving.audit):
                if part is not None:
                    stack.callback(part.close)
            serving.operations.start()
            stack.push_async_callback(asyncio.to_thread, serving.close)
            if mcp is not None:
                stack.push_async_callback(mcp.stop)
            warming = asyncio.create_task(_warm(serving, on_ready))
            stack.push_async_callback(_ended, warming)
            stack.push_async_callback(_ended, asyncio.create_task(keep_in_large_pages()))
            yield

    app = FastAPI(
        title="recollect",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # pages that would load scripts from elsewhere
        redoc_url=None,
        # An id that is empty leaves a slash at the end: DELETE …/memories/ must not be sent on to
        # DELETE …/memories, which takes everything.
        redirect_slashes=False,
    )
    app.state.serving = serving
    for module in ROUTERS:
        # As they are: `include_router` would make every route a second time.
        app.router.routes.extend(module.router.routes)
    if mcp is not None:
        app.router.routes.extend(mcp.routes())
    add_handlers(app)
    _add_middleware(app, serving)
    app.openapi = lambda: openapi(app)  # pyright: ignore[reportAttributeAccessIssue]
    return app


def _serving(memory: Recollect) -> Serving:
    settings = memory.settings
    rules = QueueRules(
        lease_s=settings.queue_lease_s,
        attempts=settings.queue_attempts,
        kept_s=settings.queue_kept_days * 86_400,
    )
    buckets = Buckets(settings.rate_limit, settings.rate_burst, processes=settings.workers)
    gate = Gate(memory.store.keys, no_auth=settings.no_auth, buckets=buckets)
    made = Serving(memory, Operations(memory, rules), gate)
    if settings.metrics:
        from recollect.server.metrics import Metrics

        made.metrics = Metrics()
        made.metrics.watch_queue(made.operations)
    if settings.audit_log is not None:
        made.audit = Audit(settings.audit_log)
    return made


async def _warm(serving: Serving, on_ready: Callable[[], None] | None) -> None:
    try:
        await serving.warm_up()
    except RecollectError as error:  # /health/ready goes on saying so, and so does every recall
        log.error("the models cannot be loaded: %s", error)
        return
    if on_ready is not None:
        on_ready()


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _add_middleware(app: FastAPI, serving: Serving) -> None:
    """The last one added is the first to see a request."""
    settings = serving.memory.settings
    app.add_middleware(RawPaths)
    app.add_middleware(BodyLimit, limit=serving.body_limit, streamed=is_streamed)
    app.add_middleware(Compressed, minimum_size=GZIP_FROM, compresslevel=GZIP_LEVEL)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["*"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key"],
        )
    gate = serving.gate
    app.add_middleware(Acquainted, known=gate.remembers, look=gate.look)
    app.add_middleware(Unbroken)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(Observe, metrics=serving.metrics, audit=serving.audit)


def openapi(app: FastAPI) -> dict[str, Any]:
    """As FastAPI describes it, with the problem that errors are and the key that is asked for."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        mode: JsonSchemaMode = "serialization"
        named: list[tuple[type[BaseModel], JsonSchemaMode]] = [
            (model, mode) for model in (*DOCUMENTED.values(), Problem)
        ]
        _, described = models_json_schema(named, ref_template="#/components/schemas/{model}")
        parts = made.setdefault("components", {})
        parts["schemas"] = {**described["$defs"], **parts["schemas"]}
        parts["responses"] = _shared_problems(made)
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"key": []}, {}]
        app.openapi_schema = made
    return app.openapi_schema


def _shared_problems(made: dict[str, Any]) -> dict[str, Any]:
    """Every operation may answer with the same few problems: said once, and referred to."""
    shared: dict[str, Any] = {}
    for methods in made["paths"].values():
        for operation in methods.values():
            for code, said in operation["responses"].items():
                if MEDIA_TYPE in said.get("content", {}):
                    shared[f"Problem{code}"] = said
                    operation["responses"][code] = {"$ref": f"#/components/responses/Problem{code}"}
    return shared

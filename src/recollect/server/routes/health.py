"""Is it alive, is it ready, what is it."""

from __future__ import annotations

import asyncio
import time
from importlib.util import find_spec
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from recollect import __version__
from recollect.errors import NotFound, StoreUnavailable
from recollect.server.access import authorize
from recollect.server.answers import Health, Index, Liveness, Version
from recollect.server.mounted import PATH as MCP_PATH
from recollect.server.problems import RETRY_AFTER_S, problem
from recollect.server.respond import Json, answers
from recollect.server.serving import serving
from recollect.types import Scope

router = APIRouter(tags=["health"])
PATIENCE_S = 5.0  # with the store, of those who ask whether it is there
API_VERSION = "1.1.0"  # of the contract that is spoken


@router.get("/", operation_id="get_index", responses=answers(Index))
async def index() -> Any:
    """What this is, and where to go on."""
    return Json(
        {
            "name": "recollect",
            "version": __version__,
            "api": "/v1/default/banks",
            "openapi": "/openapi.json",
            "health": "/health/ready",
            "mcp": MCP_PATH if find_spec("mcp") is not None else None,
        }
    )


@router.get("/health", operation_id="get_health", responses=answers(Health))
async def health(request: Request) -> Any:
    """Whether the store answers."""
    try:
        # Not with the readers: those that wait for the store would keep it from saying so.
        asked = asyncio.to_thread(serving(request).memory.banks)
        await asyncio.wait_for(asked, PATIENCE_S)
    except TimeoutError as error:
        raise StoreUnavailable(f"the store has not answered for {PATIENCE_S:g} s") from error
    return Json({"status": "healthy", "database": "connected"})


@router.get("/health/live", operation_id="get_liveness", responses=answers(Liveness))
async def live(request: Request) -> Any:
    """Whether the process answers; touches nothing else."""
    up = time.monotonic() - serving(request).started
    return Json({"status": "alive", "version": __version__, "uptime_seconds": round(up, 3)})


@router.get("/health/ready", operation_id="get_readiness", responses=answers(Health, 503))
async def ready(request: Request) -> Any:
    """Whether the models are loaded and the store answers."""
    if not serving(request).warm:
        return problem(
            503,
            "the models are still being loaded",
            "ask again in a moment; requests are answered meanwhile, the first of them slowly",
            kind="not-ready",
            instance=request.url.path,
            headers={"Retry-After": str(RETRY_AFTER_S)},
        )
    return await health(request)


for _path, _asked, _name in (
    ("/", index, "get_index"),
    ("/health", health, "get_health"),
    ("/health/live", live, "get_liveness"),
    ("/health/ready", ready, "get_readiness"),
):  # whoever watches a server often asks for the head alone
    router.add_api_route(
        _path, _asked, methods=["HEAD"], operation_id=_name, include_in_schema=False
    )


@router.get("/version", operation_id="get_version", responses=answers(Version))
async def version(request: Request) -> Any:
    """Which contract is spoken, and which parts of it are served."""
    state = serving(request)
    features = {
        "observations": False,  # made by the caller, not by an LLM in the background
        "mcp": find_spec("mcp") is not None,
        "worker": True,
        "bank_config_api": True,
        "bank_llm_health": False,
        "file_upload_api": False,
        "document_export_api": False,
        "document_import_api": False,
        "audit_log": state.memory.settings.audit_log is not None,
        "llm_trace": False,
        "store_document_text": True,
    }
    return Json({"api_version": API_VERSION, "features": features, "recollect": __version__})


@router.get(
    "/metrics",
    operation_id="get_metrics",
    responses={
        **answers(Health),
        200: {
            "description": "For Prometheus.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
    },
)
async def metrics(request: Request) -> Any:
    """Requests, stages, arms, cache and queue, as Prometheus reads them."""
    authorize(request, None, Scope.ADMIN)
    state = serving(request)
    if state.metrics is None:
        raise NotFound("this server keeps no metrics", hint="set metrics = true")
    from recollect.server.metrics import CONTENT_TYPE

    return Response(await state.read(state.metrics.text), media_type=CONTENT_TYPE)

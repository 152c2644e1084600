"""Banks: made, listed, configured, counted, deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request

from recollect.server import holdings
from recollect.server.access import administering, authorize, note, reading
from recollect.server.answers import (
    BankAnswer,
    BankConfigAnswer,
    BankList,
    BankStatsAnswer,
    Deleted,
)
from recollect.server.configuring import in_force, said_last
from recollect.server.guarded import Guarded
from recollect.server.paging import Page, cut
from recollect.server.respond import Json, answers
from recollect.server.schemas import (
    BankBody,
    BankId,
    ConfigBody,
    ProfileBody,
    Text,
)
from recollect.server.serving import Serving, serving
from recollect.types import Bank, Scope

router = APIRouter(prefix="/v1/default/banks", tags=["banks"], route_class=Guarded)
# Settings that say how a bank is read and written. Where it is kept, and how it is served, is
# nobody's business who may only read it.
_SHOWN = (
    "fusion", "rrf_k", "rerank_candidates", "rerank_timeout_ms", "budget_mode", "budget_low",
    "budget_mid", "budget_high", "min_similarity", "min_score", "recency_decay", "superseded_factor",
    "cache_entries", "cache_seconds", "agent_names",
)  # fmt: skip


@router.get("", operation_id="list_banks", responses=answers(BankList))
async def list_banks(request: Request, page: Page, q: Text = None) -> Any:
    """Those that the caller may see, written last first, empty ones at the end."""
    caller = authorize(request, None, Scope.READ)
    state = serving(request)
    wanted = (q or "").casefold()
    found = [
        bank
        for bank in await state.read(state.memory.banks)
        if (wanted in bank.id.casefold() or wanted in str(bank.config.get("name", "")).casefold())
        and caller.sees(bank.id)
    ]
    found.sort(key=lambda bank: (bank.memories > 0, bank.updated_at), reverse=True)
    listed = cut([holdings.bank_item(b) for b in found], page)
    return Json({"banks": listed.pop("items"), **listed})


def _settings(body: BankBody) -> dict[str, Any]:
    """What the request says, less what it leaves out."""
    return body.model_dump(exclude_none=True)


@router.put(
    "/{bank_id}",
    operation_id="create_or_update_bank",
    responses=answers(BankAnswer),
    dependencies=[administering],
)
async def create_or_update_bank(
    request: Request,
    bank_id: BankId,
    body: BankBody,
    if_none_match: Annotated[
        Literal["*"] | None, Header(description="Addition: a bank that is there stays as it is.")
    ] = None,
) -> Any:
    state = serving(request)
    if if_none_match is not None:
        made = await state.write(state.memory.create_bank, bank_id, _settings(body))
        return Json(holdings.profile(made))
    return Json(holdings.profile(await state.write(_put, state, bank_id, _settings(body))))


def _put(state: Serving, bank_id: str, settings: Mapping[str, Any]) -> Bank:
    made = state.memory.create_bank(bank_id, settings)
    return made if made.config == settings else _merge(state, bank_id, settings)


def _merge(state: Serving, bank_id: str, settings: Mapping[str, Any]) -> Bank:
    held = state.memory.bank(bank_id)
    changes = said_last(settings, held.config)
    if {**held.config, **changes} == held.config:  # nothing to write, and caches stay
        return held
    return state.memory.configure_bank(bank_id, changes, merge=True)


@router.patch(
    "/{bank_id}",
    operation_id="update_bank",
    responses=answers(BankAnswer),
    dependencies=[administering],
)
async def update_bank(request: Request, bank_id: BankId, body: BankBody) -> Any:
    state = serving(request)
    return Json(holdings.profile(await state.write(_merge, state, bank_id, _settings(body))))


@router.get(
    "/{bank_id}/profile",
    operation_id="get_bank_profile",
    responses=answers(BankAnswer),
    dependencies=[reading],
)
async def get_bank_profile(request: Request, bank_id: BankId) -> Any:
    state = serving(request)
    return Json(holdings.profile(await state.read(state.memory.bank, bank_id)))


@router.put(
    "/{bank_id}/profile",
    operation_id="update_bank_disposition",
    responses=answers(BankAnswer),
    dependencies=[administering],
)
async def update_profile(request: Request, bank_id: BankId, body: ProfileBody) -> Any:
    """Kept and given back; without an LLM it has no effect."""
    state = serving(request)
    said = {"disposition": body.disposition.model_dump()}
    return Json(holdings.profile(await state.write(_put, state, bank_id, said)))


@router.delete(
    "/{bank_id}",
    operation_id="delete_bank",
    responses=answers(Deleted),
    dependencies=[administering],
)
async def delete_bank(request: Request, bank_id: BankId) -> Any:
    state = serving(request)

    def work() -> int:
        held = state.memory.store.bank(bank_id)  # none of one that has not arrived yet
        state.memory.delete_bank(bank_id)
        return 0 if held is None else held.memories

    count = await state.write(work)
    note(request, deleted=count)
    return Json({"success": True, "message": f"{bank_id} is gone", "deleted_count": count})


@router.get(
    "/{bank_id}/stats",
    operation_id="get_agent_stats",
    responses=answers(BankStatsAnswer),
    dependencies=[reading],
)
async def get_stats(
    request: Request,
    bank_id: BankId,
    refresh: Annotated[bool, Query(description="Accepted; counts are always fresh.")] = False,
) -> Any:
    state = serving(request)

    def work() -> dict[str, Any]:
        bank, found = state.memory.bank(bank_id), state.memory.stats(bank_id)
        return holdings.stats(bank, found, state.operation_counts(bank_id))

    return Json(await state.read(work))


# --- configuration ---------------------------------------------------------------------------


def _config(state: Serving, bank: Bank) -> dict[str, Any]:
    defaults = {name: getattr(state.memory.settings, name) for name in _SHOWN}
    return {
        "bank_id": bank.id,
        "config": {**defaults, **in_force(bank)},
        "overrides": bank.config,
    }


@router.get(
    "/{bank_id}/config",
    operation_id="get_bank_config",
    responses=answers(BankConfigAnswer),
    dependencies=[reading],
)
async def get_config(request: Request, bank_id: BankId) -> Any:
    state = serving(request)
    return Json(_config(state, await state.read(state.memory.bank, bank_id)))


@router.patch(
    "/{bank_id}/config",
    operation_id="update_bank_config",
    responses=answers(BankConfigAnswer),
    dependencies=[administering],
)
async def update_config(request: Request, bank_id: BankId, body: ConfigBody) -> Any:
    """null takes a setting back."""
    state = serving(request)
    updates = body.updates.model_dump(exclude_unset=True)
    made = await state.write(state.memory.configure_bank, bank_id, updates, merge=True)
    return Json(_config(state, made))


@router.delete(
    "/{bank_id}/config",
    operation_id="reset_bank_config",
    responses=answers(BankConfigAnswer),
    dependencies=[administering],
)
async def reset_config(request: Request, bank_id: BankId) -> Any:
    state = serving(request)
    return Json(_config(state, await state.write(state.memory.configure_bank, bank_id, {})))

"""Who may do what: every route says which scope it needs, and asks here, once."""

from __future__ import annotations

from fastapi import Depends, Request

from recollect.server.keys import Caller
from recollect.server.schemas import BankId
from recollect.server.serving import serving
from recollect.types import Scope


def authorize(request: Request, bank: str | None, scope: Scope) -> Caller:
    """The caller, or an error from the library's tree if they may not do this. What is noted on
    the way is for the log and the audit, including requests that are refused. A second call for
    the same request does not count as another."""
    state = request.state
    if getattr(state, "allowed", None) == (bank, scope):
        return state.caller
    state.bank, state.scope = bank, scope
    gate = serving(request).gate
    caller = state.caller = gate.recognise(request.headers.get("authorization"))
    gate.allow(caller, bank, scope)
    state.allowed = bank, scope
    return caller


def note(request: Request, **counts: int | str) -> None:
    """What a request changed, for the audit: numbers and ids, never a text."""
    request.state.counts = counts


async def _read(request: Request, bank_id: BankId) -> None:
    authorize(request, bank_id, Scope.READ)


async def _write(request: Request, bank_id: BankId) -> None:
    authorize(request, bank_id, Scope.WRITE)


async def _admin(request: Request, bank_id: BankId) -> None:
    authorize(request, bank_id, Scope.ADMIN)


reading, writing, administering = Depends(_read), Depends(_write), Depends(_admin)

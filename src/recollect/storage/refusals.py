"""What every store says when it has to refuse, in the same words."""

from __future__ import annotations

from recollect.errors import Conflict, LeaseLost, NotFound
from recollect.storage.base import NewOperation
from recollect.types import Operation


def unknown_bank(bank: str) -> NotFound:
    return NotFound(
        f"there is no bank {bank!r}",
        hint="`recollect banks` lists them; retaining into a new name creates it",
    )


def bank_exists(bank: str) -> Conflict:
    return Conflict(
        f"bank {bank!r} is there already, or somebody is bringing it in",
        hint="choose another name, wait for the import or copy to end, or delete the bank",
    )


def went_on_elsewhere(bank: str) -> Conflict:
    return Conflict(
        f"somebody else goes on bringing in bank {bank!r}; nothing more was written",
        hint="one import or copy into a bank at a time",
    )


def nothing_to_go_on_from(bank: str, after: str, what: str = "memory") -> NotFound:
    return NotFound(
        f"bank {bank!r} has no {what} {after!r} to go on from",
        hint="it was forgotten meanwhile; list from the beginning",
    )


def unknown_operation(bank: str, operation_id: str) -> NotFound:
    return NotFound(
        f"bank {bank!r} has no operation {operation_id!r}",
        hint="finished ones are kept for a while only; list the operations of the bank",
    )


def unknown_key(key_id: str) -> NotFound:
    return NotFound(f"there is no API key {key_id!r}", hint="`recollect keys list` shows them")


def used_before(new: NewOperation) -> Conflict:
    what = (
        f"operation id {new.id!r}"
        if new.request_key is None
        else f"Idempotency-Key {new.request_key!r}"
    )
    return Conflict(
        f"{what} was used for another request", hint="use a new one for every new request"
    )


def already_over(operation: Operation) -> Conflict:
    return Conflict(
        f"operation {operation.id!r} is {operation.state.value}",
        hint="only what is pending or running can be cancelled",
    )


def not_to_be_retried(operation: Operation) -> Conflict:
    gone = operation.state.value in ("failed", "cancelled")
    return Conflict(
        f"the content of operation {operation.id!r} is no longer kept"
        if gone
        else f"operation {operation.id!r} is {operation.state.value}",
        hint="retain it again"
        if gone
        else "only what failed, was cancelled or waits can be retried",
    )


def not_finished(operation: Operation) -> Conflict:
    return Conflict(
        f"operation {operation.id!r} is {operation.state.value}",
        hint="cancel it first, or wait until it is finished",
    )


def lease_lost(operation_id: str) -> LeaseLost:
    return LeaseLost(
        f"operation {operation_id!r} is no longer this worker's; nothing was written",
        hint="it was cancelled, or another worker goes on with it; look at the operation's state",
    )

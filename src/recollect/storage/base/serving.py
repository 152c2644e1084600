"""What a server keeps in a store: accepted operations, and who may use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from recollect.types import (
    ApiKey,
    Operation,
    OperationState,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOperation:
    id: str
    bank: str
    kind: str
    items: int
    payload: Mapping[str, Any]  # JSON values
    fingerprint: bytes  # of what was asked: the same id or request_key with another is a Conflict
    request_key: str | None = None  # the caller's Idempotency-Key, unique in the bank


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim on one operation. The token identifies this claim; the worker's name says which process
    to check for being alive."""

    worker: str
    token: str
    until: int  # microseconds, as all times of a store


class Queue(Protocol):
    """Durable operations. In each bank they are claimed in the order they were accepted, one at
    a time; banks are independent of each other. Times are given by the caller, so that a store
    needs no clock of its own.

    A payload is dropped when its operation is done. One that failed or was cancelled keeps it, to
    be retried, until anything is forgotten in its bank (a `Batch` that `forgets`) or the
    operation is deleted or purged: what is deleted leaves no copy.
    """

    def enqueue(self, new: NewOperation, now: int, lease: Lease | None = None) -> Operation:
        """Accept it. With a lease it is running at once, as attempt 1. When the bank already holds an
        operation of this id or request_key, that one is returned as it is, with its payload;
        Conflict when its fingerprint or kind differs."""
        ...

    def waiting(self, now: int) -> list[str]:
        """Banks in which `claim` would find something."""
        ...

    def due(self) -> int | None:
        """When the next open operation of any bank can be claimed: its `not_before`, the end of
        its lease, or 0 for at once; None when nothing is open."""
        ...

    def claim(self, bank: str, lease: Lease, now: int) -> Operation | None:
        """Take the oldest open (pending or running) operation of the bank: it is now running under
        this lease, with one attempt more, and comes with its payload. None when there is none, when
        it runs under a lease that has not ended, or when it is not due."""
        ...

    def renew(self, bank: str, operation_id: str, lease: Lease) -> bool:
        """Extend the claim of this token to `lease.until`. False when it no longer stands."""
        ...

    def complete(
        self, bank: str, operation_id: str, token: str, result: Mapping[str, Any], now: int
    ) -> None:
        """It is done. LeaseLost when the claim no longer stands, as in the next two methods."""
        ...

    def fail(self, bank: str, operation_id: str, token: str, error: str, now: int) -> None: ...
    def defer(
        self, bank: str, operation_id: str, token: str, error: str | None, not_before: int, now: int
    ) -> None:
        """Back to the queue, to be tried again."""
        ...

    def abandon(self, worker: str, now: int) -> int:
        """The worker is known to be gone: reopen at once what it had claimed. Returns how many."""
        ...

    def workers(self) -> list[str]:
        """Names of the workers that hold a claim."""
        ...

    def cancel(self, bank: str, operation_id: str, now: int) -> Operation:
        """At once and for good. A running operation loses its claim, so no step takes effect beyond
        those already noted. NotFound, or Conflict when it is over."""
        ...

    def retry(self, bank: str, operation_id: str, now: int) -> Operation:
        """Make one that failed, was cancelled or was deferred pending and due, with no attempts; it goes
        on after its last step. NotFound, or Conflict when it is none of these or its payload is gone."""
        ...

    def delete(self, bank: str, operation_id: str) -> None:
        """Only a finished one. NotFound, or Conflict when it is not finished."""
        ...

    def operation(self, bank: str, operation_id: str) -> Operation | None: ...
    def operations(
        self, bank: str, limit: int, after: str | None, where: Mapping[str, Any]
    ) -> list[Operation]:
        """Newest first, without payloads; `where` may name state and kind, `after` is the last
        id seen (NotFound when it is not there)."""
        ...

    def counts(self, bank: str | None = None) -> Mapping[OperationState, int]:
        """How many are in each state, in one bank or in all."""
        ...

    def purge(self, before: int) -> int:
        """Delete operations that were finished before this time. Returns how many."""
        ...


class KeyRing(Protocol):
    """API keys. They belong to the store, not to a bank."""

    def add(self, key: ApiKey, digest: bytes) -> None: ...
    def find(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        """The key with the digest of its secret, even if it is revoked or expired."""
        ...

    def all(self) -> list[ApiKey]:
        """Oldest first."""
        ...

    def revoke(self, key_id: str, at: int) -> ApiKey:
        """Revoked from this time on; a second call does not change the time. NotFound when there is no
        such key."""
        ...

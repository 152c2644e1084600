"""Running it as a service: accepted work, and who may do what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class OperationState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINISHED = frozenset({OperationState.DONE, OperationState.FAILED, OperationState.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Work that was accepted and is done in its turn, one at a time in each bank."""

    id: str
    bank: str
    kind: str  # "retain"
    state: OperationState
    items: int  # how many things it was given
    attempts: int = 0
    error: str | None = None  # of the last attempt
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None = None
    not_before: datetime | None = None  # when it is tried again
    steps: int = 0  # parts of it that are committed
    note: Mapping[str, Any] = field(default_factory=dict[str, Any])  # what those parts brought
    result: Mapping[str, Any] | None = None  # ids and counts, never text
    payload: Mapping[str, Any] | None = None  # gone once it is done

    @property
    def finished(self) -> bool:
        return self.state in FINISHED


class Scope(StrEnum):
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"  # banks, settings, operations of others


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """Who may do what. Its secret is shown once; the store keeps a hash of it."""

    id: str  # also the visible beginning of the key
    name: str
    scopes: tuple[Scope, ...]
    banks: tuple[str, ...] | None  # None = all banks
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    rate: float | None = None  # requests a second; None = the server's rate_limit, 0 = no limit
    max_body: int | None = None  # bytes in one request; None = the server's body_limit

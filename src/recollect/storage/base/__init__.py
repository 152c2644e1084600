"""What recall and retain ask of a store, in stages rather than SQL.

A `Store` holds banks. `store.view(bank)` is the bank as it is now, everything committed
included; the stages of one recall all ask the same view. `store.commit(bank, plan)` is one
durable transaction: it locks the bank, hands `plan` a view nobody else can change, and
writes the `Batch` that `plan` returns, or nothing at all.

Inside a bank a memory is known by its `key`: a number the bank counts up. Keys, not rows or
ids, travel between the stages; ties are broken by them, so every store ranks alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from recollect.storage.base.reading import (
    EVERYTHING,
    NO_TIME,
    Ask,
    BankStats,
    Columns,
    DocumentAxis,
    Edges,
    Expansion,
    Filter,
    Floats,
    Found,
    GatheringView,
    Keys,
    Listing,
    Mentions,
    ModelIdentity,
    ServedView,
    Sharing,
    TagExpression,
    TagLeaf,
    TagNode,
    TimeAxis,
    Usage,
    View,
)
from recollect.storage.base.serving import KeyRing, Lease, NewOperation, Queue
from recollect.storage.base.writing import (
    Batch,
    Dump,
    KeyLink,
    NewDocument,
    NewEvidence,
    NewMemory,
    Plan,
    Retire,
    ServedWriting,
    StagedVector,
    Step,
    Writing,
)
from recollect.types import (
    Bank,
    Chunk,
    Document,
    Entity,
    Link,
    Memory,
)


class Store(Protocol):
    """Banks, and what a server keeps beside them. For a bank that does not exist every method raises
    `NotFound`, except `bank`, `arriving` and `delete_bank`, which say so by what they return."""

    @property
    def queue(self) -> Queue: ...
    @property
    def keys(self) -> KeyRing: ...
    def close(self) -> None: ...
    def banks(self) -> list[Bank]: ...
    def bank(self, bank: str) -> Bank | None: ...
    def create_bank(
        self, bank: str, config: Mapping[str, Any] | None = None, model: ModelIdentity | None = None
    ) -> Bank: ...
    def configure_bank(self, bank: str, config: Mapping[str, Any], *, merge: bool = False) -> Bank:
        """In one step, so that two callers who change different settings do not undo each other."""
        ...

    def delete_bank(self, bank: str) -> bool: ...
    # A bank that is imported or copied arrives in parts, each one a transaction. Until it is
    # complete only `arriving`, `bring`, `dump` and `delete_bank` see it, so a process that dies
    # leaves nothing that looks like a bank. `note` is the caller's own record of its progress.
    def begin(
        self, bank: str, config: Mapping[str, Any], model: ModelIdentity, note: str
    ) -> None: ...
    def arriving(self, bank: str) -> str | None: ...
    def arrivals(self) -> Sequence[str]: ...  # banks that are not complete yet
    def bring(self, bank: str, batch: Batch, was: str, note: str | None) -> None:
        """Write a part and the new note, None when the bank is complete. Raises `Conflict` when the
        note is no longer `was`."""
        ...

    def model_of(self, bank: str) -> ModelIdentity: ...
    def view(self, bank: str) -> View: ...
    def recall_view(self, bank: str) -> View: ...  # may read from a replica, which may lag
    def commit(self, bank: str, plan: Plan) -> int:
        """One durable transaction. Returns how many memories it deleted."""
        ...

    def documents(
        self,
        bank: str,
        limit: int,
        after: tuple[int, str] | None = None,
        axis: DocumentAxis = "updated_at",
    ) -> list[Document]:
        """Latest first; documents of the same moment by descending id. `after` is the time and id of the
        last document on the previous page, which may have changed or be gone by now."""
        ...

    def document(self, bank: str, document_id: str) -> Document | None: ...
    def document_chunks(self, bank: str, document_id: str) -> list[Chunk]: ...
    def memories(
        self, bank: str, where: Listing, limit: int, after: str | None = None, skip: int = 0
    ) -> list[Memory]: ...
    def count(self, bank: str, where: Listing) -> int: ...
    def tags(self, bank: str) -> Mapping[str, int]: ...  # of memories that can be recalled
    def entities(self, bank: str, limit: int) -> list[Entity]: ...
    def links(self, bank: str, memory_id: str) -> list[Link]: ...
    def revisions(self, bank: str, memory_id: str) -> list[Memory]: ...
    def stats(self, bank: str) -> BankStats: ...
    def dump(self, bank: str) -> Dump: ...
    def unstaged(
        self, bank: str, embedder: str, limit: int, after: int = 0
    ) -> Mapping[int, Memory]: ...  # by key
    def unstaged_count(self, bank: str, embedder: str) -> int: ...
    def stage(self, bank: str, embedder: str, vectors: Sequence[StagedVector]) -> None: ...
    def switch_model(self, bank: str, model: ModelIdentity) -> bool: ...


__all__ = [
    "EVERYTHING",
    "NO_TIME",
    "Ask",
    "BankStats",
    "Batch",
    "Columns",
    "Dump",
    "Edges",
    "Expansion",
    "Filter",
    "Floats",
    "Found",
    "GatheringView",
    "KeyLink",
    "KeyRing",
    "Keys",
    "Lease",
    "Listing",
    "Mentions",
    "ModelIdentity",
    "NewDocument",
    "NewEvidence",
    "NewMemory",
    "NewOperation",
    "Plan",
    "Queue",
    "Retire",
    "ServedView",
    "ServedWriting",
    "Sharing",
    "StagedVector",
    "Step",
    "Store",
    "TagExpression",
    "TagLeaf",
    "TagNode",
    "TimeAxis",
    "Usage",
    "View",
    "Writing",
]

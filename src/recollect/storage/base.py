"""What recall and retain ask of a store, in stages rather than SQL.

A `Store` holds banks. `store.view(bank)` is the bank as it is now, everything committed
included; the stages of one recall all ask the same view. `store.commit(bank, plan)` is one
durable transaction: it locks the bank, hands `plan` a view nobody else can change, and
writes the `Batch` that `plan` returns, or nothing at all.

Inside a bank a memory is known by its `key`: a number the bank counts up. Keys, not rows or
ids, travel between the stages; ties are broken by them, so every store ranks alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.language.entities import EntityResolver
from recollect.types import (
    ApiKey,
    Bank,
    Chunk,
    Document,
    Entity,
    Link,
    LinkKind,
    Memory,
    MemoryType,
    Operation,
    OperationState,
    State,
    TagsMatch,
)

Keys = NDArray[np.int64]
Floats = NDArray[np.float32]
ModelIdentity = tuple[str, int, int]  # embedder, its dimensions, those of its token vectors
EVERYTHING = 2**31 - 1  # a limit that leaves nothing out, in any store's numbers
NO_TIME = int(np.iinfo(np.int64).min)  # stands for "no date" in integer columns


# --- filters -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TagLeaf:
    tags: tuple[str, ...]
    match: TagsMatch


@dataclass(frozen=True, slots=True)
class TagNode:
    operator: Literal["and", "or", "not"]
    parts: tuple[TagLeaf | TagNode, ...]


TagExpression = TagLeaf | TagNode


@dataclass(frozen=True, slots=True)
class Filter:
    """What may be seen at all. It acts inside every arm, before ranking."""

    types: frozenset[MemoryType] | None = None
    tags: TagExpression | None = None
    as_of: int | None = None  # microseconds; the bank as it was known then


TimeAxis = Literal["created_at", "updated_at", "mentioned_at", "occurred_start", "occurred_end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which memories to list, whatever their state: newest first, or latest first on an axis of
    time, and then only what has a time there, in [since, until)."""

    type: MemoryType | None = None
    state: State | None = None  # None = all but earlier wordings
    document_id: str | None = None
    contains: str | None = None  # in the text; capitals do not matter
    tags: TagExpression | None = None
    keys: frozenset[int] | None = None  # only these
    axis: TimeAxis | None = None
    since: int | None = None  # microseconds
    until: int | None = None


# --- answers of a view ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """Keys with scores, best first."""

    keys: Keys
    scores: Floats

    def __len__(self) -> int:
        return len(self.keys)

    @staticmethod
    def nothing() -> Found:
        return Found(np.empty(0, np.int64), np.empty(0, np.float32))


@dataclass(frozen=True, slots=True)
class Expansion:
    """What the seeds' links lead to, signal by signal, not yet scored or ranked."""

    keys: Keys
    shared_entities: Floats  # how many distinct entities each has in common with the seeds
    semantic: Floats  # best link weight, 0 where none
    causal: Floats


@dataclass(frozen=True, slots=True)
class Edges:
    source: Keys
    target: Keys
    weight: Floats
    causal: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares entities with whom: of each `source` by itself, and how many."""

    source: Keys
    target: Keys
    shared: Floats


@dataclass(frozen=True, slots=True)
class Columns:
    """What boosts and packing read of each candidate, aligned with the keys asked for."""

    keys: Keys
    type: NDArray[np.uint8]
    state: NDArray[np.uint8]
    happened_from: NDArray[np.int64]  # occurred, else mentioned; NO_TIME when undated
    happened_until: NDArray[np.int64]
    recent: NDArray[np.int64]  # what recency counts from; NO_TIME when undated
    known_until: NDArray[np.int64]
    fresh_from: NDArray[np.int64]  # the later of last update and last review
    valid_until: NDArray[np.int64]
    lifetime_days: Floats  # the kind's window; NaN when it never ages
    proof: NDArray[np.int32]
    before: NDArray[np.int64]  # key of the turn before, 0 for none
    tokens: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Mentions:
    """Of a memory that was told again after some moment: how often, and when last before it."""

    later: int
    last: int | None  # None when there was but the first


@dataclass(frozen=True, slots=True)
class BankStats:
    memories: int
    by_type: Mapping[str, int]
    by_state: Mapping[str, int]
    documents: int
    chunks: int
    entities: int
    links: Mapping[str, int]  # by kind
    bytes: int
    links_by_type: Mapping[str, Mapping[str, int]]  # of the memory they start from, by kind


class View(Protocol):
    def close(self) -> None:
        """Let go of what it holds of the store. A view that nobody holds any more closes itself."""
        ...

    @property
    def bank(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def size(self) -> int: ...

    def semantic(self, vector: Floats, allowed: Filter, k: int, floor: float) -> Found: ...
    def keyword(self, terms: Sequence[int], allowed: Filter, k: int) -> Found: ...
    def keyword_scores(self, terms: Sequence[int], keys: Keys) -> Floats: ...
    def keyword_ceiling(self, terms: Sequence[int]) -> float: ...  # what no memory can exceed
    def expand(
        self, seeds: Keys, allowed: Filter, per_entity: int, entities: Sequence[int]
    ) -> Expansion: ...
    def edges(self, keys: Keys, allowed: Filter, per_node: int) -> Edges: ...
    def sharing(self, keys: Keys, allowed: Filter, per_entity: int) -> Sharing: ...
    def entities_of(self, keys: Keys) -> list[list[int]]: ...
    def naming(
        self, entities: Sequence[int], allowed: Filter, limit: int
    ) -> list[tuple[Keys, int]]: ...  # of each its newest memories, and how many there are
    def window(self, start: int | None, end: int | None, allowed: Filter) -> Keys: ...
    def similarity(self, vector: Floats, keys: Keys) -> Floats: ...
    def columns(self, keys: Keys) -> Columns: ...
    def allows(self, keys: Keys, allowed: Filter) -> NDArray[np.bool_]: ...
    def load(self, keys: Iterable[int]) -> Mapping[int, Memory]: ...  # less those deleted since
    def newest(self) -> Memory | None: ...
    def token_vectors(self, keys: Keys) -> list[NDArray[np.int8] | None]: ...
    def key_of(self, memory_id: str, as_of: int | None = None) -> int | None:
        """The key of a memory's newest wording, or of the one that was known then."""
        ...

    def mentions(self, keys: Keys, as_of: int) -> Mapping[int, Mentions]: ...  # if any is later
    def following(self, key: int) -> Sequence[int]: ...  # turns that answer it, in any wording
    def standing(self, keys: Keys, allowed: Filter) -> Keys:
        """Each key that may be seen; of one that was corrected the version that may be; else 0."""
        ...

    @property
    def resolver(self) -> EntityResolver: ...
    def chunks(self, ids: Iterable[str]) -> Mapping[str, Chunk]: ...
    def document_hash(self, document_id: str) -> bytes | None: ...
    def same_statement(self, hashes: Sequence[int]) -> Mapping[int, Sequence[int]]: ...


@dataclass(frozen=True, slots=True)
class Ask:
    """What the arms of one recall are about to ask."""

    vector: Floats | None
    terms: Sequence[int]
    allowed: Filter
    depth: int
    window: tuple[int | None, int | None] | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a view took of a server."""

    connections: int = 0
    max_wait_ms: float = 0.0  # for a connection
    round_trips: int = 0


class ServedView(ABC):
    """A view that asks a server: told beforehand what the arms will ask, it asks once for all."""

    @property
    @abstractmethod
    def model(self) -> ModelIdentity: ...
    @property
    @abstractmethod
    def usage(self) -> Usage: ...
    @abstractmethod
    def gather(self, ask: Ask) -> None: ...


class ServedWriting(ABC):
    """The same under the write lock, for a plan that looks up many things by their words."""

    @abstractmethod
    def expect(self, lookups: Sequence[Sequence[int]], k: int) -> None:
        """Read at once what `keyword` and `load` will be asked for, one by one: the `k` best for
        each of these lists of terms."""


# --- what a commit writes ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewMemory:
    key: int
    memory: Memory
    vector: Floats | None
    tokens: NDArray[np.int8] | None
    entity_ids: tuple[int, ...]
    statement: int  # hash of the normalised statement: what "the same fact" is looked up by
    slot: int  # hash of subject and relation for a functional attribute, 0 for none
    known_from: int
    known_until: int | None = None
    sources: tuple[int, ...] = ()
    before: int = (
        0  # key of the turn this one answers, in some wording; `View.standing` finds its own
    )
    # An earlier version: its evidence passes to this one; its links are copied, so that either
    # version has them when `as_of` shows it. With `vector` None the vectors and the semantic
    # links are its predecessor's, too; otherwise those belong to the new wording.
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class NewDocument:
    id: str
    hash: bytes
    context: str | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    chunks: tuple[Chunk, ...]
    created_at: int | None = None  # now, unless it comes from elsewhere
    updated_at: int | None = None


@dataclass(frozen=True, slots=True)
class NewEvidence:
    key: int
    at: int | None
    document_id: str | None
    chunk_id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Retire:
    """Close a memory: superseded, invalidated or revised, from `at` on."""

    key: int
    state: State
    at: int
    by: str | None = None


@dataclass(frozen=True, slots=True)
class KeyLink:
    source: int
    target: int
    kind: LinkKind
    weight: float


@dataclass(frozen=True, slots=True)
class Step:
    """A part of an operation, noted in the very transaction that has its effect. The commit is
    refused with `LeaseLost`, and writes nothing, unless the operation is running under this
    token and has not come this far: so a part takes effect once, whoever crashes when."""

    operation: str
    token: str
    number: int  # from 1; larger than any noted before
    note: Mapping[str, Any]  # replaces the operation's note; ids and counts, never text


@dataclass(frozen=True, slots=True)
class Batch:
    memories: Sequence[NewMemory] = ()
    documents: Sequence[NewDocument] = ()
    evidence: Sequence[NewEvidence] = ()  # counted: proof and recency of the memory move
    mentions: Sequence[NewEvidence] = ()  # as they were, from an export
    retire: Sequence[Retire] = ()
    unlink: Sequence[int] = ()  # memories whose authored links go, before `links` are added
    links: Sequence[KeyLink] = ()
    entities: Sequence[Entity] = ()
    # Documents to take away with everything derived only from them, but for the keys named.
    drop_documents: Mapping[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    drop_memories: Sequence[int] = ()
    updates: Mapping[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    step: Step | None = None

    @property
    def forgets(self) -> bool:
        """Whether it takes away what it does not give anew."""
        given = {d.id for d in self.documents}
        return bool(self.drop_memories) or not given.issuperset(self.drop_documents)


@dataclass(frozen=True, slots=True)
class Dump:
    """Everything a bank holds, as values, all of one moment; `Batch` takes the same ones back."""

    model: ModelIdentity
    config: Mapping[str, Any]
    documents: Iterator[NewDocument]
    entities: Iterator[Entity]
    memories: Iterator[NewMemory]
    links: Iterator[KeyLink]
    evidence: Iterator[NewEvidence]


@dataclass(frozen=True, slots=True)
class StagedVector:
    """A memory's vectors of the model a bank is moving to."""

    key: int
    vector: Floats
    tokens: NDArray[np.int8] | None


class Writing(View, Protocol):
    """A view under the bank's write lock, with the numbers a plan needs to make new rows."""

    @property
    def next_key(self) -> int: ...
    @property
    def next_entity(self) -> int: ...
    def nearest(self, vectors: Floats, k: int, floor: float) -> list[Found]: ...
    def same_slot(self, hashes: Sequence[int]) -> Mapping[int, Sequence[int]]: ...
    def mentioned(self, key: int, at: int, document_id: str | None) -> bool: ...
    def document_keys(self, document_id: str) -> Sequence[int]: ...
    def document_chunk_count(self, document_id: str) -> int: ...


Plan = Callable[[Writing], Batch]


# --- the queue, and who may use it ------------------------------------------------------------


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
    """A claim on one operation. The token is of this claim alone, the worker's name tells who
    to ask whether it still lives."""

    worker: str
    token: str
    until: int  # microseconds, as all times of a store


class Queue(Protocol):
    """Durable operations. In each bank they are claimed in the order they were accepted, one at
    a time; banks are independent of each other. Times are given by the caller, so that a store
    needs no clock of its own.

    A payload is dropped when its operation is done or cancelled. One that failed keeps it, to
    be retried, until anything is forgotten in its bank (a `Batch` that `forgets`) or the
    operation is deleted or purged: what is deleted leaves no copy.
    """

    def enqueue(self, new: NewOperation, now: int, lease: Lease | None = None) -> Operation:
        """Accept it; with a lease it is running at once, under that lease, attempt 1. When the
        bank holds an operation of this id or request_key already, that one is given back as it
        is (its payload as well), or Conflict raised when its fingerprint or kind differs."""
        ...

    def waiting(self, now: int) -> list[str]:
        """Banks in which `claim` would find something."""
        ...

    def due(self) -> int | None:
        """When the next open operation of any bank can be claimed: its `not_before`, the end of
        its lease, or 0 for at once; None when nothing is open."""
        ...

    def claim(self, bank: str, lease: Lease, now: int) -> Operation | None:
        """The oldest open (pending or running) operation of the bank, with its payload, now
        running under this lease and one attempt further; None when there is none, when it runs
        under a lease that has not ended, or when it is not due."""
        ...

    def renew(self, bank: str, operation_id: str, lease: Lease) -> bool:
        """Whether the claim of this token still stood; it now lasts until `lease.until`."""
        ...

    def complete(
        self, bank: str, operation_id: str, token: str, result: Mapping[str, Any], now: int
    ) -> None:
        """Done; LeaseLost when the claim no longer stands, as for the next two."""
        ...

    def fail(self, bank: str, operation_id: str, token: str, error: str, now: int) -> None: ...
    def defer(
        self, bank: str, operation_id: str, token: str, error: str | None, not_before: int, now: int
    ) -> None:
        """Back to the queue, to be tried again."""
        ...

    def abandon(self, worker: str, now: int) -> int:
        """A worker is known to be gone: what it had claimed is open at once. Gives how many."""
        ...

    def workers(self) -> list[str]:
        """Names that hold a claim."""
        ...

    def cancel(self, bank: str, operation_id: str, now: int) -> Operation:
        """Only while pending; NotFound, or Conflict when it is not."""
        ...

    def retry(self, bank: str, operation_id: str, now: int) -> Operation:
        """A failed one is pending again, with no attempts; NotFound, or Conflict when it has not
        failed or its payload is gone."""
        ...

    def delete(self, bank: str, operation_id: str) -> None:
        """Only when finished; NotFound, or Conflict when it is not."""
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
        """Forget operations finished before; gives how many."""
        ...


class KeyRing(Protocol):
    """API keys. They belong to the store, not to a bank."""

    def add(self, key: ApiKey, digest: bytes) -> None: ...
    def find(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        """With the digest of its secret; revoked and expired ones as well."""
        ...

    def all(self) -> list[ApiKey]:
        """Oldest first."""
        ...

    def revoke(self, key_id: str, at: int) -> ApiKey:
        """From then on; the first time counts. NotFound when there is no such key."""
        ...


class Store(Protocol):
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
    def configure_bank(self, bank: str, config: Mapping[str, Any]) -> Bank: ...
    def delete_bank(self, bank: str) -> bool: ...
    # A bank that is imported or copied arrives part by part, each one transaction. Until it is
    # whole only `arriving`, `bring`, `dump` and `delete_bank` see it; a process that dies leaves
    # nothing that looks like a bank. `note` says how far it has come, in the caller's words.
    def begin(
        self, bank: str, config: Mapping[str, Any], model: ModelIdentity, note: str
    ) -> None: ...
    def arriving(self, bank: str) -> str | None: ...
    def arrivals(self) -> Sequence[str]: ...  # banks that are not whole yet
    def bring(self, bank: str, batch: Batch, was: str, note: str | None) -> None:
        """Write a part and the new note, None when the bank is whole; refused with `Conflict`
        when the note is no longer `was`."""
        ...

    def model_of(self, bank: str) -> ModelIdentity: ...
    def view(self, bank: str) -> View: ...
    def recall_view(self, bank: str) -> View: ...  # from a replica where there is one: it may lag
    def commit(self, bank: str, plan: Plan) -> int: ...
    def documents(self, bank: str, limit: int, after: str | None) -> list[Document]: ...
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
    def unstaged(self, bank: str, embedder: str, limit: int) -> Mapping[int, Memory]: ...
    def stage(self, bank: str, embedder: str, vectors: Sequence[StagedVector]) -> None: ...
    def switch_model(self, bank: str, model: ModelIdentity) -> bool: ...

"""What a commit writes, and the view under the write lock that a plan decides by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.storage.base.reading import Floats, Found, ModelIdentity, View
from recollect.types import (
    Chunk,
    Entity,
    LinkKind,
    Memory,
    State,
)


@dataclass(frozen=True, slots=True)
class NewMemory:
    key: int
    memory: Memory
    vector: Floats | None
    tokens: NDArray[np.uint8] | None
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
    """Close a memory from `at` on: superseded, invalidated or revised. One that was closed before stays
    closed since then. One that was superseded is still seen as such until `at`, through a version of its
    own that is `revised` and names its successor."""

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
    """A part of an operation, noted in the same transaction as its effect. Unless the operation runs
    under this token and has not come this far, the commit writes nothing and raises `LeaseLost`. So each
    part takes effect once, whatever crashes when."""

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
    # Documents to withdraw, each with those that take over what they say as well.
    withdraw_documents: Mapping[str, frozenset[str]] = field(
        default_factory=dict[str, frozenset[str]]
    )
    unread: Sequence[str] = ()  # documents that are to be read again when they are given again
    updates: Mapping[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    step: Step | None = None

    @property
    def free_key(self) -> int:
        """The first key above those that it uses, 0 when it uses none."""
        return max((m.key + 1 for m in self.memories), default=0)

    @property
    def free_entity(self) -> int:
        return max((e.id + 1 for e in self.entities), default=0)

    @property
    def takes_away(self) -> bool:
        return bool(self.drop_documents or self.drop_memories)

    @property
    def forgets(self) -> bool:
        """Whether it deletes anything that it does not also replace."""
        given = {d.id for d in self.documents}
        return bool(self.drop_memories) or not given.issuperset(self.drop_documents)


@dataclass(frozen=True, slots=True)
class Dump:
    """Everything a bank holds at one moment, as values that a `Batch` can write again."""

    model: ModelIdentity
    config: Mapping[str, Any]
    documents: Iterator[NewDocument]
    entities: Iterator[Entity]
    memories: Iterator[NewMemory]
    links: Iterator[KeyLink]
    evidence: Iterator[NewEvidence]


@dataclass(frozen=True, slots=True)
class StagedVector:
    """A memory's vectors, made by the model that its bank is moving to."""

    key: int
    vector: Floats
    tokens: NDArray[np.uint8] | None


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


class ServedWriting(ABC):
    """A view under the write lock that can look up many things by their words at once."""

    @abstractmethod
    def expect(self, lookups: Sequence[Sequence[int]], k: int) -> None:
        """Read in one go what `keyword` and `load` will then be asked for one by one: the `k` best for
        each of these lists of terms."""

"""What is read of a bank: filters, what an arm finds, columns of candidates, and the view."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.language.entities import EntityResolver
from recollect.types import (
    Chunk,
    Memory,
    MemoryType,
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
DocumentAxis = Literal["created_at", "updated_at"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which memories to list, whatever their state. With an axis: those that have a time on it within
    [since, until), latest first. Without one: all, by when they were last mentioned, then created, undated
    ones at the end. Memories of the same moment are listed in reverse order of arrival."""

    type: MemoryType | None = None
    state: State | None = None  # None: all but earlier wordings
    recallable: bool = False  # only what can be recalled: active or superseded
    document_id: str | None = None
    contains: str | None = None  # in the text or the context; capitals do not matter
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
    """What the seeds' links lead to, one column per signal, not yet scored or ranked."""

    keys: Keys
    shared_entities: Floats  # how many distinct entities each has in common with the seeds
    semantic: Floats  # best link weight, 0 where none
    causal: Floats


@dataclass(frozen=True, slots=True)
class Edges:
    source: Keys
    target: Keys
    weight: Floats
    causal: NDArray[np.int8]  # +1 the target is the effect, -1 it is the cause, 0 neither


@dataclass(frozen=True, slots=True)
class Sharing:
    """Which memories share entities with each `source`, and how many."""

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
    known_from: NDArray[np.int64]  # when it was told
    known_until: NDArray[np.int64]
    fresh_from: NDArray[np.int64]  # the later of last update and last review
    valid_until: NDArray[np.int64]
    lifetime_days: Floats  # the kind's window; NaN when it never ages
    proof: NDArray[np.int32]
    before: NDArray[np.int64]  # key of the turn before, 0 for none
    tokens: NDArray[np.int32]

    def only(self, rows: NDArray[np.int64]) -> Columns:
        """The same columns for these rows, in this order."""
        return Columns(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Mentions:
    """For a memory that was told again after some moment: how often, and when it was last told before."""

    later: int
    last: int | None  # None when only the first mention came before


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
    """One state of one bank; later commits do not show in it."""

    def close(self) -> None:
        """Release what it holds of the store. A view that is garbage-collected closes itself."""
        ...

    @property
    def bank(self) -> str: ...
    @property
    def model(self) -> ModelIdentity: ...
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
    def entities_of(self, keys: Keys) -> list[list[int]]: ...  # in the order of Memory.entities
    def naming(
        self, entities: Sequence[int], allowed: Filter, limit: int
    ) -> list[tuple[Keys, int]]: ...  # for each entity its newest memories, and how many there are
    def window(self, start: int | None, end: int | None, allowed: Filter) -> Keys: ...
    def similarity(self, vector: Floats, keys: Keys) -> Floats: ...
    def vectors(self, keys: Keys) -> Floats: ...  # a row each; zeros for a memory without one
    def columns(self, keys: Keys) -> Columns: ...
    def allows(self, keys: Keys, allowed: Filter) -> NDArray[np.bool_]: ...
    def load(
        self, keys: Iterable[int]
    ) -> Mapping[int, Memory]: ...  # in this order, less deleted ones
    def newest(self) -> Memory | None: ...
    def token_vectors(self, keys: Keys) -> list[NDArray[np.uint8] | None]: ...
    def key_of(self, memory_id: str, as_of: int | None = None) -> int | None:
        """The key of a memory's newest wording, or of the one that was known then."""
        ...

    def mentions(self, keys: Keys, as_of: int) -> Mapping[int, Mentions]: ...  # if any is later
    def told_by(self, key: int) -> Sequence[str]: ...  # documents that say it as well
    def following(self, key: int) -> Sequence[int]: ...  # turns that answer any wording of it
    def standing(self, keys: Keys, allowed: Filter) -> Keys:
        """For each key: itself where the filter admits it, else the version of the same memory that it
        admits, else 0."""
        ...

    @property
    def resolver(self) -> EntityResolver: ...
    def chunks(self, ids: Iterable[str]) -> Mapping[str, Chunk]: ...
    def said_in(self, chunk_ids: Iterable[str]) -> Mapping[str, Sequence[int]]:
        """The keys of the memories that each chunk tells, including those it only repeats and withdrawn
        ones; each in its newest wording."""
        ...

    def document_hash(self, document_id: str) -> bytes | None: ...
    def same_statement(self, hashes: Sequence[int]) -> Mapping[int, Sequence[int]]: ...


@dataclass(frozen=True, slots=True)
class Ask:
    """What the arms of one recall are about to ask for."""

    vector: Floats | None
    terms: Sequence[int]
    allowed: Filter
    depth: int
    window: tuple[int | None, int | None] | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a view used of a server."""

    connections: int = 0
    max_wait_ms: float = 0.0  # for a connection
    round_trips: int = 0


class ServedView(ABC):
    """A view whose rows come from a server."""

    @property
    @abstractmethod
    def usage(self) -> Usage: ...


class GatheringView(ServedView):
    """One that also searches on the server: told beforehand what the arms will ask, it asks for all of it
    at once."""

    @abstractmethod
    def gather(self, ask: Ask) -> None: ...

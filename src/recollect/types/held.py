"""What a bank holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from recollect.types.shared import NOTHING


class MemoryType(StrEnum):
    WORLD = "world"
    EXPERIENCE = "experience"
    OBSERVATION = "observation"
    OPINION = "opinion"


class State(StrEnum):
    ACTIVE = "active"
    SUPERSEDED = "superseded"  # a newer value exists; still recallable, ranked lower
    INVALIDATED = "invalidated"  # withdrawn; never recalled
    REVISED = "revised"  # an earlier wording of the same memory; only `as_of` sees it


class LinkKind(StrEnum):
    SEMANTIC = "semantic"
    CAUSES = "causes"
    CAUSED_BY = "caused_by"
    ENABLES = "enables"
    PREVENTS = "prevents"
    RELATED = "related"  # authored: a note's [[link]]


TO_EFFECT = frozenset({LinkKind.CAUSES, LinkKind.ENABLES, LinkKind.PREVENTS})  # from a cause
CAUSAL = TO_EFFECT | {LinkKind.CAUSED_BY}

Evidence = Literal[
    "strong_support", "weak_support", "neutral", "contradiction", "strong_contradiction"
]


def _no_metadata() -> Mapping[str, Any]:
    return NOTHING  # an answer may be hundreds of memories, and most have none


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One unit that recall ranks. `occurred` is when it happened (half-open, an instant has
    start == end), `mentioned_at` when we learned it."""

    id: str
    bank: str
    text: str
    type: MemoryType = MemoryType.WORLD
    context: str | None = None
    speaker: str | None = None
    document_id: str | None = None
    chunk_id: str | None = None
    title: str | None = None
    summary: str | None = None
    topic_path: str | None = None
    recall_when: tuple[str, ...] = ()
    kind: str | None = None
    scope: str | None = None
    occurred_start: datetime | None = None
    occurred_end: datetime | None = None
    occurred_grain: str | None = None
    recurrence: str | None = None  # "every Monday", as an iCalendar rule
    duration_s: float | None = None  # how long it took, in seconds
    mentioned_at: datetime | None = None
    last_mentioned_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    valid_until: datetime | None = None
    last_reviewed_at: datetime | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=_no_metadata)
    entities: tuple[str, ...] = ()
    confidence: float | None = None
    weakened: bool = False
    proof_count: int = 1
    source_ids: tuple[str, ...] = ()
    state: State = State.ACTIVE
    superseded_by: str | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    source: str
    target: str
    kind: LinkKind
    weight: float


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    bank: str
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    context: str | None
    created_at: datetime
    updated_at: datetime
    chunks: int
    memories: int
    length: int  # of its text, in characters
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    id: str
    document_id: str
    position: int
    text: str
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Entity:
    id: int
    name: str
    kind: str
    aliases: tuple[str, ...]
    mentions: int


@dataclass(frozen=True, slots=True)
class EntityState:
    """An entity that an answer names, and what has been observed of it, newest first."""

    id: int
    name: str
    observations: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class EntityProfile:
    """An entity, how often and when it was named, and what has been observed of it."""

    entity: Entity
    mentions: int
    first_seen: datetime | None
    last_seen: datetime | None
    observations: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityTie:
    """Two entities (by id) that memories name together."""

    a: int
    b: int
    together: int  # in how many memories
    last_seen: datetime | None


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Who is named together with whom."""

    entities: tuple[EntityProfile, ...]  # whom the ties tie, most mentioned first
    ties: tuple[EntityTie, ...]  # strongest first
    total: int  # entities that are tied, shown or not
    total_ties: int  # shown or not


@dataclass(frozen=True, slots=True)
class Bank:
    id: str
    created_at: datetime
    updated_at: datetime
    memories: int
    documents: int
    embedder: str
    dimensions: int
    config: Mapping[str, Any]

"""The words recollect speaks in: what a memory is and what retain and recall give back.

All of them are frozen: a stage makes a new value, it never changes one it was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol


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


class Arm(StrEnum):
    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    GRAPH = "graph"
    TEMPORAL = "temporal"


class Band(StrEnum):
    STRONG = "strong"
    MAYBE = "maybe"
    NOISE = "noise"


class LinkKind(StrEnum):
    SEMANTIC = "semantic"
    CAUSES = "causes"
    CAUSED_BY = "caused_by"
    ENABLES = "enables"
    PREVENTS = "prevents"
    RELATED = "related"  # authored: a note's [[link]]


CAUSAL = frozenset({LinkKind.CAUSES, LinkKind.CAUSED_BY, LinkKind.ENABLES, LinkKind.PREVENTS})

TagsMatch = Literal["any", "all", "any_strict", "all_strict", "exact"]
Budget = Literal["low", "mid", "high"]
Verbosity = Literal["lean", "full"]
Evidence = Literal[
    "strong_support", "weak_support", "neutral", "contradiction", "strong_contradiction"
]
TagGroup = Mapping[str, Any]


def _no_entities() -> tuple[str, ...]:
    return ()


def _no_metadata() -> dict[str, Any]:
    return {}


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
    entities: tuple[str, ...] = field(default_factory=_no_entities)
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
    entities: tuple[EntityProfile, ...]
    ties: tuple[EntityTie, ...]  # strongest first
    total: int  # entities there are, shown or not


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


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What became of one item given to retain: its memories, in order, and how many of them
    were recognised as already known."""

    memory_ids: tuple[str, ...]
    document_id: str | None
    new: int
    known: int


@dataclass(frozen=True, slots=True)
class RetainResult:
    bank: str
    items: tuple[ItemOutcome, ...]
    new: tuple[str, ...]  # ids of memories that were made
    known: tuple[str, ...]  # ids of memories that gained evidence instead
    superseded: tuple[str, ...]  # ids whose value was replaced by a newer one
    replaced: int  # memories of an earlier version of the same document that went away
    timings: Mapping[str, float]  # milliseconds a stage
    degraded: tuple[Degradation, ...] = ()  # what it had to do without: an LLM that is down

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(i for item in self.items for i in item.memory_ids)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> RetainResult:
        items = (
            ItemOutcome(tuple(i["memory_ids"]), i["document_id"], i["new"], i["known"])
            for i in given["items"]
        )
        return RetainResult(
            given["bank"],
            tuple(items),
            tuple(given["new"]),
            tuple(given["known"]),
            tuple(given["superseded"]),
            given["replaced"],
            given["timings"],
            tuple(Degradation(**d) for d in given.get("degraded", ())),
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """A number, what it is, and the numbers it was made of. The tree adds up; "either" is the
    chance that at least one of several holds, 1 − Π(1 − value)."""

    value: float
    description: str
    details: tuple[Explanation, ...] = ()
    operation: Literal["leaf", "product", "sum", "sigmoid", "either"] = "leaf"

    def as_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"value": self.value, "description": self.description}
        if self.details:
            out["operation"] = self.operation
            out["details"] = [d.as_dict() for d in self.details]
        return out


@dataclass(frozen=True, slots=True)
class ArmScore:
    rank: int  # from 1
    score: float  # in the arm's own units


class StageScores(NamedTuple):
    """What the stages said of a hit, in short; None where one had nothing to say."""

    relevance: float | None
    semantic: float | None
    keyword: float | None


class HitDetail(Protocol):
    """How a hit came about, read off the ranking when somebody asks."""

    def stages(self) -> StageScores: ...
    def arms(self) -> Mapping[Arm, ArmScore]: ...
    def scores(self) -> Mapping[str, float]: ...
    def matched_terms(self) -> tuple[str, ...]: ...
    def explanation(self) -> Explanation: ...


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled memory, its final score and everything that led to it. A recall may return
    hundreds; what led to each is worked out only for those that are looked at."""

    memory: Memory
    score: float
    band: Band
    hop: int = 0  # 0 = direct, 1 = a neighbour brought in by expand_hops
    detail: HitDetail | None = field(default=None, compare=False, repr=False)

    @property
    def arms(self) -> Mapping[Arm, ArmScore]:
        return {} if self.detail is None else self.detail.arms()

    @property
    def stages(self) -> StageScores:
        """In short what `arms` and `scores` say at length: cheap to ask of every hit."""
        return StageScores(None, None, None) if self.detail is None else self.detail.stages()

    @property
    def scores(self) -> Mapping[str, float]:
        """fused, relevance, every signal and every boost factor, by name"""
        return {} if self.detail is None else self.detail.scores()

    @property
    def matched_terms(self) -> tuple[str, ...]:
        return () if self.detail is None else self.detail.matched_terms()

    @property
    def explanation(self) -> Explanation | None:
        return None if self.detail is None else self.detail.explanation()

    @property
    def id(self) -> str:
        return self.memory.id

    @property
    def text(self) -> str:
        return self.memory.text

    @property
    def type(self) -> MemoryType:
        return self.memory.type

    @property
    def context(self) -> str | None:
        return self.memory.context

    @property
    def entities(self) -> tuple[str, ...]:
        return self.memory.entities

    @property
    def tags(self) -> tuple[str, ...]:
        return self.memory.tags

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self.memory.metadata

    @property
    def document_id(self) -> str | None:
        return self.memory.document_id

    @property
    def chunk_id(self) -> str | None:
        return self.memory.chunk_id

    @property
    def occurred_start(self) -> datetime | None:
        return self.memory.occurred_start

    @property
    def occurred_end(self) -> datetime | None:
        return self.memory.occurred_end

    @property
    def mentioned_at(self) -> datetime | None:
        return self.memory.mentioned_at


@dataclass(frozen=True, slots=True)
class Degradation:
    """Something the answer had to do without, and why."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class StageEvent:
    stage: str
    phase: Literal["start", "stop"]
    at_ms: float  # since the recall began
    took_ms: float | None = None
    detail: Mapping[str, Any] = field(default_factory=_no_metadata)


@dataclass(frozen=True, slots=True)
class StageTrace:
    stage: str
    start_ms: float
    stop_ms: float
    cpu_ms: float
    thread: str
    detail: Mapping[str, Any]

    @property
    def took_ms(self) -> float:
        return self.stop_ms - self.start_ms


@dataclass(frozen=True, slots=True)
class Window:
    """The time a query asks about: half-open, UTC, None = open."""

    start: datetime | None
    end: datetime | None
    text: str | None = None  # the words it was read from; None when the caller gave it
    near: Literal["start", "end"] | None = None  # the end to be close to: "before X" means shortly


# --- running it as a service ----------------------------------------------------------------


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
    note: Mapping[str, Any] = field(default_factory=_no_metadata)  # what those parts brought
    result: Mapping[str, Any] | None = None  # ids and counts, never text
    payload: Mapping[str, Any] | None = None  # gone once it is done or cancelled

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


Ids = Sequence[str]

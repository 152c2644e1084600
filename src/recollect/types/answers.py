"""What retain and recall are asked for, and what they give back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from html import escape
from typing import Any, Literal, NamedTuple, Protocol

from recollect.types.held import Memory, MemoryType

TagsMatch = Literal["any", "all", "any_strict", "all_strict", "exact"]
Budget = Literal["low", "mid", "high"]
Verbosity = Literal["lean", "full"]
TagGroup = Mapping[str, Any]


class Arm(StrEnum):
    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    GRAPH = "graph"
    TEMPORAL = "temporal"


class Band(StrEnum):
    STRONG = "strong"
    MAYBE = "maybe"
    NOISE = "noise"


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
    """A number, what it is, and the numbers it was made of. The tree adds up, to the bit; "either" is
    the chance that at least one of several holds, 1 − Π(1 − value), "sigmoid" 1 / (1 + e^−value)."""

    value: float
    description: str
    details: tuple[Explanation, ...] = ()
    operation: Literal["leaf", "product", "sum", "sigmoid", "either", "min"] = "leaf"

    @property
    def label(self) -> str:
        """What the number is, and what is done with the numbers under it."""
        if not self.details:
            return self.description
        how = "by" if self.operation == "leaf" else f"= {self.operation} of"
        return f"{self.description} {how}"

    def __str__(self) -> str:
        """The tree as lines of text."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.value:.4f}  {self.label}"
        for number, part in enumerate(self.details, 1):
            head, rest = ("└── ", "    ") if number == len(self.details) else ("├── ", "│   ")
            first, *more = part._lines()
            yield head + first
            yield from (rest + line for line in more)

    def as_html(self) -> str:
        own = f"<code>{self.value:.4f}</code> {escape(self.label)}"
        if not self.details:
            return own
        parts = "".join(f"<li>{part.as_html()}</li>" for part in self.details)
        return f"<details open><summary>{own}</summary><ul>{parts}</ul></details>"

    def _repr_html_(self) -> str:
        return self.as_html()

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
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any])


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

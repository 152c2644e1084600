"""What requests may say. Names, defaults and shapes are those of Hindsight's contract; what is
marked as an addition is ours, and clients of Hindsight never send it."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict

from recollect.server.configuring import named
from recollect.types import Budget, Evidence, TagsMatch, Verbosity

# Paths are routed still percent-encoded, so that an id may hold a slash; decoded exactly once.
Decoded = AfterValidator(unquote)
BankId = Annotated[str, Path(description="The bank."), Decoded]
MemoryId = Annotated[str, Path(description="The memory."), Decoded]
DocumentId = Annotated[str, Path(description="The document."), Decoded]
ChunkId = Annotated[str, Path(description="The chunk."), Decoded]
EntityId = Annotated[str, Path(description="The entity."), Decoded]
OperationId = Annotated[str, Path(description="The operation."), Decoded]

# In a body a number is a number: `true` is none, nor is "5"; and "yes" is no truth.
Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
Truth = Annotated[bool, Strict()]

MAX_PAGE = 100_000  # the contract has no bound; a page that is cut unasked would lose its rest
Limit = Annotated[int, Query(ge=0, le=MAX_PAGE, description="How many at most.")]
Offset = Annotated[int, Query(ge=0, le=2**31, description="How many to skip; prefer `cursor`.")]
Cursor = Annotated[
    str | None, Query(description="Addition: go on where the page with this `next_cursor` ended.")
]
Tags = Annotated[list[str] | None, Query(description="Only what carries these tags.")]
Match = Annotated[TagsMatch, Query(description="How tags must match.")]
TagGroups = Annotated[
    str | None, Query(description="A boolean tag filter as JSON, as recall's `tag_groups`.")
]
Text = Annotated[str | None, Query(description="Only what contains this text.")]
Moment = Annotated[str | None, Query(description="ISO 8601.")]


class EntityOptions(BaseModel):
    max_tokens: Whole = Field(500, ge=0, description="Tokens for what is observed of entities.")


class ChunkOptions(BaseModel):
    max_tokens: Whole = Field(8192, ge=1, description="Tokens for source text.")


class SourceFactOptions(BaseModel):
    max_tokens: Whole = Field(4096, ge=-1, description="Tokens for source facts; -1 = no limit.")
    max_tokens_per_observation: Whole = Field(-1, ge=-1)


class Include(BaseModel):
    """What comes with the results. null leaves a part out."""

    entities: EntityOptions | None = Field(default_factory=lambda: EntityOptions(max_tokens=500))
    chunks: ChunkOptions | None = None
    source_facts: SourceFactOptions | None = None


class MinScores(BaseModel):
    """Floors, each inclusive: `semantic` and `keyword` act inside their arm, `reranker` and
    `final` on every result."""

    semantic: Number | None = Field(None, ge=0)
    keyword: Number | None = Field(None, ge=0)
    reranker: Number | None = Field(None, ge=0)
    final: Number | None = Field(None, ge=0)


class TemporalWindow(BaseModel):
    """The time the query is about. It ranks, it does not filter."""

    start: str | None = Field(None, description="ISO 8601; null = open.")
    end: str | None = Field(None, description="ISO 8601; a day is included whole; null = open.")


class RecallBody(BaseModel):
    """A field that recall does not have is not refused, since a client may be newer than the
    server; the answer's `degraded` names it."""

    model_config = ConfigDict(extra="allow")

    query: str
    types: list[str] | None = Field(None, description="world, experience, observation, opinion.")
    prefer_observations: Truth | None = Field(
        None, description="Leave out facts that a returned observation was made from."
    )
    budget: Budget = "mid"
    max_tokens: Whole = Field(4096, ge=1, le=10_000_000)
    trace: Truth = False
    query_timestamp: str | None = Field(None, description="What 'last week' is relative to.")
    include: Include = Field(default_factory=Include)
    tags: list[str] | None = None
    tags_match: TagsMatch = "any"
    tag_groups: list[dict[str, Any]] | None = None
    min_scores: MinScores | None = None
    temporal_window: TemporalWindow | None = None
    min_score: Number | None = Field(
        None, ge=0, le=1, description="Addition: a floor on final scores, which are calibrated."
    )
    verbosity: Verbosity | None = Field(
        None, description="Addition: lean sends a summary of each, full all that is known of it."
    )
    as_of: str | None = Field(None, description="Addition: the bank as it was known then.")
    deadline_ms: Number | None = Field(
        None, gt=0, le=3_600_000, description="Addition: the best answer so far when time is up."
    )
    expand_hops: Whole = Field(0, ge=0, le=1, description="Addition: also the hits' neighbours.")
    without: list[str] | None = Field(
        None, description="Addition: parts to leave out, to see what they are worth."
    )
    explain: Truth = Field(
        False, description="Addition: how every score came about: arms, signals, terms, tree."
    )


class WhyBody(RecallBody):
    """A recall, and the memory to follow through it."""

    memory_id: str


class Item(BaseModel):
    """One thing to remember. `content` is text to read; `text` (addition) a ready-made fact,
    `turns` (addition) a conversation, `facts` (addition) a list of facts. Further fields of the
    library (`type`, `speaker`, `title`, `occurred_start` …) are taken as they are."""

    model_config = ConfigDict(extra="allow")

    content: str | list[dict[str, Any]] | None = None
    text: str | None = None
    turns: list[dict[str, Any]] | None = None
    facts: list[dict[str, Any] | str] | None = None
    timestamp: str | None = Field(None, description='ISO 8601, or "unset"; null = now.')
    context: str | None = None
    metadata: dict[str, Any] | None = None
    document_id: str | None = None
    entities: list[dict[str, Any] | str] | None = None
    tags: list[str] | None = None
    update_mode: Literal["replace", "append"] | None = None
    resolve_entities: Truth = Field(True, description="Accepted; names are always resolved.")
    observation_scopes: Any = Field(None, description="Accepted; has no effect.")
    strategy: str | None = Field(None, description="Accepted; has no effect.")


class RetainBody(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    items: list[Item] = Field(max_length=10_000)
    async_: Truth = Field(False, alias="async")
    document_tags: list[str] | None = Field(None, description="Added to the tags of every item.")
    operation_id: str | None = Field(
        None, description="Names an asynchronous retain; the same again is the same operation."
    )


class LinksBody(BaseModel):
    """The authored links of each memory named, by id, with a weight; they take the place of those
    it had."""

    links: dict[str, dict[str, Annotated[Number, Field(ge=0, le=1)]]]


class IdsBody(BaseModel):
    ids: list[str] = Field(max_length=10_000)


Trait = Annotated[Whole, Field(ge=1, le=5)]


class Disposition(BaseModel):
    skepticism: Trait = 3
    literalism: Trait = 3
    empathy: Trait = 3


class BankBody(BaseModel):
    """A bank's configuration; what is left out stays as it is. Settings that steer an LLM are
    kept and given back; without one they have no effect."""

    model_config = ConfigDict(extra="allow")

    name: str | None = None
    mission: str | None = None
    background: str | None = None
    reflect_mission: str | None = None
    disposition: Disposition | None = None
    disposition_skepticism: Trait | None = None
    disposition_literalism: Trait | None = None
    disposition_empathy: Trait | None = None
    enable_text_search: Truth | None = None
    enable_temporal_retrieval: Truth | None = None
    enable_graph_retrieval: Truth | None = None
    enable_reranking: Truth | None = None


class ProfileBody(BaseModel):
    disposition: Disposition


class ConfigBody(BaseModel):
    updates: Annotated[BankBody, BeforeValidator(named)] = Field(
        description="What is left out stays; null takes a setting back. A name may be that of "
        "Hindsight's environment variable, HINDSIGHT_API_…."
    )


class MemoryBody(BaseModel):
    """What to change of a memory. "" clears a text or time; what is left out stays."""

    text: str | None = None
    context: str | None = None
    occurred_start: str | None = None
    occurred_end: str | None = None
    mentioned_at: str | None = Field(None, description="When it was first told.")
    fact_type: str | None = None
    entities: list[str] | None = Field(
        None, description="All that it names from now on; [] = nobody and nothing."
    )
    resolve_entities: Truth = Field(True, description="Accepted; names are always resolved.")
    state: Literal["valid", "invalidated", "superseded"] | None = None
    reason: str | None = None
    superseded_by: str | None = Field(None, description="Addition: with state `superseded`.")
    evidence: Evidence | None = Field(None, description="Addition: moves an opinion's confidence.")
    reviewed: Truth = Field(False, description="Addition: still true; its lifecycle starts anew.")
    changes: dict[str, Any] | None = Field(
        None, description="Addition: any other field of the library's update: tags, title, kind …"
    )


class DocumentBody(BaseModel):
    tags: list[str] | None = Field(None, description="The new tags of document and memories.")
    observation_scopes: Any = Field(None, description="Accepted; has no effect.")

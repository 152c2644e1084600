"""What answers look like, for the documentation. Nothing is validated with these on the way
out: the tests hold the answers to them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from recollect.server.schemas import Disposition

Strings = list[str]


class Answer(BaseModel):
    """Fields beyond the named ones may be added."""

    model_config = ConfigDict(extra="allow", defer_build=True)


class Health(Answer):
    status: str
    database: str


class Index(Answer):
    name: Literal["recollect"]
    version: str
    api: str = Field(description="Below which path banks are.")
    openapi: str = Field(description="Where all paths are described.")
    health: str = Field(description="Whether it is ready.")
    mcp: str | None = Field(None, description="Where agents find their tools.")


class Liveness(Answer):
    status: Literal["alive"]
    version: str
    uptime_seconds: float


class Version(Answer):
    api_version: str = Field(description="Of Hindsight's contract that is spoken.")
    features: dict[str, bool]
    recollect: str


# --- recall ----------------------------------------------------------------------------------


class Scores(Answer):
    final: float
    reranker: float | None = Field(None, description="Calibrated relevance, 0 to 1.")
    semantic: float | None = None
    keyword: float | None = None


class Fact(Answer):
    id: str
    text: str
    type: str | None = None
    entities: Strings | None = None
    context: str | None = None
    occurred_start: str | None = None
    occurred_end: str | None = None
    mentioned_at: str | None = None
    document_id: str | None = None
    metadata: dict[str, str] | None = None
    metadata_values: dict[str, Any] | None = Field(
        None, description="Addition: metadata as given, where it is more than texts."
    )
    chunk_id: str | None = None
    tags: Strings | None = None
    source_fact_ids: Strings | None = None
    proof_count: int | None = None
    state: str | None = None


class Result(Fact):
    scores: Scores | None = None
    score: float
    band: Literal["strong", "maybe", "noise"] = Field(description="What to make of it.")
    hop: int = Field(0, description="1 for a neighbour brought in by expand_hops.")
    explanation: dict[str, Any] | None = None


class Observed(Answer):
    text: str
    mentioned_at: str | None = None


class EntityStateAnswer(Answer):
    entity_id: str
    canonical_name: str
    observations: list[Observed]


class ChunkData(Answer):
    id: str
    text: str
    chunk_index: int
    truncated: bool = False
    document_id: str | None = None


class Degraded(Answer):
    part: str
    reason: str


class WindowAnswer(Answer):
    start: str | None
    end: str | None
    text: str | None


class RecallAnswer(Answer):
    results: list[Result]
    trace: dict[str, Any] | None = None
    entities: dict[str, EntityStateAnswer] | None = None
    chunks: dict[str, ChunkData] | None = None
    source_facts: dict[str, Fact] | None = None
    source_facts_truncated: bool | None = None
    nothing_known: bool = Field(description="Nothing in the bank answers this.")
    under_floor: str | None = Field(
        None, description="Which floor left out all that is known; only where one did."
    )
    tokens: int
    window: WindowAnswer | None = Field(None, description="The time the query was read to mean.")
    cached: bool = False
    degraded: list[Degraded] = Field(description="What the answer had to do without.")
    timings: dict[str, float]


class Verdict(Answer):
    stage: str
    passed: bool
    says: str
    needed: str | None = None


class WhyAnswer(Answer):
    memory_id: str
    text: str | None = Field(
        description="As it was said at the time asked about; null where a filter hides it."
    )
    query: str
    returned: bool
    rank: int | None
    left_at: str | None = Field(description="The stage at which it left.")
    stages: list[Verdict]
    explanation: dict[str, Any] | None


# --- retain and operations -------------------------------------------------------------------


class ItemOutcomeAnswer(Answer):
    memory_ids: Strings
    document_id: str | None
    new: int
    known: int


class RetainAnswer(Answer):
    success: bool
    bank_id: str
    items_count: int
    async_: bool = Field(alias="async")
    operation_id: str | None = None
    operation_ids: Strings | None = None
    usage: dict[str, int] | None = None
    items: list[ItemOutcomeAnswer] | None = None
    new: Strings | None = Field(None, description="Memories that were made.")
    known: Strings | None = Field(None, description="Memories that gained evidence instead.")
    superseded: Strings | None = None
    replaced: int | None = None


class OperationItem(Answer):
    id: str
    operation_id: str
    task_type: str
    operation_type: str
    items_count: int
    created_at: str
    updated_at: str | None = None
    status: str
    error_message: str | None
    retry_count: int | None = None


class Progress(Answer):
    stage: str
    at: str
    processed: int  # items of which something is stored
    total: int
    detail: dict[str, int]


class OperationStatus(Answer):
    operation_id: str
    status: Literal["pending", "processing", "completed", "failed", "cancelled", "not_found"]
    operation_type: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    completed_at: str | None = None
    error_message: str | None = None
    progress: Progress | None = None
    result_metadata: dict[str, Any] | None = None


class OperationList(Answer):
    bank_id: str
    total: int
    limit: int
    offset: int
    operations: list[OperationItem]


class OperationDone(Answer):
    success: bool
    message: str
    operation_id: str


# --- banks -----------------------------------------------------------------------------------


class BankAnswer(Answer):
    bank_id: str
    name: str | None
    disposition: Disposition
    mission: str | None
    background: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    fact_count: int = 0


class BankList(Answer):
    banks: list[BankAnswer]
    total: int
    limit: int
    offset: int
    next_cursor: str | None = None


class BankStatsAnswer(Answer):
    bank_id: str
    total_nodes: int
    total_links: int
    total_documents: int
    nodes_by_fact_type: dict[str, int]
    links_by_link_type: dict[str, int]
    links_by_fact_type: dict[str, int]
    links_breakdown: dict[str, dict[str, int]]
    pending_operations: int
    failed_operations: int


class BankConfigAnswer(Answer):
    bank_id: str
    config: dict[str, Any] = Field(description="What is in force.")
    overrides: dict[str, Any] = Field(description="What the bank itself says.")


class Deleted(Answer):
    success: bool
    message: str | None = None
    deleted_count: int | None = None


# --- what a bank holds -----------------------------------------------------------------------


class Unit(Answer):
    id: str
    text: str
    context: str | None
    date: str
    fact_type: str | None
    entities: str | Strings
    state: Literal["valid", "invalidated"]
    tags: Strings
    proof_count: int


class UnitList(Answer):
    items: list[Unit]
    total: int
    limit: int
    offset: int
    next_cursor: str | None = None


class DocumentItem(Answer):
    id: str
    bank_id: str
    created_at: str
    updated_at: str
    memory_unit_count: int
    text_length: int
    tags: Strings
    document_metadata: dict[str, Any] | None = None


class ListedDocument(DocumentItem):
    matched_fields: list[Literal["id", "original_text"]] = Field(
        description="What of it `q` was found in; nothing where it was not asked for."
    )


class DocumentList(Answer):
    items: list[ListedDocument]
    total: int
    limit: int
    offset: int
    total_is_estimate: bool = False
    next_cursor: str | None = None


class DocumentAnswer(DocumentItem):
    original_text: str | None
    content_hash: str | None
    nodes_by_fact_type: dict[str, int] | None = None


class DocumentDeleted(Answer):
    success: bool
    message: str
    document_id: str
    memory_units_deleted: int


class Done(Answer):
    success: bool = True


class ChunkAnswer(Answer):
    chunk_id: str
    document_id: str
    bank_id: str
    chunk_index: int
    chunk_text: str
    created_at: str


class ChunkList(Answer):
    items: list[ChunkAnswer]
    total: int
    limit: int
    offset: int
    next_cursor: str | None = None


class EntityItem(Answer):
    id: str
    canonical_name: str
    mention_count: int
    first_seen: str | None = None
    last_seen: str | None = None


class EntityList(Answer):
    items: list[EntityItem]
    total: int
    limit: int
    offset: int
    next_cursor: str | None = None


class EntityAnswer(EntityItem):
    observations: list[Observed]


class GraphPart(Answer):
    data: dict[str, Any]


class EntityGraphAnswer(Answer):
    nodes: list[GraphPart]
    edges: list[GraphPart]
    total_entities: int
    total_edges: int
    limit: int


class MemoryGraphAnswer(Answer):
    nodes: list[GraphPart]
    edges: list[GraphPart]
    table_rows: list[dict[str, Any]]
    total_units: int
    limit: int


class TagItem(Answer):
    tag: str
    count: int


class TagList(Answer):
    items: list[TagItem]
    total: int
    limit: int
    offset: int
    next_cursor: str | None = None


class History(Answer):
    items: list[Unit]

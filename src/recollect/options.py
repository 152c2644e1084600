"""What the verbs take by keyword: named once, for people, for type checkers and for the checks.

`recollect.open`, `recollect.connect` and their awaited forms take the same; a key that is left out
has the verb's default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypedDict

from recollect.types import Budget, TagGroup, TagsMatch, Verbosity

When = str | date | datetime
Progress = Callable[[int, int], None]  # done, and in all; 0 where nobody knows

# What a bank's own settings may leave out of its recalls, and which part that is.
BANK_PARTS: Mapping[str, str] = {
    "enable_text_search": "keyword",
    "enable_graph_retrieval": "graph",
    "enable_temporal_retrieval": "temporal",
    "enable_reranking": "rerank",
}
BANK_SWITCHES = frozenset({*BANK_PARTS, "recall_prefer_observations"})


class TagFilters(TypedDict, total=False):
    tags: Sequence[str] | None
    tags_match: TagsMatch | None
    tag_groups: Sequence[TagGroup] | None


class RecallOptions(TagFilters, total=False):
    """Of recall and why."""

    budget: Budget | None
    max_tokens: int | None
    types: str | Iterable[str] | None
    query_timestamp: When | None
    temporal_window: Any  # (start, end), {"start": …, "end": …} or a Window
    as_of: When | None
    include_chunks: bool | None
    max_chunk_tokens: int | None
    include_entities: bool | None
    max_entity_tokens: int | None
    include_source_facts: bool | None
    max_source_fact_tokens: int | None  # None = no limit
    max_tokens_per_observation: int | None
    prefer_observations: bool | None
    min_score: float | None
    min_scores: Mapping[str, float | None] | None  # semantic, keyword, reranker, final
    expand_hops: int | None
    verbosity: Verbosity | None
    deadline_ms: float | None
    trace: bool | None
    explain: bool | None  # sent along by a server; here it is worked out when somebody looks
    without: Iterable[str] | None  # parts left out, for ablations


class _TimeFilters(TagFilters, total=False):
    contains: str | None
    time_field: str | None
    since: When | None
    until: When | None


class DocumentFilters(_TimeFilters, total=False):
    """Of a listing of documents; time_field is created_at or updated_at."""


class MemoryFilters(_TimeFilters, total=False):
    """Of a listing of memories; time_field, which also orders, is created_at, updated_at,
    mentioned_at, occurred_start or occurred_end. The state `valid` is whatever can be recalled."""

    type: str | None
    state: str | None
    document_id: str | None
    entity: int | None


class _Authored(TypedDict, total=False):
    context: str | None
    speaker: str | None
    title: str | None
    summary: str | None
    topic_path: str | None
    recall_when: Sequence[str] | None
    tags: Sequence[str] | None
    type: str | None
    occurred_start: When | None
    occurred_end: When | None
    entities: Sequence[Any] | None
    metadata: Mapping[str, Any] | None
    confidence: float | None
    kind: str | None
    scope: str | None
    valid_until: When | None
    last_reviewed_at: When | None
    source_ids: Sequence[str] | None
    proof_count: int | None


class ItemFields(_Authored, total=False):
    """Of what is retained, beside what it says."""

    id: str | None
    timestamp: When | None
    document_id: str | None
    update_mode: str | None  # replace, append
    causal_relations: Sequence[Mapping[str, Any]] | None
    related: Sequence[str] | None
    updated_at: When | None


class MemoryChanges(_Authored, total=False):
    """What can be corrected of a memory. `entities` are all that it names from then on, `timestamp` is
    when it was first told."""

    text: str
    timestamp: When | None


def names(options: type[Any]) -> frozenset[str]:
    return options.__optional_keys__

"""The library's values in the words of the contract. Plain functions from value to JSON.

Fields that the contract names come first and always; what recollect knows beyond them follows,
and is left out where it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import orjson

from recollect.recall.explain import Why
from recollect.recall.result import RecallResult, hit_dict, shorten, window_dict
from recollect.server.operations import HINDSIGHT_NAMES
from recollect.storage.base import BankStats
from recollect.types import (
    Bank,
    Chunk,
    Document,
    EntityGraph,
    EntityProfile,
    EntityState,
    Hit,
    ItemOutcome,
    Memory,
    Operation,
    RetainResult,
    StageEvent,
    State,
    Verbosity,
)

NEUTRAL = {"skepticism": 3, "literalism": 3, "empathy": 3}
# What else is known of a memory.
_MORE = (
    "title", "summary", "topic_path", "recall_when", "kind", "scope", "occurred_grain", "recurrence",
    "duration_s", "last_mentioned_at", "created_at", "updated_at", "valid_until",
    "last_reviewed_at", "confidence", "weakened",
)  # fmt: skip


def iso(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()


def metadata(given: Mapping[str, Any]) -> dict[str, str]:
    """The contract's metadata are texts; whatever else was given is shown as JSON."""
    return {k: v if isinstance(v, str) else orjson.dumps(v).decode() for k, v in given.items()}


# --- recall ----------------------------------------------------------------------------------


def recalled(
    result: RecallResult, *, verbosity: Verbosity | None = None, explain: bool = False
) -> dict[str, Any]:
    """What a caller gets who says nothing is the contract's fields and a few more: an answer may
    hold two hundred memories, and most readers want what was said, when, and how sure we are."""
    made = _lean if verbosity == "lean" else partial(hit, full=verbosity == "full", explain=explain)
    out: dict[str, Any] = {
        "results": [made(h) for h in result.results],
        "trace": result.trace.as_dict() if result.trace else None,
        "entities": {e.name: entity_state(e) for e in result.entities} or None,
        "chunks": {c.id: chunk_data(c) for c in result.chunks} or None,
        "source_facts": {m.id: fact(m) for m in result.source_facts} or None,
        "nothing_known": result.nothing_known,
        "tokens": result.tokens,
        "window": window_dict(result.window),
        "cached": result.cached,
        "degraded": [{"part": d.part, "reason": d.reason} for d in result.degraded],
        "timings": {k: round(v, 3) for k, v in result.timings.items()},
    }
    if result.source_facts or result.source_facts_truncated:
        out["source_facts_truncated"] = result.source_facts_truncated
    return out


def _lean(hit: Hit) -> dict[str, Any]:
    short = hit_dict(hit, "lean")
    return short | {"text": short["summary"]}


def hit(hit: Hit, *, full: bool = False, explain: bool = False) -> dict[str, Any]:
    said = hit.stages
    out = fact(hit.memory) if full else brief(hit.memory)
    out["scores"] = {
        "final": hit.score,
        "reranker": said.relevance,
        "semantic": said.semantic,
        "keyword": said.keyword,
    }
    out["score"] = hit.score
    out["band"] = hit.band
    if hit.hop:
        out["hop"] = hit.hop
    if explain:
        tree = hit.explanation
        out["signals"] = dict(hit.scores)
        out["arms"] = {a.value: {"rank": s.rank, "score": s.score} for a, s in hit.arms.items()}
        out["matched_terms"] = list(hit.matched_terms)
        out["explanation"] = None if tree is None else tree.as_dict()
    return out


def brief(memory: Memory) -> dict[str, Any]:
    """What was said, when, by whom, and where it came from. Times are written by orjson, in the
    form that `isoformat` has."""
    given = memory.metadata
    out: dict[str, Any] = {
        "id": memory.id,
        "text": memory.text,
        "type": memory.type,
        "entities": memory.entities,
        "context": memory.context,
        "occurred_start": memory.occurred_start,
        "occurred_end": memory.occurred_end,
        "mentioned_at": memory.mentioned_at,
        "document_id": memory.document_id,
        "metadata": metadata(given) if given else given,
        "chunk_id": memory.chunk_id,
        "tags": memory.tags,
        "source_fact_ids": memory.source_ids or None,
        "proof_count": memory.proof_count,
        "state": memory.state,
    }
    if memory.speaker:
        out["speaker"] = memory.speaker
    if memory.superseded_by:
        out["superseded_by"] = memory.superseded_by
    if given and any(not isinstance(v, str) for v in given.values()):
        out["metadata_values"] = given
    return out


def fact(memory: Memory) -> dict[str, Any]:
    """All that is known of a memory."""
    out = brief(memory)
    out["tokens"] = memory.tokens
    for name in _MORE:
        value = getattr(memory, name)
        if value is not None and value != () and value is not False:
            out[name] = value
    return out


def entity_state(state: EntityState) -> dict[str, Any]:
    return {
        "entity_id": str(state.id),
        "canonical_name": state.name,
        "observations": [observed(m) for m in state.observations],
    }


def observed(memory: Memory) -> dict[str, Any]:
    return fact(memory)


def chunk_data(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "text": chunk.text,
        "chunk_index": chunk.position,
        "truncated": chunk.truncated,
        "document_id": chunk.document_id,
    }


def event(stage: StageEvent) -> dict[str, Any]:
    return {
        "stage": stage.stage,
        "phase": stage.phase,
        "at_ms": round(stage.at_ms, 3),
        "took_ms": None if stage.took_ms is None else round(stage.took_ms, 3),
        "detail": dict(stage.detail),
    }


def reason(why: Why) -> dict[str, Any]:
    return why.as_dict()


# --- retain ----------------------------------------------------------------------------------


def retained(result: RetainResult) -> dict[str, Any]:
    return {
        "success": True,
        "bank_id": result.bank,
        "items_count": len(result.items),
        "async": False,
        "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
        **retain_outcome(result),
        "degraded": [{"part": d.part, "reason": d.reason} for d in result.degraded],
        "timings": {k: round(v, 3) for k, v in result.timings.items()},
    }


def retain_outcome(result: RetainResult) -> dict[str, Any]:
    return {
        "items": [_outcome(item) for item in result.items],
        "new": result.new,
        "known": result.known,
        "superseded": result.superseded,
        "replaced": result.replaced,
    }


def _outcome(item: ItemOutcome) -> dict[str, Any]:
    return {
        "memory_ids": item.memory_ids,
        "document_id": item.document_id,
        "new": item.new,
        "known": item.known,
    }


# --- listings --------------------------------------------------------------------------------


def unit(memory: Memory) -> dict[str, Any]:
    """A memory as a listing shows it: the contract joins names to one text and knows two states."""
    withdrawn = memory.state is State.INVALIDATED
    happened = memory.occurred_start or memory.mentioned_at
    return fact(memory) | {
        "context": memory.context or "",
        "date": iso(happened) or "",
        "fact_type": memory.type.value,
        "entities": ", ".join(memory.entities),
        "entity_names": memory.entities,
        "state": "invalidated" if withdrawn else "valid",
        "lifecycle_state": memory.state.value,
        "invalidated_at": iso(memory.updated_at) if withdrawn else None,
        "invalidation_reason": memory.metadata.get("invalidation_reason") if withdrawn else None,
        "updated_at": iso(memory.updated_at),
        "created_at": iso(memory.created_at),
        "source_memory_ids": memory.source_ids,
    }


def whole(memory: Memory) -> dict[str, Any]:
    """One memory by itself: names as a list."""
    return unit(memory) | {"entities": memory.entities, "context": memory.context}


def bank_item(bank: Bank) -> dict[str, Any]:
    return {
        "bank_id": bank.id,
        "name": bank.config.get("name") or bank.id,
        "disposition": disposition(bank),
        "mission": mission(bank),
        "created_at": iso(bank.created_at),
        "updated_at": iso(bank.updated_at),
        "fact_count": bank.memories,
        "document_count": bank.documents,
        "last_document_at": iso(bank.updated_at) if bank.documents else None,
        "last_write_at": iso(bank.updated_at) if bank.memories else None,
        "display_alias": None,
        "matched_aliases": [],
        "embedder": bank.embedder,
        "dimensions": bank.dimensions,
        "config": bank.config,
    }


def profile(bank: Bank) -> dict[str, Any]:
    said = mission(bank)
    return bank_item(bank) | {"mission": said, "background": said or None}


def mission(bank: Bank) -> str:
    names = ("reflect_mission", "mission", "background")
    return next((str(bank.config[n]) for n in names if bank.config.get(n)), "")


def disposition(bank: Bank) -> dict[str, int]:
    given: Mapping[str, int] = bank.config.get("disposition") or {}
    return {k: bank.config.get(f"disposition_{k}") or given.get(k, v) for k, v in NEUTRAL.items()}


def stats(bank: Bank, found: BankStats, operations: Mapping[str, int]) -> dict[str, Any]:
    return {
        "bank_id": bank.id,
        "total_nodes": found.memories,
        "total_links": sum(found.links.values()),
        "total_documents": found.documents,
        "nodes_by_fact_type": found.by_type,
        "links_by_link_type": found.links,
        "links_by_fact_type": {},
        "links_breakdown": {},
        "pending_operations": operations.get("pending", 0) + operations.get("processing", 0),
        "failed_operations": operations.get("failed", 0),
        "operations_by_status": operations,
        "last_consolidated_at": None,
        "last_memory_write_at": iso(bank.updated_at) if found.memories else None,
        "pending_consolidation": 0,
        "failed_consolidation": 0,
        "total_observations": found.by_type.get("observation", 0),
        "nodes_by_state": found.by_state,
        "total_chunks": found.chunks,
        "total_entities": found.entities,
        "store_bytes": found.bytes,
    }


def document_item(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "bank_id": document.bank,
        "content_hash": None,
        "created_at": iso(document.created_at),
        "updated_at": iso(document.updated_at),
        "text_length": len(document.text or ""),
        "memory_unit_count": document.memories,
        "chunk_count": document.chunks,
        "retain_params": {"context": document.context} if document.context else None,
        "document_metadata": document.metadata,
        "tags": document.tags,
    }


def document(document: Document, by_type: Mapping[str, int]) -> dict[str, Any]:
    return document_item(document) | {
        "original_text": document.text,
        "nodes_by_fact_type": by_type,
        "observation_scopes": None,
    }


def chunk(chunk: Chunk, bank: str, created_at: datetime) -> dict[str, Any]:
    return {
        "chunk_id": chunk.id,
        "document_id": chunk.document_id,
        "bank_id": bank,
        "chunk_index": chunk.position,
        "chunk_text": chunk.text,
        "created_at": iso(created_at),
    }


def entity(profile: EntityProfile) -> dict[str, Any]:
    return {
        "id": str(profile.entity.id),
        "canonical_name": profile.entity.name,
        "mention_count": profile.mentions,
        "first_seen": iso(profile.first_seen),
        "last_seen": iso(profile.last_seen),
        "metadata": None,
        "kind": profile.entity.kind,
        "aliases": profile.entity.aliases,
    }


def entity_graph(graph: EntityGraph, limit: int) -> dict[str, Any]:
    return {
        "nodes": [
            {
                "data": {
                    "id": str(p.entity.id),
                    "label": p.entity.name,
                    "mentionCount": p.mentions,
                    "kind": p.entity.kind,
                }
            }
            for p in graph.entities
        ],
        "edges": [
            {
                "data": {
                    "id": f"{tie.a}-{tie.b}",
                    "source": str(tie.a),
                    "target": str(tie.b),
                    "linkType": "cooccurrence",
                    "weight": tie.together,
                    "lastCooccurred": iso(tie.last_seen),
                }
            }
            for tie in graph.ties
        ],
        "total_entities": graph.total,
        "total_edges": len(graph.ties),
        "limit": limit,
    }


def memory_graph(
    memories: Sequence[Memory],
    links: Sequence[tuple[str, str, bool, float]],
    total: int,
    limit: int,
) -> dict[str, Any]:
    rows = [unit(m) for m in memories]
    return {
        "nodes": [
            {
                "data": {
                    "id": row["id"],
                    "label": shorten(row["text"], 60),
                    "text": row["text"],
                    "date": row["date"],
                    "context": row["context"],
                    "entities": row["entities"] or "None",
                }
            }
            for row in rows
        ],
        "edges": [
            {
                "data": {
                    "id": f"{source}-{target}-{'causal' if causal else 'semantic'}",
                    "source": source,
                    "target": target,
                    "linkType": "causal" if causal else "semantic",
                    "weight": weight,
                    "entityName": "",
                }
            }
            for source, target, causal, weight in links
        ],
        "table_rows": [row | {"entities": row["entities"] or "None"} for row in rows],
        "total_units": total,
        "limit": limit,
    }


def operation(found: Operation, *, payload: bool = False) -> dict[str, Any]:
    """Both of the names that the contract has for the same thing."""
    return {
        "id": found.id,
        "operation_id": found.id,
        "task_type": found.kind,
        "operation_type": found.kind,
        "items_count": found.items,
        "document_id": None,
        "created_at": iso(found.created_at),
        "updated_at": iso(found.updated_at),
        "completed_at": iso(found.finished_at),
        "status": HINDSIGHT_NAMES[found.state],
        "error_message": found.error,
        "retry_count": max(0, found.attempts - 1),
        "next_retry_at": None if found.finished else iso(found.not_before),
        "result_metadata": found.result,
        "task_payload": found.payload if payload else None,
    }

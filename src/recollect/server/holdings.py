"""What a bank holds, in the words of the contract: documents, entities, operations, itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from recollect.discretion import without_places
from recollect.recall.due import Due
from recollect.recall.result import shorten
from recollect.server.operations import HINDSIGHT_NAMES
from recollect.server.render import iso, unit, whole
from recollect.storage.base import BankStats
from recollect.types import (
    Bank,
    Chunk,
    Document,
    EntityGraph,
    EntityProfile,
    Memory,
    Operation,
    OperationState,
)

MISSIONS = ("reflect_mission", "mission", "background")  # names of one thing; the first counts
NEUTRAL = {"skepticism": 3, "literalism": 3, "empathy": 3}


def bank_item(bank: Bank) -> dict[str, Any]:
    return {
        "bank_id": bank.id,
        "name": str(bank.config.get("name") or bank.id),
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
    return next((str(bank.config[n]) for n in MISSIONS if bank.config.get(n)), "")


def disposition(bank: Bank) -> dict[str, int]:
    """As it was given over HTTP; the library keeps whatever it is told, and what is no trait is
    none here: one odd bank must not break the list of all."""
    given: Any = bank.config.get("disposition")
    said = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    found = {k: bank.config.get(f"disposition_{k}") or said.get(k) for k in NEUTRAL}
    return {k: v if isinstance(v, int) else NEUTRAL[k] for k, v in found.items()}


def stats(bank: Bank, found: BankStats, operations: Mapping[str, int]) -> dict[str, Any]:
    return {
        "bank_id": bank.id,
        "total_nodes": found.memories,
        "total_links": sum(found.links.values()),
        "total_documents": found.documents,
        "nodes_by_fact_type": found.by_type,
        "links_by_link_type": found.links,
        "links_by_fact_type": {t: sum(k.values()) for t, k in found.links_by_type.items()},
        "links_breakdown": found.links_by_type,
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


def due(found: Due) -> dict[str, Any]:
    return {
        "memory": whole(found.memory),
        "freshness": found.freshness.value,
        "factor": found.age.factor,
        "used": found.age.used,
        "days": found.age.days,
        "window_days": found.age.window_days,
        "due_at": iso(found.age.due_at),
        "overdue_days": found.overdue_days,
    }


def document_item(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "bank_id": document.bank,
        "content_hash": None,
        "created_at": iso(document.created_at),
        "updated_at": iso(document.updated_at),
        "memory_unit_count": document.memories,
        "chunk_count": document.chunks,
        "text_length": document.length,
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
        "all_mentions": profile.entity.mentions,  # whatever the filter lets through
    }


def entity_graph(graph: EntityGraph, limit: int) -> dict[str, Any]:
    return {
        "nodes": [
            {
                "data": entity(p) | {"label": p.entity.name, "mentionCount": p.mentions},
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
        "total_edges": graph.total_ties,
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
        "error_message": None if found.error is None else without_places(found.error),
        "retry_count": max(0, found.attempts - 1),
        "next_retry_at": None if found.finished else iso(found.not_before),
        "progress": _progress(found),
        "result_metadata": found.result,
        "task_payload": found.payload if payload else None,
    }


def _progress(found: Operation) -> dict[str, Any] | None:
    """How far it came: whatever became of the rest, these parts are stored."""
    if not found.steps:
        return None
    ids = found.note.get("ids", ())  # of every item; no longer noted when all is done
    done = found.state is OperationState.DONE
    return {
        "stage": found.kind,
        "at": iso(found.updated_at),
        "processed": found.items if done else sum(bool(i) for i in ids),
        "total": found.items,
        "detail": {"parts": found.steps},
    }

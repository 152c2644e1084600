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

from recollect.discretion import without_places
from recollect.recall.result import RecallResult, hit_dict, window_dict
from recollect.server.briefs import Briefs, scored
from recollect.types import (
    Chunk,
    EntityState,
    Hit,
    ItemOutcome,
    Memory,
    RetainResult,
    StageEvent,
    State,
    Verbosity,
)

# What else is known of a memory.
_MORE = (
    "title", "summary", "topic_path", "recall_when", "kind", "scope", "occurred_grain", "recurrence",
    "duration_s", "last_mentioned_at", "created_at", "updated_at", "valid_until",
    "last_reviewed_at", "confidence", "weakened",
)  # fmt: skip


REASON = "invalidation_reason"  # in the metadata of what was withdrawn


def iso(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()


def metadata(given: Mapping[str, Any]) -> dict[str, str]:
    """The contract's metadata are texts; whatever else was given is shown as JSON."""
    return {k: v if isinstance(v, str) else orjson.dumps(v).decode() for k, v in given.items()}


# --- recall ----------------------------------------------------------------------------------


def recalled(
    result: RecallResult,
    *,
    verbosity: Verbosity | None = None,
    explain: bool = False,
    source_facts: bool = False,
) -> dict[str, Any]:
    """What a caller gets who says nothing is the contract's fields and a few more: an answer may
    hold two hundred memories, and most readers want what was said, when, and how sure we are."""
    out: dict[str, Any] = {
        "results": _results(result.results, verbosity, explain),
        "trace": result.trace.as_dict() if result.trace else None,
        "entities": {e.name: entity_state(e) for e in result.entities} or None,
        "chunks": {c.id: chunk_data(c) for c in result.chunks} or None,
        "source_facts": {m.id: fact(m) for m in result.source_facts} or None,
        "nothing_known": result.nothing_known,
        "tokens": result.tokens,
        "window": window_dict(result.window),
        "cached": result.cached,
        "degraded": degraded(result),
        "timings": {k: round(v, 3) for k, v in result.timings.items()},
    }
    if result.under_floor is not None:
        out["under_floor"] = result.under_floor
    if source_facts:
        out["source_facts_truncated"] = result.source_facts_truncated
    return out


def _results(hits: Sequence[Hit], verbosity: Verbosity | None, explain: bool) -> Any:
    if verbosity is None and not explain:
        return _BRIEFS.array(hits)
    made = _lean if verbosity == "lean" else partial(hit, full=verbosity == "full")
    return [made(h) | (_explained(h) if explain else {}) for h in hits]


def _lean(hit: Hit) -> dict[str, Any]:
    short = hit_dict(hit, "lean")
    return short | {"text": short["summary"]}


def _explained(hit: Hit) -> dict[str, Any]:
    tree = hit.explanation
    return {
        "signals": dict(hit.scores),
        "arms": {a.value: {"rank": s.rank, "score": s.score} for a, s in hit.arms.items()},
        "matched_terms": list(hit.matched_terms),
        "explanation": None if tree is None else tree.as_dict(),
    }


def hit(hit: Hit, *, full: bool = False) -> dict[str, Any]:
    return (fact(hit.memory) if full else brief(hit.memory)) | scored(hit)


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


_BRIEFS = Briefs(brief)


def fact(memory: Memory) -> dict[str, Any]:
    """All that is known of a memory."""
    out = brief(memory)
    out["tokens"] = memory.tokens
    for name in _MORE:
        value = getattr(memory, name)
        if value is not None and value != () and value is not False:
            out[name] = value
    return out


def degraded(result: RecallResult | RetainResult) -> list[dict[str, str]]:
    return [{"part": d.part, "reason": without_places(d.reason)} for d in result.degraded]


def entity_state(state: EntityState) -> dict[str, Any]:
    return {
        "entity_id": str(state.id),
        "canonical_name": state.name,
        "observations": [fact(m) for m in state.observations],
    }


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


# --- retain ----------------------------------------------------------------------------------


def retained(result: RetainResult) -> dict[str, Any]:
    return {
        "success": True,
        "bank_id": result.bank,
        "items_count": len(result.items),
        "async": False,
        "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
        **retain_outcome(result),
        "degraded": degraded(result),
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


# --- one memory --------------------------------------------------------------------------------


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
        "invalidation_reason": memory.metadata.get(REASON) if withdrawn else None,
        "updated_at": iso(memory.updated_at),
        "created_at": iso(memory.created_at),
        "source_memory_ids": memory.source_ids,
    }


def whole(memory: Memory) -> dict[str, Any]:
    """One memory by itself: names as a list."""
    return unit(memory) | {"entities": memory.entities, "context": memory.context}

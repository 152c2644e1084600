"""A server's answers as the library's own types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from recollect.language.entities import EntityResolver
from recollect.lifecycle import Age, Freshness
from recollect.recall.due import Due
from recollect.recall.explain import StageVerdict, Why
from recollect.recall.request import recall_request
from recollect.recall.result import RecallResult, Trace
from recollect.recall.understand import understand
from recollect.storage.base import BankStats
from recollect.types import (
    Arm,
    ArmScore,
    Band,
    Bank,
    Chunk,
    Degradation,
    Document,
    Entity,
    EntityGraph,
    EntityProfile,
    EntityState,
    EntityTie,
    Explanation,
    Hit,
    HitDetail,
    Link,
    LinkKind,
    Memory,
    MemoryType,
    Operation,
    OperationState,
    RetainResult,
    StageEvent,
    StageScores,
    StageTrace,
    State,
    Window,
)

Json = Mapping[str, Any]
NONE: Json = {}
_TIMES = {f.name for f in fields(Memory) if "datetime" in str(f.type)}
_TUPLES = {f.name for f in fields(Memory) if "tuple" in str(f.type)}
STATES = {  # the contract's names
    "pending": OperationState.PENDING,
    "processing": OperationState.RUNNING,
    "completed": OperationState.DONE,
    "failed": OperationState.FAILED,
    "cancelled": OperationState.CANCELLED,
}


def _part(given: Json, name: str) -> Json:
    """An object in it; one that is not there is empty."""
    return given[name] or NONE


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _sure(text: str) -> datetime:
    return datetime.fromisoformat(text)


# --- memories --------------------------------------------------------------------------------


def memory(given: Json, bank: str) -> Memory:
    """From any of the forms in which the contract shows one."""
    named = given.get("entity_names", given.get("entities"))
    values: dict[str, Any] = {
        f.name: given[f.name] for f in fields(Memory) if given.get(f.name) is not None
    }
    values |= {
        "bank": bank,
        "type": MemoryType(given["type"]),
        "state": State(given.get("lifecycle_state", given.get("state", "active"))),
        "metadata": given.get("metadata_values", given.get("metadata")) or {},
        "context": given.get("context") or None,
        "entities": named or (),
        "source_ids": given.get("source_fact_ids") or given.get("source_memory_ids") or (),
    }
    for name in _TIMES & values.keys():
        values[name] = moment(values[name])
    for name in _TUPLES & values.keys():
        values[name] = tuple(values[name])
    return Memory(**values)


def memories(given: Json, bank: str) -> list[Memory]:
    return [memory(m, bank) for m in given["items"]]


def link(given: Json) -> Link:
    return Link(given["source"], given["target"], LinkKind(given["kind"]), given["weight"])


# --- recall ----------------------------------------------------------------------------------


def _stages(given: Json) -> StageScores:
    said: Json = given.get("scores") or NONE
    return StageScores(said.get("reranker"), said.get("semantic"), said.get("keyword"))


@dataclass(frozen=True, slots=True)
class Told:
    """How a hit came about, as the server told."""

    given: Json

    def stages(self) -> StageScores:
        return _stages(self.given)

    def arms(self) -> Mapping[Arm, ArmScore]:
        return {Arm(a): ArmScore(s["rank"], s["score"]) for a, s in self.given["arms"].items()}

    def scores(self) -> Mapping[str, float]:
        return self.given["signals"]

    def matched_terms(self) -> tuple[str, ...]:
        return tuple(self.given["matched_terms"])

    def explanation(self) -> Explanation:
        return explanation(self.given["explanation"])


@dataclass(frozen=True, slots=True)
class Asked:
    """How a hit came about, asked of the server once somebody looks at one of the hits."""

    given: Json
    ask: Callable[[], Mapping[str, Told]]

    def _told(self) -> Told:
        return self.ask()[self.given["id"]]

    def stages(self) -> StageScores:
        return _stages(self.given)

    def arms(self) -> Mapping[Arm, ArmScore]:
        return self._told().arms()

    def scores(self) -> Mapping[str, float]:
        return self._told().scores()

    def matched_terms(self) -> tuple[str, ...]:
        return self._told().matched_terms()

    def explanation(self) -> Explanation:
        return self._told().explanation()


Ask = Callable[[], Mapping[str, Told]]


def recalled(given: Json, bank: str, query: str, options: Json, ask: Ask) -> RecallResult:
    lean = options.get("verbosity") == "lean"
    return RecallResult(
        bank=bank,
        query=query,
        results=tuple(_hit(h, bank, ask) for h in given["results"]),
        chunks=tuple(_chunk_shown(c) for c in _part(given, "chunks").values()),
        window=window(given["window"]),
        timings=given["timings"],
        degraded=tuple(Degradation(d["part"], d["reason"]) for d in given["degraded"]),
        nothing_known=given["nothing_known"],
        tokens=given["tokens"],
        cached=given["cached"],
        trace=None if given["trace"] is None else trace(given["trace"], query, options),
        verbosity="lean" if lean else "full",
        entities=tuple(_entity_state(e, bank) for e in _part(given, "entities").values()),
        source_facts=tuple(memory(m, bank) for m in _part(given, "source_facts").values()),
        source_facts_truncated=given.get("source_facts_truncated", False),
        under_floor=given.get("under_floor"),
    )


def told(given: Json) -> dict[str, Told]:
    return {h["id"]: Told(h) for h in given["results"]}


def _hit(given: Json, bank: str, ask: Ask) -> Hit:
    detail: HitDetail = Told(given) if "explanation" in given else Asked(given, ask)
    return Hit(
        memory(given, bank), given["score"], Band(given["band"]), given.get("hop", 0), detail
    )


def _chunk_shown(given: Json) -> Chunk:
    return Chunk(
        given["id"], given["document_id"], given["chunk_index"], given["text"], given["truncated"]
    )


def _entity_state(given: Json, bank: str) -> EntityState:
    seen = tuple(memory(m, bank) for m in given["observations"])
    return EntityState(int(given["entity_id"]), given["canonical_name"], seen)


def window(given: Json | None) -> Window | None:
    if given is None:
        return None
    ends = moment(given["start"]), moment(given["end"])
    return Window(*ends, given["text"], given.get("near"))


_CLOCK = ("stage", "start_ms", "stop_ms", "cpu_ms", "thread")


def trace(given: Json, query: str, options: Json) -> Trace:
    """The query is understood here once more, but for the names, which are the bank's."""
    known = {k: v for k, v in options.items() if k in ("query_timestamp", "as_of")}
    request = recall_request(query, now=datetime.now(UTC), **known)
    read = replace(
        understand(request, EntityResolver()),
        terms=tuple(given["terms"]),
        entities=tuple(given["entities"]),
        window=window(given["window"]),
    )
    stages = tuple(
        StageTrace(
            **{name: s[name] for name in _CLOCK},
            detail={k: v for k, v in s.items() if k not in _CLOCK},
        )
        for s in given["stages"]
    )
    return Trace(
        read,
        stages,
        given["candidates"],
        given.get("connections", 0),
        given.get("round_trips", 0),
        given.get("max_conn_wait", 0.0),
    )


def event(given: Json) -> StageEvent:
    return StageEvent(
        given["stage"], given["phase"], given["at_ms"], given["took_ms"], given["detail"]
    )


def explanation(given: Json) -> Explanation:
    return Explanation(
        given["value"],
        given["description"],
        tuple(explanation(d) for d in given.get("details", ())),
        given.get("operation", "leaf"),
    )


_VERDICT = ("stage", "passed", "says", "needed")


def why(given: Json) -> Why:
    return Why(
        given["memory_id"],
        given["query"],
        given["returned"],
        given["rank"],
        given["left_at"],
        tuple(
            StageVerdict(
                s["stage"],
                s["passed"],
                s["says"],
                s.get("needed"),
                {k: v for k, v in s.items() if k not in _VERDICT},
            )
            for s in given["stages"]
        ),
        None if given["explanation"] is None else explanation(given["explanation"]),
        given["text"],
    )


# --- what was done, and what there is --------------------------------------------------------


def retained(given: Json) -> RetainResult:
    return RetainResult.from_dict({**given, "bank": given["bank_id"]})


def operation(given: Json, bank: str) -> Operation:
    return Operation(
        id=given["operation_id"],
        bank=bank,
        kind=given["operation_type"],
        state=STATES[given["status"]],
        items=given["items_count"],
        attempts=given["retry_count"] + 1,
        error=given["error_message"],
        created_at=_sure(given["created_at"]),
        updated_at=_sure(given["updated_at"]),
        finished_at=moment(given["completed_at"]),
        not_before=moment(given["next_retry_at"]),
        steps=given["progress"]["detail"]["parts"] if given.get("progress") else 0,
        result=given["result_metadata"],
    )


def bank(given: Json) -> Bank:
    return Bank(
        given["bank_id"],
        _sure(given["created_at"]),
        _sure(given["updated_at"]),
        given["fact_count"],
        given["document_count"],
        given["embedder"],
        given["dimensions"],
        given["config"],
    )


def document(given: Json) -> Document:
    return Document(
        given["id"],
        given["bank_id"],
        tuple(given["tags"]),
        given["document_metadata"],
        _part(given, "retain_params").get("context"),
        _sure(given["created_at"]),
        _sure(given["updated_at"]),
        given["chunk_count"],
        given["memory_unit_count"],
        given["text_length"],
        given.get("original_text"),
    )


def chunk(given: Json) -> Chunk:
    return Chunk(given["chunk_id"], given["document_id"], given["chunk_index"], given["chunk_text"])


def entity(given: Json) -> Entity:
    return Entity(
        int(given["id"]),
        given["canonical_name"],
        given["kind"],
        tuple(given["aliases"]),
        given["all_mentions"],
    )


def profile(given: Json, bank: str) -> EntityProfile:
    seen = tuple(memory(m, bank) for m in given.get("observations", ()))
    times = moment(given["first_seen"]), moment(given["last_seen"])
    return EntityProfile(entity(given), given["mention_count"], *times, seen)


def graph(given: Json, bank: str) -> EntityGraph:
    return EntityGraph(
        tuple(profile(node["data"], bank) for node in given["nodes"]),
        tuple(_tie(edge["data"]) for edge in given["edges"]),
        given["total_entities"],
        given["total_edges"],
    )


def _tie(given: Json) -> EntityTie:
    ends = int(given["source"]), int(given["target"])
    return EntityTie(*ends, given["weight"], moment(given["lastCooccurred"]))


def due(given: Json, bank: str) -> Due:
    held = Age(
        Freshness(given["freshness"]),
        given["factor"],
        given["used"],
        given["days"],
        given["window_days"],
        moment(given["due_at"]),
    )
    return Due(memory(given["memory"], bank), held, given["overdue_days"])


def stats(given: Json) -> BankStats:
    return BankStats(
        given["total_nodes"],
        given["nodes_by_fact_type"],
        given["nodes_by_state"],
        given["total_documents"],
        given["total_chunks"],
        given["total_entities"],
        given["links_by_link_type"],
        given["store_bytes"],
        given["links_breakdown"],
    )

"""What a fact does to the memories that are there: it supports, replaces or contradicts them."""

from __future__ import annotations

from datetime import datetime

from recollect.language.dates import to_micros
from recollect.retain.decided import Decided
from recollect.retain.dedupe import replaced_by
from recollect.retain.extract import Source
from recollect.retain.filing import Filing
from recollect.retain.items import Fact
from recollect.retain.opinion import moved
from recollect.retain.prepare import Prepared
from recollect.retain.statements import stance
from recollect.storage.base import NewEvidence, Writing
from recollect.types import Evidence, MemoryType


def support(
    decided: Decided, key: int, source: Source, prepared: Prepared, chunk_id: str | None
) -> None:
    """The same was said again."""
    fact, old = prepared.fact, decided.memories[key]
    if old.type is MemoryType.OPINION and old.confidence is not None:
        _move(decided, key, stance(old.text, fact.text))
    at = None if fact.said_at is None else to_micros(fact.said_at)
    decided.evidence.append(NewEvidence(key, at, source.document_id, chunk_id, fact.text))


def prove(decided: Decided, key: int, fact: Fact, view: Writing) -> None:
    """An observation seen again is proven by what it was seen in."""
    old = decided.memories[key]
    decided.check_sources(fact, view)
    fresh = [i for i in fact.source_ids if i not in old.source_ids]
    if fresh:
        decided.update(
            key,
            source_ids=(*old.source_ids, *fresh),
            proof_count=old.proof_count + len(fresh) if old.source_ids else len(fresh),
            last_mentioned_at=fact.said_at or old.last_mentioned_at,
        )


def supersede(
    decided: Decided, key: int, prepared: Prepared, said: datetime, filing: Filing
) -> None:
    """The later statement of an attribute is the current one, whichever came in first."""
    if not prepared.slot_hash:
        return
    olds = {k: decided.memories[k] for k in decided.by_slot.get(prepared.slot_hash, ())}
    rivals = replaced_by(prepared, list(olds.values()))
    for old_key, old in olds.items():
        if old not in rivals or filing.leaves(old_key, old):
            continue
        told = old.last_mentioned_at or old.mentioned_at or said
        if told <= said:
            decided.retire(old_key, key, said)
        else:
            decided.retire(key, old_key, told)


def contradict(decided: Decided, new: int, fact: Fact) -> None:
    """A new opinion weakens those of the same mouth that it speaks against; those that only other
    people may see are left alone."""
    for key, old in list(decided.memories.items()):
        if key == new or old.type is not MemoryType.OPINION or old.confidence is None:
            continue
        if old.speaker != fact.speaker or set(old.tags) != set(fact.tags):
            continue
        found = stance(old.text, fact.text)
        if found in ("contradiction", "strong_contradiction"):
            _move(decided, key, found)


def _move(decided: Decided, key: int, evidence: Evidence) -> None:
    old = decided.memories[key]
    decided.update(
        key,
        confidence=moved(old.confidence or 0.0, evidence),
        weakened=old.weakened or evidence == "strong_contradiction",
    )

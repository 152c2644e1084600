"""Everything that can be known of a fact before the bank is locked: when it happened, whom
it names, what causes what, whether it is an event, and its vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.language.entities import EntityResolver, Mention, NameMatcher, find_entities
from recollect.language.passage import passage, shown_date
from recollect.language.terms import label_hash
from recollect.language.time import ground
from recollect.models.base import Embedder
from recollect.models.late import to_codes
from recollect.retain.causal import CausalRelation, find_causal
from recollect.retain.items import Fact
from recollect.retain.replies import is_reply, talk
from recollect.retain.statements import Slot, fact_type, is_event, normalise, slot
from recollect.types import MemoryType
from recollect.types.making import changer

# Words for the two sides of a conversation; they name nobody.
ROLES = frozenset(
    {"user", "assistant", "agent", "system", "human", "ai", "bot", "me", "you", "tool"}
)

NO_VECTOR = np.empty(0, np.float32)
_change = changer(Fact)


@dataclass(frozen=True, slots=True)
class Prepared:
    fact: Fact
    mentions: tuple[Mention, ...]
    causal: tuple[CausalRelation, ...]
    event: bool
    reply: bool  # what it says depends on the turn before it
    slot: Slot | None
    vector: NDArray[np.float32]
    tokens: NDArray[np.uint8] | None

    @property
    def slot_hash(self) -> int:
        return 0 if self.slot is None else label_hash(f"{self.slot.subject}|{self.slot.relation}")


def understand(fact: Fact, agent_names: Sequence[str]) -> Fact:
    """Type and time, where the caller did not give them."""
    changes: dict[str, Any] = {}
    if fact.type is None:
        speaker = fact.speaker or fact.label
        changes["type"] = MemoryType(fact_type(fact.text, speaker, tuple(agent_names)))
    if fact.occurred_start is None and fact.occurred_end is None and fact.said_at is not None:
        found = ground(fact.text, fact.said_at.astimezone(fact.zone or UTC))
        if found is not None:
            changes |= {
                "occurred_start": found.start,
                "occurred_end": found.end,
                "occurred_grain": found.grain.value if found.grain else None,
                "recurrence": found.recurrence,
                "duration_s": found.duration.total_seconds() if found.duration else None,
            }
    return _change(fact, **changes) if changes else fact


def grounded(
    facts: Sequence[Fact], resolver: EntityResolver, agent_names: Sequence[str]
) -> list[Prepared]:
    """All that needs no model: the vectors are empty."""
    known = resolver.matcher()
    return [_prepared(understand(fact, agent_names), known, NO_VECTOR, None) for fact in facts]


def prepare(
    facts: Sequence[Fact], embedder: Embedder, resolver: EntityResolver, agent_names: Sequence[str]
) -> list[Prepared]:
    known = resolver.matcher()
    understood = [understand(fact, agent_names) for fact in facts]
    encoded = embedder.encode_passages([embedded_text(fact) for fact in understood])
    codes = [None] * len(understood) if encoded.tokens is None else map(to_codes, encoded.tokens)
    return [
        _prepared(fact, known, vector, own)
        for fact, vector, own in zip(understood, encoded.vectors, codes, strict=True)
    ]


def _prepared(
    fact: Fact, known: NameMatcher, vector: NDArray[np.float32], tokens: NDArray[np.uint8] | None
) -> Prepared:
    return Prepared(
        fact,
        find_entities(fact.text, speaker=fact.speaker, known=known),
        find_causal(fact.text),
        is_event(fact.text),
        is_reply(fact),
        slot(fact.text, fact.speaker),
        vector,
        tokens,
    )


def embedded_text(fact: Fact) -> str:
    return passage(
        fact.text,
        date=shown_date(fact.speaker, fact.said_at if fact.dated else None, fact.occurred_start),
        context=fact.context,
        speaker=fact.speaker,
        title=fact.title,
        recall_when=fact.recall_when,
        previous=fact.previous,
    )


def statement_hash(fact: Fact, document_id: str | None, *, reply: bool | None = None) -> int:
    """The same words from another mouth are another fact, and so is a reply in another talk."""
    said = f"{(fact.speaker or '').casefold()}|{normalise(fact.text)}"
    reply = is_reply(fact) if reply is None else reply
    return label_hash(f"{said}|{talk(fact, document_id)}" if reply else said)

"""Under the bank's lock: what of this is new, what is known, what replaces what, and how it
all hangs together. The result is one `Batch`.

`Decided` collects it; `filing` knows the documents, `weigh` what a fact does to memories that
are there, `link` how new ones hang together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from recollect.errors import InvalidInput
from recollect.ids import new_id
from recollect.language.dates import to_micros
from recollect.language.passage import said
from recollect.language.tokens import count_tokens
from recollect.retain.decided import Decided
from recollect.retain.dedupe import NEAR_COSINE, is_nearly_same, is_same
from recollect.retain.extract import Source
from recollect.retain.filing import Filing
from recollect.retain.items import Fact
from recollect.retain.link import SEMANTIC_FLOOR, Linker, earlier
from recollect.retain.naming import Naming
from recollect.retain.opinion import FIRST_CONFIDENCE
from recollect.retain.prepare import Prepared, statement_hash
from recollect.retain.statements import normalise
from recollect.retain.weigh import contradict, prove, supersede, support
from recollect.storage.base import Batch, NewMemory, Writing
from recollect.storage.ranking import dots
from recollect.types import Memory, MemoryType
from recollect.types.making import maker

NEIGHBOURS = 8
_make_memory = maker(Memory)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the plan decided, for the caller's result: per fact its memory and if it is new."""

    memory_ids: tuple[str, ...]
    new: tuple[bool, ...]
    superseded: tuple[str, ...]
    replaced: int


class Planner:
    """Plans one group of sources against one locked view."""

    def __init__(
        self,
        view: Writing,
        sources: Sequence[Source],
        prepared: Sequence[Sequence[Prepared]],
        now: datetime,
    ) -> None:
        self._view = view
        self._flat = [(s, p) for s, group in zip(sources, prepared, strict=True) for p in group]
        self._now = now
        self._decided = Decided(frozenset(p.fact.id for _, p in self._flat if p.fact.id))
        self._next_key = view.next_key
        self._naming = Naming(view)
        self._statements = [
            statement_hash(p.fact, s.document_id, reply=p.reply) for s, p in self._flat
        ]
        vectors = np.array([p.vector for _, p in self._flat], np.float32)
        self._among = dots(vectors, vectors)
        self._fellows = earlier(self._among, NEAR_COSINE)
        self._near = view.nearest(vectors, NEIGHBOURS, SEMANTIC_FLOOR) if self._flat else []
        self._filing = Filing(view, sources, self._look_up())

    def plan(self) -> tuple[Batch, Outcome]:
        decided = self._decided
        for number, (source, prepared) in enumerate(self._flat):
            self._place(number, source, prepared)
        decided.attach_sources([p.fact for _, p in self._flat], self._view)
        decided.links.extend(Linker(self._view, decided, self._flat).links(self._among, self._near))
        fresh = set(decided.new_at)
        batch = Batch(
            memories=decided.new,
            documents=self._filing.documents(),
            evidence=decided.evidence,
            retire=decided.retired,
            links=decided.links,
            entities=list(self._naming.entities.values()),
            drop_documents=self._filing.dropped(),
            updates=decided.updates,
        )
        ids = tuple(decided.memories[k].id for k in decided.keys)
        new = tuple(n in fresh for n in range(len(decided.keys)))
        return batch, Outcome(ids, new, tuple(decided.superseded), self._filing.replaced())

    # --- what is there already ------------------------------------------------------------

    def _look_up(self) -> frozenset[int]:
        """Load all that facts may be compared with; the keys of what says a fact word for word."""
        decided, view = self._decided, self._view
        same = view.same_statement(self._statements)
        slots = view.same_slot([p.slot_hash for _, p in self._flat])
        decided.by_statement = {h: list(k) for h, k in same.items()}
        decided.by_slot = {h: list(k) for h, k in slots.items()}
        restated = frozenset(k for keys in same.values() for k in keys)
        wanted = restated | {k for keys in slots.values() for k in keys}
        for (_, one), found in zip(self._flat, self._near, strict=True):
            if len(found.keys):
                # An opinion is weighed against every near one, a fact compared with the nearest.
                floor = 0.0 if one.fact.type is MemoryType.OPINION else NEAR_COSINE
                wanted |= set(found.keys[found.scores >= floor].tolist())
        decided.memories.update(view.load(sorted(wanted)))
        return restated

    def _place(self, number: int, source: Source, prepared: Prepared) -> None:
        fact, decided = prepared.fact, self._decided
        key = self._known(number, prepared) if fact.id is None else self._same_id(source, fact)
        if key is None:
            key = self._add(number, source, prepared)
        elif self._filing.replaces(source, decided.memories[key]):
            # The document says it still: the memory stays, its place may have moved.
            self._filing.keep(source, key)
            if key < self._view.next_key:
                decided.update(key, chunk_id=self._filing.chunk_id(source, fact))
        elif fact.id is None and not self._told_before(key, source, fact):
            if decided.memories[key].type is MemoryType.OBSERVATION and fact.source_ids:
                prove(decided, key, fact, self._view)
            else:
                support(decided, key, source, prepared, self._filing.chunk_id(source, fact))
        at = None if fact.said_at is None else to_micros(fact.said_at)
        decided.told.add((key, at, source.document_id))
        decided.keys.append(key)

    def _known(self, number: int, prepared: Prepared) -> int | None:
        decided, near = self._decided, self._near[number]
        for key in decided.by_statement.get(self._statements[number], ()):
            if is_same(prepared, decided.memories[key]):
                return key
        if prepared.reply:
            return None
        if len(near.keys):
            for key in near.keys[near.scores >= NEAR_COSINE].tolist():
                if is_nearly_same(prepared, decided.memories[key]):
                    return key
        for fellow in self._fellows.get(number, ()):
            key = decided.keys[fellow]
            if is_nearly_same(prepared, decided.memories[key]):
                return key
        return None

    def _same_id(self, source: Source, fact: Fact) -> int | None:
        """A caller's own id names one memory: given again, it must say the same."""
        key = self._view.key_of(fact.id or "")
        if key is None:
            return None
        old = self._view.load([key])[key]
        self._decided.memories.setdefault(key, old)
        if normalise(old.text) == normalise(fact.text):
            return key
        if self._filing.replaces(source, old):
            return None
        raise InvalidInput(
            f"item {fact.item}: memory {fact.id!r} exists and says something else",
            hint="correct it with `update`, or leave the id out",
        )

    def _told_before(self, key: int, source: Source, fact: Fact) -> bool:
        """The very same mention again (a retried call): nothing new, not even evidence. Only a
        caller who names the time can be recognised; an undated one means now."""
        if not fact.dated or fact.said_at is None:
            return False
        at = to_micros(fact.said_at)
        if (key, at, source.document_id) in self._decided.told:
            return True
        return key < self._view.next_key and self._view.mentioned(key, at, source.document_id)

    # --- what is new ----------------------------------------------------------------------

    def _add(self, number: int, source: Source, prepared: Prepared) -> int:
        decided, key, fact = self._decided, self._next_key, prepared.fact
        self._next_key += 1
        entity_ids = self._naming.numbers(prepared)
        names = tuple(self._naming.name(e) for e in entity_ids)
        memory = self._memory(source, fact, names)
        decided.check_sources(fact, self._view)
        new = NewMemory(
            key,
            memory,
            prepared.vector,
            prepared.tokens,
            entity_ids,
            self._statements[number],
            prepared.slot_hash,
            to_micros(memory.mentioned_at or self._now),
            before=self._before(fact),
        )
        decided.add(number, new, memory)
        supersede(decided, key, prepared, fact.said_at or self._now, self._filing)
        if memory.type is MemoryType.OPINION:
            contradict(decided, key, fact)
        decided.by_statement.setdefault(self._statements[number], []).append(key)
        if prepared.slot_hash:
            decided.by_slot.setdefault(prepared.slot_hash, []).append(key)
        return key

    def _before(self, fact: Fact) -> int:
        """The key of the turn that this one answers."""
        if fact.previous is None:
            return 0
        if self._decided.keys:
            key = self._decided.keys[-1]
            last = self._decided.memories[key]
        else:
            last = self._view.newest()
            key = self._view.key_of(last.id) if last is not None else None
        # Somebody else may have written since this fact was read.
        same = last is not None and said(last.speaker, last.text) == fact.previous
        return key if same and key is not None else 0

    def _memory(self, source: Source, fact: Fact, names: tuple[str, ...]) -> Memory:
        opinion = fact.type is MemoryType.OPINION
        return _make_memory(
            id=fact.id or new_id(),
            bank=self._view.bank,
            text=fact.text,
            type=fact.type or MemoryType.WORLD,
            context=fact.context,
            speaker=fact.speaker,
            document_id=source.document_id,
            chunk_id=self._filing.chunk_id(source, fact),
            title=fact.title,
            summary=fact.summary,
            topic_path=fact.topic_path,
            recall_when=fact.recall_when,
            kind=fact.kind,
            scope=fact.scope,
            occurred_start=fact.occurred_start,
            occurred_end=fact.occurred_end,
            occurred_grain=fact.occurred_grain,
            recurrence=fact.recurrence,
            duration_s=fact.duration_s,
            mentioned_at=fact.said_at,
            last_mentioned_at=fact.said_at,
            created_at=self._now,
            updated_at=fact.updated_at or self._now,
            valid_until=fact.valid_until,
            last_reviewed_at=fact.last_reviewed_at,
            tags=fact.tags,
            metadata=fact.metadata,
            entities=names,
            confidence=(fact.confidence if fact.confidence is not None else FIRST_CONFIDENCE)
            if opinion
            else None,
            proof_count=fact.proof_count or max(1, len(fact.source_ids)),
            source_ids=fact.source_ids,
            tokens=count_tokens(fact.text),
        )

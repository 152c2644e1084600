"""Under the bank's lock: what of this is new, what is known, what replaces what, and how it
all hangs together. The result is one `Batch`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from recollect.errors import InvalidInput
from recollect.ids import new_id
from recollect.language.dates import to_micros
from recollect.language.entities import KnownEntity
from recollect.language.terms import query_terms
from recollect.language.tokens import count_tokens
from recollect.retain.dedupe import NEAR_COSINE, is_nearly_same, is_same, replaced_by
from recollect.retain.extract import Source
from recollect.retain.items import Fact
from recollect.retain.link import SEMANTIC_FLOOR, both_ways, mentioned_in, semantic_links
from recollect.retain.opinion import FIRST_CONFIDENCE, moved
from recollect.retain.prepare import ROLES, Prepared
from recollect.retain.statements import stance
from recollect.storage.base import (
    Batch,
    Found,
    KeyLink,
    NewDocument,
    NewEvidence,
    NewMemory,
    Retire,
    Writing,
)
from recollect.types import Chunk, Entity, LinkKind, Memory, MemoryType, State

NEIGHBOURS = 8


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the plan decided, for the caller's result: per fact its memory and if it is new."""

    memory_ids: tuple[str, ...]
    new: tuple[bool, ...]
    superseded: tuple[str, ...]
    replaced: int


@dataclass
class _State:
    """What the plan has decided so far."""

    keys: list[int] = field(default_factory=list[int])  # per fact
    new: list[NewMemory] = field(default_factory=list[NewMemory])
    new_at: list[int] = field(default_factory=list[int])  # fact number of each new memory
    evidence: list[NewEvidence] = field(default_factory=list[NewEvidence])
    retire: list[Retire] = field(default_factory=list[Retire])
    superseded: list[str] = field(default_factory=list[str])
    links: list[KeyLink] = field(default_factory=list[KeyLink])
    entities: dict[int, Entity] = field(default_factory=dict[int, Entity])
    memories: dict[int, Memory] = field(default_factory=dict[int, Memory])
    by_statement: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    by_slot: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    updates: dict[int, dict[str, object]] = field(default_factory=dict[int, dict[str, object]])


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
        self._sources = sources
        self._prepared = prepared
        self._now = now
        self._state = _State()
        self._next_key = view.next_key
        self._next_entity = view.next_entity
        self._kept: dict[str, set[int]] = {}
        self._chunk_offset: dict[str, int] = {}

    def plan(self) -> tuple[Batch, Outcome]:
        flat = [
            (s, p) for s, group in zip(self._sources, self._prepared, strict=True) for p in group
        ]
        near = self._look_up([p for _, p in flat])
        self._open_documents()
        for number, (source, prepared) in enumerate(flat):
            self._place(number, source, prepared, near[number])
        self._link([p for _, p in flat], near)
        state = self._state
        fresh = set(state.new_at)
        batch = Batch(
            memories=state.new,
            documents=[self._document(s) for s in self._sources if s.document_id],
            evidence=state.evidence,
            retire=state.retire,
            links=state.links,
            entities=list(state.entities.values()),
            drop_documents={d: frozenset(k) for d, k in self._kept.items()},
            updates=state.updates,
        )
        ids = tuple(state.memories[k].id for k in state.keys)
        new = tuple(n in fresh for n in range(len(state.keys)))
        return batch, Outcome(ids, new, tuple(state.superseded), self._replaced())

    # --- what is there already ------------------------------------------------------------

    def _look_up(self, prepared: Sequence[Prepared]) -> list[Found]:
        vectors = np.array([p.vector for p in prepared], np.float32)
        near = self._view.nearest(vectors, NEIGHBOURS, SEMANTIC_FLOOR) if len(prepared) else []
        self._among = vectors @ vectors.T if len(prepared) else np.zeros((0, 0), np.float32)
        state = self._state
        state.by_statement = {
            h: list(k)
            for h, k in self._view.same_statement([p.statement for p in prepared]).items()
        }
        state.by_slot = {
            h: list(k) for h, k in self._view.same_slot([p.slot_hash for p in prepared]).items()
        }
        wanted = {k for keys in state.by_statement.values() for k in keys}
        wanted |= {k for keys in state.by_slot.values() for k in keys}
        wanted |= {
            int(k) for f in near for k, s in zip(f.keys, f.scores, strict=True) if s >= NEAR_COSINE
        }
        state.memories.update(self._view.load(sorted(wanted)))
        return near

    def _open_documents(self) -> None:
        for source in self._sources:
            if source.document_id is None or self._view.document_hash(source.document_id) is None:
                continue
            if source.append:
                existing = self._view.document_chunk_count(source.document_id)
                self._chunk_offset[source.document_id] = existing
            else:
                self._kept[source.document_id] = set()

    def _place(self, number: int, source: Source, prepared: Prepared, near: Found) -> None:
        key = self._known(number, prepared, near)
        if key is None:
            key = self._add(number, source, prepared)
        elif (
            source.document_id in self._kept
            and self._state.memories[key].document_id == source.document_id
        ):
            # The document says it still: the memory stays, its place may have moved.
            self._kept[source.document_id].add(key)
            if key < self._view.next_key:
                self._state.updates[key] = {"chunk_id": self._chunk_id(source, prepared.fact)}
        elif not self._told_before(prepared.fact, self._state.memories[key], source):
            self._support(key, source, prepared)
        self._state.keys.append(key)

    def _known(self, number: int, prepared: Prepared, near: Found) -> int | None:
        state = self._state
        fact = prepared.fact
        if fact.id is not None:
            return None
        for key in state.by_statement.get(prepared.statement, ()):
            if is_same(prepared, state.memories[key]):
                return key
        for key, score in zip(near.keys.tolist(), near.scores.tolist(), strict=True):
            if score >= NEAR_COSINE and is_nearly_same(prepared, state.memories[key]):
                return key
        for fellow in np.flatnonzero(self._among[number, :number] >= NEAR_COSINE).tolist():
            key = state.keys[fellow]
            if is_nearly_same(prepared, state.memories[key]):
                return key
        return None

    def _told_before(self, fact: Fact, old: Memory, source: Source) -> bool:
        """The very same mention again (a retried call): nothing new, not even evidence."""
        return (
            fact.dated
            and old.document_id == source.document_id
            and fact.said_at in (old.mentioned_at, old.last_mentioned_at)
        )

    # --- what changes -----------------------------------------------------------------------

    def _support(self, key: int, source: Source, prepared: Prepared) -> None:
        fact, old = prepared.fact, self._state.memories[key]
        confidence = None
        if old.type is MemoryType.OPINION and old.confidence is not None:
            confidence = moved(old.confidence, stance(old.text, fact.text))
        at = None if fact.said_at is None else to_micros(fact.said_at)
        self._state.evidence.append(
            NewEvidence(
                key, at, source.document_id, self._chunk_id(source, fact), fact.text, confidence
            )
        )
        self._state.memories[key] = replace(old, confidence=confidence or old.confidence)

    def _add(self, number: int, source: Source, prepared: Prepared) -> int:
        state, key = self._state, self._next_key
        self._next_key += 1
        memory = self._memory(source, prepared)
        entity_ids = self._entity_ids(prepared)
        names = tuple(self._entity_name(e) for e in entity_ids)
        sources = self._source_keys(prepared.fact)
        state.memories[key] = replace(memory, entities=names)
        known_from = to_micros(memory.mentioned_at or self._now)
        state.new.append(
            NewMemory(
                key,
                memory,
                prepared.vector,
                prepared.tokens,
                entity_ids,
                prepared.statement,
                prepared.slot_hash,
                known_from,
                None,
                sources,
                state.keys[number - 1] if prepared.fact.follows else 0,
            )
        )
        state.new_at.append(number)
        self._supersede(key, prepared)
        if memory.type is MemoryType.OPINION:
            self._contradict(prepared)
        state.by_statement.setdefault(prepared.statement, []).append(key)
        if prepared.slot_hash:
            state.by_slot.setdefault(prepared.slot_hash, []).append(key)
        return key

    def _memory(self, source: Source, prepared: Prepared) -> Memory:
        fact = prepared.fact
        opinion = fact.type is MemoryType.OPINION
        return Memory(
            id=fact.id or new_id(),
            bank=self._view.bank,
            text=fact.text,
            type=fact.type or MemoryType.WORLD,
            context=fact.context,
            speaker=fact.speaker,
            document_id=source.document_id,
            chunk_id=self._chunk_id(source, fact),
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
            mentioned_at=fact.said_at,
            last_mentioned_at=fact.said_at,
            created_at=self._now,
            updated_at=self._now,
            valid_until=fact.valid_until,
            last_reviewed_at=fact.last_reviewed_at,
            tags=fact.tags,
            metadata=fact.metadata,
            confidence=(fact.confidence if fact.confidence is not None else FIRST_CONFIDENCE)
            if opinion
            else None,
            proof_count=fact.proof_count or max(1, len(fact.source_ids)),
            source_ids=fact.source_ids,
            tokens=count_tokens(fact.text),
        )

    def _supersede(self, key: int, prepared: Prepared) -> None:
        """The later statement of an attribute is the current one, whichever came in first."""
        state = self._state
        olds = (
            {k: state.memories[k] for k in state.by_slot.get(prepared.slot_hash, ())}
            if prepared.slot_hash
            else {}
        )
        rivals = replaced_by(prepared, list(olds.values()))
        said = prepared.fact.said_at or self._now
        for old_key, old in olds.items():
            if old not in rivals:
                continue
            told = old.last_mentioned_at or old.mentioned_at or said
            if told <= said:
                self._retire(old_key, key, said)
            else:
                self._retire(key, old_key, told)

    def _retire(self, loser: int, winner: int, at: datetime) -> None:
        state = self._state
        by = state.memories[winner].id
        state.superseded.append(state.memories[loser].id)
        state.memories[loser] = replace(
            state.memories[loser], state=State.SUPERSEDED, superseded_by=by
        )
        fresh = next((i for i, n in enumerate(state.new) if n.key == loser), None)
        if fresh is None:
            state.retire.append(Retire(loser, State.SUPERSEDED, to_micros(at), by))
        else:
            new = state.new[fresh]
            memory = replace(new.memory, state=State.SUPERSEDED, superseded_by=by)
            state.new[fresh] = replace(new, memory=memory, known_until=to_micros(at))

    def _contradict(self, prepared: Prepared) -> None:
        """A new opinion weakens those it speaks against."""
        state = self._state
        for key, old in list(state.memories.items()):
            if (
                old.type is not MemoryType.OPINION
                or old.confidence is None
                or key >= self._view.next_key
            ):
                continue
            found = stance(old.text, prepared.fact.text)
            if found in ("contradiction", "strong_contradiction"):
                state.updates[key] = {
                    "confidence": moved(old.confidence, found),
                    "weakened": old.weakened or found == "strong_contradiction",
                }

    # --- entities ----------------------------------------------------------------------------

    def _entity_ids(self, prepared: Prepared) -> tuple[int, ...]:
        fact = prepared.fact
        named: list[tuple[str, str]] = [(name, "other") for name in fact.entities]
        if fact.speaker and fact.speaker.casefold() not in ROLES:
            named.append((fact.speaker, "person"))
        named += [(m.text, m.kind) for m in prepared.mentions]
        found: list[int] = []
        for name, kind in named:
            entity = self._resolve(name, kind, found)
            if entity not in found:
                found.append(entity)
        for entity in found:
            held = self._state.entities[entity]
            self._state.entities[entity] = replace(held, mentions=held.mentions + 1)
        return tuple(found)

    def _resolve(self, name: str, kind: str, context: Sequence[int]) -> int:
        resolver, state = self._view.resolver, self._state
        found = resolver.resolve(name, kind, context)
        if found.entity is None:
            number, self._next_entity = self._next_entity, self._next_entity + 1
            entity = Entity(number, found.new_name, kind, tuple(sorted(found.new_aliases)), 0)
        else:
            number = found.entity.id
            held = state.entities.get(number)
            mentions = held.mentions if held else found.entity.mentions
            name = found.new_name or found.entity.name
            aliases = tuple(sorted(found.entity.aliases | found.new_aliases))
            entity = Entity(number, name, found.entity.kind, aliases, mentions)
        state.entities[number] = entity
        resolver.add(
            KnownEntity(
                number, entity.name, entity.kind, frozenset(entity.aliases), entity.mentions
            )
        )
        return number

    def _entity_name(self, number: int) -> str:
        return self._state.entities[number].name

    # --- links -------------------------------------------------------------------------------

    def _link(self, prepared: Sequence[Prepared], near: Sequence[Found]) -> None:
        state = self._state
        fresh = [n.key for n in state.new]
        vectors = np.array([prepared[i].vector for i in state.new_at], np.float32).reshape(
            len(fresh), -1
        )
        state.links.extend(semantic_links(fresh, vectors, [near[i] for i in state.new_at]))
        for number in state.new_at:
            state.links.extend(self._causal(number, prepared[number]))
            state.links.extend(self._given(number, prepared[number].fact))

    def _causal(self, number: int, prepared: Prepared) -> Iterable[KeyLink]:
        state = self._state
        key = state.keys[number]
        words = (
            {
                state.keys[i]: frozenset(query_terms(state.memories[state.keys[i]].text))
                for i in range(max(0, number - 10), min(len(state.keys), number + 10))
            }
            if prepared.causal
            else {}
        )
        for relation in prepared.causal:
            if relation.previous:
                if number > 0 and state.keys[number - 1] != key:
                    yield from both_ways(
                        state.keys[number - 1], key, relation.kind, relation.weight
                    )
                continue
            for other, cover in mentioned_in(relation.cause, self._view, words, key):
                yield from both_ways(other, key, relation.kind, round(relation.weight * cover, 4))
            for other, cover in mentioned_in(relation.effect, self._view, words, key):
                yield from both_ways(key, other, relation.kind, round(relation.weight * cover, 4))

    def _given(self, number: int, fact: Fact) -> Iterable[KeyLink]:
        key = self._state.keys[number]
        for relation in fact.relations:
            target = self._target(relation.target, fact)
            if relation.kind == "caused_by":
                yield from both_ways(target, key, "causes", relation.weight)
            else:
                yield from both_ways(key, target, relation.kind, relation.weight)
        for memory_id in fact.related:
            other = self._view.key_of(memory_id) or self._fresh_key(memory_id)
            if other is not None:
                yield KeyLink(key, other, LinkKind.RELATED, 1.0)

    def _target(self, target: str | int, fact: Fact) -> int:
        keys = self._state.keys
        if isinstance(target, int) and 0 <= target < len(keys):
            return keys[target]
        found = (
            None
            if isinstance(target, int)
            else self._view.key_of(target) or self._fresh_key(target)
        )
        if found is None:
            raise InvalidInput(
                f"item {fact.item}: causal relation to unknown {target!r}",
                hint="target is a memory id, or the position of a fact in the same call",
            )
        return found

    def _fresh_key(self, memory_id: str) -> int | None:
        return next((n.key for n in self._state.new if n.memory.id == memory_id), None)

    def _source_keys(self, fact: Fact) -> tuple[int, ...]:
        out: list[int] = []
        for memory_id in fact.source_ids:
            key = self._view.key_of(memory_id) or self._fresh_key(memory_id)
            if key is None:
                raise InvalidInput(
                    f"item {fact.item}: source {memory_id!r} is not in bank {self._view.bank!r}",
                    hint="source_ids name existing memories of the same bank",
                )
            out.append(key)
        return tuple(out)

    # --- documents ---------------------------------------------------------------------------

    def _chunk_id(self, source: Source, fact: Fact) -> str | None:
        if source.document_id is None or fact.chunk is None:
            return None
        return f"{source.document_id}#{fact.chunk + self._chunk_offset.get(source.document_id, 0)}"

    def _document(self, source: Source) -> NewDocument:
        document_id = source.document_id or ""
        offset = self._chunk_offset.get(document_id, 0)
        chunks = tuple(
            Chunk(f"{document_id}#{i + offset}", document_id, i + offset, text)
            for i, text in enumerate(source.chunks)
        )
        shared = source.shared
        return NewDocument(
            document_id, source.hash, shared.context, shared.tags, shared.metadata, chunks
        )

    def _replaced(self) -> int:
        return sum(
            len(set(self._view.document_keys(document)) - kept)
            for document, kept in self._kept.items()
        )

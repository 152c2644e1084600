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
from recollect.language.passage import said
from recollect.language.terms import query_terms
from recollect.language.tokens import count_tokens
from recollect.retain.dedupe import NEAR_COSINE, is_nearly_same, is_same, replaced_by
from recollect.retain.extract import Source
from recollect.retain.items import Fact
from recollect.retain.link import (
    CAUSAL_LOOKUPS,
    SEMANTIC_FLOOR,
    both_ways,
    clause_terms,
    mentioned_in,
    semantic_links,
)
from recollect.retain.naming import Naming
from recollect.retain.opinion import FIRST_CONFIDENCE, moved
from recollect.retain.prepare import Prepared
from recollect.retain.statements import normalise, stance
from recollect.storage.base import (
    Batch,
    Found,
    KeyLink,
    NewDocument,
    NewEvidence,
    NewMemory,
    Retire,
    ServedWriting,
    Writing,
)
from recollect.storage.ranking import dots
from recollect.types import Chunk, Evidence, LinkKind, Memory, MemoryType, State

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
    memories: dict[int, Memory] = field(default_factory=dict[int, Memory])
    by_statement: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    by_slot: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    updates: dict[int, dict[str, object]] = field(default_factory=dict[int, dict[str, object]])
    told: set[tuple[int, int | None, str | None]] = field(
        default_factory=set[tuple[int, "int | None", "str | None"]]
    )  # key, when and in which document, of every mention in this plan

    def update(self, key: int, **changes: object) -> None:
        self.updates.setdefault(key, {}).update(changes)
        self.memories[key] = replace(self.memories[key], **changes)


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
        self._naming = Naming(view)
        self._kept: dict[str, set[int]] = {}  # per document being replaced: what stays of it
        self._chunk_offset: dict[str, int] = {}
        self._restated: frozenset[int] = frozenset()  # said again, word for word
        self._said: dict[int, frozenset[str]] = {}  # the terms of memories, once looked at

    def plan(self) -> tuple[Batch, Outcome]:
        flat = [
            (s, p) for s, group in zip(self._sources, self._prepared, strict=True) for p in group
        ]
        near = self._look_up([p for _, p in flat])
        self._open_documents()
        for number, (source, prepared) in enumerate(flat):
            self._place(number, source, prepared, near[number])
        self._link(flat, near)
        state = self._state
        fresh = set(state.new_at)
        batch = Batch(
            memories=state.new,
            documents=[self._document(s) for s in self._sources if s.document_id],
            evidence=state.evidence,
            retire=state.retire,
            links=state.links,
            entities=list(self._naming.entities.values()),
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
        self._among = dots(vectors, vectors)
        state = self._state
        state.by_statement = {
            h: list(k)
            for h, k in self._view.same_statement([p.statement for p in prepared]).items()
        }
        state.by_slot = {
            h: list(k) for h, k in self._view.same_slot([p.slot_hash for p in prepared]).items()
        }
        wanted = {k for keys in state.by_statement.values() for k in keys}
        self._restated = frozenset(wanted)
        wanted |= {k for keys in state.by_slot.values() for k in keys}
        for one, found in zip(prepared, near, strict=True):
            # An opinion is weighed against every near one, a fact compared with the nearest.
            floor = 0.0 if one.fact.type is MemoryType.OPINION else NEAR_COSINE
            wanted.update(found.keys[found.scores >= floor].tolist())
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
        fact = prepared.fact
        key = (
            self._known(number, prepared, near) if fact.id is None else self._same_id(source, fact)
        )
        if key is None:
            key = self._add(number, source, prepared)
        elif (
            source.document_id in self._kept
            and self._state.memories[key].document_id == source.document_id
        ):
            # The document says it still: the memory stays, its place may have moved.
            self._kept[source.document_id].add(key)
            if key < self._view.next_key:
                self._state.update(key, chunk_id=self._chunk_id(source, fact))
        elif fact.id is None and not self._told_before(key, source, fact):
            self._support(key, source, prepared)
        at = None if fact.said_at is None else to_micros(fact.said_at)
        self._state.told.add((key, at, source.document_id))
        self._state.keys.append(key)

    def _known(self, number: int, prepared: Prepared, near: Found) -> int | None:
        state = self._state
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

    def _same_id(self, source: Source, fact: Fact) -> int | None:
        """A caller's own id names one memory: given again, it must say the same."""
        key = self._view.key_of(fact.id or "")
        if key is None:
            return None
        old = self._view.load([key])[key]
        self._state.memories.setdefault(key, old)
        if normalise(old.text) == normalise(fact.text):
            return key
        if old.document_id in self._kept and old.document_id == source.document_id:
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
        if (key, at, source.document_id) in self._state.told:
            return True
        return key < self._view.next_key and self._view.mentioned(key, at, source.document_id)

    # --- what changes -----------------------------------------------------------------------

    def _support(self, key: int, source: Source, prepared: Prepared) -> None:
        fact, old = prepared.fact, self._state.memories[key]
        if old.type is MemoryType.OBSERVATION and fact.source_ids:
            self._more_sources(key, fact)
            return
        if old.type is MemoryType.OPINION and old.confidence is not None:
            self._move(key, stance(old.text, fact.text))
        at = None if fact.said_at is None else to_micros(fact.said_at)
        self._state.evidence.append(
            NewEvidence(key, at, source.document_id, self._chunk_id(source, fact), fact.text)
        )

    def _more_sources(self, key: int, fact: Fact) -> None:
        """An observation seen again is proven by what it was seen in."""
        old = self._state.memories[key]
        self._source_keys(fact)
        fresh = [i for i in fact.source_ids if i not in old.source_ids]
        if fresh:
            self._state.update(
                key,
                source_ids=(*old.source_ids, *fresh),
                proof_count=old.proof_count + len(fresh) if old.source_ids else len(fresh),
                last_mentioned_at=fact.said_at or old.last_mentioned_at,
            )

    def _move(self, key: int, evidence: Evidence) -> None:
        old = self._state.memories[key]
        self._state.update(
            key,
            confidence=moved(old.confidence or 0.0, evidence),
            weakened=old.weakened or evidence == "strong_contradiction",
        )

    def _add(self, number: int, source: Source, prepared: Prepared) -> int:
        state, key = self._state, self._next_key
        self._next_key += 1
        memory = self._memory(source, prepared)
        entity_ids = self._naming.numbers(prepared)
        names = tuple(self._naming.name(e) for e in entity_ids)
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
                self._before(prepared.fact),
            )
        )
        state.new_at.append(number)
        self._supersede(key, prepared)
        if memory.type is MemoryType.OPINION:
            self._contradict(key, prepared)
        state.by_statement.setdefault(prepared.statement, []).append(key)
        if prepared.slot_hash:
            state.by_slot.setdefault(prepared.slot_hash, []).append(key)
        return key

    def _before(self, fact: Fact) -> int:
        """The key of the turn that this one answers."""
        if fact.previous is None:
            return 0
        if self._state.keys:
            key = self._state.keys[-1]
            last = self._state.memories[key]
        else:
            last = self._view.newest()
            key = self._view.key_of(last.id) if last is not None else None
        # Somebody else may have written since this fact was read.
        same = last is not None and said(last.speaker, last.text) == fact.previous
        return key if same and key is not None else 0

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
            duration_s=fact.duration_s,
            mentioned_at=fact.said_at,
            last_mentioned_at=fact.said_at,
            created_at=self._now,
            updated_at=fact.updated_at or self._now,
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
            if old not in rivals or self._leaves(old_key, old):
                continue
            told = old.last_mentioned_at or old.mentioned_at or said
            if told <= said:
                self._retire(old_key, key, said)
            else:
                self._retire(key, old_key, told)

    def _leaves(self, key: int, old: Memory) -> bool:
        """It belongs to the version of a document that is being replaced, and the new version
        does not say it: it goes, rather than being superseded."""
        if key >= self._view.next_key or old.document_id not in self._kept:
            return False
        return key not in self._kept[old.document_id] and key not in self._restated

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

    def _contradict(self, new: int, prepared: Prepared) -> None:
        """A new opinion weakens those of the same mouth that it speaks against; those that
        only other people may see are left alone."""
        fact = prepared.fact
        for key, old in list(self._state.memories.items()):
            if key == new or old.type is not MemoryType.OPINION or old.confidence is None:
                continue
            if old.speaker != fact.speaker or set(old.tags) != set(fact.tags):
                continue
            found = stance(old.text, fact.text)
            if found in ("contradiction", "strong_contradiction"):
                self._move(key, found)

    # --- links -------------------------------------------------------------------------------

    def _link(self, flat: Sequence[tuple[Source, Prepared]], near: Sequence[Found]) -> None:
        state = self._state
        fresh = [n.key for n in state.new]
        if not fresh:
            return
        among = self._among[np.ix_(state.new_at, state.new_at)]
        state.links.extend(semantic_links(fresh, among, [near[i] for i in state.new_at]))
        if isinstance(self._view, ServedWriting):
            told = (r for n in state.new_at for r in flat[n][1].causal if not r.previous)
            clauses = dict.fromkeys(clause for r in told for clause in (r.cause, r.effect))
            self._view.expect([clause_terms(clause) for clause in clauses], CAUSAL_LOOKUPS)
        for number in state.new_at:
            source, prepared = flat[number]
            follows = number > 0 and flat[number - 1][0] is source
            state.links.extend(self._causal(number, prepared, follows))
            state.links.extend(self._given(number, prepared.fact))

    def _causal(self, number: int, prepared: Prepared, follows: bool) -> Iterable[KeyLink]:
        state = self._state
        key = state.keys[number]
        words = (
            {
                state.keys[i]: self._terms(state.keys[i])
                for i in range(max(0, number - 10), min(len(state.keys), number + 10))
            }
            if prepared.causal
            else {}
        )
        for relation in prepared.causal:
            if relation.previous:
                if follows and state.keys[number - 1] != key:
                    yield from both_ways(
                        state.keys[number - 1], key, relation.kind, relation.weight
                    )
                continue
            for other, cover in mentioned_in(relation.cause, self._view, words, key):
                yield from both_ways(other, key, relation.kind, round(relation.weight * cover, 4))
            for other, cover in mentioned_in(relation.effect, self._view, words, key):
                yield from both_ways(key, other, relation.kind, round(relation.weight * cover, 4))

    def _terms(self, key: int) -> frozenset[str]:
        """Neighbours ask for the same text again and again."""
        found = self._said.get(key)
        if found is None:
            found = self._said[key] = frozenset(query_terms(self._state.memories[key].text))
        return found

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
        found = (
            self._at_position(target, fact)
            if isinstance(target, int)
            else self._view.key_of(target) or self._fresh_key(target)
        )
        if found is None:
            raise InvalidInput(
                f"item {fact.item}: causal relation to unknown {target!r}",
                hint="target is a memory id, or the position of a fact in the same list",
            )
        return found

    def _at_position(self, target: int, fact: Fact) -> int | None:
        """Within a list of facts the place in that list, otherwise the number of the item."""
        facts = [p.fact for group in self._prepared for p in group]
        for key, other in zip(self._state.keys, facts, strict=True):
            if fact.position is None and other.item == target:
                return key
            if fact.position is not None and (other.item, other.position) == (fact.item, target):
                return key
        return None

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

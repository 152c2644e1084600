"""Links, computed when a memory is written and bounded, so that reading never explodes.

Semantic links are rows: the five nearest with cosine ≥ 0.7. Causal links are rows: what a
statement names as cause or effect is looked up among the memories. Entity and temporal
links are bounded joins over what the index holds already; they need no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.language.terms import content_terms, query_terms, term_hash
from recollect.retain.causal import CausalRelation
from recollect.retain.decided import Decided
from recollect.retain.extract import Source
from recollect.retain.items import Fact
from recollect.retain.prepare import Prepared
from recollect.retain.statements import is_event
from recollect.retain.turns import TOGETHER
from recollect.storage.base import Filter, Found, KeyLink, ServedWriting, Writing
from recollect.types import LinkKind, State

SEMANTIC_LINKS = 5
SEMANTIC_FLOOR = 0.7
CAUSAL_LOOKUPS = 3  # memories looked at for each named cause or effect
FELLOWS = 10  # facts before and after in the same plan, looked at as well
CAUSAL_COVER = 0.6  # share of the clause's terms that the other memory must hold
LATELY = timedelta(days=31)  # how far back a single word names what was told
FAR_REACHING = 0.8  # the weight of a cue that may speak of what an earlier call told
_EMPTY = frozenset(
    {"happen", "occur"}
)  # "the outage happened because": it is the outage that is looked up


class _Clause(NamedTuple):
    """A cause or an effect as it is named."""

    terms: tuple[str, ...]
    keys: list[int]  # of memories that may be meant


def semantic_links(
    keys: Sequence[int], among: NDArray[np.float32], near: Sequence[Found]
) -> Iterable[KeyLink]:
    """From each new memory to its nearest, old and new alike. `among` holds the cosine of each
    new one with each other."""
    close = earlier(among, SEMANTIC_FLOOR)
    for i, key in enumerate(keys):
        if i not in close and not len(near[i].keys):
            continue
        old = zip(near[i].scores.tolist(), near[i].keys.tolist(), strict=True)
        fellows = ((float(among[i, j]), keys[j]) for j in close.get(i, ()))
        best = sorted([*old, *fellows], key=lambda pair: (-pair[0], pair[1]))[:SEMANTIC_LINKS]
        for score, other in best:
            if score >= SEMANTIC_FLOOR and other != key:
                yield KeyLink(key, other, LinkKind.SEMANTIC, min(1.0, round(score, 4)))


def earlier(among: NDArray[np.float32], floor: float) -> dict[int, list[int]]:
    """For each of the new ones that are as near as that to one before them: which."""
    found: dict[int, list[int]] = {}
    for number, fellow in np.argwhere(np.tril(among >= floor, -1)).tolist():
        found.setdefault(number, []).append(fellow)
    return found


def both_ways(cause: int, effect: int, kind: str, weight: float) -> Iterable[KeyLink]:
    yield KeyLink(cause, effect, LinkKind(kind), weight)
    if kind == "causes":
        yield KeyLink(effect, cause, LinkKind.CAUSED_BY, weight)


class Linker:
    """The links of one plan's new memories."""

    def __init__(
        self, view: Writing, decided: Decided, flat: Sequence[tuple[Source, Prepared]]
    ) -> None:
        self._view = view
        self._decided = decided
        self._flat = flat
        self._places = {
            (p.fact.item, p.fact.position): n for n, (_, p) in reversed([*enumerate(flat)])
        }
        self._items = {p.fact.item: n for n, (_, p) in reversed([*enumerate(flat)])}
        self._terms: dict[int, frozenset[str]] = {}  # of memories, once looked at
        self._told: dict[int, datetime | None] = {}  # when those were that may be meant

    def links(self, among: NDArray[np.float32], near: Sequence[Found]) -> Iterator[KeyLink]:
        """`among` holds the cosine of each fact with each other, `near` what the bank has near it."""
        at = self._decided.new_at
        if not at:
            return
        fresh = [n.key for n in self._decided.new]
        yield from semantic_links(fresh, among[np.ix_(at, at)], [near[i] for i in at])
        clauses = self._clauses()
        for number in at:
            source, prepared = self._flat[number]
            yield from self._causal(number, source, prepared, clauses)
            yield from self._given(number, prepared.fact)

    # --- what the words say -------------------------------------------------------------------

    def _clauses(self) -> dict[str, _Clause]:
        """Every cause and effect that is named, with the memories that may be meant: looked up one
        by one, loaded together."""
        told = (r for n in self._decided.new_at for r in self._flat[n][1].causal if not r.previous)
        terms = {
            clause: tuple(term for term in content_terms(clause) if term not in _EMPTY)
            for clause in dict.fromkeys(clause for r in told for clause in (r.cause, r.effect))
        }
        asked = {clause: [term_hash(t) for t in words] for clause, words in terms.items() if words}
        if isinstance(self._view, ServedWriting):
            self._view.expect(list(asked.values()), CAUSAL_LOOKUPS)
        found = {
            clause: self._view.keyword(hashes, Filter(), CAUSAL_LOOKUPS).keys.tolist()
            for clause, hashes in asked.items()
        }
        held = self._view.load(dict.fromkeys(key for keys in found.values() for key in keys))
        for key, memory in held.items():
            self._terms[key] = frozenset(query_terms(memory.text))
            self._told[key] = memory.mentioned_at
        return {
            clause: _Clause(terms[clause], [key for key in keys if key in held])
            for clause, keys in found.items()
        }

    def _causal(
        self, number: int, source: Source, prepared: Prepared, clauses: Mapping[str, _Clause]
    ) -> Iterator[KeyLink]:
        if not prepared.causal:
            return
        keys = self._decided.keys
        key = keys[number]
        fellows = keys[max(0, number - FELLOWS) : number + FELLOWS]
        for relation in prepared.causal:
            if relation.previous:
                before = self._before(number, source, prepared.fact, relation)
                if before is not None and before != key:
                    ends = (before, key) if relation.cause_span is None else (key, before)
                    yield from both_ways(*ends, relation.kind, relation.weight)
                continue
            at = prepared.fact.said_at
            for other, cover in self._meant(clauses.get(relation.cause), fellows, key, at):
                yield from both_ways(other, key, relation.kind, round(relation.weight * cover, 4))
            for other, cover in self._meant(clauses.get(relation.effect), fellows, key, at):
                yield from both_ways(key, other, relation.kind, round(relation.weight * cover, 4))

    def _before(
        self, number: int, source: Source, fact: Fact, relation: CausalRelation
    ) -> int | None:
        """What was told before a fact that speaks of it: in the same text or document; or else it happened, and
        was told within the hour, to the same readers. A weak cue ("So, we left") does not reach that far."""
        if number > 0 and self._flat[number - 1][0] is source:
            return self._decided.keys[number - 1]
        if relation.weight < FAR_REACHING:
            return None
        if source.append and source.document_id is not None:
            held = self._view.document_keys(source.document_id)
            if len(held):
                return max(held)
        key = self._decided.keys[number - 1] if number > 0 else self._newest()
        last = (
            None if key is None else self._decided.memories.get(key) or self._view.load([key])[key]
        )
        if last is None or last.state is not State.ACTIVE or set(last.tags) != set(fact.tags):
            return None
        if fact.said_at is None or last.mentioned_at is None or not is_event(last.text):
            return None
        return key if timedelta() <= fact.said_at - last.mentioned_at <= TOGETHER else None

    def _newest(self) -> int | None:
        """What the bank heard last, unless it goes with a document that is replaced."""
        last = self._view.newest()
        goes = {s.document_id for s, _ in self._flat if s.document_id is not None and not s.append}
        if last is None or last.document_id in goes:
            return None
        return self._view.key_of(last.id)

    def _meant(
        self, clause: _Clause | None, fellows: Sequence[int], but: int, at: datetime | None
    ) -> list[tuple[int, float]]:
        """Memories that say what the clause names, with the share of its terms they hold."""
        if clause is None:
            return []
        wanted, size = set(clause.terms), len(clause.terms)
        # One shared word says little unless it is all there is to say; and "the outage" is the last one.
        held = clause.keys if size > 1 else self._lately(clause.keys, at)
        good = [
            (key, cover)
            for key in dict.fromkeys([*held, *fellows])
            if key != but and (cover := len(wanted & self._said(key)) / size) >= CAUSAL_COVER
        ]
        return sorted(good, key=lambda pair: (-pair[1], -pair[0]))[:CAUSAL_LOOKUPS]

    def _lately(self, keys: Sequence[int], at: datetime | None) -> list[int]:
        told = ((key, self._told[key]) for key in keys)
        return sorted(k for k, said in told if not at or not said or abs(at - said) <= LATELY)[-1:]

    def _said(self, key: int) -> frozenset[str]:
        """Neighbours ask for the same text again and again."""
        found = self._terms.get(key)
        if found is None:
            text = self._decided.memories[key].text
            found = self._terms[key] = frozenset(query_terms(text))
        return found

    # --- what the caller says -----------------------------------------------------------------

    def _given(self, number: int, fact: Fact) -> Iterator[KeyLink]:
        key = self._decided.keys[number]
        for relation in fact.relations:
            target = self._target(relation.target, fact)
            if relation.kind == "caused_by":
                yield from both_ways(target, key, "causes", relation.weight)
            else:
                yield from both_ways(key, target, relation.kind, relation.weight)
        for memory_id in fact.related:
            other = self._decided.key_of(memory_id, self._view)
            if other is not None:
                yield KeyLink(key, other, LinkKind.RELATED, 1.0)

    def _target(self, target: str | int, fact: Fact) -> int:
        found = (
            self._at_position(target, fact)
            if isinstance(target, int)
            else self._decided.key_of(target, self._view)
        )
        if found is None:
            raise InvalidInput(
                f"item {fact.item}: causal relation to unknown {target!r}",
                hint="target is a memory id, or the position of a fact in the same list",
            )
        return found

    def _at_position(self, target: int, fact: Fact) -> int | None:
        """Within a list of facts the place in that list, otherwise the number of the item."""
        number = (
            self._items.get(target)
            if fact.position is None
            else self._places.get((fact.item, target))
        )
        return None if number is None else self._decided.keys[number]

"""The exact reference that stores are compared with: memories in a list, gone through one by
one. Slow, and plain enough to be believed."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from recollect.language.dates import to_micros
from recollect.language.terms import counted
from recollect.storage.base import Batch, Filter, KeyLink, NewMemory, TagExpression, TagLeaf
from recollect.types import TO_EFFECT, Entity, LinkKind, Memory, MemoryType, State

BANK = "contract"
DIMENSIONS = 16
K1, B = 1.2, 0.75
_WEIGHTS = {"body": 1.0, "summary": 2.0, "topic": 2.0, "tags": 3.0, "title": 4.0, "when": 5.0}
_WORDS = [
    "red",
    "blue",
    "bicycle",
    "tea",
    "milk",
    "Oslo",
    "Rome",
    "night",
    "day",
    "Alice",
    "Bob",
    "runs",
    "sleeps",
    "buys",
]
_FIRST_DAY = datetime(2022, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Reference:
    """A made-up bank, and the exact answers to what a store is asked about it."""

    memories: list[NewMemory]
    links: list[KeyLink]
    dropped: list[NewMemory]
    seed: int

    def keys(self) -> list[int]:
        return [m.key for m in self.memories]

    def queries(self) -> list[NDArray[np.float32]]:
        return [_vector(random.Random(self.seed * 100 + n)) for n in range(3)]

    def batches(self) -> Iterator[Batch]:
        """What brings a store to this state: in three commits, and some of it deleted again."""
        everything = sorted([*self.memories, *self.dropped], key=lambda m: m.key)
        numbers = range(1, 7)
        yield Batch(entities=[Entity(n, f"Entity {n}", "other", (), 1) for n in numbers])
        third = len(everything) // 3 + 1
        for at in range(0, len(everything), third):
            yield Batch(memories=everything[at : at + third])
        yield Batch(links=self.links, drop_memories=[m.key for m in self.dropped])

    # --- filters -----------------------------------------------------------------------------

    def allowed(self, allowed: Filter) -> set[int]:
        return {m.key for m in self.memories if _allows(m, allowed)}

    # --- searches ----------------------------------------------------------------------------

    def semantic(self, vector: NDArray[np.float32], allowed: Filter) -> list[tuple[int, float]]:
        shown = self.allowed(allowed)
        scores = [
            (m.key, float(m.vector.astype(np.float16).astype(np.float32) @ vector))
            for m in self.memories
            if m.key in shown and m.vector is not None
        ]
        return sorted(scores, key=lambda pair: (-pair[1], pair[0]))

    def keyword(self, terms: Sequence[int], allowed: Filter) -> list[tuple[int, float]]:
        """BM25F: fields are weighted and added up, then saturated once."""
        held = {m.key: _fields(m.memory) for m in self.memories}
        average = {
            name: sum(f[name].total() for f in held.values() if f.get(name))
            / max(1, sum(1 for f in held.values() if f.get(name)))
            for name in _WEIGHTS
        }
        shown = self.allowed(allowed)
        scores: dict[int, float] = {}
        for term in terms:
            having = {k for k, f in held.items() if any(term in c for c in f.values())}
            rarity = math.log(1 + (len(held) - len(having) + 0.5) / (len(having) + 0.5))
            for key in having & shown:
                weighted = sum(
                    _WEIGHTS[name] * count[term] / (1 - B + B * count.total() / average[name])
                    for name, count in held[key].items()
                    if term in count
                )
                gain = rarity * weighted * (K1 + 1) / (weighted + K1)
                scores[key] = scores.get(key, 0.0) + gain
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))

    def window(self, start: int | None, end: int | None, allowed: Filter) -> list[int]:
        shown = self.allowed(allowed)
        return [m.key for m in self.memories if m.key in shown and _inside(m.memory, start, end)]

    def expand(
        self, seeds: Sequence[int], allowed: Filter, limit: int, entities: Iterable[int]
    ) -> dict[int, tuple[float, float, float]]:
        shown = self.allowed(allowed)
        wanted = {*entities, *(e for m in self.memories if m.key in seeds for e in m.entity_ids)}
        shared: Counter[int] = Counter()
        for entity in wanted:
            naming = [m.key for m in self.memories if entity in m.entity_ids and m.key in shown]
            shared.update(naming[-limit:])
        best: dict[tuple[int, bool], float] = {}
        for seed in seeds:
            for other, side, weight in self.neighbours(seed, shown)[:limit]:
                place = (other, side != 0)
                best[place] = max(best.get(place, 0.0), weight)
        keys = {*shared, *(k for k, _ in best)}
        return {
            k: (
                float(shared.get(k, 0)),
                round(best.get((k, False), 0.0), 4),
                round(best.get((k, True), 0.0), 4),
            )
            for k in keys
        }

    def neighbours(self, seed: int, shown: set[int]) -> list[tuple[int, int, float]]:
        """Over links either way, strongest first: +1 an effect of the seed, -1 a cause of it, 0
        neither. However a cause and its effect are linked, they are one neighbour."""
        best: dict[tuple[int, int], float] = {}
        for link in self.links:
            side = (link.kind in TO_EFFECT) - (link.kind is LinkKind.CAUSED_BY)
            for mine, other, where in (
                (link.source, link.target, side),
                (link.target, link.source, -side),
            ):
                if mine == seed and other in shown:
                    place = (other, where)
                    best[place] = max(best.get(place, 0.0), link.weight)
        found = [(other, where, weight) for (other, where), weight in best.items()]
        return sorted(found, key=lambda n: (-n[2], n[0], n[1]))

    def grouped(self, name: str, hashes: Iterable[int], shown: set[int]) -> dict[int, list[int]]:
        out: dict[int, list[int]] = {}
        for m in self.memories:
            if getattr(m, name) in hashes and m.key in shown:
                out.setdefault(getattr(m, name), []).append(m.key)
        return out


def made_up(seed: int, size: int = 90, twins: int = 0) -> Reference:
    """A bank drawn from `seed`: every type, state, tag and time, some of it to be deleted."""
    rng = random.Random(seed)
    everything = [_memory(key, rng) for key in range(1, size + 1)]
    for n in range(twins):  # the same vector and words as the first, to be told apart by key
        twin = everything[0]
        memory = replace(twin.memory, id=f"twin-{n}", state=State.ACTIVE)
        everything.append(replace(twin, key=size + 1 + n, memory=memory, known_until=None))
    gone: set[int] = set() if twins else set(rng.sample(range(size), size // 8))
    kept = [m for n, m in enumerate(everything) if n not in gone]
    dropped = [m for n, m in enumerate(everything) if n in gone]
    keys = [m.key for m in kept]
    drawn: dict[tuple[int, int, LinkKind], KeyLink] = {}
    for _ in range(2 * size):
        source, target = rng.sample(keys, 2)
        kind = rng.choice(
            (LinkKind.SEMANTIC, LinkKind.CAUSES, LinkKind.CAUSED_BY, LinkKind.PREVENTS)
        )
        link = KeyLink(source, target, kind, round(rng.uniform(0.7, 1.0), 4))
        drawn[source, target, kind] = link
    return Reference(kept, list(drawn.values()), dropped, seed)


def _memory(key: int, rng: random.Random) -> NewMemory:
    def words(low: int, high: int) -> str:
        return " ".join(rng.choices(_WORDS, k=rng.randint(low, high)))

    def maybe(value: str) -> str | None:
        return value if rng.random() < 0.3 else None

    told = _FIRST_DAY + timedelta(days=rng.randrange(100))
    start = told - timedelta(days=rng.randrange(60)) if rng.random() < 0.5 else None
    state = rng.choices((State.ACTIVE, State.SUPERSEDED, State.INVALIDATED), (8, 2, 1))[0]
    memory = Memory(
        id=f"memory-{key}",
        bank=BANK,
        text=words(3, 9),
        type=rng.choice(tuple(MemoryType)),
        state=state,
        context=maybe(words(1, 3)),
        speaker=maybe("Ann"),
        title=maybe(words(1, 3)),
        summary=maybe(words(2, 4)),
        topic_path=maybe("home/" + words(1, 1)),
        recall_when=tuple([words(1, 2)] if rng.random() < 0.3 else []),
        tags=tuple(sorted(rng.sample(("x", "y", "z"), rng.randrange(4)))),
        metadata={"n": key},
        occurred_start=start,
        occurred_end=None if start is None else start + timedelta(days=rng.randrange(9)),
        mentioned_at=told if rng.random() < 0.9 else None,
        last_mentioned_at=None,
        created_at=told,
        updated_at=told,
        superseded_by="memory-1" if state is State.SUPERSEDED else None,
        tokens=5,
    )
    closed = None if state is State.ACTIVE else to_micros(told + timedelta(days=20))
    return NewMemory(
        key,
        memory,
        _vector(rng),
        None,
        tuple(sorted(rng.sample(range(1, 7), rng.randrange(3)))),
        statement=rng.randrange(1, 30),
        slot=rng.randrange(0, 6),
        known_from=to_micros(told),
        known_until=closed,
    )


def _vector(rng: random.Random) -> NDArray[np.float32]:
    drawn = np.array([rng.gauss(0, 1) for _ in range(DIMENSIONS)])
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def _fields(memory: Memory) -> dict[str, Counter[int]]:
    body = "\n".join(part for part in (memory.speaker, memory.context, memory.text) if part)
    texts = {
        "body": body,
        "summary": memory.summary,
        "topic": memory.topic_path,
        "tags": " ".join(memory.tags),
        "title": memory.title,
        "when": "\n".join(memory.recall_when),
    }
    return {name: counted(text) for name, text in texts.items() if text}


def _allows(new: NewMemory, allowed: Filter) -> bool:
    memory = new.memory
    if allowed.as_of is None:
        if memory.state not in (State.ACTIVE, State.SUPERSEDED):
            return False
    else:
        closed = new.known_until is not None and new.known_until <= allowed.as_of
        if new.known_from > allowed.as_of or (closed and memory.state is not State.SUPERSEDED):
            return False
    if allowed.types is not None and memory.type not in allowed.types:
        return False
    return allowed.tags is None or tagged(set(memory.tags), allowed.tags)


def tagged(tags: set[str], wanted: TagExpression) -> bool:
    if isinstance(wanted, TagLeaf):
        asked = set(wanted.tags)
        if wanted.match == "exact":
            return tags == asked
        hit = bool(tags & asked) if wanted.match.startswith("any") else asked <= tags
        return hit or (not tags and not wanted.match.endswith("_strict"))
    parts = [tagged(tags, part) for part in wanted.parts]
    if wanted.operator == "not":
        return not parts[0]
    return all(parts) if wanted.operator == "and" else any(parts)


def _inside(memory: Memory, start: int | None, end: int | None) -> bool:
    began = memory.occurred_start or memory.last_mentioned_at or memory.mentioned_at
    if began is None:
        return False
    ended = (memory.occurred_end or began) if memory.occurred_start else began
    low, high = to_micros(began), to_micros(ended)
    if end is not None and low >= end:
        return False
    return start is None or high > start or (high == low and low >= start)

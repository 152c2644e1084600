"""What an answer brings along: who is named in it, where it was read, and the facts its observations
were made from; and leaving those facts out where the observations are preferred."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recollect.language.dates import to_micros
from recollect.recall.pack import pack
from recollect.recall.pool import Pool
from recollect.recall.request import RecallRequest, lets_see
from recollect.recall.then import load_then
from recollect.storage.base import Filter, Keys, View
from recollect.types import EntityState, Memory, MemoryType

OBSERVED = 5  # observations looked at of one entity
NAMED = 50  # entities at most
_OBSERVATION = tuple(MemoryType).index(MemoryType.OBSERVATION)
_NO_LIMIT = 1 << 60


def entity_states(view: View, keys: Keys, request: RecallRequest) -> tuple[EntityState, ...]:
    """Entities in the order the hits name them, each with its newest observations, as far as the
    tokens go."""
    loaded = view.load(keys.tolist())
    names: dict[int, str] = {}
    for key, ids in zip(keys.tolist(), view.entities_of(keys), strict=True):
        if key in loaded and len(loaded[key].entities) == len(ids):
            names |= {
                i: n for i, n in zip(ids, loaded[key].entities, strict=True) if i not in names
            }
    wanted = list(names)[:NAMED]
    allowed = replace(request.allowed, types=frozenset({MemoryType.OBSERVATION}))
    found = [keys[::-1].tolist() for keys, _ in view.naming(wanted, allowed, OBSERVED)]
    observed = load_then(view, {key for keys in found for key in keys}, allowed.as_of)
    room = request.max_entity_tokens
    out: list[EntityState] = []
    for entity, about in zip(wanted, found, strict=True):
        fitting, room = _fitting((observed[k] for k in about if k in observed), room)
        out.append(EntityState(entity, names[entity], tuple(fitting)))
    return tuple(out)


def source_facts(
    view: View, observations: Iterable[Memory], request: RecallRequest
) -> tuple[tuple[Memory, ...], bool]:
    """The facts that observations were made from, and whether the tokens cut them short. Of whatever
    type they are; but what tags or time hide stays hidden."""
    allowed = replace(request.allowed, types=None)
    left = request.max_source_fact_tokens
    room = _NO_LIMIT if left is None else left
    each = request.max_tokens_per_observation
    out: dict[str, Memory] = {}
    truncated = False
    for observation in observations:
        facts = [m for m in _visible(view, observation, allowed) if m.id not in out]
        own = room if each is None else min(room, each)
        fitting, rest = _fitting(facts, own)
        room -= own - rest
        truncated = truncated or len(fitting) < len(facts)
        out |= {m.id: m for m in fitting}
    return tuple(out.values()), truncated


def source_chunks(view: View, memories: Iterable[Memory], allowed: Filter) -> list[str]:
    """The chunks that memories were read in. One in which something was said that the tags hide, or that
    was said only later, would tell it, so it stays away."""
    chunks = [m.chunk_id for m in memories if m.chunk_id]
    if not chunks or (allowed.tags is None and allowed.as_of is None):
        return chunks
    said = view.said_in(chunks)
    loaded = view.load({key for keys in said.values() for key in keys})
    told = {key for key, memory in loaded.items() if _may_be_told(memory, allowed)}
    return [chunk for chunk in chunks if told.issuperset(said.get(chunk, ()))]


def _may_be_told(memory: Memory, allowed: Filter) -> bool:
    """Whether its words may be shown, whatever became of it: withdrawn, it is no less of a secret."""
    first = memory.mentioned_at or memory.created_at
    if allowed.as_of is not None and first is not None and to_micros(first) > allowed.as_of:
        return False
    return allowed.tags is None or lets_see(allowed.tags, {*memory.tags})


def without_sources(
    view: View, pool: Pool, rows: NDArray[np.int64], max_tokens: int, as_of: int | None
) -> list[NDArray[np.int64]]:
    """What packing is offered in turn: rows less the facts that an observation in the answer was made
    from. What is freed lets others in, observations too, so it is looked at until nothing changes. An
    observation that took the place of facts comes first from then on: a better hit that fits where they
    were would push it out, and neither would be in the answer."""
    first: list[int] = []
    offered = [rows]
    while True:
        taken = pack(pool, offered[-1], max_tokens)
        standing, made_from = _standing(view, pool, taken, as_of)
        kept = rows[~np.isin(pool.keys[rows], list(made_from))]
        if len(kept) == len(rows):
            return offered
        first = [row for row in dict.fromkeys([*first, *standing]) if row in kept]
        rows = kept
        offered.append(np.array([*first, *rows[~np.isin(rows, first)]], np.int64))


def _standing(
    view: View, pool: Pool, taken: Sequence[int], as_of: int | None
) -> tuple[list[int], set[int]]:
    """The observations among these that stand for facts, and the keys of those facts."""
    observed = [row for row in taken if pool.columns.type[row] == _OBSERVATION]
    loaded = view.load(pool.keys[observed].tolist())
    standing: list[int] = []
    made_from = set[int]()
    for row in observed:
        key = int(pool.keys[row])
        if key in loaded and key not in made_from:  # of two made from each other the better stands
            made_from.update(
                source for source in _sources(view, loaded[key], as_of) if source != key
            )
            standing.append(row)
    return standing, made_from


def _sources(view: View, observation: Memory, as_of: int | None) -> list[int]:
    """The facts it was made from, in the wording that was known then."""
    keys = (view.key_of(i, as_of) for i in observation.source_ids)
    return [k for k in keys if k is not None]


def _visible(view: View, observation: Memory, allowed: Filter) -> Iterable[Memory]:
    """Its sources that the filter lets through."""
    keys = np.array(_sources(view, observation, allowed.as_of), np.int64)
    return load_then(view, keys[view.allows(keys, allowed)].tolist(), allowed.as_of).values()


def _fitting(memories: Iterable[Memory], room: int) -> tuple[Sequence[Memory], int]:
    out: list[Memory] = []
    for memory in memories:
        if memory.tokens <= room:
            out.append(memory)
            room -= memory.tokens
    return out, room

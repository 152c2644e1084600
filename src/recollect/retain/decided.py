"""What a plan has decided so far: the parts of a `Batch`, and what its parts must know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from recollect.errors import InvalidInput
from recollect.language.dates import to_micros
from recollect.retain.items import Fact
from recollect.storage.base import KeyLink, NewEvidence, NewMemory, Retire, Writing
from recollect.types import Memory, State

Mention = tuple[int, int | None, str | None]  # of which memory, when, in which document


@dataclass(slots=True)
class Decided:
    given: frozenset[str]  # ids that callers gave to facts of this plan
    keys: list[int] = field(default_factory=list[int])  # per fact
    new: list[NewMemory] = field(default_factory=list[NewMemory])
    new_at: list[int] = field(default_factory=list[int])  # fact number of each new memory
    evidence: list[NewEvidence] = field(default_factory=list[NewEvidence])
    retired: list[Retire] = field(default_factory=list[Retire])
    superseded: list[str] = field(default_factory=list[str])
    links: list[KeyLink] = field(default_factory=list[KeyLink])
    memories: dict[int, Memory] = field(default_factory=dict[int, Memory])
    by_statement: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    by_slot: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    updates: dict[int, dict[str, object]] = field(default_factory=dict[int, dict[str, object]])
    told: set[Mention] = field(default_factory=set[Mention])  # in this plan
    _numbers: dict[str, int] = field(default_factory=dict[str, int])  # id → place in `new`
    _places: dict[int, int] = field(default_factory=dict[int, int])  # key → place in `new`

    def add(self, number: int, new: NewMemory, shown: Memory) -> None:
        """A new memory, made of the fact of that number."""
        self._numbers[new.memory.id] = self._places[new.key] = len(self.new)
        self.new.append(new)
        self.new_at.append(number)
        self.memories[new.key] = shown

    def update(self, key: int, **changes: object) -> None:
        self.updates.setdefault(key, {}).update(changes)
        self.memories[key] = replace(self.memories[key], **changes)

    def retire(self, loser: int, winner: int, at: datetime) -> None:
        by = self.memories[winner].id
        self.superseded.append(self.memories[loser].id)
        self.memories[loser] = replace(
            self.memories[loser], state=State.SUPERSEDED, superseded_by=by
        )
        place = self._places.get(loser)
        if place is None:
            self.retired.append(Retire(loser, State.SUPERSEDED, to_micros(at), by))
        else:
            new = self.new[place]
            memory = replace(new.memory, state=State.SUPERSEDED, superseded_by=by)
            self.new[place] = replace(new, memory=memory, known_until=to_micros(at))

    def key_of(self, memory_id: str, view: Writing) -> int | None:
        """Of a memory that the bank holds, or that this plan makes."""
        place = self._numbers.get(memory_id)
        return view.key_of(memory_id) or (None if place is None else self.new[place].key)

    def check_sources(self, fact: Fact, view: Writing) -> None:
        """What proves an observation must be there, or come with this very plan."""
        for memory_id in fact.source_ids:
            if memory_id not in self.given and view.key_of(memory_id) is None:
                raise unknown_source(fact, memory_id, view.bank)

    def attach_sources(self, facts: Sequence[Fact], view: Writing) -> None:
        """When all facts have found their place: an observation may come before what proves it."""
        for place, number in enumerate(self.new_at):
            ids = facts[number].source_ids
            if ids:
                keys = [key for i in ids if (key := self.key_of(i, view)) is not None]
                self.new[place] = replace(self.new[place], sources=tuple(keys))


def own_source(memory_id: str, where: str = "") -> InvalidInput:
    return InvalidInput(
        f"{where}memory {memory_id!r} cannot be its own source",
        hint="source_ids name what it was made from",
    )


def unknown_source(fact: Fact, memory_id: str, bank: str) -> InvalidInput:
    return InvalidInput(
        f"item {fact.item}: source {memory_id!r} is not in bank {bank!r}",
        hint="source_ids name memories of the bank, or facts of the same call by their own id",
    )

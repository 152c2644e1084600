"""What of a view is answered from an index in memory, whatever store the index was read from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.storage.base import (
    Columns,
    Edges,
    Expansion,
    Filter,
    Floats,
    Found,
    Keys,
    Sharing,
)
from recollect.storage.index.columns import Rows
from recollect.storage.index.nearest import nearest_of_many
from recollect.storage.index.snapshot import Snapshot
from recollect.storage.ranking import counted, distinct, placed, widened

_FEW = 8  # vectors; more are cheaper as one matrix product
_COLUMNS = frozenset(field.name for field in fields(Columns)) - {"keys"}


class _Gathered(Columns):
    """Each column is gathered when it is first asked for: most recalls ask for half of them."""

    __slots__ = ("_held", "_rows")
    _held: Mapping[str, NDArray[Any]]
    _rows: NDArray[np.int64]

    @staticmethod
    def of(keys: Keys, held: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]) -> Columns:
        made = object.__new__(_Gathered)
        for name, value in (("keys", keys), ("_held", held), ("_rows", rows)):
            object.__setattr__(made, name, value)
        return made

    def only(self, rows: NDArray[np.int64]) -> Columns:
        if not hasattr(self, "_rows"):  # made by `replace`, and so of all columns
            return super().only(rows)
        return _Gathered.of(self.keys[rows], self._held, self._rows[rows])

    def __getattr__(self, name: str) -> NDArray[Any]:  # of what is not there yet
        if name not in _COLUMNS:
            raise AttributeError(name)
        column = self._held[name].take(self._rows)
        object.__setattr__(self, name, column)
        return column


class IndexedView(ABC):
    snapshot: Snapshot

    @property
    def seq(self) -> int:
        return self.snapshot.seq

    @property
    def size(self) -> int:
        return self.snapshot.size

    @abstractmethod
    def links_of(self, keys: Keys) -> Edges:
        """Stored links of `keys`, both ways: key by key, the strongest of each first; a pair that
        is linked both ways is one link."""
        ...

    # --- searches ----------------------------------------------------------------------

    def semantic(self, vector: Floats, allowed: Filter, k: int, floor: float) -> Found:
        return self.snapshot.semantic(vector, self.snapshot.mask(allowed), k, floor)

    def keyword(self, terms: Sequence[int], allowed: Filter, k: int) -> Found:
        return self.snapshot.keyword(terms, self.snapshot.mask(allowed), k)

    def keyword_scores(self, terms: Sequence[int], keys: Keys) -> Floats:
        return self.snapshot.bm25(terms)[self.snapshot.rows_of(keys)]

    def keyword_ceiling(self, terms: Sequence[int]) -> float:
        return self.snapshot.keyword_ceiling(terms)

    def window(self, start: int | None, end: int | None, allowed: Filter) -> Keys:
        rows = self.snapshot.in_window(start, end, self.snapshot.mask(allowed))
        return self.snapshot.keys[rows]

    def similarity(self, vector: Floats, keys: Keys) -> Floats:
        return self.snapshot.similarity(vector, self.snapshot.rows_of(keys))

    def vectors(self, keys: Keys) -> Floats:
        return widened(self.snapshot.vectors.take(self.snapshot.rows_of(keys), axis=0))

    def allows(self, keys: Keys, allowed: Filter) -> NDArray[np.bool_]:
        return self.snapshot.among(keys, self.snapshot.mask(allowed))

    def expand(
        self, seeds: Keys, allowed: Filter, per_entity: int, entities: Sequence[int]
    ) -> Expansion:
        snapshot, mask = self.snapshot, self.snapshot.mask(allowed)
        seeds = seeds[snapshot.known(seeds)]
        rows, shared = self._shared_entities(seeds, entities, mask, per_entity)
        edges = self.edges(seeds, allowed, per_node=per_entity)
        sharing = snapshot.keys[rows]
        keys, (shares, linked) = placed((sharing, edges.target))
        count = np.zeros(len(keys), np.float32)
        count[shares] = shared
        return Expansion(
            keys,
            count,
            _best_weight(len(keys), linked, edges, causal=False),
            _best_weight(len(keys), linked, edges, causal=True),
        )

    def sharing(self, keys: Keys, allowed: Filter, per_entity: int) -> Sharing:
        snapshot, mask = self.snapshot, self.snapshot.mask(allowed)
        keys = keys[snapshot.known(keys)]
        found = [
            self._shared_entities(keys[at : at + 1], (), mask, per_entity)
            for at in range(len(keys))
        ]
        if not found:
            return Sharing(keys, keys, np.empty(0, np.float32))
        rows = np.concatenate([r for r, _ in found])
        return Sharing(
            np.repeat(keys, [len(r) for r, _ in found]),
            snapshot.keys[rows],
            np.concatenate([n for _, n in found]).astype(np.float32),
        )

    def entities_of(self, keys: Keys) -> list[list[int]]:
        ids, counts = self.snapshot.entities_of(self.snapshot.rows_of(keys))
        each = iter(ids.tolist())
        return [list(islice(each, count)) for count in counts.tolist()]

    def naming(
        self, entities: Sequence[int], allowed: Filter, limit: int
    ) -> list[tuple[Keys, int]]:
        snapshot, mask = self.snapshot, self.snapshot.mask(allowed)
        found = [
            rows[mask[rows]] for rows in snapshot.entities.get_many(np.array(entities, np.int64))
        ]
        return [(snapshot.keys[rows[-limit:]], len(rows)) for rows in found]

    def _shared_entities(
        self, seeds: Keys, entities: Sequence[int], mask: NDArray[np.bool_], per_entity: int
    ) -> tuple[Rows, NDArray[np.int64]]:
        """Rows that share an entity with the seeds, and how many they share; of each entity at
        most `per_entity` rows, the newest."""
        snapshot = self.snapshot
        named, _ = snapshot.entities_of(snapshot.rows_of(seeds))
        wanted = distinct(np.array(entities, np.int64), named)
        found = snapshot.entities.newest(wanted, per_entity)
        if not mask[found].all():  # what may not be seen takes nobody's place
            seen = [rows[mask[rows]] for rows in snapshot.entities.get_many(wanted)]
            found = np.concatenate([rows[-per_entity:] for rows in seen])
        return counted(found)

    def edges(self, keys: Keys, allowed: Filter, per_node: int) -> Edges:
        """Stored links of `keys`, both ways, at most `per_node` of the strongest from each."""
        found = self.links_of(keys)
        # Filtered before it is cut: what may not be seen takes nobody's place.
        seen = np.flatnonzero(self.allows(found.target, allowed))
        keep = seen if len(seen) <= per_node else seen[_nth_of_group(found.source[seen]) < per_node]
        return Edges(found.source[keep], found.target[keep], found.weight[keep], found.causal[keep])

    # --- what is known of given memories -------------------------------------------------

    def columns(self, keys: Keys) -> Columns:
        return _Gathered.of(keys, self.snapshot.columns, self.snapshot.rows_of(keys))

    # --- under the write lock ---------------------------------------------------------------

    def nearest(self, vectors: Floats, k: int, floor: float) -> list[Found]:
        """For each new vector its nearest present memories."""
        mask = self.snapshot.mask(Filter())
        if len(vectors) < _FEW:
            return [self.snapshot.semantic(v, mask, k, floor) for v in vectors]
        return nearest_of_many(self.snapshot, vectors, mask, k, floor)

    def same_statement(self, hashes: Sequence[int]) -> Mapping[int, Sequence[int]]:
        return self.holding("statement", hashes)

    def holding(self, column: str, values: Sequence[int]) -> dict[int, list[int]]:
        snapshot = self.snapshot
        held = snapshot.columns[column]
        wanted = np.isin(held, np.array(list(values), np.int64)) & snapshot.mask(Filter())
        out: dict[int, list[int]] = {}
        for value, key in zip(held[wanted].tolist(), snapshot.keys[wanted].tolist(), strict=True):
            out.setdefault(value, []).append(key)
        return out

    def same_slot(self, hashes: Sequence[int]) -> Mapping[int, Sequence[int]]:
        return self.holding("slot", [h for h in hashes if h])


def _best_weight(count: int, linked: NDArray[np.int64], edges: Edges, *, causal: bool) -> Floats:
    """Of so many memories; `linked` says which of them each edge leads to."""
    out = np.zeros(count, np.float32)
    mine = np.flatnonzero((edges.causal != 0) == causal)
    if len(mine):
        np.maximum.at(out, linked[mine], edges.weight[mine])
    return out


def _nth_of_group(sorted_groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2 … within each run of equal values."""
    at = np.arange(len(sorted_groups))
    starts = at.copy()
    starts[1:][sorted_groups[1:] == sorted_groups[:-1]] = 0
    return at - np.maximum.accumulate(starts)

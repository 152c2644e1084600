"""A view of one bank: in-memory searches from the snapshot, rows from the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from recollect.language.entities import EntityResolver
from recollect.storage.base import (
    Columns,
    Edges,
    Expansion,
    Filter,
    Floats,
    Found,
    Keys,
    Mentions,
    Sharing,
)
from recollect.storage.memory_row import MEMORY_COLUMNS, memory_from_row
from recollect.storage.ranking import distinct
from recollect.storage.sqlite.columns import Rows
from recollect.storage.sqlite.entities import EntityCache
from recollect.storage.sqlite.index import Snapshot
from recollect.storage.sqlite.record import KEY_BITS, KEY_MASK, STATE_CODE
from recollect.types import CAUSAL, Chunk, Memory, State

Execute = Callable[[str, Sequence[Any]], list[Any]]

_NEWEST = 8  # memories looked at at once for the one told last


# Strongest first; a pair linked both ways is one link.
_CAUSAL = ", ".join(f"'{kind}'" for kind in sorted(CAUSAL))
_LINKS = f"""WITH seed AS (SELECT value AS key FROM json_each(?2)),
    linked AS (
      SELECT key, target AS other, kind IN ({_CAUSAL}) AS causal, weight FROM seed
        JOIN links ON links.bank = ?1 AND links.source = key
      UNION ALL
      SELECT key, source, kind IN ({_CAUSAL}), weight FROM seed
        JOIN links INDEXED BY links_target ON links.bank = ?1 AND links.target = key)
    SELECT key, other, causal, max(weight) FROM linked GROUP BY key, other, causal
    ORDER BY key, max(weight) DESC, other, causal"""


class SqliteView:
    def __init__(
        self,
        bank: str,
        number: int,
        snapshot: Snapshot,
        execute: Execute,
        loaded: dict[int, Memory],
        entities: EntityCache,
    ) -> None:
        self.bank = bank
        self.number = number
        self.snapshot = snapshot
        self._execute = execute
        self._loaded = loaded
        self.entity_cache = entities

    @property
    def seq(self) -> int:
        return self.snapshot.seq

    @property
    def size(self) -> int:
        return self.snapshot.size

    def close(self) -> None:
        """Nothing to let go of: connections belong to threads, snapshots to whoever holds them."""

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

    def allows(self, keys: Keys, allowed: Filter) -> NDArray[np.bool_]:
        known = self.snapshot.known(keys)
        out = np.zeros(len(keys), np.bool_)
        out[known] = self.snapshot.mask(allowed)[self.snapshot.rows_of(keys[known])]
        return out

    def expand(
        self, seeds: Keys, allowed: Filter, per_entity: int, entities: Sequence[int]
    ) -> Expansion:
        snapshot, mask = self.snapshot, self.snapshot.mask(allowed)
        seeds = seeds[snapshot.known(seeds)]
        rows, shared = self._shared_entities(seeds, entities, mask, per_entity)
        edges = self.edges(seeds, allowed, per_node=per_entity)
        sharing = snapshot.keys[rows]
        keys = distinct(sharing, edges.target)
        count = np.zeros(len(keys), np.float32)
        count[np.searchsorted(keys, sharing)] = shared
        return Expansion(
            keys,
            count,
            _best_weight(keys, edges, causal=False),
            _best_weight(keys, edges, causal=True),
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
        snapshot = self.snapshot
        return [snapshot.entities_of(row).tolist() for row in snapshot.rows_of(keys).tolist()]

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
        named = [
            np.array(entities, np.int64),
            *(snapshot.entities_of(r) for r in snapshot.rows_of(seeds).tolist()),
        ]
        wanted = distinct(*named)
        found = snapshot.entities.newest(wanted, per_entity)
        if not mask[found].all():  # what may not be seen takes nobody's place
            seen = [rows[mask[rows]] for rows in snapshot.entities.get_many(wanted)]
            found = np.concatenate([rows[-per_entity:] for rows in seen])
        return np.unique(found, return_counts=True)

    def edges(self, keys: Keys, allowed: Filter, per_node: int) -> Edges:
        """Stored links of `keys`, both ways, at most `per_node` of the strongest from each."""
        asked = orjson.dumps(keys.tolist()).decode()
        found = self._execute(_LINKS, (self.number, asked))
        table = np.fromiter(chain.from_iterable(found), np.float64, 4 * len(found)).reshape(-1, 4)
        source, target = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
        causal, weight = table[:, 2] > 0, table[:, 3].astype(np.float32)
        # Filtered before it is cut: what may not be seen takes nobody's place.
        seen = self.allows(target, allowed)
        source, target, weight, causal = source[seen], target[seen], weight[seen], causal[seen]
        keep = _nth_of_group(source) < per_node
        return Edges(source[keep], target[keep], weight[keep], causal[keep])

    # --- what is known of given memories -------------------------------------------------

    def columns(self, keys: Keys) -> Columns:
        rows = self.snapshot.rows_of(keys)
        c = self.snapshot.columns
        return Columns(
            keys,
            c["type"][rows],
            c["state"][rows],
            c["happened_from"][rows],
            c["happened_until"][rows],
            c["recent"][rows],
            c["known_until"][rows],
            c["fresh_from"][rows],
            c["valid_until"][rows],
            c["lifetime_days"][rows],
            c["proof"][rows],
            c["before"][rows],
            c["tokens"][rows],
        )

    def load(self, keys: Iterable[int]) -> dict[int, Memory]:
        """By key, in the order asked for; one deleted meanwhile is left out."""
        wanted, held = list(keys), self._loaded
        found = {k: held[k] for k in wanted if k in held}
        if len(found) < len(wanted):
            held.update(self._read([int(k) for k in wanted if k not in found]))
            found = {int(k): held[k] for k in wanted if k in held}
        return found

    def _read(self, keys: Sequence[int]) -> Iterator[tuple[int, Memory]]:
        ns = [self.number << KEY_BITS | k for k in keys]
        marks = ",".join("?" * len(ns))
        rows = self._execute(f"SELECT {MEMORY_COLUMNS} FROM memories WHERE n IN ({marks})", ns)
        found = [row[0] & KEY_MASK for row in rows]
        named = self._named(np.array(found, np.int64))
        for key, row, entities in zip(found, rows, named, strict=True):
            yield key, memory_from_row(self.bank, row, entities)

    def _named(self, keys: Keys) -> list[tuple[str, ...]]:
        """The names that each memory holds; none where one is newer than the snapshot."""
        snapshot, names = self.snapshot, self.entity_cache.names
        at, offsets = snapshot.rows_of(keys), snapshot.entity_offsets
        starts = offsets[at].tolist()
        ends = offsets[np.minimum(at + 1, len(snapshot.keys))].tolist()
        ids = snapshot.entity_ids
        return [
            tuple([names[e] for e in ids[start:end].tolist() if e in names])
            for start, end in zip(starts, ends, strict=True)
        ]

    def newest(self) -> Memory | None:
        """Told last. A correction has a later key than what was told before it, so the walk from
        the last key goes on until a memory that nobody has corrected."""
        below, told, last = (self.number + 1) << KEY_BITS, 0, 0
        while True:
            page = self._execute(
                """SELECT m.n, (SELECT min(r.n) FROM memories r WHERE r.bank = m.bank
                  AND r.id = m.id AND r.state = 'revised')
                FROM memories m WHERE m.n >= ? AND m.n < ? AND m.state <> 'revised'
                ORDER BY m.n DESC LIMIT ?""",
                (self.number << KEY_BITS, below, _NEWEST),
            )
            for n, first in page:
                if (first or n) > told:
                    told, last = first or n, n & KEY_MASK
            if len(page) < _NEWEST or any(first is None for _, first in page):
                return self.load([last]).get(last)
            below = page[-1][0]

    def token_vectors(self, keys: Keys) -> list[NDArray[np.int8] | None]:
        ns = (keys | self.number << KEY_BITS).tolist()
        marks = ",".join("?" * len(ns))
        found = dict(self._execute(f"SELECT n, data FROM tokens WHERE n IN ({marks})", ns))
        return [
            None if (data := found.get(n)) is None else np.frombuffer(data, np.int8) for n in ns
        ]

    def key_of(self, memory_id: str, as_of: int | None = None) -> int | None:
        rows = self._execute(
            "SELECT n FROM memories WHERE bank = ? AND id = ? AND state <> 'revised'",
            (self.number, memory_id),
        )
        if rows and as_of is not None:
            earlier = self._execute(
                "SELECT n FROM memories WHERE bank = ? AND id = ? AND state = 'revised' ORDER BY n DESC",
                (self.number, memory_id),
            )
            keys = np.array([n & KEY_MASK for (n,) in rows + earlier], np.int64)
            then = keys[self.allows(keys, Filter(as_of=as_of))]
            return int((then if len(then) else keys)[0])
        return rows[0][0] & KEY_MASK if rows else None

    @property
    def resolver(self) -> EntityResolver:
        return self.entity_cache.resolver

    def chunks(self, ids: Iterable[str]) -> Mapping[str, Chunk]:
        wanted = list(dict.fromkeys(ids))
        marks = ",".join("?" * len(wanted))
        rows = self._execute(
            f"SELECT id, document_id, position, text FROM chunks WHERE bank = ? AND id IN ({marks})",
            (self.number, *wanted),
        )
        return {row[0]: Chunk(row[0], row[1], row[2], row[3]) for row in rows}

    def document_hash(self, document_id: str) -> bytes | None:
        rows = self._execute(
            "SELECT hash FROM documents WHERE bank = ? AND id = ?", (self.number, document_id)
        )
        return rows[0][0] if rows else None

    def mentions(self, keys: Keys, as_of: int) -> Mapping[int, Mentions]:
        # Evidence stands with the newest version. What came after an earlier one was closed was
        # never counted there.
        found = self._execute(
            """SELECT k.value, sum(e.at > ?3 AND (m.state <> 'revised' OR e.at < m.known_until)),
              max(CASE WHEN e.at <= ?3 THEN e.at END)
            FROM json_each(?2) k JOIN memories m ON m.n = (?1 << ?4 | k.value)
            JOIN memories v ON v.bank = ?1 AND v.id = m.id AND v.state <> 'revised'
            JOIN evidence e ON e.bank = ?1 AND e.key = (v.n & ?5)
            GROUP BY 1 HAVING max(e.at) > ?3""",
            (self.number, orjson.dumps(keys.tolist()).decode(), as_of, KEY_BITS, KEY_MASK),
        )
        return {key: Mentions(later, last) for key, later, last in found if later}

    def following(self, key: int) -> Sequence[int]:
        held = self.holding("before", sorted(self._versions([key])))
        return sorted(k for keys in held.values() for k in keys)

    def standing(self, keys: Keys, allowed: Filter) -> Keys:
        out = np.where(self.allows(keys, allowed), keys, 0)
        known = self.snapshot.known(keys)
        state = self.snapshot.columns["state"]
        hidden = np.flatnonzero(known & (out == 0))
        rows = self.snapshot.rows_of(keys[hidden])
        corrected = hidden[state[rows] == STATE_CODE[State.REVISED]]
        if not len(corrected):  # nearly always
            return out
        versions = self._versions(keys[corrected].tolist())
        found = np.array(sorted(versions), np.int64)
        shown = {versions[k]: k for k in found[self.allows(found, allowed)].tolist()}
        out[corrected] = [shown.get(versions[k], 0) for k in keys[corrected].tolist()]
        return out

    def _versions(self, keys: Sequence[int]) -> dict[int, str]:
        """Every version of these memories, with the id they share."""
        marks = ",".join("?" * len(keys))
        rows = self._execute(
            f"""SELECT n, id FROM memories WHERE bank = ? AND id IN (
              SELECT id FROM memories WHERE n IN ({marks}))""",
            (self.number, *(self.number << KEY_BITS | k for k in keys)),
        )
        return {n & KEY_MASK: memory_id for n, memory_id in rows}

    def same_statement(self, hashes: Sequence[int]) -> Mapping[int, Sequence[int]]:
        return self.holding("statement", hashes)

    def holding(self, column: str, values: Sequence[int]) -> dict[int, list[int]]:
        snapshot = self.snapshot
        held = snapshot.columns[column]
        rows = np.flatnonzero(np.isin(held, np.array(list(values), np.int64)) & snapshot.alive)
        out: dict[int, list[int]] = {}
        for row in rows.tolist():
            if snapshot.columns["state"][row] <= 1:
                out.setdefault(int(held[row]), []).append(int(snapshot.keys[row]))
        return out


def _best_weight(keys: Keys, edges: Edges, *, causal: bool) -> Floats:
    out = np.zeros(len(keys), np.float32)
    mine = np.flatnonzero(edges.causal == causal)
    if len(mine):
        np.maximum.at(out, np.searchsorted(keys, edges.target[mine]), edges.weight[mine])
    return out


def _nth_of_group(sorted_groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2 … within each run of equal values."""
    at = np.arange(len(sorted_groups))
    starts = at.copy()
    starts[1:][sorted_groups[1:] == sorted_groups[:-1]] = 0
    return at - np.maximum.accumulate(starts)

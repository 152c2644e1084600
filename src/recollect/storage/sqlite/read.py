"""A view of one bank: in-memory searches from the snapshot, rows from the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
import orjson
from numpy.typing import NDArray

from recollect.language.entities import EntityResolver
from recollect.storage.base import (
    Edges,
    Filter,
    Keys,
    Mentions,
    ModelIdentity,
)
from recollect.storage.entities import EntityCache
from recollect.storage.index.decoded import Decoded
from recollect.storage.index.record import KEY_BITS, KEY_MASK, STATE_CODE
from recollect.storage.index.snapshot import Snapshot
from recollect.storage.index.view import IndexedView
from recollect.storage.memory_row import MEMORY_COLUMNS, memory_from_row
from recollect.storage.moments import NEWEST, told_last
from recollect.storage.sqlite.connection import Execute
from recollect.storage.sqlite.rows import row_span
from recollect.types import TO_EFFECT, Chunk, LinkKind, Memory, State

# Strongest first; a cause and its effect are one link, whichever of them it was stored with.
_TO_EFFECT = ", ".join(f"'{kind}'" for kind in sorted(TO_EFFECT))
_SIDE = f"(kind IN ({_TO_EFFECT})) - (kind = '{LinkKind.CAUSED_BY}')"
_LINKS = f"""WITH seed AS (SELECT value AS key FROM json_each(?2)),
    linked AS (
      SELECT key, target AS other, {_SIDE} AS causal, weight FROM seed
        JOIN links ON links.bank = ?1 AND links.source = key
      UNION ALL
      SELECT key, source, -({_SIDE}), weight FROM seed
        JOIN links INDEXED BY links_target ON links.bank = ?1 AND links.target = key)
    SELECT key, other, causal, max(weight) FROM linked GROUP BY key, other, causal
    ORDER BY key, max(weight) DESC, other, causal"""
_NO_LINKS = np.empty((0, 4))
_LINKED_KEPT = 20_000  # memories of a bank whose links are kept


class SqliteView(IndexedView):
    def __init__(
        self,
        bank: str,
        number: int,
        model: ModelIdentity,
        snapshot: Snapshot,
        execute: Execute,
        decoded: Decoded,
        entities: EntityCache,
    ) -> None:
        self.bank = bank
        self.number = number
        self.model = model
        self.snapshot = snapshot
        self._execute = execute
        self._decoded = decoded
        self.entity_cache = entities

    def close(self) -> None:
        """Nothing to let go of: connections belong to threads, snapshots to whoever holds them."""

    def links_of(self, keys: Keys) -> Edges:
        wanted = sorted(set(keys.tolist()))
        found = {k: self.snapshot.links.get(k) for k in wanted}
        missing = [k for k in wanted if found[k] is None]
        if missing:
            found |= self._read_links(missing)
        table = np.concatenate([t for t in found.values() if t is not None] or [_NO_LINKS])
        return Edges(
            table[:, 0].astype(np.int64),
            table[:, 1].astype(np.int64),
            table[:, 3].astype(np.float32),
            table[:, 2].astype(np.int8),
        )

    def _read_links(self, keys: Sequence[int]) -> dict[int, NDArray[np.float64]]:
        """Kept with the snapshot: what is near to many queries is asked for again and again."""
        asked = orjson.dumps(keys).decode()
        rows = self._execute(_LINKS, (self.number, asked))
        table = np.fromiter(chain.from_iterable(rows), np.float64, 4 * len(rows)).reshape(-1, 4)
        cuts = table[:, 0].searchsorted(keys).tolist()
        found = {
            key: table[start:end]
            for key, start, end in zip(keys, cuts, [*cuts[1:], len(table)], strict=True)
        }
        held = self.snapshot.links
        if len(held) > _LINKED_KEPT:
            held.clear()
        held.update(found)
        return found

    # --- rows of the file ----------------------------------------------------------------

    def load(self, keys: Iterable[int]) -> dict[int, Memory]:
        """By key, in the order asked for; one deleted meanwhile is left out."""
        return self._decoded.load(keys, self._read)

    def _read(self, keys: Sequence[int]) -> dict[int, Memory]:
        ns = [self.number << KEY_BITS | k for k in keys]
        marks = ",".join("?" * len(ns))
        rows = self._execute(f"SELECT {MEMORY_COLUMNS} FROM memories m WHERE n IN ({marks})", ns)
        found = [row[0] & KEY_MASK for row in rows]
        named = self._named(np.array(found, np.int64))
        return {
            key: memory_from_row(self.bank, row, entities)
            for key, row, entities in zip(found, rows, named, strict=True)
        }

    def _named(self, keys: Keys) -> list[tuple[str, ...]]:
        """The names that each memory holds; none where one is newer than the snapshot."""
        names = self.entity_cache.names
        return [tuple([names[e] for e in ids if e in names]) for ids in self.entities_of(keys)]

    def newest(self) -> Memory | None:
        start, end = row_span(self.number)

        def page(below: int) -> list[tuple[int, int | None]]:
            rows = self._execute(
                """SELECT m.n, (SELECT min(r.n) FROM memories r WHERE r.bank = m.bank
                  AND r.id = m.id AND r.state = 'revised')
                FROM memories m WHERE m.n >= ? AND m.n < ? AND m.state <> 'revised'
                ORDER BY m.n DESC LIMIT ?""",
                (start, start + below, NEWEST),
            )
            return [
                (n & KEY_MASK, None if first is None else first & KEY_MASK) for n, first in rows
            ]

        last = told_last(page, end - start)
        return self.load([last]).get(last)

    def token_vectors(self, keys: Keys) -> list[NDArray[np.uint8] | None]:
        ns = (keys | self.number << KEY_BITS).tolist()
        marks = ",".join("?" * len(ns))
        found = dict(self._execute(f"SELECT n, data FROM tokens WHERE n IN ({marks})", ns))
        return [
            None if (data := found.get(n)) is None else np.frombuffer(data, np.uint8) for n in ns
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

    def said_in(self, chunk_ids: Iterable[str]) -> Mapping[str, Sequence[int]]:
        wanted = orjson.dumps(list(dict.fromkeys(chunk_ids))).decode()
        rows = self._execute(
            """WITH asked AS (SELECT c.id, c.document_id FROM json_each(?2) w
              JOIN chunks c ON c.bank = ?1 AND c.id = w.value)
            SELECT c.id, m.n & ?3 AS key FROM asked c
            JOIN memories m ON m.bank = ?1 AND m.document_id = c.document_id AND m.chunk_id = c.id
            WHERE m.state <> 'revised'
            UNION SELECT c.id, e.key FROM asked c
            JOIN evidence e ON e.bank = ?1 AND e.document_id = c.document_id AND e.chunk_id = c.id
            ORDER BY key""",
            (self.number, wanted, KEY_MASK),
        )
        out: dict[str, list[int]] = {}
        for chunk_id, key in rows:
            out.setdefault(chunk_id, []).append(key)
        return out

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

    def told_by(self, key: int) -> Sequence[str]:
        rows = self._execute(
            """SELECT DISTINCT document_id FROM evidence
            WHERE bank = ? AND key = ? AND document_id IS NOT NULL ORDER BY 1""",
            (self.number, key),
        )
        return [document_id for (document_id,) in rows]

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

"""The view inside a write transaction: what a plan may ask before it decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from recollect.storage.base import Ask, Filter, Floats, Found, Keys, ServedWriting
from recollect.storage.entities import EntityCache
from recollect.storage.index.nearest import (
    SLAB,
    Near,
    nearest_in_slab,
    nearest_of_many,
    nearest_of_slabs,
)
from recollect.storage.postgres.connection import HalfVectors
from recollect.storage.postgres.fetched import HEAD, unpacked, vector_type
from recollect.storage.postgres.filters import clause
from recollect.storage.postgres.held_view import HeldView
from recollect.storage.postgres.holding import Holding
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.search import first_try, index_settings
from recollect.storage.postgres.session import Head, WriteSession
from recollect.storage.postgres.view import PostgresView, ServerView
from recollect.storage.ranking import exact_dots, top
from recollect.types import Memory

_FEW = 8  # vectors; more are cheaper compared with the bank's all at once
NEIGHBOURS_EF = 32  # how wide the index looks for the few nearest of a new memory: finds them all


class _Rows(ServerView):
    """What a plan asks that only the server knows. The bank's row is locked, so what is read is
    what the commit changes."""

    @property
    def next_key(self) -> int:
        return self.head.next_key

    @property
    def next_entity(self) -> int:
        return self.head.next_entity

    def mentioned(self, key: int, at: int, document_id: str | None) -> bool:
        """Whether this memory was told at this very moment by this document before."""
        return bool(self.fetch("mentioned", key=key, at=at, document=document_id))

    def document_keys(self, document_id: str) -> Sequence[int]:
        return [k for (k,) in self.fetch("document_keys", id=document_id)]

    def document_chunk_count(self, document_id: str) -> int:
        return self.fetch("chunk_count", id=document_id)[0][0]


class HeldWritingView(HeldView, _Rows):
    """Of a bank that this process holds."""


class WritingView(PostgresView, _Rows, ServedWriting):
    """Of one that the server searches."""

    def __init__(
        self, bank: str, head: Head, session: WriteSession, entities: EntityCache, holding: Holding
    ) -> None:
        super().__init__(bank, head, session, entities)
        self._holding = holding
        self._tried: dict[int, bool] = {}  # keys, and whether anybody may see them
        self._loaded: dict[int, Memory] = {}

    def nearest(self, vectors: Floats, k: int, floor: float) -> list[Found]:
        """For each new vector its nearest present memories. A few ask the database one by one. For
        many the bank is read once and held: whoever writes many memories at once goes on so, and
        the database would compare them pair by pair, at fifty times the cost."""
        if len(vectors) < _FEW:
            return [self.semantic(v, Filter(), k, floor) for v in vectors]
        if self._holding.pays(self.bank, self.head, len(vectors)):
            held = self._holding.take(self.bank, self.head, self.session)
            if held is not None:
                seen = held.snapshot.mask(Filter())
                return nearest_of_many(held.snapshot, vectors, seen, k, floor)
        rest = nearest_of_slabs(list(self._later(vectors, k, floor)), len(vectors), k)
        if not self.head.indexed_key:
            return rest
        near = self._nearest_indexed(vectors, k, floor)
        return [_merged(a, b, k) for a, b in zip(near, rest, strict=True)]

    def _later(self, vectors: Floats, k: int, floor: float) -> Iterator[Near]:
        """Among what no index holds yet, a slab at a time."""
        kind, after = vector_type(self.head.dimensions), self.head.indexed_key
        while True:
            rows = unpacked(self.blob("slab", Filter(), after=after, limit=SLAB), kind)
            if len(rows):
                keys = rows["key"].astype(np.int64)
                yield nearest_in_slab(vectors, keys, rows["vector"].astype(np.float16), k, floor)
                after = int(keys[-1])
            if len(rows) < SLAB:
                return

    def _nearest_indexed(self, vectors: Floats, k: int, floor: float) -> list[Found]:
        """All in one statement, each by the index."""
        condition, values = clause(Filter())
        given = {
            "bank": self.bank,
            **values,
            "vectors": HalfVectors(vectors),
            "near": k + 4,
            "indexed": self.head.indexed_key,
        }
        sql = query("nearest_indexed", condition, self.head.dimensions)
        settings = index_settings(k, NEIGHBOURS_EF)
        rows = self.session.fetch(sql, given, prepare=False, settings=settings)
        found: dict[int, list[tuple[int, bytes]]] = {}
        for number, key, vector in rows:
            found.setdefault(number - 1, []).append((key, vector))
        return [self._scored_again(v, found.get(n, []), k, floor) for n, v in enumerate(vectors)]

    def _scored_again(
        self, vector: Floats, rows: Sequence[tuple[int, bytes]], k: int, floor: float
    ) -> Found:
        keys = np.array([key for key, _ in rows], np.int64)
        sent = b"".join(data[HEAD:] for _, data in rows)
        held = np.frombuffer(sent, ">f2").reshape(-1, self.head.dimensions).astype(np.float16)
        scores = exact_dots(vector, held)
        over = scores >= floor
        return Found(*top(scores[over], keys[over], k))

    # --- looked up by words, many at once --------------------------------------------------------

    def expect(self, lookups: Sequence[Sequence[int]], k: int) -> None:
        terms = dict.fromkeys(term for lookup in lookups for term in lookup)
        if not terms:
            return
        self.gather(Ask(None, tuple(terms), Filter(), 0))
        best = [self._best(lookup, k) for lookup in lookups]
        keys = np.unique(np.concatenate(best))
        passed = self.allows(keys, Filter())
        self._tried |= zip(keys.tolist(), passed.tolist(), strict=True)
        wanted = {key for found in best for key in self._passing(found, Filter(), k)[:k].tolist()}
        self._loaded |= super().load(sorted(wanted))

    def _best(self, terms: Sequence[int], k: int) -> Keys:
        """As many as `keyword` tries first."""
        scores = self._scored(terms)
        keys = np.flatnonzero(scores > 0)
        return top(scores[keys], keys, first_try(k, Filter()))[0]

    def _passing(self, keys: Keys, allowed: Filter, k: int) -> Keys:
        if allowed == Filter() and all(key in self._tried for key in keys.tolist()):
            return keys[[self._tried[key] for key in keys.tolist()]]
        return super()._passing(keys, allowed, k)

    def load(self, keys: Iterable[int]) -> Mapping[int, Memory]:
        wanted = list(keys)
        missing = [key for key in wanted if key not in self._loaded]
        found = {**self._loaded, **(super().load(missing) if missing else {})}
        return {key: found[key] for key in wanted if key in found}


def _merged(one: Found, two: Found, k: int) -> Found:
    return Found(
        *top(np.concatenate([one.scores, two.scores]), np.concatenate([one.keys, two.keys]), k)
    )

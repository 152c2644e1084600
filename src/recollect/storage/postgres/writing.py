"""The view inside a write transaction: what a plan may ask before it decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pgvector import HalfVector

from recollect.storage.base import Filter, Floats, Found
from recollect.storage.postgres.filters import clause
from recollect.storage.postgres.held import HEAD, unpacked, vector_type
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.search import index_settings
from recollect.storage.postgres.view import PostgresView
from recollect.storage.ranking import exact_dots, top
from recollect.storage.sqlite.nearest import Near, nearest_in_slab, nearest_of_slabs

_FEW = 8  # vectors; more are cheaper compared with the bank's all at once
SLAB = 8_192  # vectors read at a time
NEIGHBOURS_EF = 32  # how wide the index looks for the few nearest of a new memory: finds them all


class WritingView(PostgresView):
    """The bank's row is locked, so what this view reads is what the commit changes."""

    @property
    def next_key(self) -> int:
        return self.head.next_key

    @property
    def next_entity(self) -> int:
        return self.head.next_entity

    def nearest(self, vectors: Floats, k: int, floor: float) -> list[Found]:
        """For each new vector its nearest present memories. A few ask the database one by one.
        For many the vectors come here, a slab at a time, into one matrix product: the
        database would compare them pair by pair, at fifty times the cost."""
        if len(vectors) < _FEW:
            return [self.semantic(v, Filter(), k, floor) for v in vectors]
        indexed = self.head.indexed_key
        rest = self._nearest_of_many(vectors, k, floor, after=indexed)
        if not indexed:
            return rest
        near = self._nearest_indexed(vectors, k, floor)
        return [_merged(a, b, k) for a, b in zip(near, rest, strict=True)]

    def _nearest_of_many(self, vectors: Floats, k: int, floor: float, after: int) -> list[Found]:
        kind = vector_type(self.head.dimensions)
        parts: list[Near] = []
        while True:
            rows = unpacked(self._blob("slab", Filter(), after=after, limit=SLAB), kind)
            if len(rows):
                keys = rows["key"].astype(np.int64)
                held = rows["vector"].astype(np.float16)
                parts.append(nearest_in_slab(vectors, keys, held, k, floor))
                after = int(keys[-1])
            if len(rows) < SLAB:
                return nearest_of_slabs(parts, len(vectors), k)

    def _nearest_indexed(self, vectors: Floats, k: int, floor: float) -> list[Found]:
        """All in one statement, each by the index."""
        condition, values = clause(Filter())
        given = {
            "bank": self.bank,
            **values,
            "vectors": [HalfVector(v).to_text() for v in vectors],
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

    def mentioned(self, key: int, at: int, document_id: str | None) -> bool:
        """Whether this memory was told at this very moment by this document before."""
        return bool(self.fetch("mentioned", key=key, at=at, document=document_id))

    def document_keys(self, document_id: str) -> Sequence[int]:
        return [k for (k,) in self.fetch("document_keys", id=document_id)]

    def document_chunk_count(self, document_id: str) -> int:
        return self.fetch("chunk_count", id=document_id)[0][0]


def _merged(one: Found, two: Found, k: int) -> Found:
    return Found(
        *top(np.concatenate([one.scores, two.scores]), np.concatenate([one.keys, two.keys]), k)
    )

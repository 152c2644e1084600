"""The view inside a write transaction: what a plan may ask before it decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pgvector import HalfVector

from recollect.storage.base import Filter, Floats, Found
from recollect.storage.postgres.filters import clause
from recollect.storage.postgres.held import unpacked, vector_type
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.search import index_settings
from recollect.storage.postgres.view import PostgresView
from recollect.storage.ranking import exact_dots, top
from recollect.storage.sqlite.nearest import Near, nearest_in_slab, nearest_of_slabs

_FEW = 8  # vectors; more are cheaper compared with the bank's all at once
SLAB = 8_192  # vectors read at a time
NEIGHBOURS_EF = 64  # how wide the index looks for the few nearest of a new memory


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
        near = [self._nearest_indexed(v, k, floor) for v in vectors]
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

    def _nearest_indexed(self, vector: Floats, k: int, floor: float) -> Found:
        condition, values = clause(Filter())
        given = {
            "bank": self.bank,
            **values,
            "vector": HalfVector(vector),
            "near": 2 * k,
            "indexed": self.head.indexed_key,
        }
        sql = query("nearest_indexed", condition, self.head.dimensions)
        settings = index_settings(2 * k, NEIGHBOURS_EF)
        blob = self.session.fetch(sql, given, prepare=False, settings=settings)[0][0]
        rows = unpacked(blob, vector_type(self.head.dimensions))
        scores = exact_dots(vector, rows["vector"].astype(np.float16))
        over = scores >= floor
        return Found(*top(scores[over], rows["key"].astype(np.int64)[over], k))

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

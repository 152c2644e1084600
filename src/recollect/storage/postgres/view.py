"""A view of one bank: one state of it, read over one connection."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.language.entities import EntityResolver
from recollect.storage.base import (
    Filter,
    GatheringView,
    Keys,
    Mentions,
    ModelIdentity,
    ServedView,
    Usage,
)
from recollect.storage.memory_row import MEMORY_WIDTH, memory_from_row
from recollect.storage.moments import NEWEST, told_last
from recollect.storage.postgres.asking import Asking, listed
from recollect.storage.postgres.search import Searching
from recollect.types import Chunk, Memory


class ServerView(Asking, ServedView):
    """What is read of a bank row by row, whoever searches it."""

    def close(self) -> None:
        """Give the connection back. What is asked later is read from the same state, if the bank
        has not changed."""
        self.session.close()

    @abstractmethod
    def allows(self, keys: Keys, allowed: Filter) -> NDArray[np.bool_]: ...

    @property
    def model(self) -> ModelIdentity:
        return self.head.model

    @property
    def usage(self) -> Usage:
        return self.session.usage

    @property
    def resolver(self) -> EntityResolver:
        return self.entity_cache.resolver

    # --- memories ----------------------------------------------------------------------------

    def load(self, keys: Iterable[int]) -> Mapping[int, Memory]:
        """By key, in the order asked for."""
        wanted = [int(k) for k in keys]
        rows = self.fetch("load", keys=listed(wanted)) if wanted else []
        names = self.entity_cache.names
        found: dict[int, Memory] = {}
        for row in rows:
            named = row[MEMORY_WIDTH]
            entities = tuple([names[e] for e in named if e in names]) if named else ()
            found[row[0]] = memory_from_row(self.bank, row, entities)
        return {k: found[k] for k in wanted if k in found}

    def newest(self) -> Memory | None:
        last = told_last(
            lambda below: self.fetch("newest", below=below, limit=NEWEST), self.head.next_key
        )
        return self.load([last]).get(last)

    def token_vectors(self, keys: Keys) -> list[NDArray[np.uint8] | None]:
        found = dict(self.fetch("token_vectors", keys=listed(keys)))
        return [np.frombuffer(found[k], np.uint8) if k in found else None for k in keys.tolist()]

    def key_of(self, memory_id: str, as_of: int | None = None) -> int | None:
        rows = self.fetch("keys_of", id=memory_id)
        if not rows or not rows[0][1]:
            return None
        keys = np.array([key for key, _ in rows], np.int64)
        if as_of is not None:
            then = keys[self.allows(keys, Filter(as_of=as_of))]
            return int((then if len(then) else keys)[0])
        return int(keys[0])

    def mentions(self, keys: Keys, as_of: int) -> Mapping[int, Mentions]:
        found = self.fetch("mentions_then", keys=listed(keys), as_of=as_of)
        return {key: Mentions(int(later), last) for key, later, last in found if later}

    def told_by(self, key: int) -> Sequence[str]:
        return [document_id for (document_id,) in self.fetch("told_by", key=key)]

    def following(self, key: int) -> Sequence[int]:
        return [k for (k,) in self.fetch("following", key=key)]

    def standing(self, keys: Keys, allowed: Filter) -> Keys:
        out = np.where(self.allows(keys, allowed), keys, 0)
        hidden = np.flatnonzero((out == 0) & (keys > 0))
        if len(hidden):
            rows = self.fetch("standing", allowed, keys=listed(keys[hidden]))
            shown: dict[int, int] = dict(rows)
            out[hidden] = [shown.get(k, 0) for k in keys[hidden].tolist()]
        return out

    # --- documents and statements --------------------------------------------------------------

    def chunks(self, ids: Iterable[str]) -> Mapping[str, Chunk]:
        rows = self.fetch("chunks_by_id", ids=list(dict.fromkeys(ids)))
        return {row[0]: Chunk(*row) for row in rows}

    def said_in(self, chunk_ids: Iterable[str]) -> Mapping[str, Sequence[int]]:
        out: dict[str, list[int]] = {}
        for chunk_id, key in self.fetch("said_in", ids=list(dict.fromkeys(chunk_ids))):
            out.setdefault(chunk_id, []).append(key)
        return out

    def document_hash(self, document_id: str) -> bytes | None:
        rows = self.fetch("document_hash", id=document_id)
        return rows[0][0] if rows else None


class PostgresView(Searching, ServerView, GatheringView):
    """Of a bank that the server searches."""

    @property
    def seq(self) -> int:
        return self.head.seq

    @property
    def size(self) -> int:
        return self.head.size

    def same_statement(self, hashes: Sequence[int]) -> Mapping[int, Sequence[int]]:
        return _grouped(self.fetch("same_statement", hashes=list(hashes)))

    def same_slot(self, hashes: Sequence[int]) -> Mapping[int, Sequence[int]]:
        return _grouped(self.fetch("same_slot", hashes=[h for h in hashes if h]))


def _grouped(rows: Iterable[tuple[Any, ...]]) -> dict[int, list[int]]:
    out: dict[int, list[int]] = {}
    for value, key in rows:
        out.setdefault(value, []).append(key)
    return out

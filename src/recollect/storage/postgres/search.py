"""The searches of a view: arms, links, filters, all inside the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from recollect.storage.base import (
    Ask,
    Columns,
    Edges,
    Expansion,
    Filter,
    Floats,
    Found,
    Keys,
    Sharing,
)
from recollect.storage.entities import EntityCache
from recollect.storage.postgres.asking import TO_EFFECT_KINDS, Asking, edges_of, listed
from recollect.storage.postgres.fetched import (
    RECORD_ROW,
    WINDOW_ROW,
    Fetched,
    columns,
    unpacked,
)
from recollect.storage.postgres.filters import clause
from recollect.storage.postgres.postings import FieldTotals, Postings
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.session import NO_SETTINGS, Head, LocalSettings, Session
from recollect.storage.ranking import SIFTED, exact_dots, top, widened

SAMPLE = 256  # memories looked at to estimate how many a filter lets through
FEW = 0.02  # of keywords' matches that pass a filter: below, all that passes it is asked for
# Looking at each memory costs 0.6 µs, the index about 20 ms for 400 answers and more where a
# filter makes it wade: so many are looked at one by one, and so many for each answer wanted
# (benchmarks/postgres.py; 100,000 memories, no filter to 1 %).
LOOKED_AT, LOOKED_AT_EACH = 20_000, 75
# How wide the index is searched: 0.988 of what an exact search finds of 300 answers, 0.996 of 100.
# pgvector takes no more than 1000.
LEAST_EF, MOST_EF = 600, 1000
_EXPANDED = np.dtype([("key", ">i8"), ("shared", ">f4"), ("semantic", ">f4"), ("causal", ">f4")])
_SHARED = np.dtype([("mine", ">i8"), ("other", ">i8"), ("shared", ">f4")])
_SIMILAR = np.dtype([("key", ">i8"), ("similar", ">f4")])
_KEY = np.dtype(">i8")
_EVER = 1 << 61  # microseconds: beyond every date
LASTING = 40 * 86_400_000_000  # longer is found by an index of its own, as the queries have it


@dataclass(frozen=True, slots=True)
class _Near:
    """What the semantic arm brought: enough for `near` answers to one vector."""

    vector: Floats
    allowed: Filter
    near: int
    keys: Keys


@dataclass(frozen=True, slots=True)
class _Inside:
    """What the temporal arm brought."""

    start: int | None
    end: int | None
    allowed: Filter
    vector: Floats
    rows: NDArray[np.void]


class Searching(Asking):
    """The search half of a view that asks the server for everything."""

    def __init__(self, bank: str, head: Head, session: Session, entities: EntityCache) -> None:
        super().__init__(bank, head, session, entities)
        self.fetched = Fetched(head.dimensions)
        fields = FieldTotals(np.array(head.field_length), np.array(head.field_count))
        self._postings = Postings(head.size, head.next_key, fields)
        self._near: _Near | None = None
        self._inside: _Inside | None = None
        self._shares: dict[Filter, float] = {}

    # --- the arms, together ------------------------------------------------------------------

    def gather(self, ask: Ask) -> None:
        """Everything the semantic, keyword and temporal arms need, in one statement; they then
        answer from it."""
        parts: list[bytes] = []
        given: dict[str, Any] = {"bank": self.bank}
        condition, values = clause(ask.allowed)
        given |= values
        settings = NO_SETTINGS
        near = _slack(ask.depth)
        if ask.vector is not None:
            given |= {"vector": HalfVector(ask.vector), "near": near}
            arm, settings = self._semantic_arm(ask.allowed, near, given)
            parts.append(query(arm, condition, self.head.dimensions))
        terms = self._postings.missing(ask.terms)
        if terms:
            given["terms"] = terms
            parts.append(query("arm_keyword"))
        if ask.window is not None and ask.vector is not None:
            given |= _bounds(*ask.window)
            parts.append(query("arm_temporal", condition))
        if not parts:
            return
        # Planned anew each time: a plan for all banks at once would suit none of them, and only
        # one that knows the bank can use its index.
        rows = self.session.fetch(
            b"\nUNION ALL\n".join(b"(" + part + b")" for part in parts),
            given,
            prepare=False,
            settings=settings,
        )
        self._learn(ask, near, terms, rows)

    def _learn(self, ask: Ask, near: int, terms: list[int], rows: list[tuple[Any, ...]]) -> None:
        if ask.vector is not None:
            found = {arm: data for arm, _, _, data in rows if arm != "k"}
            self._near = _Near(ask.vector, ask.allowed, near, self.fetched.add(found["s"]))
            if "t" in found:
                inside = np.sort(unpacked(found["t"], WINDOW_ROW), order="key")
                self._inside = _Inside(
                    *(ask.window or (None, None)), ask.allowed, ask.vector, inside
                )
        self._postings.learn(terms, [row[1:] for row in rows if row[0] == "k"])

    def _semantic_arm(
        self, allowed: Filter, near: int, given: dict[str, Any]
    ) -> tuple[str, LocalSettings]:
        """Which way to the nearest, and the settings it needs."""
        if not self.uses_index(allowed, near):
            return "arm_semantic_exact", NO_SETTINGS
        given["indexed"] = self.head.indexed_key
        return "arm_semantic_indexed", index_settings(near)

    def uses_index(self, allowed: Filter, near: int) -> bool:
        """Whether the index is worth it: estimated from memories drawn evenly over the bank, not
        from the server's statistics, which lag behind what was written."""
        if not self.head.indexed_key:
            return False
        share = 1.0 if allowed == Filter() else self._shares.get(allowed)
        if share is None:
            drawn = np.unique(np.linspace(1, self.head.next_key - 1, SAMPLE).astype(np.int64))
            there, passed = self.fetch("sample", allowed, keys=listed(drawn))[0]
            share = self._shares[allowed] = passed / max(there, 1)
        return share * self.head.size > max(LOOKED_AT, LOOKED_AT_EACH * near)

    # --- semantic ----------------------------------------------------------------------------

    def semantic(self, vector: Floats, allowed: Filter, k: int, floor: float) -> Found:
        near = _slack(k)
        held = self._near
        if (
            held is None
            or held.near < near
            or held.allowed != allowed
            or not np.array_equal(held.vector, vector)
        ):
            self.gather(Ask(vector, (), allowed, k))
            held = self._near
        assert held is not None
        # The database rounds the query to half precision; what is near the top is scored again
        # in full, as in every store.
        exact = exact_dots(vector, self.fetched.vectors[self.fetched.rows(held.keys)])
        over = exact >= floor
        return Found(*top(exact[over], held.keys[over], k))

    def similarity(self, vector: Floats, keys: Keys) -> Floats:
        """Exact for what is ranked against each other; a whole window of thousands is only sifted."""
        if len(keys) <= SIFTED:
            self._hold(keys)
            known = self.fetched.has(keys)
            scores = np.zeros(len(keys), np.float32)
            scores[known] = exact_dots(vector, self.fetched.vectors[self.fetched.rows(keys[known])])
            return scores
        inside = self._inside
        if inside is None or not np.array_equal(inside.vector, vector):
            blob = self.blob("similar", keys=listed(keys), vector=HalfVector(vector))
            rows = np.sort(unpacked(blob, _SIMILAR), order="key")
        else:
            rows = inside.rows
        scores, known = _aligned(rows["key"], rows["similar"], keys)
        return np.where(known, scores, 0).astype(np.float32)

    def vectors(self, keys: Keys) -> Floats:
        self._hold(keys)
        known = self.fetched.has(keys)
        out = np.zeros((len(keys), self.fetched.vectors.shape[1]), np.float32)
        out[known] = widened(self.fetched.vectors[self.fetched.rows(keys[known])])
        return out

    def _hold(self, keys: Keys) -> None:
        """Read what is not here yet of these."""
        missing = np.unique(self.fetched.missing(keys))
        if len(missing):
            self._read(missing)

    def _read(self, keys: Keys, allowed: Filter | None = None) -> Keys:
        """Those of the keys that may be seen, now here."""
        blank = self.fetched.blank
        return self.fetched.add(self.blob("allowed_rows", allowed, keys=listed(keys), blank=blank))

    # --- keyword -----------------------------------------------------------------------------

    def keyword(self, terms: Sequence[int], allowed: Filter, k: int) -> Found:
        """Best first, so many at a time as the filter may leave, until k have passed it."""
        scores = self._scored(terms)
        keys = np.flatnonzero(scores > 0)
        take, tried, passed = first_try(k, allowed), 0, np.empty(0, np.int64)
        while tried < len(keys) and len(passed) < k:
            if tried and len(passed) < FEW * tried:  # hardly anything passes: ask for all that does
                every = unpacked(self.blob("all_allowed_keys", allowed, prepare=False), _KEY)
                passed = keys[np.isin(keys, every.astype(np.int64))]
                break
            best, _ = top(scores[keys], keys, tried + take)
            passed = np.concatenate([passed, self._passing(best[tried:], allowed, k)])
            tried, take = tried + take, 2 * take
        return Found(*top(scores[passed], passed, k))

    def _passing(self, keys: Keys, allowed: Filter, k: int) -> Keys:
        """Those that the filter lets through. What the bank's row tells need not be asked. A few are
        read whole: they will be asked about. What the semantic arm brought has passed it already."""
        withdrawn = self.head.withdrawn
        if withdrawn is not None and allowed == Filter():
            return keys[~np.isin(keys, withdrawn)] if withdrawn else keys
        if len(keys) <= 2 * k + 32:
            near = self._near
            passed = near.keys if near is not None and near.allowed == allowed else keys[:0]
            known = np.isin(keys, passed)
            new = keys[~known]
            return np.concatenate([keys[known], self._read(new, allowed)]) if len(new) else keys
        return unpacked(self.blob("allowed_keys", allowed, keys=listed(keys)), _KEY).astype(
            np.int64
        )

    def _scored(self, terms: Sequence[int]) -> Floats:
        if self._postings.missing(terms):
            self.gather(Ask(None, terms, Filter(), 0))
        return self._postings.scores(terms)

    def keyword_scores(self, terms: Sequence[int], keys: Keys) -> Floats:
        return self._scored(terms)[keys]

    def keyword_ceiling(self, terms: Sequence[int]) -> float:
        self._scored(terms)
        return self._postings.ceiling(terms)

    # --- time --------------------------------------------------------------------------------

    def window(self, start: int | None, end: int | None, allowed: Filter) -> Keys:
        held = self._inside
        if held is not None and (held.start, held.end, held.allowed) == (start, end, allowed):
            return held.rows["key"].astype(np.int64)
        blob = self.blob("window_keys", allowed, **_bounds(start, end), prepare=False)
        return unpacked(blob, _KEY).astype(np.int64)

    # --- links -------------------------------------------------------------------------------

    def _hanging(self, name: str, allowed: Filter, **given: Any) -> list[tuple[Any, ...]]:
        """Of memories that names and links lead to. How to sort out those that are withdrawn is
        planned anew where they may be many: a plan for all banks at once expects few."""
        prepare = False if self.head.withdrawn is None else None
        return self.fetch(name, allowed, prepare=prepare, **given)

    def expand(
        self, seeds: Keys, allowed: Filter, per_entity: int, entities: Sequence[int]
    ) -> Expansion:
        given = {"keys": listed(seeds), "entities": listed(entities), "limit": per_entity}
        rows = unpacked(
            self._hanging("expand", allowed, **given, to_effect=TO_EFFECT_KINDS)[0][0], _EXPANDED
        )
        return Expansion(
            rows["key"].astype(np.int64),
            rows["shared"].astype(np.float32),
            rows["semantic"].astype(np.float32),
            rows["causal"].astype(np.float32),
        )

    def edges(self, keys: Keys, allowed: Filter, per_node: int) -> Edges:
        """Stored links of `keys`, both ways, at most `per_node` of the strongest from each."""
        given = {"keys": listed(keys), "limit": per_node, "to_effect": TO_EFFECT_KINDS}
        return edges_of(self._hanging("edges", allowed, **given)[0][0])

    def sharing(self, keys: Keys, allowed: Filter, per_entity: int) -> Sharing:
        """For each of `keys` by itself, who shares entities with it, and how many."""
        given = {"keys": listed(keys), "limit": per_entity}
        rows = unpacked(self._hanging("sharing", allowed, **given)[0][0], _SHARED)
        asked = np.argsort(keys, kind="stable")  # and answered in that order
        place = asked[np.searchsorted(keys, rows["mine"].astype(np.int64), sorter=asked)]
        rows = rows[np.argsort(place, kind="stable")]
        return Sharing(
            rows["mine"].astype(np.int64),
            rows["other"].astype(np.int64),
            rows["shared"].astype(np.float32),
        )

    def entities_of(self, keys: Keys) -> list[list[int]]:
        found = dict(self.fetch("entities_of", keys=listed(keys)))
        return [list(found.get(key, ())) for key in keys.tolist()]

    def naming(
        self, entities: Sequence[int], allowed: Filter, limit: int
    ) -> list[tuple[Keys, int]]:
        rows = self._hanging("naming", allowed, entities=listed(entities), limit=limit)
        found = {e: (np.array(newest[::-1], np.int64), count) for e, count, newest in rows}
        nobody = (np.empty(0, np.int64), 0)
        out = [found.get(entity, nobody) for entity in entities]
        if out:  # how near each is to the query is asked next, name by name
            self._hold(np.unique(np.concatenate([keys for keys, _ in out])))
        return out

    # --- what is known of given memories -------------------------------------------------------

    def columns(self, keys: Keys) -> Columns:
        if len(keys) <= SIFTED:
            self._hold(keys)
            return columns(keys, self.fetched.records[self.fetched.rows(keys)])
        if self._inside is not None and np.isin(keys, self._inside.rows["key"]).all():
            rows = self._inside.rows
        else:
            blob = self.blob("allowed_records", keys=listed(keys))
            rows = np.sort(unpacked(blob, RECORD_ROW), order="key")
        records, _ = _aligned(rows["key"], rows["record"], keys)
        return columns(keys, records)

    def allows(self, keys: Keys, allowed: Filter) -> NDArray[np.bool_]:
        wanted = np.unique(keys[keys > 0])
        if not len(wanted):
            return np.zeros(len(keys), np.bool_)
        blob = self.blob("allowed_keys", allowed, keys=listed(wanted))
        return np.isin(keys, unpacked(blob, _KEY).astype(np.int64))


def first_try(k: int, allowed: Filter) -> int:
    """Of the best by words, so many are looked at first to find `k` that pass the filter: hardly
    anything is withdrawn; of another filter nobody knows."""
    return k + k // 32 + 8 if allowed == Filter() else 4 * (k + 32)


def index_settings(near: int, least: int = LEAST_EF) -> LocalSettings:
    """On whichever node the bank lives: look as wide as the answer is, and go on until enough have
    passed the filter (without, one that lets a third through leaves half the answer). Sorting is
    ruled out meanwhile, or a server with old statistics may read the whole bank and sort it."""
    ef = min(MOST_EF, max(least, near + near // 2))
    return LocalSettings(
        (
            b"SET LOCAL citus.propagate_set_commands = 'local'",
            f"SET LOCAL hnsw.ef_search = {ef}".encode(),
            b"SET LOCAL hnsw.iterative_scan = 'relaxed_order'",
            b"SET LOCAL hnsw.max_scan_tuples = 100000",
            b"SET LOCAL enable_sort = off",
        ),
        (b"SET LOCAL enable_sort = on",),
    )


def _bounds(start: int | None, end: int | None) -> dict[str, Any]:
    """Of a window; what does not last long overlaps it only if it began `soonest` or later."""
    first = -_EVER if start is None else start
    return {"start": first, "soonest": first - LASTING, "end": _EVER if end is None else end}


def _slack(k: int) -> int:
    """So many are fetched to be scored in full: the database rounds the query alone, by 1e-4."""
    return k + k // 8 + 32


def _aligned(
    held: NDArray[Any], values: NDArray[Any], keys: Keys
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Of ascending `held`, the values of `keys`, and which of them are there."""
    at = np.minimum(np.searchsorted(held.astype(np.int64), keys), max(len(held) - 1, 0))
    if not len(held):
        return np.zeros(len(keys), values.dtype), np.zeros(len(keys), np.bool_)
    return values[at], held[at] == keys

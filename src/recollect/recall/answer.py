"""Answer: what of a ranking is given back, and what each hit can tell of itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from recollect.config import Settings
from recollect.errors import InvalidInput
from recollect.recall.answerable import Verdict
from recollect.recall.companions import entity_states, source_facts, without_sources
from recollect.recall.explain import explain, matched
from recollect.recall.pack import pack, pack_chunks
from recollect.recall.pool import Pool
from recollect.recall.relevance import Calibration
from recollect.recall.request import RecallRequest
from recollect.recall.result import RecallResult, Trace
from recollect.recall.retrieve import Retrieved
from recollect.recall.then import columns_then, memories_then
from recollect.recall.understand import Query
from recollect.storage.base import Filter, Keys, ServedView, Usage, View
from recollect.telemetry import Run
from recollect.types import (
    Arm,
    ArmScore,
    Band,
    Explanation,
    Hit,
    Memory,
    MemoryType,
    StageScores,
)
from recollect.types.making import maker

HOP_FACTOR = 0.5  # a neighbour brought in by expand_hops, of its parent's score
HOP_PARENTS = 10
_make_hit = maker(Hit)
_Rows = NDArray[np.int64] | slice
_ALL = slice(None)


class StageColumns(NamedTuple):
    """`StageScores` of many hits."""

    relevance: list[float | None]
    semantic: list[float | None]
    keyword: list[float | None]


@dataclass(frozen=True)
class Ranked:
    """Everything known just before packing; `why` reads it, too."""

    query: Query
    pool: Pool
    rows: NDArray[np.int64]  # best first
    calibration: Calibration | None
    retrieved: Retrieved
    depth: int
    verdict: Verdict

    @cached_property
    def said(self) -> tuple[list[float], list[float | None], list[float | None]]:
        """Of every row in short: relevance, similarity, keyword score. Whoever asks one hit asks
        them all, and one by one the columns are slow to read."""
        pool = self.pool
        return pool.relevance.tolist(), _scores(pool, Arm.SEMANTIC), _scores(pool, Arm.KEYWORD)


def _scores(pool: Pool, arm: Arm, rows: _Rows = _ALL) -> list[float | None]:
    column = pool.arms.get(arm)
    if column is None:
        return [None] * len(pool.keys[rows])
    found = zip(column.rank[rows].tolist(), column.score[rows].tolist(), strict=True)
    return [score if rank else None for rank, score in found]


def stage_columns(hits: Sequence[Hit]) -> StageColumns:
    """`stages` of many hits, a column for each number: one by one they take ten times as long."""
    details = [hit.detail for hit in hits]
    first = details[0]
    if not isinstance(first, _Detail) or len(set(map(type, details))) > 1:  # some came along
        return StageColumns(*map(list, zip(*[hit.stages for hit in hits], strict=True)))
    pool, rows = first.ranked.pool, np.array([d.row for d in cast("list[_Detail]", details)])
    relevance: list[float | None] = pool.relevance[rows].tolist()
    return StageColumns(
        relevance, _scores(pool, Arm.SEMANTIC, rows), _scores(pool, Arm.KEYWORD, rows)
    )


def lowest(request: RecallRequest, settings: Settings) -> float:
    """The floor on final scores."""
    floor = settings.min_score if request.min_score is None else request.min_score
    return max(floor, request.floors.final or 0.0)


def considered(ranked: Ranked, request: RecallRequest, settings: Settings) -> NDArray[np.int64]:
    floor, relevant = lowest(request, settings), request.floors.reranker or 0.0
    rows = ranked.rows[: 2 * ranked.depth]
    if relevant > 0 and ranked.calibration is None:
        raise InvalidInput(
            "min_scores.reranker needs a score that means something; rrf scores by rank alone",
            hint="leave it out, or open the store with another reranker",
        )
    if relevant > 0:
        rows = rows[ranked.pool.relevance[rows] >= relevant]
    return rows[ranked.pool.score[rows] >= floor] if floor > 0 else rows


def chosen(
    view: View, ranked: Ranked, request: RecallRequest, settings: Settings
) -> NDArray[np.int64]:
    """The rows that packing is offered, best first."""
    rows = considered(ranked, request, settings)
    if not request.prefer_observations:
        return rows
    return without_sources(view, ranked.pool, rows, request.max_tokens)


def packed(view: View, ranked: Ranked, request: RecallRequest, settings: Settings) -> list[Hit]:
    """The answer: what fits, and then its neighbours where they were asked for."""
    rows = chosen(view, ranked, request, settings)
    taken = pack(ranked.pool, rows, request.max_tokens)
    hits = _hits(view, ranked, taken, request.allowed.as_of)
    if request.expand_hops:
        floor = lowest(request, settings)
        hits += [h for h in _neighbours(view, ranked, request, hits) if h.score >= floor]
    return hits


def bands_of(ranked: Ranked) -> tuple[float, float]:
    """From where a score is strong, and from where it may be one. When nothing is known all of it
    is noise; when something is, then at least the best is not."""
    if not ranked.verdict.known:
        return math.inf, math.inf
    calibration = ranked.calibration
    strong, maybe = (0.7, 0.3) if calibration is None else (calibration.strong, calibration.maybe)
    return strong, min(maybe, float(ranked.pool.score[ranked.rows[0]]))


def band_of(score: float, bands: tuple[float, float]) -> Band:
    strong, maybe = bands
    return Band.STRONG if score >= strong else Band.MAYBE if score >= maybe else Band.NOISE


def _hits(view: View, ranked: Ranked, rows: list[int], as_of: int | None) -> list[Hit]:
    pool = ranked.pool
    keys = pool.keys[rows].tolist()
    loaded = memories_then(view, view.load(keys), pool.columns, as_of)
    if len(loaded) < len(keys):  # some were deleted meanwhile
        rows = [row for row, key in zip(rows, keys, strict=True) if key in loaded]
    memories, scores = list(loaded.values()), pool.score[rows].tolist()
    strong, maybe = bands_of(ranked)
    bands = [
        Band.STRONG if score >= strong else Band.MAYBE if score >= maybe else Band.NOISE
        for score in scores
    ]
    details = map(_Detail, repeat(ranked), rows, memories)
    return list(map(_make_hit, memories, scores, bands, repeat(0), details))


class _Detail(NamedTuple):
    """A hit's row of the ranking. Hundreds are made for every recall: a tuple is made fastest."""

    ranked: Ranked
    row: int
    memory: Memory

    def stages(self) -> StageScores:
        relevance, semantic, keyword = self.ranked.said
        return StageScores(relevance[self.row], semantic[self.row], keyword[self.row])

    def arms(self) -> Mapping[Arm, ArmScore]:
        row = self.row
        return {
            arm: ArmScore(int(column.rank[row]), float(column.score[row]))
            for arm, column in self.ranked.pool.arms.items()
            if column.rank[row]
        }

    def scores(self) -> Mapping[str, float]:
        pool, row = self.ranked.pool, self.row
        named = {"fused": pool.fused, "relevance": pool.relevance, **pool.signals}
        named |= {f"{name}_factor": column for name, column in pool.factors.items()}
        found = {name: float(column[row]) for name, column in named.items()}
        return {name: value for name, value in found.items() if not math.isnan(value)}

    def matched_terms(self) -> tuple[str, ...]:
        return matched(self.ranked.query, self.memory)

    def explanation(self) -> Explanation:
        return explain(self.ranked.pool, self.row)


@dataclass(frozen=True, slots=True)
class _Hop:
    """How a neighbour came along."""

    parent: Hit
    weight: float

    @property
    def score(self) -> float:
        return self.parent.score * self.weight * HOP_FACTOR

    def stages(self) -> StageScores:
        return StageScores(None, None, None)

    def arms(self) -> Mapping[Arm, ArmScore]:
        return {}

    def scores(self) -> Mapping[str, float]:
        return {"parent": self.parent.score, "link": self.weight, "hop_factor": HOP_FACTOR}

    def matched_terms(self) -> tuple[str, ...]:
        return ()

    def explanation(self) -> Explanation:
        details = (
            Explanation(self.parent.score, f"final score of {self.parent.id}"),
            Explanation(self.weight, "weight of the link from there"),
            Explanation(HOP_FACTOR, "hop factor"),
        )
        return Explanation(self.score, "final score", details, "product")


def _neighbours(view: View, ranked: Ranked, request: RecallRequest, hits: list[Hit]) -> list[Hit]:
    """expand_hops = 1: what the best hits link to, at a reduced score and within the tokens left."""
    given = {hit.id for hit in hits}
    as_of = request.allowed.as_of
    # Every wording has links of its own: those of the one that was found lead on.
    parents = {view.key_of(hit.id, as_of) or 0: hit for hit in hits[:HOP_PARENTS]}
    edges = view.edges(np.array(list(parents), np.int64), request.allowed, 5)
    best: dict[int, _Hop] = {}
    for source, target, weight in zip(
        edges.source.tolist(), edges.target.tolist(), edges.weight.tolist(), strict=True
    ):
        hop = _Hop(parents[source], weight)
        if target not in best or hop.score > best[target].score:
            best[target] = hop
    room = request.max_tokens - sum(hit.memory.tokens for hit in hits)
    out: list[Hit] = []
    targets = columns_then(view, view.columns(np.array(sorted(best), np.int64)), as_of)
    loaded = memories_then(view, view.load(best), targets, as_of)
    for key, hop in sorted(best.items(), key=lambda e: (-e[1].score, e[0])):
        if key in loaded:
            memory = loaded[key]
            if memory.id not in given and memory.tokens <= room:
                room -= memory.tokens
                band = band_of(hop.score, bands_of(ranked))
                out.append(Hit(memory, hop.score, band, 1, hop))
    return out


def _worth_telling(ranked: Ranked, rows: NDArray[np.int64]) -> bool:
    """Whether the best that packing considered is more than noise, fitting or not: what is too long
    for `max_tokens` is known all the same."""
    return len(rows) > 0 and float(ranked.pool.score[rows[0]]) >= bands_of(ranked)[1]


def result_of(
    view: View,
    request: RecallRequest,
    ranked: Ranked,
    rows: NDArray[np.int64],
    hits: list[Hit],
    run: Run,
) -> RecallResult:
    wanted = _sources(view, hits, request.allowed) if request.include_chunks else []
    chunks = pack_chunks(wanted, view.chunks(wanted), request.max_chunk_tokens) if wanted else ()
    entities = entity_states(view, _keys(hits), request) if request.include_entities else ()
    sources, truncated = (), False
    if request.include_source_facts:
        observed = (hit.memory for hit in hits if hit.type is MemoryType.OBSERVATION)
        sources, truncated = source_facts(view, observed, request)
    return RecallResult(
        bank=view.bank,
        query=request.query,
        results=tuple(hits),
        chunks=chunks,
        window=ranked.query.window,
        timings=run.timings(),
        degraded=run.degraded,
        # Where no arm could look, nobody knows whether anything is known.
        nothing_known=bool(ranked.retrieved.lists or not run.degraded)
        and not _worth_telling(ranked, rows),
        tokens=sum([hit.memory.tokens for hit in hits]),
        cached=False,
        trace=_trace(view, ranked, run) if request.trace else None,
        verbosity=request.verbosity,
        entities=entities,
        source_facts=sources,
        source_facts_truncated=truncated,
    )


def _sources(view: View, hits: list[Hit], allowed: Filter) -> list[str]:
    """The chunks behind the hits. One in which something was said that the tags hide would tell it,
    so it stays away."""
    chunks = [hit.chunk_id for hit in hits if hit.chunk_id]
    if allowed.tags is None or not chunks:
        return chunks
    said = view.said_in(chunks)
    keys = np.array(sorted({key for keys in said.values() for key in keys}), np.int64)
    seen = set(keys[view.allows(keys, Filter(tags=allowed.tags))].tolist())
    return [chunk for chunk in chunks if seen.issuperset(said.get(chunk, ()))]


def _keys(hits: list[Hit]) -> Keys:
    """Of the direct hits."""
    rows = [
        (h.detail.ranked.pool.keys, h.detail.row) for h in hits if isinstance(h.detail, _Detail)
    ]
    return np.array([keys[row] for keys, row in rows], np.int64)


def _trace(view: View, ranked: Ranked, run: Run) -> Trace:
    taken = view.usage if isinstance(view, ServedView) else Usage()
    return Trace(
        ranked.query,
        run.stages,
        len(ranked.pool),
        taken.connections,
        taken.round_trips,
        taken.max_wait_ms,
    )

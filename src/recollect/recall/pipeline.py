"""The read path: understand → retrieve → fuse → rerank → boost → pack."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.config import Settings
from recollect.errors import InvalidInput, ModelError, RecollectError
from recollect.models.base import Embedder, Reranker
from recollect.recall.boost import boost
from recollect.recall.companions import entity_states, source_facts, without_sources
from recollect.recall.event import locate
from recollect.recall.explain import explain, matched
from recollect.recall.follow import follow
from recollect.recall.fuse import RRF, WEIGHTED, fuse
from recollect.recall.pack import order, pack, pack_chunks
from recollect.recall.pool import Pool, Rest
from recollect.recall.relevance import Calibration, calibrations, evidence, judge, spread
from recollect.recall.request import RecallRequest
from recollect.recall.rerank import cross_encode, late_interaction
from recollect.recall.result import RecallResult, Trace
from recollect.recall.retrieve import Deadline, Line, Retrieved, Search, retrieve
from recollect.recall.then import columns_then, memories_then
from recollect.recall.understand import BY_EVENT, Query, understand
from recollect.storage.base import Floats, Keys, ServedView, Usage, View
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

# On the development sets the shipped cross-encoder adds a point of NDCG@10 to late interaction
# when it reads the best 6, little more with 12, and less with more than that; a pair costs 5 ms.
# One that the user brings is meant to be used.
CROSSED: Mapping[str, int] = {"low": 0, "mid": 6, "high": 12}
CROSSED_OWN: Mapping[str, int] = {"low": 0, "mid": 16, "high": 48}
HOP_FACTOR = 0.5  # a neighbour brought in by expand_hops, of its parent's score
HOP_PARENTS = 10


@dataclass(frozen=True, slots=True)
class Recalling:
    """The models, settings and threads a recall works with."""

    embedder: Embedder
    reranker: Callable[[], Reranker | None]
    crossed: Mapping[str, int]  # by budget: how many of the best the cross-encoder is shown
    settings: Settings
    workers: ThreadPoolExecutor


@dataclass(frozen=True, slots=True)
class Ranked:
    """Everything known just before packing; `why` reads it, too."""

    query: Query
    pool: Pool
    rows: NDArray[np.int64]  # best first
    calibration: Calibration | None
    retrieved: Retrieved
    depth: int


def recall(with_: Recalling, view: View, request: RecallRequest, run: Run) -> RecallResult:
    ranked = rank(with_, view, request, run)
    with run.stage("pack") as span:
        rows = considered(ranked, request, with_.settings)
        hits = packed(view, ranked, request, with_.settings)
        span.note(packed=len(hits), considered=len(rows))
    return _result(view, request, ranked, hits, run)


def rank(with_: Recalling, view: View, request: RecallRequest, run: Run) -> Ranked:
    """Everything but packing: understand → retrieve → fuse → rerank → follow → boost."""
    deadline = Deadline(run, request.deadline_ms)
    depth = search_depth(request, with_.settings)
    query = _understood(with_, view, request, run)
    with run.stage("retrieve"):
        asked = request.floors.semantic
        floor = with_.settings.min_similarity if asked is None else asked
        search = Search(view, query, request, depth, floor)
        found = retrieve(search, with_.embedder, Line(with_.workers, run, deadline))
    if not found.lists and run.degraded and not deadline.over:
        raise ModelError(
            "recall could not search at all: "
            + "; ".join(f"{d.part}: {d.reason}" for d in run.degraded),
            hint="give it more time (deadline_ms), or check the embedder",
        )
    with run.stage("fuse") as span:
        pool = _fused(with_.settings, search, found)
        span.note(candidates=len(pool))
    with run.stage("rerank") as span:
        pool, calibration = _rerank(with_, view, query, request, found, pool, run, deadline)
        span.note(by="spread" if calibration is None else ",".join(calibration.weights))
    deep = request.budget == "high"
    linked = calibration is not None and "graph" not in request.without and len(pool) > 0
    if linked and (query.causal or deep):
        with run.stage("follow"):
            rest = _rest(with_, query, run) if deep and query.entities else None
            pool = follow(view, query, pool, request.allowed, rest)
    with run.stage("boost"):
        pool = _boosted(with_.settings, request, query, pool)
        rows = order(pool)
    return Ranked(query, pool, rows, calibration, found, depth)


def _understood(with_: Recalling, view: View, request: RecallRequest, run: Run) -> Query:
    with run.stage("understand"):
        query = understand(request, view.resolver)
    if "temporal" in request.without:
        return replace(query, window=None)
    if query.time.event is not None and query.window is None:
        return _with_event(with_, view, query, request, run)
    return query


def _fused(settings: Settings, search: Search, found: Retrieved) -> Pool:
    """The candidates with all that is known of them before a reranker looks."""
    weights = RRF if settings.fusion == "rrf" else WEIGHTED
    pool = fuse(search.view, found.lists, weights, settings.rrf_k)
    as_of = search.request.allowed.as_of
    pool = replace(pool, columns=columns_then(search.view, pool.columns, as_of))
    meaning = found.vector if search.wants(Arm.SEMANTIC) else None
    return evidence(search.view, search.query, meaning, pool)


def _boosted(settings: Settings, request: RecallRequest, query: Query, pool: Pool) -> Pool:
    if "boost" in request.without:
        return replace(pool, final=pool.relevance)
    return boost(
        pool,
        request.now,
        query.window,
        _order(query),
        settings.recency_decay,
        settings.superseded_factor,
    )


def _with_event(
    with_: Recalling, view: View, query: Query, request: RecallRequest, run: Run
) -> Query:
    """The query with the window that an event in it gives."""
    event = query.time.event
    assert event is not None
    with run.stage("event"):
        try:
            window = locate(view, with_.embedder, event, request.allowed)
            return query if window is None else replace(query, window=window, time_pull=BY_EVENT)
        except RecollectError as error:
            run.degrade("event", error.message)
            return query


def _order(query: Query) -> str | None:
    """The end of the timeline that is asked for; before an event it is the latest, after it the
    earliest that is meant."""
    near = None if query.window is None else query.window.near
    return query.time.order or {"end": "latest", "start": "earliest", None: None}[near]


def _rest(with_: Recalling, query: Query, run: Run) -> Floats | None:
    """The meaning of the query without its names."""
    try:
        return with_.embedder.encode_queries([query.rest]).vectors[0]
    except RecollectError as error:
        run.degrade("chain", error.message)
        return None


def search_depth(request: RecallRequest, settings: Settings) -> int:
    """How deep each arm looks."""
    if settings.budget_mode == "adaptive":
        ratio = {"low": 0.025, "mid": 0.075, "high": 0.25}[request.budget]
        return int(min(max(request.max_tokens * ratio, 20), 2000))
    return {"low": settings.budget_low, "mid": settings.budget_mid, "high": settings.budget_high}[
        request.budget
    ]


def _rerank(
    with_: Recalling,
    view: View,
    query: Query,
    request: RecallRequest,
    found: Retrieved,
    pool: Pool,
    run: Run,
    deadline: Deadline,
) -> tuple[Pool, Calibration | None]:
    """Late interaction over the best candidates, then the cross-encoder over the best of
    those; whatever cannot run leaves the calibrated first-stage score."""
    settings, known = with_.settings, calibrations(with_.embedder.name)
    if settings.reranker == "rrf":
        return spread(pool), None
    first = judge(pool, known["first"])
    if settings.reranker == "none" or "rerank" in request.without or not len(pool):
        return first, known["first"]
    if found.tokens is None or deadline.over:
        reason = (
            "the deadline came first"
            if deadline.over
            else "the query was not embedded"
            if found.vector is None
            else "the embedder makes no token vectors"
        )
        run.degrade("rerank", reason)
        return first, known["first"]
    limit = settings.rerank_candidates
    late = late_interaction(
        view, found.tokens, with_.embedder.token_dimensions, pool, limit, request.allowed
    )
    late = _below(judge(late, known["late"]), first, "late")
    best = cross_candidates(late, with_.crossed[request.budget])
    reranker = with_.reranker() if len(best) else None
    if reranker is None:
        return late, known["late"]
    if deadline.over:
        run.degrade("cross-encoder", "the deadline came first")
        return late, known["late"]
    try:
        crossed = cross_encode(view, reranker, query.text, late, best)
    except RecollectError as error:
        run.degrade("cross-encoder", error.message)
        return late, known["late"]
    return _below(judge(crossed, known["cross"]), late, "cross"), known["cross"]


def cross_candidates(pool: Pool, count: int) -> NDArray[np.int64]:
    """Rows worth the cross-encoder's time: the best of what late interaction left."""
    return np.lexsort((pool.keys, -pool.relevance))[:count]


def _below(better: Pool, rest: Pool, signal: str) -> Pool:
    """What a reranker did not look at keeps its earlier relevance."""
    seen = ~np.isnan(better.signals[signal])
    if seen.all() or not seen.any():
        return better if seen.any() else rest
    relevance = np.where(seen, better.relevance, rest.relevance).astype(np.float32)
    return replace(better, relevance=relevance, rest=Rest(~seen, rest))


# --- answers -----------------------------------------------------------------------------------


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
    return rows[ranked.pool.final[rows] >= floor] if floor > 0 else rows


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


def bands_of(calibration: Calibration | None) -> tuple[float, float]:
    """From where a score is strong, and from where it may be one."""
    return (0.7, 0.3) if calibration is None else (calibration.strong, calibration.maybe)


def band_of(score: float, calibration: Calibration | None) -> Band:
    strong, maybe = bands_of(calibration)
    return Band.STRONG if score >= strong else Band.MAYBE if score >= maybe else Band.NOISE


def _hits(view: View, ranked: Ranked, rows: list[int], as_of: int | None) -> list[Hit]:
    pool = ranked.pool
    keys, finals = pool.keys[rows].tolist(), pool.final[rows].tolist()
    loaded = memories_then(view, view.load(keys), pool.columns, as_of)
    strong, maybe = bands_of(ranked.calibration)
    hits: list[Hit] = []
    for key, score, row in zip(keys, finals, rows, strict=True):
        memory = loaded.get(key)
        if memory is not None:  # and not deleted meanwhile
            band = Band.STRONG if score >= strong else Band.MAYBE if score >= maybe else Band.NOISE
            hits.append(Hit(memory, score, band, 0, _Detail(ranked, row, memory)))
    return hits


class _Detail(NamedTuple):
    """A hit's row of the ranking. Hundreds are made for every recall: a tuple is made fastest."""

    ranked: Ranked
    row: int
    memory: Memory

    def stages(self) -> StageScores:
        pool, row = self.ranked.pool, self.row
        semantic, keyword = pool.arms.get(Arm.SEMANTIC), pool.arms.get(Arm.KEYWORD)
        return StageScores(
            float(pool.relevance[row]),
            float(semantic.score[row]) if semantic is not None and semantic.rank[row] else None,
            float(keyword.score[row]) if keyword is not None and keyword.rank[row] else None,
        )

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
                band = band_of(hop.score, ranked.calibration)
                out.append(Hit(memory, hop.score, band, 1, hop))
    return out


def _result(
    view: View, request: RecallRequest, ranked: Ranked, hits: list[Hit], run: Run
) -> RecallResult:
    wanted = [hit.chunk_id for hit in hits if hit.chunk_id] if request.include_chunks else []
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
        and not any(hit.band is not Band.NOISE for hit in hits),
        tokens=sum([hit.memory.tokens for hit in hits]),
        cached=False,
        trace=_trace(view, ranked, run) if request.trace else None,
        verbosity=request.verbosity,
        entities=entities,
        source_facts=sources,
        source_facts_truncated=truncated,
    )


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

"""Answer: what of a ranking is given back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.config import Settings
from recollect.errors import InvalidInput
from recollect.recall.companions import (
    entity_states,
    source_chunks,
    source_facts,
    without_sources,
)
from recollect.recall.hits import Hits, Packed, Ranked, band_of, bands_of
from recollect.recall.pack import pack, pack_chunks
from recollect.recall.request import RecallRequest
from recollect.recall.result import RecallResult, Trace
from recollect.recall.then import load_then, memories_then
from recollect.storage.base import ServedView, Usage, View
from recollect.telemetry import Run
from recollect.types import Arm, ArmScore, Explanation, Hit, MemoryType, StageScores

HOP_FACTOR = 0.5  # a neighbour brought in by expand_hops, of its parent's score
HOP_PARENTS = 10
SEARCHES = frozenset({"embed", "gather", *Arm})  # what looks for memories; the rest weighs them


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


def offered(
    view: View, ranked: Ranked, request: RecallRequest, settings: Settings, max_tokens: int
) -> list[NDArray[np.int64]]:
    """The rows that packing is offered, in turn: the last are those it packs, in the order in which
    they are tried."""
    rows = considered(ranked, request, settings)
    if not request.prefer_observations:
        return [rows]
    return without_sources(view, ranked.pool, rows, max_tokens, request.allowed.as_of)


def taken(
    view: View, ranked: Ranked, request: RecallRequest, settings: Settings
) -> NDArray[np.int64]:
    """The rows of the answer, best first."""
    rows = offered(view, ranked, request, settings, request.max_tokens)[-1]
    fit = np.array(pack(ranked.pool, rows, request.max_tokens), np.int64)
    return ranked.rows[np.isin(ranked.rows, fit)] if request.prefer_observations else fit


def packed(view: View, ranked: Ranked, request: RecallRequest, settings: Settings) -> Hits:
    """The answer: what fits, and then its neighbours where they were asked for."""
    hits = _hits(view, ranked, taken(view, ranked, request, settings), request.allowed.as_of)
    if not request.expand_hops:
        return hits
    floor = lowest(request, settings)
    return hits.along_with(h for h in _neighbours(view, ranked, request, hits) if h.score >= floor)


def _hits(view: View, ranked: Ranked, rows: NDArray[np.int64], as_of: int | None) -> Hits:
    pool = ranked.pool
    keys = pool.keys[rows].tolist()
    loaded = memories_then(view, view.load(keys), pool.columns, as_of)
    if len(loaded) < len(keys):  # some were deleted meanwhile
        rows = rows[[key in loaded for key in keys]]
    packed = Packed(ranked.query, pool.only(rows), bands_of(ranked))
    return Hits(packed, list(loaded.values()))


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


def _neighbours(view: View, ranked: Ranked, request: RecallRequest, hits: Hits) -> list[Hit]:
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
    room = request.max_tokens - sum(memory.tokens for memory in hits.memories)
    out: list[Hit] = []
    loaded = load_then(view, best, as_of)
    for key, hop in sorted(best.items(), key=lambda e: (-e[1].score, e[0])):
        if key in loaded:
            memory = loaded[key]
            if memory.id not in given and memory.tokens <= room:
                room -= memory.tokens
                band = band_of(hop.score, bands_of(ranked))
                out.append(Hit(memory, hop.score, band, 1, hop))
    return out


def _worth_telling(ranked: Ranked, rows: NDArray[np.int64]) -> bool:
    """Whether the best of these is more than noise."""
    return len(rows) > 0 and ranked.pool.score_of(rows[0]) >= bands_of(ranked)[1]


def _under_floor(ranked: Ranked, rows: NDArray[np.int64], floor: float) -> str | None:
    """Why nothing that is known was considered: whoever asks for certainty is not told ignorance."""
    if not _worth_telling(ranked, ranked.rows) or _worth_telling(ranked, rows):
        return None
    best = ranked.pool.score_of(ranked.rows[0])
    if best >= floor:
        return "nothing is as relevant as min_scores.reranker asks"
    # Rounded down: the best must not read as if it reached the floor.
    return f"nothing scores at least {floor:g}; the best scores {math.floor(100 * best) / 100:g}"


def looked(run: Run) -> bool:
    """Whether everything looked that was to. Where one could not, nobody knows that nothing is known:
    without the query's meaning even its very words count for hardly anything."""
    return SEARCHES.isdisjoint(part.part for part in run.degraded)


def result_of(
    view: View,
    request: RecallRequest,
    ranked: Ranked,
    rows: NDArray[np.int64],
    floor: float,
    hits: Hits,
    run: Run,
) -> RecallResult:
    memories = hits.memories
    wanted = source_chunks(view, memories, request.allowed) if request.include_chunks else []
    chunks = pack_chunks(wanted, view.chunks(wanted), request.max_chunk_tokens) if wanted else ()
    entities = entity_states(view, hits.keys, request) if request.include_entities else ()
    sources, truncated = (), False
    if request.include_source_facts:
        observed = (m for m in memories if m.type is MemoryType.OBSERVATION)
        sources, truncated = source_facts(view, observed, request)
    return RecallResult(
        bank=view.bank,
        query=request.query,
        results=hits,
        chunks=chunks,
        window=ranked.query.window,
        timings=run.timings(),
        degraded=run.degraded,
        # Of all that was found: what a floor leaves out, or does not fit, is known all the same.
        nothing_known=looked(run) and not _worth_telling(ranked, ranked.rows),
        tokens=hits.tokens,
        cached=False,
        trace=_trace(view, ranked, run) if request.trace else None,
        verbosity=request.verbosity,
        entities=entities,
        source_facts=sources,
        source_facts_truncated=truncated,
        under_floor=_under_floor(ranked, rows, floor),
    )


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

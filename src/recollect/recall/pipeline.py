"""The read path: understand → retrieve → fuse → rerank → boost → pack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from recollect.config import Settings
from recollect.errors import ModelError
from recollect.language.entities import EntityResolver
from recollect.language.script import script_of
from recollect.models.base import Embedder, Reranker
from recollect.models.patience import Overdue, within
from recollect.recall.answer import Ranked, considered, lowest, packed, result_of
from recollect.recall.answerable import READ, answerable, asked_for, reason
from recollect.recall.boost import boost, in_time, stand_back
from recollect.recall.bridge import bridge
from recollect.recall.event import locate, shared
from recollect.recall.floors import Lifted, lifted, told_apart
from recollect.recall.follow import follow
from recollect.recall.fuse import RRF, WEIGHTED, fuse, with_turns_beside, with_wishes
from recollect.recall.pack import order
from recollect.recall.pool import Pool, Rest
from recollect.recall.relevance import (
    Calibration,
    beside,
    by_words,
    calibrations,
    evidence,
    judge,
    lately,
    least_likeness,
    least_similarity,
    settle,
    spread,
    tells_apart,
    with_cross,
)
from recollect.recall.request import RecallRequest
from recollect.recall.rerank import (
    Reading,
    cross_encode,
    late_interaction,
    looked_at_first,
    matched_anew,
    portions,
    scoring,
    with_signal,
)
from recollect.recall.result import RecallResult
from recollect.recall.retrieve import Deadline, Line, Retrieved, Search, retrieve
from recollect.recall.spelling import as_held
from recollect.recall.succeed import asked_until, lasting, succeed, yielding
from recollect.recall.then import columns_then
from recollect.recall.turns import Turns
from recollect.recall.understand import (
    Query,
    bounded_by_event,
    by_event,
    names_seen,
    understand,
    untimed,
)
from recollect.storage.base import Floats, View
from recollect.telemetry import Run
from recollect.types import Arm

# The shipped cross-encoder reads a pair in 2 to 8 ms. It reads on where the first three settle little
# (docs/why.md). One that the user brings is meant to be used, and may be asked over a network: once.
CROSSED: Mapping[str, Reading] = {
    "low": Reading(),
    "mid": Reading((3, 16, 24)),
    "high": Reading((24,)),
}
CROSSED_OWN: Mapping[str, Reading] = {
    "low": Reading(),
    "mid": Reading((16,)),
    "high": Reading((48,)),
}
# Reading ends with a find so likely, or where the next is so much less likely than the best.
CERTAIN, MATTERS = 0.9, 0.05


@dataclass(frozen=True, slots=True)
class Recalling:
    """The models, settings and threads a recall works with."""

    embedder: Embedder
    reranker: Callable[[], Reranker | None]
    crossed: Mapping[str, Reading]  # by budget: how many of the best the cross-encoder is shown
    settings: Settings
    workers: ThreadPoolExecutor
    turns: Turns


def recall(with_: Recalling, view: View, request: RecallRequest, run: Run) -> RecallResult:
    ranked = rank(with_, view, request, run)
    with run.stage("pack") as span:
        rows = considered(ranked, request, with_.settings)
        hits = packed(view, ranked, request, with_.settings)
        span.note(packed=len(hits), considered=len(rows))
    floor = lowest(request, with_.settings)
    result = result_of(view, request, ranked, rows, floor, hits, run)
    return told_apart(partial(rank, with_, view), without_floors(with_, request), result, run)


def similarity_floor(with_: Recalling, request: RecallRequest) -> float:
    """The least cosine that the semantic arm takes: as asked, as set, or as fits the embedder."""
    for given in (request.floors.semantic, with_.settings.min_similarity):
        if given is not None:
            return given
    return least_similarity(with_.embedder.name)


def without_floors(with_: Recalling, request: RecallRequest) -> Lifted:
    """The request as if nobody had asked for near matches alone."""
    bar = least_similarity(with_.embedder.name)
    return lifted(request, with_.settings.min_similarity, bar)


def rank(with_: Recalling, view: View, request: RecallRequest, run: Run) -> Ranked:
    """Everything but packing: understand → retrieve → fuse → rerank → bridge → follow → boost → answerable."""
    line = Line(with_.workers, with_.turns, run, Deadline(run, request.deadline_ms))
    depth = search_depth(request, with_.settings)
    query = _understood(with_, view, request, run, line)
    with run.stage("retrieve"):
        search = Search(view, query, request, depth, similarity_floor(with_, request))
        found = retrieve(search, with_.embedder, line)
    if not found.lists and run.degraded and not line.cut_short:
        raise ModelError(
            "recall could not search at all: "
            + "; ".join(f"{d.part}: {d.reason}" for d in run.degraded),
            hint="give it more time (deadline_ms), or check the embedder",
        )
    with run.stage("fuse") as span:
        pool = _fused(with_.settings, search, found)
        span.note(candidates=len(pool))
    with run.stage("rerank") as span:
        pool, calibration = _rerank(with_, search, found, pool, run, line)
        read = pool.signals.get("cross")
        pairs = 0 if read is None else int(np.count_nonzero(~np.isnan(read)))
        span.note(
            by="spread" if calibration is None else ",".join(calibration.weights), pairs=pairs
        )
    deep = request.budget == "high"
    linked = calibration is not None and "graph" not in request.without and len(pool) > 0
    if linked and _reranks(with_.settings, request) and "bridge" not in request.without:
        with run.stage("bridge") as span:
            model = with_.embedder.name
            bar = least_likeness(model) if tells_apart(model, script_of(query.text)) else None
            pool = bridge(view, query, pool, with_.settings.rerank_candidates, bar)
            span.note(lifted=0 if pool.bridged is None else int((pool.bridged.lift > 0).sum()))
    if linked and (query.causal or deep):
        with run.stage("follow"):
            rest = _rest(with_, query, line) if deep and query.entities else None
            pool = follow(view, query, pool, request.allowed, rest)
    with run.stage("boost"):
        until = asked_until(request.now, query.windows)
        if calibration is not None:
            pool = settle(succeed(view, pool, request.allowed.as_of, until, former=query.former))
        pool = _boosted(with_.settings, view, request, query, pool, until)
        rows = order(pool)
    with run.stage("answerable") as span:
        best, model = asked_for(pool, rows), with_.embedder.name
        verdict = answerable(view, query, found, pool, best, calibration, model)
        span.note(known=verdict.known, score=round(verdict.score, 4), floor=verdict.floor)
        if request.trace and not verdict.known:
            read = view.load(pool.keys[rows[:READ]].tolist()).values()
            span.note(because=reason(verdict, query, read))
    return Ranked(query, pool, rows, calibration, found, depth, verdict)


def _understood(
    with_: Recalling, view: View, request: RecallRequest, run: Run, line: Line
) -> Query:
    with run.stage("understand"):
        names = names_seen(view, request.query, request.allowed)
        query = as_held(view, understand(request, names))
    if "temporal" in request.without:
        return replace(query, window=None, parts=())
    if bounded_by_event(query):
        return _with_event(with_, view, query, names, request, line)
    return query


def _fused(settings: Settings, search: Search, found: Retrieved) -> Pool:
    """The candidates with all that is known of them before a reranker looks."""
    weights = RRF if settings.fusion == "rrf" else WEIGHTED
    pool = fuse(search.view, found.lists, weights, settings.rrf_k)
    if weights is WEIGHTED and settings.reranker != "rrf" and _reranks(settings, search.request):
        pool = with_turns_beside(search.view, pool, search.request.allowed)
        if search.query.request:
            pool = with_wishes(search.view, found.vector, pool, search.request.allowed)
    as_of = search.request.allowed.as_of
    if as_of is not None:
        pool = replace(pool, columns=columns_then(search.view, pool.columns, as_of))
    if search.query.windows and not search.query.time_pull.alone:
        pool = lasting(search.view, pool, search.query.windows, as_of, search.request.now)
        if untimed(search.query) == search.query.text:  # the caller gave the time
            pool = replace(pool, held=pool.held[:0])
    meaning = found.vector if search.wants(Arm.SEMANTIC) else None
    allowed, limit = search.request.allowed, settings.rerank_candidates
    pool = evidence(search.view, search.query, meaning, pool, allowed, limit)
    if not _goes_on(settings, search):
        return pool
    request = search.request
    return with_signal(pool, "lately", lately(pool.columns, request.now, request.told_by))


def _goes_on(settings: Settings, search: Search) -> bool:
    """Whether how lately a memory was told says something: to a message that goes on with what is going
    on, unless nobody wants recency."""
    boosts = "boost" not in search.request.without and settings.recency_decay != "none"
    return boosts and search.query.goes_on


def _boosted(
    settings: Settings, view: View, request: RecallRequest, query: Query, pool: Pool, until: int
) -> Pool:
    if "boost" in request.without:
        pool = replace(pool, final=pool.relevance)
    else:
        pool = boost(
            pool,
            request.now,
            # Nothing in the middle of "from 1985 to 1987" is a better answer than at its ends, and
            # what lies between two times is none.
            None if query.time_pull.frames or query.parts else query.window,
            _order(query),
            settings.recency_decay,
            settings.superseded_factor,
            until,
        )
        if query.former and pool.calibration is not None:
            pool = yielding(view, pool, request.allowed.as_of, settings.superseded_factor)
        pool = stand_back(pool)
    return in_time(pool) if query.time_pull.alone else pool


def _with_event(
    with_: Recalling,
    view: View,
    query: Query,
    names: EntityResolver,
    request: RecallRequest,
    line: Line,
) -> Query:
    """The query with the window that the events in it give."""
    find = partial(locate, view, with_.embedder, query.time.events, request.allowed)
    found = line.awaited("event", line.start("event", find, here=True))
    window = found if found is None or query.window is None else shared(query.window, found)
    return query if window is None else as_held(view, by_event(query, window, names))


def _order(query: Query) -> str | None:
    """The end of the timeline that is asked for; before an event it is the latest, after it the
    earliest that is meant."""
    near = None if query.window is None else query.window.near
    return query.time.order or {"end": "latest", "start": "earliest", None: None}[near]


def _rest(with_: Recalling, query: Query, line: Line) -> Floats | None:
    """The meaning of the query without its names."""
    encode = partial(with_.embedder.encode_queries, [query.rest])
    encoded = line.awaited("chain", line.start("chain", encode, here=True))
    return None if encoded is None else encoded.vectors[0]


def search_depth(request: RecallRequest, settings: Settings) -> int:
    """How deep each arm looks."""
    if settings.budget_mode == "adaptive":
        ratio = {"low": 0.025, "mid": 0.075, "high": 0.25}[request.budget]
        return int(min(max(request.max_tokens * ratio, 20), 2000))
    return {"low": settings.budget_low, "mid": settings.budget_mid, "high": settings.budget_high}[
        request.budget
    ]


def _reranks(settings: Settings, request: RecallRequest) -> bool:
    """Whether anything may change the order that the first stage's signals give."""
    return settings.reranker != "none" and "rerank" not in request.without


def _rerank(
    with_: Recalling, search: Search, found: Retrieved, pool: Pool, run: Run, line: Line
) -> tuple[Pool, Calibration | None]:
    """Late interaction over the best candidates, then the cross-encoder over the best of
    those; whatever cannot run leaves the calibrated score from before it."""
    settings = with_.settings
    known = calibrations(with_.embedder.name, message=search.query.goes_on)
    if settings.reranker == "rrf":
        return spread(pool), None
    script = script_of(search.query.text)
    learnt = tells_apart(with_.embedder.name, script) or Arm.KEYWORD not in found.lists
    meant = learnt and found.vector is not None and search.wants(Arm.SEMANTIC)
    tokens = found.tokens if learnt else None
    # Late interaction knows meanings, too; what it does not look at must not be judged by another scale.
    plain = known["first"] if meant or tokens is not None else by_words(script)
    first = judge(pool, plain)
    if not _reranks(settings, search.request) or not len(pool):
        return first, plain
    # The shipped cross-encoder learnt no other script, either.
    if not learnt and with_.crossed is CROSSED:
        return first, plain
    if settings.fusion != "rrf":
        first = looked_at_first(first, settings.rerank_candidates)
    if line.overdue:
        run.degrade("rerank", "the deadline came first")
        return first, plain
    spare = with_cross(plain, known)  # for what has no token vectors
    late = None
    if tokens is not None:
        first, asked = _asked_twice(with_, search, tokens, first, line)
        late = _late(with_, search, asked, first, known["late"])
    if late is not None and "late" in late.signals:
        before, judged, calibration = late, known["late"], known["cross"]
    else:
        if found.vector is None:
            run.degrade("rerank", "the query was not embedded")
        elif learnt and settings.reranker == "late-interaction":
            run.degrade("rerank", "there are no token vectors")
        before, judged, calibration = first, plain, spare
    judging = partial(_read, known=calibration, spare=spare, rest=before)
    crossed = _crossed(with_, search, before, judging, run, line)
    return (before, judged) if crossed is None else (crossed, calibration)


def _asked_twice(
    with_: Recalling, search: Search, tokens: NDArray[np.int8], pool: Pool, line: Line
) -> tuple[Pool, Sequence[NDArray[np.int8]]]:
    """The query's tokens, and those of the query without its time if something held then."""
    if not len(pool.held):
        return pool, (tokens,)
    encode = partial(with_.embedder.encode_queries, [untimed(search.query)])
    encoded = line.awaited("untimed", line.start("untimed", encode, here=True))
    if encoded is None or encoded.tokens is None:
        return replace(pool, held=pool.held[:0]), (tokens,)
    return pool, (tokens, encoded.tokens[0])


def _late(
    with_: Recalling,
    search: Search,
    asked: Sequence[NDArray[np.int8]],
    first: Pool,
    known: Calibration,
) -> Pool:
    """By late interaction, with the turns before and beside each candidate. What held at the time asked
    about bears the date at which it was told, so it is matched with the query without its time."""
    # Of the turns before, those that may be seen.
    turns = search.view.standing(first.columns.before, search.request.allowed)
    pool = replace(first, columns=replace(first.columns, before=turns))
    dimensions, limit = with_.embedder.token_dimensions, with_.settings.rerank_candidates
    late = late_interaction(search.view, asked[0], dimensions, pool, limit)
    if len(asked) > 1:
        rows = np.flatnonzero(np.isin(pool.keys[:limit], pool.held))
        anew = late_interaction(search.view, asked[-1], dimensions, pool.only(rows), limit)
        late = matched_anew(late, rows, anew)
    judged = _below(judge(late, known), first, "late")
    if not turns.any():
        return judged
    return _below(judge(with_signal(late, "beside", beside(judged)), known), first, "late")


def _crossed(
    with_: Recalling,
    search: Search,
    pool: Pool,
    judging: Callable[[Pool], Pool],
    run: Run,
    line: Line,
) -> Pool | None:
    """Judged with the cross-encoder's logits of the best; None without one, or when it fails or is late
    before it has read anything."""
    view, request = search.view, search.request
    reading = with_.crossed[request.budget]
    if not reading.most or "cross-encoder" in request.without:
        return None
    reranker = line.loaded("cross-encoder", with_.reranker)
    if reranker is None:
        return None
    if line.overdue:
        run.degrade("cross-encoder", "the deadline came first")
        return None
    score = scoring(reranker, line.spare)
    judged: list[Pool] = []  # portion by portion: what comes too late takes nothing back

    def read() -> None:
        crossed = pool
        with within(with_.settings.rerank_timeout_ms / 1000):
            for rows in portions(pool, reading, with_.settings.rerank_candidates):
                if judged and _settled(judged[-1], pool, rows, reading):
                    return
                if judged and line.overdue:
                    raise Overdue
                held = np.isin(pool.keys[rows], pool.held)
                asked = ((search.query.text, rows[~held]), (untimed(search.query), rows[held]))
                for text, some in filter(lambda each: len(each[1]), asked):
                    crossed = cross_encode(view, score, text, crossed, some, request.allowed)
                judged.append(judging(crossed))

    line.awaited("cross-encoder", line.start("cross-encoder", read, here=True))
    return judged[-1] if judged else None


def _read(crossed: Pool, *, known: Calibration, spare: Calibration, rest: Pool) -> Pool:
    """With the logits of what the cross-encoder read. A memory without token vectors is judged by `spare`: it is
    not held to what only they could say."""
    late = crossed.signals.get("late")
    lacking = np.ones(len(crossed), np.bool_) if late is None else np.isnan(late)
    read = ~np.isnan(crossed.signals["cross"])
    if (lacking & read).any():
        rest = _where(read, judge(crossed, spare), rest)
    return _where(read & ~lacking, judge(crossed, known), rest)


def _settled(read: Pool, before: Pool, rows: NDArray[np.int64], reading: Reading) -> bool:
    """Whether the answer is found, or enough was read and what comes next too unlikely to matter."""
    best = float(read.relevance.max())
    scores = read.signals.get("cross")
    count = 0 if scores is None else int(np.count_nonzero(~np.isnan(scores)))
    unlikely = float(before.relevance[rows[0]]) < MATTERS * best
    return best >= CERTAIN or (count >= reading.least and unlikely)


def _below(better: Pool, rest: Pool, signal: str) -> Pool:
    """What a reranker did not look at keeps its earlier relevance."""
    return _where(~np.isnan(better.signals[signal]), better, rest)


def _where(seen: NDArray[np.bool_], better: Pool, rest: Pool) -> Pool:
    if seen.all() or not seen.any():
        return better if seen.any() else rest
    return replace(
        better,
        logit=np.where(seen, better.logit, rest.logit),
        relevance=np.where(seen, better.relevance, rest.relevance),
        rest=Rest(~seen, rest),
    )

"""Why, or why not: one memory's way through the stages of one recall."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain

import numpy as np

from recollect.config import Settings
from recollect.errors import NotFound
from recollect.language.passage import said
from recollect.recall.answer import Ranked, considered, lowest, offered, packed, taken
from recollect.recall.answerable import READ, reason
from recollect.recall.arms.graph import PER_ENTITY, SEEDS
from recollect.recall.explain import StageVerdict, Why, explain, factor_meaning, matched
from recollect.recall.floors import left_out
from recollect.recall.pack import needed
from recollect.recall.pipeline import (
    Recalling,
    rank,
    search_depth,
    similarity_floor,
    without_floors,
)
from recollect.recall.relevance import in_window
from recollect.recall.request import RecallRequest, change
from recollect.storage.base import EVERYTHING, Filter, Found, Keys, View
from recollect.telemetry import Run
from recollect.types import Arm, Memory, Window

RERANKERS = ("rerank", "cross-encoder")  # as a run names what it had to do without


def why(with_: Recalling, view: View, request: RecallRequest, memory_id: str, run: Run) -> Why:
    key = view.key_of(memory_id, request.allowed.as_of)
    if key is None:
        raise NotFound(
            f"bank {view.bank!r} has no memory {memory_id!r}",
            hint="ids come from retain, recall and memories",
        )
    memory = view.load([key])[key]
    passed = _filter(view, request, key, memory)
    seen = passed.passed or request.allowed == Filter()  # or it is only withdrawn: nobody hides it
    text = said(memory.speaker, memory.text) if seen else None
    begun = Why(memory_id, request.query, False, None, "filter", (passed,), None, text)
    if not passed.passed:
        return begun
    ranked = rank(with_, view, request, run)
    found = _direct(with_, view, request, ranked, replace(begun, left_at=None), key, run)
    if found.returned or not request.expand_hops:
        return found
    return _brought_along(with_, view, request, ranked, found)


def _direct(
    with_: Recalling,
    view: View,
    request: RecallRequest,
    ranked: Ranked,
    so_far: Why,
    key: int,
    run: Run,
) -> Why:
    """Through the arms, fusion, reranking and boosts into the answer, as far as it got."""
    stages = [
        *so_far.stages,
        *(
            _arm(view, with_, ranked, arm, key, request, run)
            for arm in Arm
            if arm.value not in request.without
        ),
    ]
    row = ranked.pool.at(key)
    if row is None:
        return replace(so_far, left_at="retrieve", stages=(*stages, _not_found(ranked)))
    stages += [_fused(ranked, row), _reranked(ranked, row, with_, run)]
    stages += [*_bridged(view, ranked, row), _boosted(ranked, row)]
    under = None if ranked.verdict.known else _under(with_, view, request, run)
    stages.append(_answerable(view, ranked, under))
    verdict, place = _packed(view, ranked, row, request, with_)
    return replace(
        so_far,
        returned=verdict.passed,
        rank=place,
        left_at=None if verdict.passed else "pack",
        stages=(*stages, verdict),
        explanation=explain(ranked.pool, row),
    )


def _brought_along(
    with_: Recalling, view: View, request: RecallRequest, ranked: Ranked, found: Why
) -> Why:
    """Not a hit, but perhaps a hit's neighbour."""
    for place, hit in enumerate(packed(view, ranked, request, with_.settings), 1):
        if hit.id == found.memory_id:
            says = f"a neighbour of a hit, returned as number {place}"
            verdict = StageVerdict("hops", True, says, numbers={"rank": place})
            return replace(
                found,
                returned=True,
                rank=place,
                left_at=None,
                stages=(*found.stages, verdict),
                explanation=hit.explanation,
            )
    verdict = StageVerdict("hops", False, "no neighbour of the best hits", "a link to one of them")
    return replace(found, stages=(*found.stages, verdict))


def _filter(view: View, request: RecallRequest, key: int, memory: Memory) -> StageVerdict:
    allowed, one = request.allowed, np.array([key], np.int64)
    if bool(view.allows(one, allowed)[0]):
        return StageVerdict("filter", True, "the filters let it through")
    blocks = [
        (f"its type is {memory.type.value}", "types that include it", Filter(types=allowed.types)),
        (f"its tags are {list(memory.tags)}", "tags that match", Filter(tags=allowed.tags)),
        (*_not_then(view, memory, one, allowed.as_of), Filter(as_of=allowed.as_of)),
    ]
    for says, need, part in blocks:
        if part != Filter() and not bool(view.allows(one, part)[0]):
            return StageVerdict("filter", False, says, need)
    return StageVerdict("filter", False, f"it is {memory.state.value}", "to be active")


def _not_then(view: View, memory: Memory, one: Keys, as_of: int | None) -> tuple[str, str]:
    """Why a time does not show it: it came later, or was withdrawn before."""
    if as_of is not None and int(view.columns(one).known_from[0]) <= as_of:
        return f"by then it was {memory.state.value}", "an earlier as_of"
    return "it was not known at that time", "a later as_of"


def _arm(
    view: View,
    with_: Recalling,
    ranked: Ranked,
    arm: Arm,
    key: int,
    request: RecallRequest,
    run: Run,
) -> StageVerdict:
    found = ranked.retrieved.lists.get(arm)
    if found is None:
        return StageVerdict(arm.value, False, _idle(ranked, arm, run))
    at = np.flatnonzero(found.keys == key)
    if len(at):
        place = int(at[0])
        score = float(found.scores[place])
        return StageVerdict(
            arm.value,
            True,
            f"rank {place + 1} with {score:.3f}",
            numbers={"rank": place + 1, "score": score},
        )
    cut = float(found.scores[-1]) if len(found) >= ranked.depth else None
    return _missed(view, with_, ranked, arm, key, cut, request)


def _idle(ranked: Ranked, arm: Arm, run: Run) -> str:
    """Why an arm has no list."""
    if arm is Arm.TEMPORAL and ranked.query.window is None:
        return "no time was asked for"
    if arm is Arm.KEYWORD and not ranked.query.hashes:
        return "no word was asked for that could be looked up"
    parts = (arm.value,) if arm is Arm.KEYWORD else (arm.value, "embed", "semantic")
    for failed in run.degraded:
        if failed.part in parts:
            return f"the arm did not run: {failed.part}: {failed.reason}"
    if arm is Arm.GRAPH:
        return "nothing to start from: no hit by meaning, and no name that is known"
    return "the arm did not run"


def _missed(
    view: View,
    with_: Recalling,
    ranked: Ranked,
    arm: Arm,
    key: int,
    cut: float | None,
    request: RecallRequest,
) -> StageVerdict:
    one = np.array([key], np.int64)
    if arm is Arm.SEMANTIC and ranked.retrieved.vector is not None:
        score = float(view.similarity(ranked.retrieved.vector, one)[0])
        bar = max(similarity_floor(with_, request), cut or 0.0)
        return StageVerdict(
            arm.value,
            False,
            f"similarity {score:.3f}",
            f"at least {bar:.3f}",
            {"score": score, "bar": bar},
        )
    if arm is Arm.KEYWORD:
        return _missed_words(view, ranked, key, cut, request)
    if cut is not None and _among(view, ranked, arm, one, request):
        says = {Arm.TEMPORAL: "dated inside the window", Arm.GRAPH: "linked to the best hits"}[arm]
        return StageVerdict(
            arm.value, False, f"{says}, but others match better", f"a score above {cut:.3f}"
        )
    if arm is Arm.TEMPORAL and ranked.query.window is not None:
        asked = " or ".join(map(_asked, ranked.query.windows))
        return StageVerdict(arm.value, False, "not dated inside the window", f"a date {asked}")
    if _linked(view, ranked, one, request):
        return StageVerdict(
            arm.value,
            False,
            f"linked to the best hits, but behind {PER_ENTITY} others that are as well",
            f"to be among the newest {PER_ENTITY} of a name they share, or the strongest of a hit",
        )
    return StageVerdict(
        arm.value, False, "no link from the best semantic hits", "a shared entity or a link"
    )


def _asked(window: Window) -> str:
    """A window in words; one end of it may be open."""
    start, end = window.start, window.end
    if start is None or end is None:
        return f"before {_moment(end)}" if start is None else f"from {_moment(start)} on"
    return f"from {_moment(start)} to before {_moment(end)}"


def _moment(when: datetime | None) -> str:
    """A day where it is the beginning of one."""
    if when is None:
        return "…"
    whole = (when.hour, when.minute, when.second, when.microsecond) == (0, 0, 0, 0)
    return when.date().isoformat() if whole else when.isoformat(" ", "minutes")


def _among(view: View, ranked: Ranked, arm: Arm, one: Keys, request: RecallRequest) -> bool:
    """Whether an arm that gives its best alone would find it further down."""
    query, seeds = ranked.query, ranked.retrieved.lists.get(Arm.SEMANTIC, Found.nothing())
    if arm is Arm.TEMPORAL:
        columns = view.columns(one)
        return any(in_window(columns, each)[0] > 0 for each in query.windows)
    found = view.expand(seeds.keys[:SEEDS], request.allowed, PER_ENTITY, query.entities)
    return bool(np.isin(one, found.keys)[0])


def _linked(view: View, ranked: Ranked, one: Keys, request: RecallRequest) -> bool:
    """Whether it shares a name or a link with the best hits, however many others do."""
    seeds = ranked.retrieved.lists.get(Arm.SEMANTIC, Found.nothing()).keys[:SEEDS]
    own, *theirs = view.entities_of(np.concatenate([one, seeds]))
    if not set(own).isdisjoint(chain(ranked.query.entities, *theirs)):
        return True
    return bool(np.isin(view.edges(one, request.allowed, EVERYTHING).target, seeds).any())


def _missed_words(
    view: View, ranked: Ranked, key: int, cut: float | None, request: RecallRequest
) -> StageVerdict:
    memory = view.load([key])[key]
    held = matched(ranked.query, memory)
    asked = ", ".join(ranked.query.terms)
    if not held:
        return StageVerdict(
            "keyword", False, f"none of the terms asked for ({asked})", "one of them"
        )
    score = float(view.keyword_scores(ranked.query.hashes, np.array([key], np.int64))[0])
    floor = request.floors.keyword or 0.0
    if score < floor:
        return StageVerdict(
            "keyword", False, f"score {score:.3f} is under the floor", f"at least {floor:g}"
        )
    return StageVerdict(
        "keyword",
        False,
        f"it has {', '.join(held)}, but others match better",
        f"a score above {cut or 0:.3f}",
    )


def _not_found(ranked: Ranked) -> StageVerdict:
    return StageVerdict(
        "retrieve",
        False,
        "no arm found it",
        f"to be among the first {ranked.depth} of an arm; a higher budget looks deeper",
    )


def _fused(ranked: Ranked, row: int) -> StageVerdict:
    fused = ranked.pool.fused
    score, rank = float(fused[row]), int(np.count_nonzero(fused > fused[row])) + 1
    says = f"rank {rank} of {len(ranked.pool)} with {score:.4f}"
    return StageVerdict("fuse", True, says, numbers={"rank": rank, "score": score})


def _reranked(ranked: Ranked, row: int, with_: Recalling, run: Run) -> StageVerdict:
    bridged = ranked.pool.bridged
    relevance = float((ranked.pool.relevance if bridged is None else bridged.own)[row])
    late = ranked.pool.signals.get("late")
    seen = late is not None and not bool(np.isnan(late[row]))
    says = f"relevance {relevance:.3f}" + ("" if seen or late is None else ", not reranked")
    for failed in run.degraded:
        if failed.part in RERANKERS:
            says += f"; without {failed.part}: {failed.reason}"
    need = None if seen or late is None else _to_be_read(with_.settings)
    return StageVerdict("rerank", True, says, need, {"relevance": relevance})


def _to_be_read(settings: Settings) -> str:
    """What a candidate needs to be looked at by the rerankers."""
    limit = settings.rerank_candidates
    if settings.fusion == "rrf":
        return f"a fused rank within {limit}"
    return f"to be among the {limit} that are looked at: the {limit // 2} likeliest by then, and the best fused"


def _bridged(view: View, ranked: Ranked, row: int) -> list[StageVerdict]:
    """Of a memory that a better hit led to."""
    pool, bridged = ranked.pool, ranked.pool.bridged
    if bridged is None or not bridged.lift[row]:
        return []
    key = int(pool.keys[bridged.over[row]])
    hit = view.load([key])[key]
    relevance = float((pool.relevance if pool.support is None else pool.support.own)[row])
    says = (
        f"relevance {relevance:.3f}: a better hit, {hit.id}, shares names or its day, or is like it"
    )
    return [StageVerdict("bridge", True, says, numbers={"over": hit.id, "relevance": relevance})]


def _because(name: str, ranked: Ranked, row: int) -> str:
    _, _, reason = factor_meaning(name, ranked.pool, row).partition(": ")
    return f" ({reason})" if reason else ""


def _boosted(ranked: Ranked, row: int) -> StageVerdict:
    final = ranked.pool.score_of(row)
    place = int(np.flatnonzero(ranked.rows == row)[0]) + 1
    factors = ", ".join(
        f"{name} ×{float(f[row]):.2f}{_because(name, ranked, row)}"
        for name, f in ranked.pool.factors.items()
    )
    return StageVerdict(
        "boost",
        True,
        f"final {final:.3f} (rank {place}): {factors}",
        numbers={"final": final, "rank": place},
    )


def _under(with_: Recalling, view: View, request: RecallRequest, run: Run) -> str | None:
    """Which floor left out all that is known, if one did."""
    return left_out(partial(rank, with_, view), without_floors(with_, request), run)[0]


def _answerable(view: View, ranked: Ranked, under: str | None) -> StageVerdict:
    """Of all that was found, not of this memory: whether it is taken for an answer; `under` is which floor
    left out what would be."""
    verdict = ranked.verdict
    numbers = {"score": verdict.score, "floor": verdict.floor, **verdict.signals}
    if verdict.known:
        says = f"something is known: {verdict.score:.2f} of at least {verdict.floor:g}"
        return StageVerdict("answerable", True, says, numbers=numbers)
    if under is not None:
        return StageVerdict("answerable", False, f"something is known, but {under}", "lower floors")
    read = view.load(ranked.pool.keys[ranked.rows[:READ]].tolist()).values()
    says = f"nothing is known: {reason(verdict, ranked.query, read)}"
    return StageVerdict("answerable", False, says, f"at least {verdict.floor:g}", numbers)


def _packed(
    view: View, ranked: Ranked, row: int, request: RecallRequest, with_: Recalling
) -> tuple[StageVerdict, int | None]:
    answer = taken(view, ranked, request, with_.settings).tolist()
    if row in answer:
        place = answer.index(row) + 1
        return StageVerdict(
            "pack", True, f"returned as number {place}", numbers={"rank": place}
        ), place
    rows = offered(view, ranked, request, with_.settings, request.max_tokens)[-1]
    if row not in rows:
        return _not_offered(ranked, row, request, with_), None
    return _not_fitting(view, ranked, row, request, with_), None


def _not_fitting(
    view: View, ranked: Ranked, row: int, request: RecallRequest, with_: Recalling
) -> StageVerdict:
    limit, cost = request.max_tokens, int(ranked.pool.columns.tokens[row])
    least, need = _alone(ranked, row, request, with_), "max_tokens of at least {}"
    if request.prefer_observations:
        with_them = needed(
            ranked.pool, row, limit, partial(offered, view, ranked, request, with_.settings)
        )
        if with_them is None:  # more room brings an observation in its place
            need += ", and prefer_observations off"
        least = least if with_them is None else with_them
    need = need.format(least) + _deeper(ranked, least, request, with_)
    numbers = {"tokens": cost, "max_tokens": least}
    return StageVerdict("pack", False, f"its {cost} tokens did not fit", need, numbers)


def _in_place_of(
    ranked: Ranked, row: int, request: RecallRequest, with_: Recalling
) -> StageVerdict:
    """Why a fact is not offered to packing although it was considered; alone it may need more room than
    the observation has."""
    says, need = "an observation made from it is returned in its place", "prefer_observations off"
    least = _alone(ranked, row, request, with_)
    if least == request.max_tokens:
        return StageVerdict("pack", False, says, need)
    need += f", and max_tokens of at least {least}{_deeper(ranked, least, request, with_)}"
    return StageVerdict("pack", False, says, need, {"max_tokens": least})


def _alone(ranked: Ranked, row: int, request: RecallRequest, with_: Recalling) -> int | None:
    """The max_tokens that bring it where nothing gives way to observations."""
    rows = considered(ranked, request, with_.settings)
    ahead = [rows[: int(np.flatnonzero(rows == row)[0]) + 1]]
    return needed(ranked.pool, row, request.max_tokens, lambda _: ahead)


def _deeper(ranked: Ranked, least: int | None, request: RecallRequest, with_: Recalling) -> str:
    if search_depth(change(request, max_tokens=least), with_.settings) <= ranked.depth:
        return ""
    return "; it looks deeper then, and may find others that come before it"


def _not_offered(
    ranked: Ranked, row: int, request: RecallRequest, with_: Recalling
) -> StageVerdict:
    for name, floor, score in (
        ("score", lowest(request, with_.settings), ranked.pool.score_of(row)),
        ("relevance", request.floors.reranker or 0.0, float(ranked.pool.relevance[row])),
    ):
        if score < floor:
            return StageVerdict(
                "pack", False, f"{name} {score:.3f} is under the floor", f"at least {floor:g}"
            )
    if row in considered(ranked, request, with_.settings).tolist():
        return _in_place_of(ranked, row, request, with_)
    return StageVerdict(
        "pack",
        False,
        f"beyond the first {2 * ranked.depth} considered",
        "a better score or a higher budget",
    )

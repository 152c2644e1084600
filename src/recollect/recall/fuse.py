"""Fuse: reciprocal ranks, Σ w / (k + rank), over every arm that found a candidate.

`RRF` is the seeds' reference: k = 60, every arm one vote. The default weighs the arms as the
development sets had it (docs/why.md): a weak arm adds candidates, it does not outvote.

In a conversation the turns beside the best candidates become candidates, too: what answers "What was
wrong with the flour?" need not hold a word of the query, nor mean what it means. When something is
to be done, so do standing wishes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recollect.language.wishes import WISH
from recollect.recall.pool import ArmColumn, Pool, make
from recollect.storage.base import Filter, Floats, Found, Keys, View
from recollect.storage.ranking import best_first, distinct, placed
from recollect.types import Arm

RRF: Mapping[Arm, float] = dict.fromkeys(Arm, 1.0)
WEIGHTED: Mapping[Arm, float] = {
    Arm.SEMANTIC: 1.0,
    Arm.KEYWORD: 1.0,
    Arm.GRAPH: 0.2,
    Arm.TEMPORAL: 1.0,
}


def fuse(view: View, lists: Mapping[Arm, Found], weights: Mapping[Arm, float], k: int) -> Pool:
    """All candidates, best fused score first; ties by key."""
    arms = sorted(lists)  # always added up in the same order
    keys, places = placed([lists[arm].keys for arm in arms])
    rank = np.zeros((len(arms), len(keys)), np.int32)
    score = np.full(rank.shape, np.nan, np.float32)
    fused = np.zeros(len(keys), np.float64)
    for row, (arm, at) in enumerate(zip(arms, places, strict=True)):
        ranks = np.arange(1, len(at) + 1)
        rank[row, at] = ranks
        score[row, at] = lists[arm].scores
        fused[at] += weights[arm] / (k + ranks)
    total = fused.astype(np.float32)
    order = best_first(total)  # keys ascend
    rank, score, keys = rank.take(order, axis=1), score.take(order, axis=1), keys[order]
    columns = {arm: ArmColumn(rank[row], score[row]) for row, arm in enumerate(arms)}
    return make(keys, columns, total[order], view.columns(keys))


LEADING = 20  # candidates, the best by fusion, whose neighbours are looked at
REACH = 2  # turns to either side
STATED, WISHES = 300, 20  # standing wishes that are looked at, and that become candidates


def with_turns_beside(view: View, pool: Pool, allowed: Filter) -> Pool:
    """The pool with the turns beside the best candidates, right behind them; no arm found these."""
    return _with(view, pool, _turns_beside(view, pool, allowed))


def with_wishes(view: View, vector: Floats | None, pool: Pool, allowed: Filter) -> Pool:
    """The pool with the standing wishes that are nearest to what is to be done; they need not have a word or a
    meaning in common with it, and among many memories no arm finds them."""
    stated = view.keyword((WISH,), allowed, STATED).keys
    new = stated[~np.isin(stated, pool.keys)]
    if vector is None or not len(new):
        return pool
    nearest = np.argsort(-view.similarity(vector, new), kind="stable")[:WISHES]
    return _with(view, pool, np.sort(new[nearest]))


def _with(view: View, pool: Pool, new: Keys) -> Pool:
    """The pool with candidates that no arm found, right behind the best."""
    if not len(new):
        return pool
    at = np.full(len(new), min(LEADING, len(pool)))
    keys, lent = np.insert(pool.keys, at, new), pool.fused[at[0] - 1] if len(pool) else 0
    arms = {
        arm: ArmColumn(np.insert(held.rank, at, 0), np.insert(held.score, at, np.nan))
        for arm, held in pool.arms.items()
    }
    return Pool(keys, arms, np.insert(pool.fused, at, lent), view.columns(keys))


def _turns_beside(view: View, pool: Pool, allowed: Filter) -> Keys:
    """Turns are told one after the other, so their keys follow each other; that one answers the
    other is seen from the turn before it."""
    best = pool.keys[:LEADING]
    if not pool.columns.before.any():
        return best[:0]
    steps = [best + step for step in range(-REACH, REACH + 1) if step]
    around = distinct(*steps)
    new = around[(around > 0) & ~np.isin(around, pool.keys)]
    new = new[view.allows(new, allowed)]
    if not len(new):
        return new
    before = dict(zip(pool.keys.tolist(), pool.columns.before.tolist(), strict=True))
    before |= dict(zip(new.tolist(), view.columns(new).before.tolist(), strict=True))
    answers = {key for key, previous in before.items() if previous == key - 1}
    reached = set[int]()
    for key in best.tolist():
        for step in range(1, REACH + 1):
            if key - step + 1 not in answers:
                break
            reached.add(key - step)
        for step in range(1, REACH + 1):
            if key + step not in answers:
                break
            reached.add(key + step)
    return new[np.isin(new, list(reached))]

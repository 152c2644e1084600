"""Fuse: reciprocal ranks, Σ w / (k + rank), over every arm that found a candidate.

`RRF` is the seeds' reference: k = 60, every arm one vote. The default weighs the arms as the
development sets had it (docs/why.md): a weak arm adds candidates, it does not outvote.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recollect.recall.pool import ArmColumn, Pool
from recollect.storage.base import Found, View
from recollect.storage.ranking import distinct
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
    keys = distinct(*(found.keys for found in lists.values()))
    rank = np.zeros((len(lists), len(keys)), np.int32)
    score = np.full(rank.shape, np.nan, np.float32)
    fused = np.zeros(len(keys), np.float64)
    arms = sorted(lists)  # always added up in the same order
    for row, arm in enumerate(arms):
        found, ranks = lists[arm], np.arange(1, len(lists[arm]) + 1)
        at = keys.searchsorted(found.keys)
        rank[row, at] = ranks
        score[row, at] = found.scores
        fused[at] += weights[arm] / (k + ranks)
    total = fused.astype(np.float32)
    order = np.argsort(-total, kind="stable")  # keys ascend
    rank, score, keys = rank.take(order, axis=1), score.take(order, axis=1), keys[order]
    columns = {arm: ArmColumn(rank[row], score[row]) for row, arm in enumerate(arms)}
    return Pool(keys, columns, total[order], view.columns(keys))

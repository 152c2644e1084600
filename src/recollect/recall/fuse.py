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
    fused = np.zeros(len(keys), np.float64)
    arms: dict[Arm, ArmColumn] = {}
    for arm, found in sorted(lists.items()):  # always added up in the same order
        rank = np.zeros(len(keys), np.int32)
        score = np.full(len(keys), np.nan, np.float32)
        at = np.searchsorted(keys, found.keys)
        rank[at] = np.arange(1, len(found) + 1)
        score[at] = found.scores
        fused[at] += weights[arm] / (k + rank[at])
        arms[arm] = ArmColumn(rank, score)
    order = np.lexsort((keys, -fused))
    columns = {arm: ArmColumn(c.rank[order], c.score[order]) for arm, c in arms.items()}
    keys = keys[order]
    return Pool(keys, columns, fused[order].astype(np.float32), view.columns(keys))

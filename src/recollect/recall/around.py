"""Around: how near to the query the talk around each turn is.

"She's a welder" answers what somebody's girlfriend does for a living, and says neither who she is nor
what is asked: that stands in the turns before it.
"""

from __future__ import annotations

import numpy as np

from recollect.recall.pool import Pool
from recollect.storage.base import Filter, Floats, Keys, View
from recollect.storage.ranking import distinct

# What each turn around counts for. Fitted one by one, on chats that now train, the two before a turn
# were worth the same, the one after it less than half, and those further off nothing.
BEFORE, AFTER = np.float32(0.4), np.float32(0.2)


def around(
    view: View, vector: Floats, similar: Floats, pool: Pool, allowed: Filter, limit: int
) -> Floats:
    """The similarity of the two turns before each of the first candidates and of the one after it,
    as one mean. A turn that is not there, or may not be seen, is as similar as the candidate."""
    keys = pool.keys[:limit]
    before = pool.columns.before[:limit]
    if not before.any():
        return similar
    near = distinct(before[before > 0], keys + 1)
    near = near[view.allows(near, allowed)]
    if not len(near):
        return similar
    further = view.columns(near).before
    far = distinct(further[further > 0])
    known = distinct(near, far[view.allows(far, allowed)]) if len(far) else near
    likeness = view.similarity(vector, known)
    own = similar[:limit]

    def of(wanted: Keys) -> Floats:
        at = np.searchsorted(known, wanted) % len(known)
        return np.where(known[at] == wanted, likeness[at], own)

    at = np.searchsorted(near, before) % len(near)
    second = np.where(near[at] == before, further[at], 0)
    after = np.searchsorted(near, keys + 1) % len(near)
    follows = (near[after] == keys + 1) & (further[after] == keys)
    found = BEFORE * (of(before) + of(second)) + AFTER * np.where(follows, of(keys + 1), own)
    return np.concatenate([found, similar[limit:]])

"""Another embedder for a bank: its vectors are made anew from the stored text.

Staged beside the old ones, in batches, and switched in at once when all are there: the bank
stays usable meanwhile for whoever has the old model, and an interrupted run resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from recollect.language.passage import memory_passage
from recollect.models.base import Embedder
from recollect.models.late import to_codes
from recollect.storage.base import Filter, ModelIdentity, StagedVector, Store
from recollect.types import Memory

GROUP = 128


def reembed(
    store: Store,
    embedder: Embedder,
    model: ModelIdentity,
    bank: str,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """How many vectors were made. A bank that has the model already costs nothing."""
    done = 0
    for done, total in reembedding(store, embedder, model, bank):
        if progress:
            progress(done, total)
    return done


def reembedding(
    store: Store, embedder: Embedder, model: ModelIdentity, bank: str
) -> Iterator[tuple[int, int]]:
    """Group by group: how many vectors were made, and how many there are to make with them, earlier
    versions included. Whoever stops asking can go on later; at its end the bank has the model."""
    if store.model_of(bank) == model:
        return
    done, after, left = 0, 0, store.unstaged_count(bank, model[0])
    while True:
        waiting = store.unstaged(bank, model[0], GROUP, after)
        if not waiting:
            if store.switch_model(bank, model):
                return
            # Others wait by now: told meanwhile, or made by another model that had this name.
            after, left = 0, store.unstaged_count(bank, model[0])
            continue
        encoded = embedder.encode_passages(_passages(store, bank, waiting))
        store.stage(
            bank,
            model[0],
            [
                StagedVector(
                    key,
                    encoded.vectors[i],
                    to_codes(encoded.tokens[i]) if model[2] and encoded.tokens else None,
                )
                for i, key in enumerate(waiting)
            ],
        )
        done, after, left = done + len(waiting), max(waiting), max(0, left - len(waiting))
        yield done, done + left


def _passages(store: Store, bank: str, waiting: Mapping[int, Memory]) -> list[str]:
    """As they were embedded first, with the turn each one answers, as that stands."""
    view = store.view(bank)
    given = view.columns(np.array(list(waiting), np.int64)).before
    stands = view.standing(given, Filter())
    before = np.where(stands > 0, stands, given).tolist()
    turns = view.load([key for key in before if key])
    return [
        memory_passage(m, turns.get(key)) for m, key in zip(waiting.values(), before, strict=True)
    ]

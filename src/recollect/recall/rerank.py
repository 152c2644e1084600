"""Rerank: models that read query and memory together score the best of the pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import ModelError
from recollect.language.passage import paired_passage
from recollect.language.terms import query_terms
from recollect.models.base import Reranker, Shareable
from recollect.models.late import best_matches, code_bytes
from recollect.recall.pool import Numbers, Pool
from recollect.storage.base import Filter, Floats, View
from recollect.storage.ranking import distinct


def looked_at_first(pool: Pool, limit: int) -> Pool:
    """With the `limit` candidates that models look at in front: half of them the most relevant by the
    signals there are, the rest the best by fusion; each in the order of the pool.

    Ranks alone would fill them: with a hundred candidates from each of four arms, what only one arm
    found, however well it matches, is behind what two found at their ends.
    """
    if len(pool) <= limit:
        return pool
    likely = np.argsort(-pool.relevance, kind="stable")[: limit // 2]
    chosen = np.zeros(len(pool), np.bool_)
    chosen[likely] = True
    chosen[np.flatnonzero(~chosen)[: limit - len(likely)]] = True
    return pool.only(np.argsort(~chosen, kind="stable"))


def late_interaction(
    view: View, query_tokens: NDArray[np.int8], dimensions: int, pool: Pool, limit: int
) -> Pool:
    """MaxSim over the token vectors that were made when each memory was retained.

    A turn is also read together with the one before it ("Yes, in May." answers something):
    `late_before` is how much better the query is matched by both than by the turn alone.
    """
    keys = pool.keys[:limit]
    before = pool.columns.before[:limit]
    wanted = distinct(keys, before[before > 0])
    width = code_bytes(dimensions)
    empty = np.empty((0, width), np.uint8)
    held = view.token_vectors(wanted)
    best = best_matches(query_tokens, [empty if t is None else t.reshape(-1, width) for t in held])
    own = best[np.searchsorted(wanted, keys)]
    other = np.where(before[:, None] > 0, best[np.searchsorted(wanted, before) % len(wanted)], 0)
    alone = own.mean(axis=1)
    both = np.maximum(own, other)
    missed = _missed(query_tokens, both)
    # No vectors are no opinion: such memories keep the relevance they had.
    lacking = np.array([t is None for t in held])
    if lacking.any():
        unread = lacking[np.searchsorted(wanted, keys)]
        alone[unread] = missed[unread] = np.nan
    pool = with_signal(pool, "missed", missed)
    gained = both.mean(axis=1) - alone
    return with_signal(with_signal(pool, "late", alone), "late_before", gained)


def matched_anew(pool: Pool, rows: NDArray[np.int64], anew: Pool) -> Pool:
    """With what late interaction says of some rows as another query has it."""
    signals = {name: column.copy() for name, column in pool.signals.items()}
    for name in ("late", "late_before", "missed"):
        signals[name][rows] = anew.signals[name]
    return replace(pool, signals=signals)


def _missed(query_tokens: NDArray[np.int8], matches: Floats) -> Floats:
    """What of the query each candidate leaves unmatched: a mean of the fourth power, so that one
    heavy token ("blood" of a blood type) counts for more than many that are nearly matched."""
    weight = np.linalg.norm(query_tokens.astype(np.float32), axis=1)
    left = weight / np.float32(max(float(weight.mean()), 1.0)) - matches
    left *= left
    return np.sqrt(np.sqrt((left * left).mean(axis=1)))


@dataclass(frozen=True, slots=True)
class Reading:
    """How many of the best a cross-encoder has read each time it stops to look whether that will do, ties
    aside. At the first of these marks nothing will but a find that is certain."""

    marks: tuple[int, ...] = ()

    @property
    def most(self) -> int:
        return max(self.marks, default=0)

    @property
    def least(self) -> int:
        return max(self.marks[:2], default=0)


def portions(pool: Pool, reading: Reading, limit: int) -> Iterator[NDArray[np.int64]]:
    """The rows worth a cross-encoder's time, of the first `limit` the best first, from mark to mark. What ties
    with the last of a portion belongs to it (equal texts get equal scores), up to as many again."""
    best = np.lexsort((pool.keys[:limit], -pool.relevance[:limit]))
    begin = 0
    for mark in reading.marks:
        size = mark - begin
        if size <= 0 or begin >= len(best):
            continue
        rows = best[begin : begin + 2 * size]
        relevance = pool.relevance[rows]
        rows = rows[relevance >= relevance[:size].min()]
        yield rows
        begin += len(rows)


Score = Callable[[str, Sequence[str]], ArrayLike]


def scoring(reranker: Reranker, helpers: Executor | None) -> Score:
    """How it reads: with helpers where there are some and it can use them."""
    if helpers is None or not isinstance(reranker, Shareable):
        return reranker.score
    return partial(reranker.score_with, helpers)


def cross_encode(
    view: View,
    score: Score,
    query: str,
    pool: Pool,
    best: NDArray[np.int64],
    allowed: Filter,
) -> Pool:
    """The cross-encoder's logits for the rows named by `best`, beside those it gave before. It reads a turn
    with the one or two before it, where those may be seen."""
    turns = pool.columns.before[best]
    standing = view.standing(np.concatenate([turns, _turns_before(pool, turns)]), allowed)
    before, earlier = standing.reshape(2, -1).tolist()
    keys = pool.keys[best].tolist()
    memories = view.load(dict.fromkeys([*keys, *filter(None, standing.tolist())]))
    pairs = [
        (at, key, (memories.get(turn), memories.get(first)))
        for at, key, turn, first in zip(best.tolist(), keys, before, earlier, strict=True)
        if key in memories
    ]
    wanted = query_terms(query)
    texts = [paired_passage(memories[key], *turns, wanted=wanted) for _, key, turns in pairs]
    known = pool.signals.get("cross")
    scores = np.full(len(pool), np.nan, np.float32) if known is None else known.copy()
    scores[[at for at, _, _ in pairs]] = _given(score(query, texts), len(texts))
    return replace(pool, signals={**pool.signals, "cross": scores})


def _turns_before(pool: Pool, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The turn before each of these, where it is a candidate itself, as what stands beside the best is; else 0."""
    order = np.argsort(pool.keys)
    at = order[np.searchsorted(pool.keys, keys, sorter=order) % len(order)]
    return np.where(pool.keys[at] == keys, pool.columns.before[at], 0)


def _given(scores: ArrayLike, texts: int) -> Floats:
    """A score for each text, NaN for no opinion; one alone would go to all of them."""
    column = np.asarray(scores, np.float32)
    if column.shape != (texts,):
        raise ModelError(
            f"the reranker gave {column.size} scores for {texts} texts",
            hint="look at its model",
        )
    if np.isinf(column).any():  # all of them would be as sure as can be
        raise ModelError("the reranker gave scores without end", hint="look at its model")
    return column


def with_signal(pool: Pool, name: str, scores: Floats | Numbers) -> Pool:
    """Scores of the first rows; the rest get NaN: not looked at."""
    column = np.full(len(pool), np.nan, np.float32)
    column[: len(scores)] = scores
    return replace(pool, signals={**pool.signals, name: column})

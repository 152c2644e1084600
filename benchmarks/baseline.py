"""The plain baseline: bm25s + MiniLM + reciprocal rank fusion, in numpy.

What a user could write in an afternoon. It is here for its quality, so vectors are cached and
its speed is not measured. recollect has to beat it clearly to be worth its
name. `Baseline("bm25")` and `Baseline("minilm")` are its two halves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import bm25s
import numpy as np
import Stemmer
from numpy.typing import NDArray

from minilm import MiniLM
from recollect.eval.data import Bank, Query, Unit
from recollect.eval.metrics import Ranked
from recollect.language.tokens import count_tokens

DEPTH = 300
RRF_K = 60
Kind = Literal["bm25", "minilm", "rrf"]

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Index:
    keyword: Any
    vectors: Array
    asked: dict[str, Array]
    times: NDArray[np.float64]
    tags: list[frozenset[str]]


class Baseline:
    def __init__(self, kind: Kind = "rrf", model: MiniLM | None = None) -> None:
        self.name = {"bm25": "BM25", "minilm": "MiniLM", "rrf": "BM25 + MiniLM, RRF"}[kind]
        self._kind = kind
        self._model = model or MiniLM()
        self._stemmer = Stemmer.Stemmer("english")
        self._indexes: dict[str, Index] = {}

    def sharing(self, kind: Kind) -> Baseline:
        """The same indexes, ranked another way."""
        twin = Baseline(kind, self._model)
        twin._indexes = self._indexes
        return twin

    def index(self, bank: Bank) -> None:
        texts = [said(unit) for unit in bank.units]
        keyword = bm25s.BM25(k1=1.2, b=0.75)
        keyword.index(self._tokens(texts), show_progress=False)
        never = float("-inf")
        questions = sorted({query.text for query in bank.queries})
        self._indexes[bank.id] = Index(
            keyword,
            self._model.embed_cached(texts),
            dict(zip(questions, self._model.embed_cached(questions), strict=True))
            if questions
            else {},
            np.array([unit.time.timestamp() if unit.time else never for unit in bank.units]),
            [frozenset(unit.tags) for unit in bank.units],
        )

    def gold_key(self, bank: Bank, unit_id: str) -> str:
        return unit_id

    def search(self, bank: Bank, query: Query) -> Ranked:
        found = [bank.units[i] for i in self._rank(self._indexes[bank.id], query)]
        return Ranked(tuple(u.id for u in found), tuple(count_tokens(u.text) for u in found))

    def _rank(self, index: Index, query: Query) -> list[int]:
        allowed = np.ones(len(index.tags), bool)
        if query.as_of:
            allowed &= index.times <= query.as_of.timestamp()
        if query.tags:
            allowed &= np.array([bool(tags & set(query.tags)) for tags in index.tags])
        lists: list[list[int]] = []
        if self._kind != "minilm":
            terms = self._tokens([query.text])
            scores = index.keyword.get_scores(terms[0]) if terms[0] else np.zeros(len(allowed))
            lists.append(_top(scores, allowed & (scores > 0)))
        if self._kind != "bm25":
            lists.append(_top(index.vectors @ index.asked[query.text], allowed))
        return _fuse(lists)

    def _tokens(self, texts: list[str]) -> list[list[str]]:
        return bm25s.tokenize(
            texts, stopwords="en", stemmer=self._stemmer, return_ids=False, show_progress=False
        )


def said(unit: Unit) -> str:
    title = unit.fields.get("title")
    lead = unit.speaker or title
    return f"{lead}: {unit.text}" if lead else unit.text


def _top(scores: Array, allowed: NDArray[np.bool_]) -> list[int]:
    order = np.argsort(-np.where(allowed, scores, -np.inf), kind="stable")[:DEPTH]
    return [int(i) for i in order if allowed[i]]


def _fuse(lists: list[list[int]]) -> list[int]:
    scores: dict[int, float] = {}
    for ranked in lists:
        for rank, i in enumerate(ranked, start=1):
            scores[i] = scores.get(i, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda i: (-scores[i], i))

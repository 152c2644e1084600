"""Explain: the tree of numbers behind a score, and why a memory was, or was not, returned.

Nothing is computed again here: the trees are read off the columns that made the ranking.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from typing import Any

from recollect.language.terms import terms
from recollect.lifecycle import FACTOR
from recollect.recall.pool import Pool
from recollect.recall.understand import Query
from recollect.types import Explanation, Memory, State
from recollect.types.making import maker

MEANING: Mapping[str, str] = {
    "semantic": "similarity of meaning",
    "around": "similarity of the turns around it, or its own where there are none",
    "keyword": "keyword score, as a share of the most that the query's words could score",
    "exact": "identifiers held to the letter, by their share of the query",
    "late": "late interaction, token by token",
    "late_before": "late interaction gained with the turn before",
    "beside": "relevance of the best turn beside it",
    "missed": "what of the query is left unmatched, token by token",
    "length": "length, log of tokens",
    "wish": "a standing wish, something is to be done",
    "lately": "told lately (above 0), long ago or later (below 0), and a message goes on with what is going on",
    "cross": "cross-encoder",
    "graph": "links to the best hits",
    "window": "inside (above 0) or outside (below 0) the time asked for",
}
RERANKED = frozenset({"late", "late_before", "cross"})
FACTORS: Mapping[str, str] = {
    "recency": "recency factor",
    "temporal": "factor for closeness to the time asked for",
    "proof": "evidence factor",
    "order": "factor for being the first or the last, as asked",
    "lifecycle": "lifecycle factor",
    "yields": "factor for holding now, what it replaced was asked for",
    "restates": "factor for restating the question, what it leads to was asked for",
}

_make = maker(Explanation)  # a score is made of some twenty
_SUPERSEDED = tuple(State).index(State.SUPERSEDED)


def explain(pool: Pool, row: int) -> Explanation:
    """final = relevance × factors, at most 1; relevance = sigmoid(bias + Σ weight · signal)."""
    final = float(pool.final[row])
    if final <= 1:
        return _final(pool, row, "final score")
    most = _make(1.0, "as sure as can be")
    return _make(1.0, "final score", (_final(pool, row, "boosted score"), most), "min")


def _final(pool: Pool, row: int, name: str) -> Explanation:
    if pool.timely is None or not pool.timely.given[row]:
        return _boosted(pool, row, float(pool.final[row]), name)
    boosted = _boosted(pool, row, float(pool.timely.own[row]), "boosted relevance")
    timely = _make(
        float(pool.timely.given[row]), "in the time asked for, and nothing else was asked for"
    )
    return _make(float(pool.final[row]), name, (boosted, timely), "either")


def _boosted(pool: Pool, row: int, value: float, name: str) -> Explanation:
    factors = [
        _make(float(f[row]), factor_meaning(name, pool, row)) for name, f in pool.factors.items()
    ]
    return _make(value, name, (_relevance(pool, row), *factors), "product")


def factor_meaning(name: str, pool: Pool, row: int) -> str:
    """What the factor is, and for one that lets a memory stand back, why it does."""
    value = float(pool.factors[name][row])
    if name != "lifecycle" or value == 1:
        return FACTORS[name]
    if pool.columns.state[row] == _SUPERSEDED:
        return f"{FACTORS[name]}: superseded"
    nearest = min(FACTOR, key=lambda f: abs(FACTOR[f] - value))
    return f"{FACTORS[name]}: {nearest.value}"


def term_meaning(name: str, pool: Pool, row: int) -> str:
    """What the term is, and where the models read the query without its time, that they did."""
    without_time = name in RERANKED and bool((pool.held == pool.keys[row]).any())
    return (
        f"{MEANING[name]}, without the time asked for (it held then)"
        if without_time
        else MEANING[name]
    )


def _relevance(pool: Pool, row: int) -> Explanation:
    if pool.support is None or not pool.support.given[row]:
        return _own(pool, row, float(pool.relevance[row]))
    support = _make(
        float(pool.support.given[row]), "a good hit leads here: by a link, or replaced by this"
    )
    own = _own(pool, row, float(pool.support.own[row]))
    return _make(float(pool.relevance[row]), "relevance", (own, support), "either")


def _own(pool: Pool, row: int, value: float) -> Explanation:
    bridged = pool.bridged
    if bridged is None or not bridged.lift[row]:
        return _judged(pool, row, value)
    lift = _make(
        float(bridged.lift[row]),
        "towards a better hit that it shares names or its day with, or is like",
    )
    return _judged(pool, row, value, (lift,))


def _judged(pool: Pool, row: int, value: float, lifts: tuple[Explanation, ...] = ()) -> Explanation:
    calibration = pool.calibration
    if pool.rest is not None and pool.rest.rows[row]:
        return _judged(pool.rest.judged, row, value, lifts)
    if calibration is None:
        return _make(value, "relevance, spread by fused rank", (_fused(pool, row),))
    parts = [_make(calibration.bias, "bias")]
    parts += [
        _make(
            0.0 if math.isnan(float(term[row])) else float(term[row]),
            f"{term_meaning(name, pool, row)}: {float(pool.signals[name][row]):.4f} × {calibration.weights[name]:g}",
        )
        for name, term in pool.terms.items()
    ]
    parts += lifts
    logit = _make(sum(part.value for part in parts), "logit", tuple(parts), "sum")
    return _make(value, "relevance", (logit,), "sigmoid")


def _fused(pool: Pool, row: int) -> Explanation:
    details = tuple(
        _make(float(c.rank[row]), f"rank in the {arm.value} arm")
        for arm, c in pool.arms.items()
        if c.rank[row]
    )
    return _make(float(pool.fused[row]), "fused score", details)


def matched(query: Query, memory: Memory) -> tuple[str, ...]:
    """The query's terms that the memory holds in any field."""
    fields = (
        memory.text,
        memory.context,
        memory.speaker,
        memory.title,
        memory.summary,
        memory.topic_path,
        *memory.recall_when,
        *memory.tags,
    )
    held = set(chain.from_iterable(map(terms, filter(None, fields))))
    return tuple(term for term in query.terms if term in held)


@dataclass(frozen=True, slots=True)
class StageVerdict:
    """What one stage did with the memory."""

    stage: str
    passed: bool
    says: str
    needed: str | None = None  # what it would have taken, where it did not pass
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Why:
    """Why, or why not: stage by stage."""

    memory_id: str
    query: str
    returned: bool
    rank: int | None
    left_at: str | None  # the stage at which it left, None when it was returned
    stages: tuple[StageVerdict, ...]
    explanation: Explanation | None
    text: str | None = None  # as it was said at the time asked about; not what a filter hides

    def as_dict(self) -> dict[str, Any]:
        return {
            "memory_id": self.memory_id,
            "text": self.text,
            "query": self.query,
            "returned": self.returned,
            "rank": self.rank,
            "left_at": self.left_at,
            "stages": [
                {
                    "stage": s.stage,
                    "passed": s.passed,
                    "says": s.says,
                    **({"needed": s.needed} if s.needed else {}),
                    **dict(s.numbers),
                }
                for s in self.stages
            ],
            "explanation": self.explanation.as_dict() if self.explanation else None,
        }

    def __str__(self) -> str:
        """The verdict, a line a stage, and the tree of numbers."""
        place = f"returned as number {self.rank}" if self.returned else f"left at {self.left_at}"
        width = max((len(s.stage) for s in self.stages), default=0)
        lines = [
            f"{'✓' if s.passed else '✗'}  {s.stage:{width}}  {s.says}"
            + (f"; needed: {s.needed}" if s.needed else "")
            for s in self.stages
        ]
        tree = [] if self.explanation is None else [str(self.explanation)]
        return "\n".join([f"{self.query}: {place}", *lines, *tree])

    def _repr_html_(self) -> str:
        """For notebooks: the verdict, a row a stage, and the tree of numbers."""
        place = f"returned as number {self.rank}" if self.returned else f"left at {self.left_at}"
        rows = "".join(
            f"<tr><td>{escape(s.stage)}</td><td>{'✓' if s.passed else '✗'}</td>"
            f"<td>{escape(s.says)}</td><td>{escape(s.needed or '')}</td></tr>"
            for s in self.stages
        )
        head = "<tr><th>stage</th><th></th><th>says</th><th>needed</th></tr>"
        tree = "" if self.explanation is None else self.explanation.as_html()
        return f"<p>{escape(self.query)}: {place}</p><table>{head}{rows}</table>{tree}"

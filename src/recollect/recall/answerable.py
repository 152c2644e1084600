"""Answerable: whether the best that was found answers the query, or nothing is known.

Relevance orders the candidates of one query, and a floor under it turns away what is foreign to
the bank. It does not see that a question about a known person asks for something never told: the
best candidate is about the right person. So the decision is a small logistic model of its own over
the query and its best candidate, fitted (`training/fit_abstain.py`) on questions that a bank can
answer and on the same questions after their answers were taken out of it. Where its signals say
little (no vector, few memories, a time that decides, links that lead there), and where relevance is
sure by itself, the floor decides; when nothing but a time is asked for ("What happened last
spring?"), whatever lies in it is an answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import orjson
from numpy.typing import NDArray

from recollect.language.terms import query_terms
from recollect.recall.explain import matched
from recollect.recall.pool import Pool
from recollect.recall.relevance import Calibration
from recollect.recall.retrieve import Retrieved
from recollect.recall.understand import Query
from recollect.storage.base import View
from recollect.storage.ranking import idf
from recollect.types import Arm, Memory

AMONG = 50  # the best by similarity, of which the first must stand out
FEW = 60  # memories: they fit a prompt together, and none stands out among them
READ = 5  # hits that are searched for a word of the query before it is called missing
NAMED = 3  # words that a reason names
_EVEN = 0.03  # cosine: candidates that differ by less do not differ
_MOST = 10.0  # of a logit
_WORD = re.compile(r"\w[\w'’\-]*")


@dataclass(frozen=True, slots=True)
class Weights:
    bias: float
    weights: Mapping[str, float]
    floor: float  # a probability below it: nothing is known


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something is known; with the signals behind it, where they decided."""

    known: bool
    score: float  # the probability of an answer, or the best final score where the floor decided
    floor: float
    signals: Mapping[str, float]


@cache
def fitted(model: str) -> Mapping[str, Weights]:
    """By which signals relevance had: "first", "late", "cross"; none for a model nobody fitted."""
    table = orjson.loads((files("recollect.recall") / "answerable.json").read_bytes())
    return {name: Weights(**entry) for name, entry in table.get(model, {}).items()}


def asked_for(pool: Pool, rows: NDArray[np.int64]) -> int | None:
    """The candidate that tells whether the query is about something known: the best, or what let the best
    pass before it, for that one is in the words of the query."""
    if not len(rows):
        return None
    best = int(rows[0])
    if pool.behind is None or not (pool.behind == best).any():
        return best
    behind = np.flatnonzero(pool.behind == best)
    return int(behind[np.argmax(pool.relevance[behind])])


def answerable(
    view: View,
    query: Query,
    found: Retrieved,
    pool: Pool,
    best: int | None,
    calibration: Calibration | None,
    model: str,
) -> Verdict:
    """`best` is the row of the best candidate, `model` the embedder whose weights count."""
    floor = 0.3 if calibration is None else calibration.maybe
    if best is None:
        return Verdict(False, 0.0, floor, {})
    if query.time_pull.alone and _in_time(pool, best):
        return Verdict(True, pool.score_of(best), 0.0, {})
    weights = None if calibration is None else fitted(model).get(stage_of(calibration))
    # A hit that is rated strong is not denied: that would be to contradict oneself.
    strong = calibration is not None and float(pool.relevance[best]) >= calibration.strong
    if weights is None or strong or not measured(view, query, found, pool, best):
        score = pool.score_of(best)
        return Verdict(score >= floor, score, floor, {})
    signals = signals_of(view, query, pool, best)
    logit = weights.bias + sum(w * signals[name] for name, w in weights.weights.items())
    chance = 1 / (1 + math.exp(-logit))
    return Verdict(chance >= weights.floor, chance, weights.floor, signals)


def stage_of(calibration: Calibration) -> str:
    """The name that the weights of the same stage go by; a cross-encoder that read without token
    vectors has none, and words alone have none."""
    if "semantic" not in calibration.weights:
        return "unfitted"
    read = [name for name in ("late", "cross") if name in calibration.weights]
    return {"": "first", "late": "late", "late cross": "cross"}.get(" ".join(read), "unfitted")


def measured(view: View, query: Query, found: Retrieved, pool: Pool, best: int) -> bool:
    """Whether the signals can tell. Without a vector or keywords some are not there; among a few
    memories none stands out, and to ask those few in other words is no sign of ignorance; where the
    time asked for is what decides ("What happened last week?"), or links led to the best
    candidate, its words need not be those of the query."""
    if found.vector is None or Arm.SEMANTIC not in found.lists or Arm.KEYWORD not in found.lists:
        return False
    if view.size < FEW:
        return False
    if query.time_pull.inside > 0 and _in_time(pool, best):
        return False
    return pool.support is None or not float(pool.support.given[best])


def _in_time(pool: Pool, row: int) -> bool:
    window = pool.signals.get("window")
    return window is not None and float(window[row]) > 0


def signals_of(view: View, query: Query, pool: Pool, best: int) -> dict[str, float]:
    """What the decision is made of; each means the same in small and large banks."""
    chance = float(pool.relevance[best])
    rarest = idf(view.size, 0)
    held = float(pool.signals["keyword"][best]) * view.keyword_ceiling(query.hashes)
    missed, cross = pool.signals.get("missed"), pool.signals.get("cross")
    return {
        "relevance": _logit(chance),
        "words": math.log1p(held / max(rarest, 1e-9)),
        "lead": _lead(pool),
        "strangers": len(query.strangers) / max(query.names, 1),
        "missed": 0.0 if missed is None else float(np.nan_to_num(missed[best])),
        "cross": 0.0 if cross is None else float(np.nan_to_num(cross[best])),
    }


def _logit(chance: float) -> float:
    if not 0 < chance < 1:
        return _MOST if chance >= 1 else -_MOST
    return min(max(math.log(chance / (1 - chance)), -_MOST), _MOST)


def _lead(pool: Pool) -> float:
    """In standard deviations of the best, from their middle."""
    similar = np.sort(pool.signals["semantic"])[: -AMONG - 1 : -1]
    last = len(similar) - 1
    middle = (similar[last // 2] + similar[(last + 1) // 2]) / 2  # np.median sorts once more
    return float((similar[0] - middle) / (similar.std() + _EVEN))


def reason(verdict: Verdict, query: Query, read: Iterable[Memory]) -> str:
    """Why nothing is known, in words; `read` are the best hits."""
    if query.strangers:
        return f"no memory knows {_quoted(query.strangers)}"
    held = {term for memory in read for term in matched(query, memory)}
    missing = set(query.terms) - held
    words = [w for w in _WORD.findall(query.text) if missing.issuperset(query_terms(w))]
    if words:
        longest = sorted(words, key=len, reverse=True)  # mostly what the query is about
        return f"none of the best hits covers {_quoted(longest)}"
    return f"the best match is too weak: {verdict.score:.2f}, at least {verdict.floor:g} is needed"


def _quoted(words: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(words))
    return ", ".join(f"'{word}'" for word in distinct[:NAMED]) + (
        " …" if len(distinct) > NAMED else ""
    )

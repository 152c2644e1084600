"""Floors under arms: whoever wants near matches alone is not told that nothing is known.

`min_scores.semantic` and `min_scores.keyword`, and the setting `min_similarity`, act before anything
is ranked, so nobody has judged what they leave out. Where nothing is known above them, all is ranked
once more without them; the answer stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from recollect.recall.answer import Ranked, looked
from recollect.recall.request import RecallRequest, change
from recollect.recall.result import RecallResult
from recollect.telemetry import Run

Ranking = Callable[[RecallRequest, Run], Ranked]


@dataclass(frozen=True, slots=True)
class Lifted:
    """A request without the floors of its arms, and those by name."""

    request: RecallRequest
    floors: Mapping[str, float]


def lifted(request: RecallRequest, similarity: float | None, bar: float) -> Lifted:
    """`similarity` is the floor that settings give, if they do; `bar` is what fits the embedder."""
    asked = request.floors
    given = {"min_scores.semantic": asked.semantic, "min_scores.keyword": asked.keyword}
    if asked.semantic is None and similarity is not None and similarity > bar:
        given["min_similarity"] = similarity
    least = bar if similarity is None else min(similarity, bar)
    return Lifted(
        change(request, floors=replace(asked, semantic=least, keyword=None)),
        {name: floor for name, floor in given.items() if floor},
    )


def told_apart(again: Ranking, open_: Lifted, result: RecallResult, run: Run) -> RecallResult:
    """The result, where a floor is not taken for ignorance."""
    if not result.nothing_known or not open_.floors:
        return result
    under, alone = left_out(again, open_, run)
    if under is None and looked(alone):
        return result
    return replace(
        result,
        nothing_known=False,
        under_floor=under,
        degraded=result.degraded if under else (*result.degraded, *alone.degraded),
    )


def left_out(again: Ranking, open_: Lifted, run: Run) -> tuple[str | None, Run]:
    """Which floors of arms left out all that is known, if they did; and what told so, by the clock of
    `run`: its stages are none of the answer's."""
    alone = Run(name=run.name, bank=run.bank, waited=run.elapsed_ms() / 1000)
    if not open_.floors or not again(open_.request, alone).verdict.known:
        return None, alone
    named = " or ".join(f"{name} ({floor:g})" for name, floor in open_.floors.items())
    return f"nothing that answers it reaches {named}", alone

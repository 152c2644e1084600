"""Floors under arms: whoever wants near matches alone is not told that nothing is known.

`min_scores.semantic` and `min_scores.keyword` act before anything is ranked, so nobody has judged
what they leave out. Where nothing is known above them, all is ranked once more without them; the
answer stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.recall.answer import looked
from recollect.recall.pipeline import Recalling, rank
from recollect.recall.request import RecallRequest, change
from recollect.recall.result import RecallResult
from recollect.storage.base import View
from recollect.telemetry import Run


def told_apart(
    with_: Recalling, view: View, request: RecallRequest, result: RecallResult, run: Run
) -> RecallResult:
    """The result, where a floor is not taken for ignorance."""
    if not result.nothing_known or not _floors(request):
        return result
    under, alone = left_out(with_, view, request, run)
    if under is None and looked(alone):
        return result
    return replace(
        result,
        nothing_known=False,
        under_floor=under,
        degraded=result.degraded if under else (*result.degraded, *alone.degraded),
    )


def left_out(
    with_: Recalling, view: View, request: RecallRequest, run: Run
) -> tuple[str | None, Run]:
    """Which floors of arms left out all that is known, if they did; and what told so, by the clock of
    `run`: its stages are none of the answer's."""
    floors = _floors(request)
    alone = Run(name=run.name, bank=run.bank, waited=run.elapsed_ms() / 1000)
    if not floors:
        return None, alone
    open_ = change(request, floors=replace(request.floors, semantic=None, keyword=None))
    if not rank(with_, view, open_, alone).verdict.known:
        return None, alone
    named = " or ".join(f"min_scores.{name} ({floor:g})" for name, floor in floors.items())
    return f"nothing that answers it reaches {named}", alone


def _floors(request: RecallRequest) -> dict[str, float]:
    given = {"semantic": request.floors.semantic, "keyword": request.floors.keyword}
    return {name: floor for name, floor in given.items() if floor}

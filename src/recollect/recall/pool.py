"""The candidates of one recall, as columns: what every stage reads and the next one extends.

One row a memory. Everything an arm said about it stays: `arms[arm].rank` is 0 where the arm
did not find it. Columns rather than objects because a recall touches some 600 candidates and
must do so in a millisecond.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.storage.base import Columns, Floats, Keys
from recollect.types import Arm
from recollect.types.making import changer, maker

if TYPE_CHECKING:
    from recollect.recall.relevance import Calibration

Numbers = NDArray[np.float64]  # from the terms of relevance on: what a reader adds up to the bit


@dataclass(frozen=True, slots=True)
class ArmColumn:
    rank: NDArray[np.int32]  # from 1; 0 = not found by this arm
    score: Floats  # in the arm's own units; NaN where not found


@dataclass(frozen=True, slots=True)
class Rest:
    """What the last reranker did not look at keeps the relevance it had: both are calibrated."""

    rows: NDArray[np.bool_]
    judged: Pool

    def only(self, rows: NDArray[np.int64]) -> Rest:
        return Rest(self.rows[rows], self.judged.only(rows))


@dataclass(frozen=True, slots=True)
class Support:
    """What speaks for a candidate beside its own number: links of the best hits, or its time."""

    given: Floats  # in [0, 1]
    own: Numbers

    def only(self, rows: NDArray[np.int64]) -> Support:
        return Support(self.given[rows], self.own[rows])

    def either(self) -> Numbers:
        """The chance that at least one of both holds."""
        given = self.given.astype(np.float64)
        return np.where(given > 0, 1 - (1 - self.own) * (1 - given), self.own)


@dataclass(frozen=True, slots=True)
class Bridged:
    """How far each candidate was lifted towards a better hit, and which hit that was."""

    lift: Floats  # of the logit; 0 for none
    over: NDArray[np.int64]  # row of that hit; -1 for none
    own: Numbers  # relevance before

    def only(self, rows: NDArray[np.int64]) -> Bridged:
        return Bridged(self.lift[rows], np.full(len(rows), -1), self.own[rows])


@dataclass(frozen=True, slots=True)
class Pool:
    keys: Keys
    arms: Mapping[Arm, ArmColumn]
    fused: Floats
    columns: Columns
    # Those that held at the time asked about, though they bear another.
    held: Keys = field(default_factory=lambda: np.empty(0, np.int64))
    signals: Mapping[str, Floats] = field(
        default_factory=dict[str, "Floats"]
    )  # rerank and evidence
    terms: Mapping[str, Floats] = field(
        default_factory=dict[str, "Floats"]
    )  # of the relevance logit
    logit: Numbers = field(default_factory=lambda: np.empty(0))  # their sum
    relevance: Numbers = field(default_factory=lambda: np.empty(0))
    calibration: Calibration | None = None  # whose logit the terms are
    rest: Rest | None = None
    bridged: Bridged | None = None
    support: Support | None = None
    behind: NDArray[np.int64] | None = None  # row of what is to come before it; -1 for none
    factors: Mapping[str, Floats] = field(default_factory=dict[str, "Floats"])
    timely: Support | None = None  # of the product of relevance and factors
    final: Numbers = field(default_factory=lambda: np.empty(0))  # in this order

    @property
    def score(self) -> Numbers:
        """What a hit is said to score. Boosts multiply a probability and may carry it past 1; that
        is as sure as can be, and the order still knows which is surer."""
        return np.minimum(self.final, 1)

    def score_of(self, row: int) -> float:
        """Of one of them: whoever asks about the best need not have all worked out."""
        return min(float(self.final[row]), 1.0)

    def __len__(self) -> int:
        return len(self.keys)

    def only(self, rows: NDArray[np.int64]) -> Pool:
        """These candidates, in this order, with what explains their scores. What points at other
        candidates is left out."""
        return make(
            keys=self.keys[rows],
            arms={
                arm: ArmColumn(c.rank.take(rows), c.score.take(rows))
                for arm, c in self.arms.items()
            },
            fused=self.fused[rows],
            columns=self.columns.only(rows),
            held=self.held,
            signals={name: column.take(rows) for name, column in self.signals.items()},
            terms={name: column.take(rows) for name, column in self.terms.items()},
            logit=self.logit[rows] if len(self.logit) else self.logit,  # none of ranks alone
            relevance=self.relevance[rows],
            calibration=self.calibration,
            rest=None if self.rest is None else self.rest.only(rows),
            bridged=None if self.bridged is None else self.bridged.only(rows),
            support=None if self.support is None else self.support.only(rows),
            factors={name: column.take(rows) for name, column in self.factors.items()},
            timely=None if self.timely is None else self.timely.only(rows),
            final=self.final[rows] if len(self.final) else self.final,  # none before boosts
        )

    def at(self, key: int) -> int | None:
        found = np.flatnonzero(self.keys == key)
        return int(found[0]) if len(found) else None


make = maker(Pool)
change = changer(Pool)  # what `dataclasses.replace` does, for stages that every recall passes

"""Boosts: the spec's tables to the digit, bounded, and neutral where nothing is known."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.language.dates import to_micros
from recollect.lifecycle import WINDOWS as LIFETIME_DAYS
from recollect.recall.boost import boost, closeness, lifecycle, proof, recency
from recollect.recall.pool import Pool
from recollect.storage.base import NO_TIME
from recollect.types import MemoryType, State, Window

from .columns import columns

NOW = datetime(2026, 11, 15, tzinfo=UTC)
AT = to_micros(NOW)
DAY = 86_400_000_000
OBSERVATION = list(MemoryType).index(MemoryType.OBSERVATION)
days_ago = st.floats(0, 5000)


def ago(days: float) -> int:
    return AT - round(days * DAY)


def one(**given: Any):
    return columns([1], **given)


def boosted(
    relevance: float = 0.8, window: Window | None = None, now: datetime = NOW, **given: Any
) -> Pool:
    value = np.array([relevance], np.float32)
    pool = Pool(np.array([1]), {}, value, one(**given), relevance=value)
    return boost(pool, now, window, None, "linear", 0.5)


# --- recency -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "signal"), [(0, 1.0), (36.5, 0.9), (182.5, 0.5), (328.5, 0.1), (365, 0.1), (4000, 0.1)]
)
def test_recency_falls_linearly_over_a_year_to_a_tenth(days: float, signal: float) -> None:
    at = ago(days)
    assert recency(one(happened_from=at, happened_until=at), AT)[0] == pytest.approx(
        signal, abs=1e-6
    )


def test_recency_of_an_undated_memory_is_a_half() -> None:
    assert recency(one(), AT)[0] == 0.5


def test_recency_of_the_future_is_that_of_today() -> None:
    at = ago(-30)
    assert recency(one(happened_from=at, happened_until=at + DAY), AT)[0] == 1.0


def test_a_memory_known_to_the_month_is_as_recent_as_the_months_end() -> None:
    month = one(happened_from=ago(60), happened_until=ago(30))
    day = one(happened_from=ago(30), happened_until=ago(30))
    assert recency(month, AT)[0] == recency(day, AT)[0]


def test_a_period_that_still_runs_is_recent() -> None:
    assert recency(one(happened_from=ago(300), happened_until=ago(-65)), AT)[0] == 1.0


def test_other_decay_curves_can_be_chosen() -> None:
    half_a_year = one(happened_from=ago(182.5), happened_until=ago(182.5))
    assert recency(half_a_year, AT, "exponential")[0] == pytest.approx(0.5)
    assert recency(half_a_year, AT, "none")[0] == 0.5
    assert recency(one(), AT, "exponential")[0] == 0.5


@given(days_ago, days_ago, st.sampled_from(["linear", "exponential"]))
def test_the_older_is_never_the_more_recent(a: float, b: float, decay: str) -> None:
    older, newer = max(a, b), min(a, b)
    both = columns(
        [1, 2], happened_from=[ago(older), ago(newer)], happened_until=[ago(older), ago(newer)]
    )
    signal = recency(both, AT, decay)
    assert 0.1 - 1e-6 <= signal[0] <= signal[1] <= 1


# --- temporal ----------------------------------------------------------------------------------

JUNE = Window(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))
MIDDLE = datetime(2026, 6, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    ("off", "signal"), [(0, 1.0), (7.5, 0.5), (-7.5, 0.5), (15, 0.0), (-15, 0.0), (90, 0.0)]
)
def test_temporal_falls_from_the_windows_centre_to_its_edge(off: float, signal: float) -> None:
    at = to_micros(MIDDLE + timedelta(days=off))
    assert closeness(one(happened_from=at, happened_until=at), JUNE)[0] == pytest.approx(
        signal, abs=1e-6
    )


def test_no_time_asked_for_moves_nothing() -> None:
    assert boosted(happened_from=AT, happened_until=AT).factors["temporal"][0] == 1


def test_temporal_of_an_undated_memory_is_a_half() -> None:
    assert closeness(one(), JUNE)[0] == 0.5


def test_what_lasted_all_through_the_window_is_at_its_centre() -> None:
    year = one(
        happened_from=to_micros(datetime(2026, 1, 1, tzinfo=UTC)),
        happened_until=to_micros(datetime(2027, 1, 1, tzinfo=UTC)),
    )
    assert closeness(year, JUNE)[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("window", "days", "signal"),
    [
        (Window(NOW, None), 1, 1.0),
        (Window(NOW, None), 900, 1.0),
        (Window(NOW, None), -1, 0.0),
        (Window(None, NOW), -1, 1.0),
        (Window(None, NOW), 0, 0.0),
    ],
)
def test_a_window_without_an_end_has_no_centre(window: Window, days: float, signal: float) -> None:
    at = ago(-days)
    assert closeness(one(happened_from=at, happened_until=at), window)[0] == signal


# --- proof -------------------------------------------------------------------------------------


@given(st.integers(1, 10**6))
def test_proof_is_a_half_plus_a_tenth_of_its_logarithm(count: int) -> None:
    signal = proof(one(type=OBSERVATION, proof=count))[0]
    assert signal == pytest.approx(min(1.0, 0.5 + math.log(count) / 10), rel=1e-6)


def test_proof_counts_for_observations_only() -> None:
    others = [i for i in range(4) if i != OBSERVATION]
    assert proof(columns([1, 2, 3], type=others, proof=500)).tolist() == [0.5, 0.5, 0.5]


# --- lifecycle ---------------------------------------------------------------------------------

STEPS = [
    (0.0, 1.0),
    (0.74, 1.0),
    (0.75, 0.85),
    (0.99, 0.85),
    (1.0, 0.5),
    (1.49, 0.5),
    (1.5, 0.2),
    (40.0, 0.2),
]


@pytest.mark.parametrize("kind", ["lesson", "decision", "project-fact", "meta-working", "workflow"])
@pytest.mark.parametrize(("share", "factor"), STEPS)
def test_lifecycle_steps_down_with_the_share_of_the_window_used(
    kind: str, share: float, factor: float
) -> None:
    days = LIFETIME_DAYS[kind]
    aged = one(fresh_from=ago(share * days), lifetime_days=days)
    assert lifecycle(aged, AT)[0] == pytest.approx(factor)


def test_the_windows_are_those_of_the_specification() -> None:
    assert dict(LIFETIME_DAYS) == {
        "lesson": 180, "decision": 365, "project-fact": 90, "meta-working": 365, "workflow": 180,
    }  # fmt: skip


def test_other_kinds_never_age() -> None:
    assert lifecycle(one(fresh_from=ago(9000)), AT)[0] == 1.0


@pytest.mark.parametrize(("days_left", "factor"), [(1, 1.0), (0, 0.2), (-1, 0.2)])
def test_past_valid_until_is_expired_whatever_the_kind(days_left: float, factor: float) -> None:
    assert lifecycle(one(valid_until=ago(-days_left)), AT)[0] == pytest.approx(factor)
    assert lifecycle(one(valid_until=ago(-days_left), fresh_from=AT, lifetime_days=365.0), AT)[
        0
    ] == pytest.approx(factor)


# --- all together ------------------------------------------------------------------------------


@given(st.floats(0, 1), days_ago, st.integers(0, 3), st.integers(1, 10**6), st.floats(-3000, 3000))
def test_final_is_relevance_times_every_factor_and_factors_are_bounded(
    relevance: float, days: float, kind: int, proofs: int, off: float
) -> None:
    middle = NOW + timedelta(days=off)
    window = Window(middle - timedelta(days=15), middle + timedelta(days=15))
    pool = boosted(
        relevance, window, happened_from=ago(days), happened_until=ago(days), type=kind, proof=proofs,
        fresh_from=ago(days), lifetime_days=90.0,
    )  # fmt: skip
    factors = {name: float(f[0]) for name, f in pool.factors.items()}
    assert set(factors) == {"recency", "temporal", "proof", "lifecycle", "order"}
    assert factors["order"] == 1.0  # nobody asked for the first or the latest
    assert 0.92 - 1e-6 <= factors["recency"] <= 1.1 + 1e-6
    assert 0.9 - 1e-6 <= factors["temporal"] <= 1.1 + 1e-6
    assert 1.0 - 1e-6 <= factors["proof"] <= 1.05 + 1e-6
    assert any(factors["lifecycle"] == pytest.approx(step) for step in (1.0, 0.85, 0.5, 0.2))
    assert float(pool.final[0]) == pytest.approx(relevance * math.prod(factors.values()), abs=1e-6)


@given(st.floats(0, 1))
def test_with_nothing_known_no_boost_moves_the_score(relevance: float) -> None:
    pool = boosted(relevance)
    assert all(float(f[0]) == 1.0 for f in pool.factors.values())
    assert float(pool.final[0]) == pytest.approx(relevance)


@given(days_ago, days_ago)
def test_secondary_signals_never_outvote_a_clearly_better_hit(good: float, bad: float) -> None:
    """All of recency, time and proof against it, a hit 1.55 times as relevant stays ahead."""
    window = Window(NOW - timedelta(days=30), NOW)
    better = boosted(0.93, window, happened_from=ago(good), happened_until=ago(good))
    worse = boosted(
        0.6, window, happened_from=ago(bad), happened_until=ago(bad), type=OBSERVATION, proof=10**6
    )
    assert better.final[0] > worse.final[0]


@pytest.mark.parametrize(
    ("closed", "factor"), [(ago(1), 0.5), (ago(0), 0.5), (ago(-1), 1.0), (NO_TIME, 0.5)]
)
def test_a_replaced_value_stands_back_from_the_moment_it_was_replaced(
    closed: int, factor: float
) -> None:
    state = list(State).index(State.SUPERSEDED)
    assert float(boosted(state=state, known_until=closed).factors["lifecycle"][0]) == pytest.approx(
        factor
    )

"""How the contracts compare."""

from __future__ import annotations

from collections.abc import Callable

from recollect.storage.base import Found

DEEP = 10_000  # answers: more than a made-up bank has


def refused(error: type[Exception], call: Callable[[], object]) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError(f"that should have been refused with {error.__name__}")


def same_ranking(found: Found, expected: list[tuple[int, float]]) -> None:
    """The same memories in the same order; scores to four digits."""
    scores = dict(expected)
    assert set(found.keys.tolist()) == set(scores)
    for key, score in zip(found.keys.tolist(), found.scores.tolist(), strict=True):
        assert abs(score - scores[key]) < 1e-4, (key, score, scores[key])
    order = sorted(
        zip(found.keys.tolist(), found.scores.tolist(), strict=True), key=lambda p: (-p[1], p[0])
    )
    assert found.keys.tolist() == [k for k, _ in order]

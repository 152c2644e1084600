"""How evidence moves the confidence of an opinion."""

from __future__ import annotations

from recollect.types import Evidence

STRONG, WEAK, DECAY = 0.2, 0.05, 0.5
FIRST_CONFIDENCE = 0.7  # of an opinion stated with no number


def moved(confidence: float, evidence: Evidence) -> float:
    if evidence == "strong_support":
        return confidence + STRONG * (1 - confidence)
    if evidence == "weak_support":
        return confidence + WEAK * (1 - confidence)
    if evidence in ("contradiction", "strong_contradiction"):
        return confidence * DECAY
    return confidence

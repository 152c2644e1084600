"""Fit relevance where the query has no meaning to go by (`words` in `recall/calibration.json`).

    python -m training.fit_words

The embedder may be a service that is down, or later than the deadline, and `without=["semantic", "rerank"]` asks for words alone.
What is found by words is then judged by words: with the weights for everything, what lacks a cosine counts as far off, and
the very sentence that was asked for as noise. Weights and bias are fitted on development queries as the others are
(`training/fit_relevance.py`), first by folds for a look. They are the same for every embedder.
"""

from __future__ import annotations

import json

import numpy as np
from benchmarks.arguments import no_options
from training import fit_relevance as fitting
from training.pairs import PLAN

from recollect.recall.relevance import sigmoid

WORDS = ("keyword", "exact", "graph", "window", "length", "wish", "lately")


def main() -> None:
    fitting.ASKED["without"] = ("semantic", "rerank")
    both = fitting.lists_of(fitting.gathered(PLAN))
    fitting.report("words, by folds", both, fitting.held_out(both, WORDS, None, 1e-3))
    weights, scale, bias = fitting.fit(both, WORDS)
    fitted = dict(zip(WORDS, (weights * scale).tolist(), strict=True))
    made = fitting.entry(bias, fitted, fitting.HELD)
    score = fitting.columns_of(both, WORDS) @ list(made["weights"].values())
    fitting.report("words, as written", both, score)
    chance = sigmoid(score + made["bias"])
    for low, high in ((0, 0.03), (0.03, 0.1), (0.1, 0.35), (0.35, 0.7), (0.7, 1.01)):
        at = (chance >= low) & (chance < high)
        print(f"  {at.sum():7,} of {low:.2f} to {high:.2f}: {both.y[at].mean():.3f} are relevant")
    best = np.maximum.reduceat(chance, both.starts)
    for name in ("strong", "maybe"):
        print(f"  the best hit is at least {name} for {np.mean(best >= made[name]):.2f} of queries")
    print("   ", made)
    table = json.loads(fitting.TARGET.read_text())
    fitting.TARGET.write_text(json.dumps({**table, "words": made}, indent=1) + "\n")


if __name__ == "__main__":
    no_options(__doc__)
    main()

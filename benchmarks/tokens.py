"""How far the token estimate is from OpenAI's own count, over packed answers.

pip install bpe-openai; python benchmarks/tokens.py
"""

from __future__ import annotations

import statistics
import sys

import sets
from arguments import no_options
from machine import SKIPPED
from recollect.language.tokens import count_tokens

ANSWER = 40  # memories packed together


def main() -> None:
    no_options(__doc__)
    try:
        import bpe_openai  # pyright: ignore
    except ImportError:
        print("bpe-openai is not installed: pip install bpe-openai", file=sys.stderr)
        raise SystemExit(SKIPPED) from None
    exact = bpe_openai.get_encoding("cl100k_base")
    for name in ("realmem", "lifebench", "friendsqa", "musique"):
        texts = [unit.text for bank in sets.read(name).banks for unit in bank.units][:4000]
        ratios: list[float] = []
        for at in range(0, len(texts) - ANSWER, ANSWER):
            answer = texts[at : at + ANSWER]
            true = sum(len(exact.encode_ordinary(text)) for text in answer)
            ratios.append(sum(map(count_tokens, answer)) / true)
        low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
        print(f"{name:12s} estimate / exact: {middle:.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()

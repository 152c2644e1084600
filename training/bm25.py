"""BM25 as recall computes it, for mining and for evaluation: k1 = 1.2, b = 0.75."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import Stemmer
from numpy.typing import NDArray

K1, B = 1.2, 0.75
_STEM = Stemmer.Stemmer("english")


def terms(text: str) -> list[str]:
    return _STEM.stemWords(re.findall(r"\w+", text.lower()))


class Index:
    """Impacts added into a dense score array, term by term."""

    def __init__(self, texts: list[str]) -> None:
        counts = [Counter(terms(text)) for text in texts]
        lengths = np.array([sum(c.values()) for c in counts], dtype=np.float32)
        norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
        postings: dict[str, list[tuple[int, int]]] = {}
        for doc, count in enumerate(counts):
            for term, times in count.items():
                postings.setdefault(term, []).append((doc, times))
        self.size = len(texts)
        self._impacts: dict[str, tuple[NDArray[np.intp], NDArray[np.float32]]] = {}
        for term, entries in postings.items():
            docs = np.array([doc for doc, _ in entries])
            times = np.array([n for _, n in entries], dtype=np.float32)
            idf = np.log(1 + (len(texts) - len(docs) + 0.5) / (len(docs) + 0.5))
            self._impacts[term] = (
                docs,
                (idf * times * (K1 + 1) / (times + norm[docs])).astype(np.float32),
            )

    def scores(self, query: str) -> NDArray[np.float32]:
        total = np.zeros(self.size, dtype=np.float32)
        for term in set(terms(query)):
            if term in self._impacts:
                docs, impacts = self._impacts[term]
                total[docs] += impacts
        return total

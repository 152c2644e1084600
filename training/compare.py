"""Compare embedders in training on development queries, as sentence vectors and as token vectors.

    python training/compare.py sets DEV.json.gz                      # once, where recollect is installed
    python training/compare.py measure DEV.json.gz 1.0 0.9    # the state, blended with its base by these shares

What recall reads is written to a file first, so that a machine with a GPU needs neither recollect nor the sets. Prints
recall@10 / NDCG@10 of the cosine, of MaxSim over the best 300, and of both added after standardising them.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
# (set, units kept, queries kept of each bank)
PLAN = (
    ("friendsqa", 2000, None),
    ("timeqa", 2500, None),
    ("chats", None, 40),
    ("assistants", None, 40),
    ("notes", None, 60),
    ("answers", None, 40),
    ("realmem-as-of", None, 130),
    ("lifebench", 1500, 60),
)
NEAREST, PASSAGE_MOST, QUERY_MOST = 300, 254, 128
LATE_WEIGHT = 2.0
GAINS = 1 / np.log2(np.arange(2, 12))

Collection = dict[str, Any]


def write_sets(path: Path) -> None:
    sys.path.insert(0, str(ROOT))
    from benchmarks.sets import read, sample

    from recollect.eval.splits import Split

    found: dict[str, list[Collection]] = {}
    for name, units, queries in PLAN:
        banks = (sample(b, units, queries) for b in read(name, Split.DEVELOPMENT).banks)
        found[name] = [c for c in map(collection, banks) if c["queries"]]
        print(name, sum(len(c["queries"]) for c in found[name]), "queries")
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump(found, file)


def collection(bank: Any) -> Collection:
    place = {unit.id: i for i, unit in enumerate(bank.units)}
    texts = [passage(unit, bank.units[i - 1] if i else None) for i, unit in enumerate(bank.units)]
    asked = [
        (q.text, [place[g] for g in q.gold if g in place], later(q, bank)) for q in bank.queries
    ]
    return {"texts": texts, "queries": [one for one in asked if one[1]]}


def later(query: Any, bank: Any) -> list[int]:
    """What a question as of a time cannot know."""
    if query.as_of is None:
        return []
    return [i for i, unit in enumerate(bank.units) if unit.time and unit.time > query.as_of]


def passage(unit: Any, before: Any) -> str:
    """The form recall gives a memory to the embedder in."""
    from lists import short_date

    parts = [short_date(unit.time)] if unit.time else []
    if unit.speaker and before is not None and before.speaker:
        parts.append(f"previous turn: {before.speaker}: {before.text[:200]}:")
    return " ".join([*parts, *([f"{unit.speaker}:"] if unit.speaker else []), unit.text])


def measure(path: Path, shares: list[float]) -> None:
    from states import load_blended

    with gzip.open(path, "rt", encoding="utf-8") as file:
        sets = json.load(file)
    for share in shares:
        report(f"{share}", load_blended(share), sets)


def report(label: str, model: Any, sets: dict[str, list[Collection]]) -> None:
    from states import Scorer

    scorer = Scorer(model)
    means: list[NDArray[np.float64]] = []
    for name, collections in sets.items():
        each = [row for c in collections for row in orders(scorer, c)]
        means.append(100 * np.mean(each, axis=0))
        print(f"{label} {name}: {line(means[-1])}", flush=True)
    print(f"{label} mean: {line(np.mean(means, axis=0))}", flush=True)


def line(figures: NDArray[np.float64]) -> str:
    names = ("cosine", "late", "both")
    return ", ".join(f"{n} {r:.1f} / {g:.1f}" for n, (r, g) in zip(names, figures, strict=True))


def orders(scorer: Any, c: Collection) -> list[list[tuple[float, float]]]:
    """Of every query, how the three orders do."""
    vectors, tokens, _, keep = scorer.encode(scorer.ids(c["texts"], PASSAGE_MOST))
    asked = scorer.ids([text for text, *_ in c["queries"]], QUERY_MOST)
    queries, query_tokens, weights, _ = scorer.encode(asked)
    cosines = (queries @ vectors.T).cpu().numpy()
    found: list[list[tuple[float, float]]] = []
    for i, (_, gold, unknown) in enumerate(c["queries"]):
        cosines[i][unknown] = -1.0
        near = np.argsort(-cosines[i], kind="stable")[:NEAREST]
        cosine = cosines[i][near]
        late = scorer.late(query_tokens[i], weights[i], tokens[near], keep[near])
        both = standard(cosine) + LATE_WEIGHT * standard(late)
        tops = (near[np.argsort(-x, kind="stable")[:10]] for x in (cosine, late, both))
        found.append([at_ten(np.isin(top, gold), len(gold)) for top in tops])
    return found


def standard(x: NDArray[Any]) -> NDArray[np.float32]:
    x = x.astype(np.float32)
    return (x - x.mean()) / (x.std() + 1e-6)


def at_ten(best: NDArray[np.bool_], gold: int) -> tuple[float, float]:
    """Recall@10 and NDCG@10 of a ranking: which of its best ten are relevant, and how many there are."""
    ideal = GAINS[: min(10, gold)].sum()
    return float(best.sum() / gold), float((GAINS[: len(best)] * best).sum() / ideal)


def main(step: str, path: str, *rest: str) -> None:
    if step == "sets":
        write_sets(Path(path))
    else:
        measure(Path(path), [float(share) for share in rest or ("1.0",)])


if __name__ == "__main__":
    main(*sys.argv[1:])

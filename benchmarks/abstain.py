"""How well recall knows that it does not know: questions asked of a bank that cannot answer them.

Banks of the reported splits (`recollect.eval.splits`; everything that decides was fitted and chosen on
development ones). Each is asked its own questions, which it can answer, and questions that it cannot:

* left out: its own, with their answers left out of the search (LifeBench alone: in the other sets
  further memories tell the same, and the question stays answerable);
* same kind: of other personas, dialogues and articles of the same set, often about the same people;
* other set: of the other three sets.

Prints the share that is turned away, with the reranker and without it, and what a floor under the
score would do alone; then abstention precision and recall, every kind counting as it was asked.

python benchmarks/abstain.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

import recollect
import sets
from arguments import no_options
from recollect.eval.data import Bank, Query
from recollect.eval.metrics import figure
from recollect.eval.splits import Split, share
from recollect.eval.systems import Recollect as System
from recollect.language.tokens import truncate

NAMES = ("realmem", "lifebench", "friendsqa", "timeqa")
KINDS = ("known", "left out", "same kind", "other set")
ASKED = 80  # questions of each bank
FOREIGN = 15  # of each other set
UNITS = 800
FLOOR = 0.03


@dataclass(frozen=True, slots=True)
class Said:
    set: str
    kind: str
    nothing_known: bool
    below: bool  # the floor alone would have said so
    cpu_ms: float  # of deciding


def main() -> None:
    parts = {name: divided(name) for name in NAMES}
    with recollect.open(":memory:") as memory:
        for bank, _ in parts.values():
            System(memory).index(marked(bank))
        for mode, without in (("reranked", ()), ("not reranked", ("rerank",))):
            said = [s for name in NAMES for s in ask(memory, name, parts, without)]
            show(mode, said)


def divided(name: str) -> tuple[Bank, tuple[Query, ...]]:
    """A bank with questions, and questions of the same kind that belong to no memory of it."""
    banks = sets.read(name, Split.REPORTED).banks
    if len(banks) > 1:
        strange = [query for bank in banks[1:] for query in bank.queries]
        return sets.sample(banks[0], UNITS, ASKED), first(strange, ASKED)
    if name == "lifebench":
        return sets.sample(banks[0], UNITS, ASKED), ()
    # One bank of many dialogues or articles: half of them, asked about the other half.
    half = {unit.id for unit in banks[0].units if share(f"half:{part(unit.id)}") < 0.5}
    units = tuple(unit for unit in banks[0].units if unit.id in half)
    own = tuple(q for q in banks[0].queries if half.issuperset(q.gold))
    strange = [q for q in banks[0].queries if half.isdisjoint(q.gold)]
    return sets.sample(Bank(name, units, own), UNITS, ASKED), first(strange, ASKED)


def part(id: str) -> str:
    """The dialogue or article that a unit of a pooled bank comes from."""
    return id.rsplit("/", 1)[0]


def first(queries: Iterable[Query], count: int) -> tuple[Query, ...]:
    return tuple(sorted(queries, key=lambda q: share(q.id))[:count])


def marked(bank: Bank) -> Bank:
    """Answers tagged with their questions, so that a search can do without them."""
    marks: dict[str, list[str]] = {}
    for query in bank.queries:
        for id in query.gold:
            marks.setdefault(id, []).append(f"answers {query.id}")
    units = tuple(replace(u, tags=(*u.tags, *marks.get(u.id, ()))) for u in bank.units)
    return replace(bank, units=units)


def ask(
    memory: recollect.Recollect,
    name: str,
    parts: dict[str, tuple[Bank, tuple[Query, ...]]],
    without: tuple[str, ...],
) -> Iterator[Said]:
    bank, strange = parts[name]
    last = max((q.time for q in bank.queries if q.time), default=None)

    def put(kind: str, query: Query, **options: object) -> Said:
        if query.time or last:
            options["query_timestamp"] = query.time if kind in ("known", "left out") else last
        options = {key: value for key, value in options.items() if value is not None}
        asked = truncate(query.text, 500)
        result = memory.recall(bank.id, asked, without=without, trace=True, **options)  # pyright: ignore[reportArgumentType]
        best = max((hit.score for hit in result), default=0.0)
        assert result.trace is not None
        spent = next(s.cpu_ms for s in result.trace.stages if s.stage == "answerable")
        return Said(name, kind, result.nothing_known, best < FLOOR, spent)

    for query in bank.queries:
        yield put("known", query)
        if name == "lifebench":
            yield put("left out", query, tag_groups=[{"not": {"tags": [f"answers {query.id}"]}}])
    for query in strange:
        yield put("same kind", query)
    for other, (foreign, _) in parts.items():
        for query in first(foreign.queries, FOREIGN) if other != name else ():
            yield put("other set", query)


def show(mode: str, said: list[Said]) -> None:
    print(f"{mode}: turned away (by the floor alone)")
    print(f"  {'':10}" + "".join(f"{kind:>14}" for kind in KINDS) + f"{'asked':>8}")
    for name in (*NAMES, "all"):
        of = [s for s in said if name in (s.set, "all")]
        cells = [cell([s for s in of if s.kind == kind]) for kind in KINDS]
        print(f"  {name:10}" + "".join(f"{c:>14}" for c in cells) + f"{len(of):8}")
    # A trace also looks for the words that are missing, where nothing is known.
    spent = np.median([s.cpu_ms for s in said if not s.nothing_known])
    print(f"  deciding takes {spent:.2f} ms of CPU")
    for what, turned in (
        ("as shipped", [s.nothing_known for s in said]),
        ("by the floor alone", [s.below for s in said]),
    ):
        unknown = [s.kind != "known" for s in said]
        precision = [float(u) for u, t in zip(unknown, turned, strict=True) if t]
        recall = [float(t) for u, t in zip(unknown, turned, strict=True) if u]
        print(
            f"  {what}: abstention precision {ranged(precision)}, abstention recall {ranged(recall)}"
        )


def cell(said: list[Said]) -> str:
    if not said:
        return ""
    return (
        f"{np.mean([s.nothing_known for s in said]):.2f} ({np.mean([s.below for s in said]):.2f})"
    )


def ranged(values: list[float]) -> str:
    """With its 95 % interval."""
    found = figure(values, seed=0)
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


if __name__ == "__main__":
    no_options(__doc__)
    main()

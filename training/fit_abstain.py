"""Fit when recall says that nothing is known (`recall/answerable.json`).

    python -m training.fit_abstain              # collect, fit, report, write
    python -m training.fit_abstain --dry        # the same without writing

Banks of development data are asked what they can answer and what they cannot: questions whose
answer is left out of the search, questions of other personas, dialogues and articles, questions
with the names swapped, attributes that were never told, and what was asked about our chats
although nobody had said it. RealMem's, FriendsQA's and TimeQA's answers
are not left out: other memories of those banks tell the same (the turn beside it, the paragraph
before), so that the question stays answerable and the label would be wrong.

One recall gives the signals of all three stages that relevance knows. A logistic model is fitted
for each, every set counting the same; shown are figures by five folds of questions, and with each
set (and what is made of it) left out of the fit.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.sets import read, sample
from numpy.typing import NDArray
from scipy.optimize import minimize
from training import splits, synthetic

import recollect
from recollect.eval.data import Bank, Query, Unit
from recollect.eval.metrics import figure
from recollect.eval.splits import Split, share
from recollect.eval.systems import Recollect as System
from recollect.language.tokens import truncate
from recollect.recall.answer import Ranked
from recollect.recall.answerable import measured, signals_of
from recollect.recall.pipeline import rank
from recollect.recall.relevance import calibrations, judge
from recollect.telemetry import Run

ROOT = Path(__file__).resolve().parent.parent

TARGET = ROOT / "src" / "recollect" / "recall" / "answerable.json"
STAGES: Mapping[str, tuple[str, ...]] = {
    "first": ("relevance", "words", "lead", "strangers"),
    "late": ("relevance", "words", "lead", "strangers", "missed"),
    "cross": ("relevance", "words", "lead", "strangers", "missed", "cross"),
}
# How much the kinds of unanswerable questions weigh in a set, its answerable ones being 1. Swapped
# names and attributes may hit on something told by chance.
KINDS: Mapping[str, float] = {
    "untold": 0.5,
    "left out": 0.5,
    "same kind": 0.5,
    "swapped": 0.4,
    "made up": 0.4,
    "other set": 0.25,
}
# Of the answerable questions so many may be turned away, on average over the sets: as many as a floor
# of 0.03 under the score turned away before.
AWAY = 0.06
FAMILY = {"dialogue": "friendsqa", "world": "worlds"}
SMOOTH = 3e-3
FOLDS = 5
# None of them is asked in tests/recall/test_abstain.py.
UNTOLD = (
    "What is {}'s blood type?", "Which gym does {} go to?", "What is {}'s middle name?", "How tall is {}?",
    "Which bank does {} use?", "What is {}'s favourite film?", "Who is {}'s landlord?",
    "What languages does {} speak?", "What is {}'s email address?", "When is {}'s wedding anniversary?",
    "How many siblings does {} have?", "What brand of phone does {} use?", "Which airline does {} prefer?",
    "What is {}'s salary?", "Which newspaper does {} read?", "What is {}'s star sign?",
)  # fmt: skip


@dataclass(frozen=True)
class Material:
    """A bank, whether its answers can be left out, and what it cannot answer."""

    name: str
    bank: Bank
    leave_out: bool
    unanswerable: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Asked:
    """One question put to a bank, as each stage of relevance saw it."""

    name: str
    kind: str  # "known" or one of KINDS
    query: str
    final: float  # of the best hit, as shipped
    told: bool  # the signals can tell
    signals: Mapping[str, Mapping[str, float]]


# --- material ----------------------------------------------------------------------------------


def first(queries: Iterable[Query], count: int) -> tuple[Query, ...]:
    """By a hash: the same on every machine."""
    return tuple(sorted(queries, key=lambda q: share(f"abstain:{q.id}:{q.text}"))[:count])


def texts(queries: Iterable[Query], count: int) -> tuple[str, ...]:
    return tuple(q.text for q in first(queries, count))


def made_up(names: Sequence[str], each: int = 4) -> tuple[str, ...]:
    return tuple(
        UNTOLD[(n * each + i) % len(UNTOLD)].format(name)
        for n, name in enumerate(names)
        for i in range(each)
    )


def materials() -> Iterator[Material]:
    names = ("realmem", "lifebench", "friendsqa", "timeqa")
    development = {name: read(name, Split.DEVELOPMENT).banks for name in names}
    training = {name: read(name, Split.TRAINING).banks for name in names}
    foreign = {n: texts((q for b in development[n] for q in b.queries), 12) for n in names}

    def others(name: str) -> tuple[str, ...]:
        return tuple(t for n, found in foreign.items() if n != name for t in found)

    bank = sample(development["realmem"][0], None, 90)
    same = texts((q for b in training["realmem"] for q in b.queries), 60)
    yield Material("realmem", bank, False, {"same kind": same, "other set": others("realmem")})
    for bank in development["lifebench"]:
        strange = (q for b in development["lifebench"] if b.id != bank.id for q in b.queries)
        asked = {"same kind": texts(strange, 20), "other set": others("lifebench")[:12]}
        yield Material("lifebench", sample(bank, 700, None), True, asked)
    yield from _friends(development["friendsqa"][0], training["friendsqa"][0], others("friendsqa"))
    yield _timeqa(development["timeqa"][0], training["timeqa"][0], others("timeqa"))
    yield from _chats("chats")
    yield from _chats("assistants")
    yield from _chats("notes")
    yield from _worlds()
    yield _sentences(others(""))


def _friends(bank: Bank, training: Bank, others: tuple[str, ...]) -> Iterator[Material]:
    """All dialogues in one bank, and some of them alone: the same people everywhere."""

    def dialogue(id: str) -> str:
        return id.split("/")[0]

    here = {dialogue(u.id) for u in bank.units}
    elsewhere = (q for q in training.queries if q.gold and dialogue(q.gold[0]) not in here)
    people = ("Ross", "Rachel", "Monica", "Chandler", "Joey", "Phoebe")
    asked = {"same kind": texts(elsewhere, 90), "made up": made_up(people), "other set": others}
    yield Material("friendsqa", bank, False, asked)
    for one in sorted(here)[:24]:
        units = tuple(u for u in bank.units if dialogue(u.id) == one)
        own = tuple(q for q in bank.queries if q.gold and dialogue(q.gold[0]) == one)
        strange = (q for q in bank.queries if q not in own)
        asked = {"same kind": texts(strange, 6), "made up": made_up(people[:2], 2)}
        yield Material("dialogue", Bank(one, units, own), False, asked)


def _timeqa(bank: Bank, training: Bank, others: tuple[str, ...]) -> Material:
    bank = sample(bank, 1500, None)
    titles = {unit.fields.get("title") for unit in bank.units}
    of = {unit.id: unit.fields.get("title") for unit in training.units}
    elsewhere = (q for q in training.queries if q.gold and of[q.gold[0]] not in titles)
    asked = {"same kind": texts(elsewhere, 80), "other set": others}
    return Material("timeqa", bank, False, asked)


def _chats(name: str) -> Iterator[Material]:
    """Each chat alone: what was said in it, what nobody said, and what was said in another."""
    banks = read(name, Split.DEVELOPMENT).banks
    for bank, other in zip(banks, (*banks[1:], banks[0]), strict=True):
        untold = (q for q in bank.queries if not q.gold)
        elsewhere = replace(other, queries=tuple(q for q in other.queries if q.gold))
        asked = {"untold": texts(untold, 9), "swapped": _swapped(elsewhere, bank)[:8]}
        known = first((q for q in bank.queries if q.gold), 24)
        yield Material(name, replace(bank, queries=known), True, asked)


def _worlds() -> Iterator[Material]:
    """Small talk of invented people: many together, and each alone."""
    rng = random.Random(4242)
    worlds = [_world(n, synthetic.make_world(rng)) for n in range(45)]
    units = tuple(u for w in worlds[:25] for u in w.units)
    queries = first((q for w in worlds[:25] for q in w.queries), 110)
    strange = texts((q for w in worlds[25:] for q in w.queries), 50)
    people = sorted({u.speaker for u in units if u.speaker})[:8]
    asked = {"same kind": strange, "made up": made_up(people)}
    yield Material("worlds", Bank("worlds", units, queries), True, asked)
    for n in range(25, 35):
        own, other = worlds[n], worlds[n + 10]
        asked = {
            "same kind": texts(other.queries, 6),
            "swapped": _swapped(other, own),
            "made up": made_up(_speakers(own)),
        }
        yield Material("world", replace(own, queries=first(own.queries, 12)), True, asked)


def _world(number: int, world: synthetic.World) -> Bank:
    units = tuple(
        Unit(
            id=f"{number}/{i}",
            text=turn.text,
            speaker=turn.speaker,
            time=datetime(turn.when.year, turn.when.month, turn.when.day, tzinfo=UTC),
            session=f"world {number}",
        )
        for i, turn in enumerate(world.turns)
    )
    last = max(u.time for u in units if u.time)
    queries = tuple(
        Query(id=f"{number}q{i}", text=text, gold=tuple(f"{number}/{g}" for g in gold), time=last)
        for i, (text, gold) in enumerate(world.questions)
    )
    return Bank(f"world-{number}", units, queries)


def _speakers(bank: Bank) -> list[str]:
    return sorted({u.speaker for u in bank.units if u.speaker})


def _swapped(other: Bank, own: Bank) -> tuple[str, ...]:
    """Questions about somebody else, asked about the people of this bank."""
    out: list[str] = []
    for text in texts(other.queries, 12):
        for theirs, ours in zip(_speakers(other), _speakers(own), strict=False):
            text = text.replace(theirs, ours)
        out.append(text)
    return tuple(out)


def _sentences(others: tuple[str, ...]) -> Material:
    """Sentences of an encyclopedia; questions that `training/prepare.py` holds back."""
    rows = [r for r in splits.question_passages() if r["src"].startswith("squad_sent")]
    held = [r for r in rows if splits.held(f"calibrate:squad_sent:{r['p'].strip()}", 0.012)]
    rest = sorted(rows, key=lambda r: share(r["p"]))
    known = list(dict.fromkeys(r["p"].strip() for r in (*held, *rest)))[:1200]
    ids = {text: f"s{i}" for i, text in enumerate(known)}
    queries = (
        Query(id=f"q{i}", text=r["q"], gold=(ids[r["p"].strip()],)) for i, r in enumerate(held)
    )
    units = tuple(Unit(id=id, text=text) for text, id in ids.items())
    return Material("squad", Bank("squad", units, first(queries, 130)), True, {"other set": others})


# --- asking ------------------------------------------------------------------------------------


def ask(material: Material) -> Iterator[Asked]:
    bank = _marked(material.bank)
    with recollect.open(":memory:") as memory:
        system = System(memory)
        system.index(bank)
        view, name = memory._store.view(bank.id), material.name

        def put(kind: str, text: str, options: Mapping[str, Any]) -> Asked:
            request = memory._request(bank.id, truncate(text, 500), options)
            ranked = rank(memory._recalling, view, request, Run())
            return _asked(view, memory.embedder.name, ranked, Asked(name, kind, text, 0, False, {}))

        now: Mapping[str, Any] = {}
        for number, query in enumerate(bank.queries):
            now = system._arguments(query)
            yield put("known", query.text, now)
            if material.leave_out:
                without = [{"not": {"tags": [_mark(number)]}}]
                yield put("left out", query.text, {**now, "tag_groups": without})
        for kind, asked in material.unanswerable.items():
            for text in asked:
                yield put(kind, text, now)


def _mark(number: int) -> str:
    return f"answers-{number}"


def _marked(bank: Bank) -> Bank:
    """Every answer tagged with the number of its question, so that a search can do without it."""
    marks: dict[str, list[str]] = {}
    for number, query in enumerate(bank.queries):
        for id in query.gold:
            marks.setdefault(id, []).append(_mark(number))
    units = tuple(replace(u, tags=(*u.tags, *marks.get(u.id, ()))) for u in bank.units)
    return replace(bank, units=units)


def _asked(view: Any, model: str, ranked: Ranked, asked: Asked) -> Asked:
    """The signals of the best candidate, had recall stopped at each of the stages."""
    if not len(ranked.rows):
        return asked
    pool, best = ranked.pool, int(ranked.rows[0])
    factors = pool.final / np.maximum(pool.relevance, 1e-9)
    signals: dict[str, Mapping[str, float]] = {}
    for stage, calibration in calibrations(model, message=ranked.query.goes_on).items():
        judged = pool if calibration is ranked.calibration else judge(pool, calibration)
        row = best if judged is pool else int(np.argmax(judged.relevance * factors))
        signals[stage] = signals_of(view, ranked.query, judged, row)
    told = measured(view, ranked.query, ranked.retrieved, pool, best)
    return replace(asked, final=float(pool.final[best]), told=told, signals=signals)


# --- fitting -----------------------------------------------------------------------------------

Floats = NDArray[np.float64]


class Table:
    """What was asked, as columns; what the signals cannot tell is left to the floor."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self.asked = [a for a in asked if a.told]
        self.known = np.array([a.kind == "known" for a in self.asked])
        self.kind = np.array([a.kind for a in self.asked])
        self.name = np.array([a.name for a in self.asked])
        self.family = np.array([FAMILY.get(a.name, a.name) for a in self.asked])
        self.fold = np.array([int(share(f"fold:{a.query}") * FOLDS) for a in self.asked])
        self.final = np.array([a.final for a in self.asked])
        self.weight = np.zeros(len(self.asked))
        for name in set(self.name):
            for kind in set(self.kind):
                cell = (self.name == name) & (self.kind == kind)
                self.weight[cell] = KINDS.get(kind, 1.0) / max(cell.sum(), 1)

    def columns(self, stage: str) -> Floats:
        return np.array([[a.signals[stage][s] for s in STAGES[stage]] for a in self.asked])


def fit(x: Floats, known: NDArray[np.bool_], weight: Floats) -> tuple[Floats, float]:
    """Weights and bias of the logistic model."""
    share_of = weight / weight.sum()
    middle, spread = share_of @ x, x.std(axis=0) + 1e-9
    z, y = (x - middle) / spread, known.astype(float)

    def loss(w: Floats) -> tuple[float, Floats]:
        logit = z @ w[:-1] + w[-1]
        wrong = share_of * (1 / (1 + np.exp(-logit)) - y)
        value = share_of @ (np.logaddexp(0, logit) - y * logit) + SMOOTH * w[:-1] @ w[:-1]
        return float(value), np.append(z.T @ wrong + 2 * SMOOTH * w[:-1], wrong.sum())

    found = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B").x
    weights = found[:-1] / spread
    return weights, float(found[-1] - weights @ middle)


def held_out(table: Table, x: Floats, parts: NDArray[Any]) -> Floats:
    """Every question's logit by a model that did not see its part."""
    out = np.zeros(len(x))
    for part in set(parts.tolist()):
        test = parts == part
        weights, bias = fit(x[~test], table.known[~test], table.weight[~test])
        out[test] = x[test] @ weights + bias
    return out


def floor_of(table: Table, logit: Floats) -> float:
    """The highest that turns away no more than AWAY of the answerable, on average over the sets."""
    floors = np.sort(logit)
    sets = [logit[(table.name == n) & table.known] for n in dict.fromkeys(table.name)]
    away = np.mean([np.searchsorted(np.sort(s), floors) / len(s) for s in sets], axis=0)
    return float(floors[np.searchsorted(away, AWAY, side="right") - 1])


# --- reporting ---------------------------------------------------------------------------------


def interval(hits: NDArray[np.bool_]) -> str:
    found = figure(hits.astype(float).tolist(), seed=0)
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def report(title: str, table: Table, away: NDArray[np.bool_]) -> None:
    print(f"\n{title}")
    print(f"  abstention precision {interval(~table.known[away])}", end="  ")
    print(f"recall {interval(away[~table.known])}")
    print(f"  {'turned away':12}" + "".join(f"{k:>11}" for k in ("known", *KINDS)))
    for name in dict.fromkeys(table.name.tolist()):
        cells = [away[(table.name == name) & (table.kind == k)] for k in ("known", *KINDS)]
        print(f"  {name:12}" + "".join(f"{c.mean():11.2f}" if len(c) else " " * 11 for c in cells))


def separation(table: Table, logit: Floats) -> float:
    """The chance that a known question scores above an unknown one."""
    order = np.concatenate([logit[table.known], logit[~table.known]]).argsort().argsort() + 1.0
    n, m = int(table.known.sum()), int((~table.known).sum())
    return float((order[:n].sum() - n * (n + 1) / 2) / (n * m))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    given = parser.parse_args()
    asked: list[Asked] = []
    for material in materials():
        asked += ask(material)
        print(f"{material.name:10} {material.bank.id:14} {len(asked):5} questions", flush=True)
    with recollect.open(":memory:") as memory:
        model = memory.embedder.name
    table, out = Table(asked), dict[str, Any]()
    print(f"{len(asked) - len(table.asked)} questions are left to the floor")
    floor = calibrations(model)["cross"].maybe
    report(f"cross: a floor of {floor:g} under the score", table, table.final < floor)
    for stage in STAGES:
        out[stage] = _fitted(stage, table, report if stage == "cross" else None)
    if not given.dry:
        held = json.loads(TARGET.read_text()) if TARGET.exists() else {}
        TARGET.write_text(json.dumps({**held, model: out}, indent=1) + "\n")


def _fitted(stage: str, table: Table, tell: Callable[..., None] | None) -> dict[str, Any]:
    x = table.columns(stage)
    folds, sets = (held_out(table, x, parts) for parts in (table.fold, table.family))
    floor = floor_of(table, folds)
    print(f"\n{stage}: separates {separation(table, folds):.3f} by folds, ", end="")
    print(f"{separation(table, sets):.3f} with the set left out")
    if tell:
        tell(f"{stage}, fitted, by folds", table, folds < floor)
        tell(f"{stage}, fitted without the set", table, sets < floor)
    weights, bias = fit(x, table.known, table.weight)
    entry = {
        "bias": round(bias, 4),
        "weights": {s: round(float(w), 4) for s, w in zip(STAGES[stage], weights, strict=True)},
        "floor": round(1 / (1 + math.exp(-floor)), 4),
    }
    print("   ", entry)
    return entry


if __name__ == "__main__":
    main()

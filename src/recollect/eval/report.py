"""One evaluation: run a data set through a system and keep everything that was seen."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from recollect.eval.data import Bank, Dataset, Query
from recollect.eval.metrics import (
    TOKEN_LIMITS,
    Figure,
    Judged,
    measures,
    percentiles,
    score_queries,
    summarise,
)
from recollect.eval.systems import Progress, Recollect, System, ablations, tell

TOP = 10  # places that figures look at whatever the cut-offs: ndcg@10, forbidden@10
FULL = 0.9  # of `max_tokens`; what is left holds none of the long units
TIMES = ("wall p50", "wall p95", "CPU p50", "CPU p95")


@dataclass(frozen=True, slots=True)
class Miss:
    """A query whose evidence was not all found in the best ten; what to look at first."""

    query: str
    category: str
    found: float
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    dataset: str
    system: str
    ks: tuple[int, ...]
    seed: int
    units: int
    queries: int
    overall: Mapping[str, Figure]
    by_category: Mapping[str, Mapping[str, Figure]]
    latency: Mapping[str, Mapping[str, float]]
    """Milliseconds p50 and p95: wall, cpu, and of each stage wall and cpu_p50 and cpu_p95."""
    merged: int = 0
    shortened: int = 0
    """Queries that are longer than a recall takes, and were asked in part."""
    degraded: Mapping[str, int] = field(default_factory=dict[str, int])
    """Parts that failed or were late, with the number of recalls that did without them."""
    incomplete: int = 0
    """Recalls that did without one or more of these parts."""
    cut: int = 0
    """Answers that were full before the last cut-off: a larger `max_tokens` may find more."""
    unjudged: int = 0
    """Queries that were asked and not judged; figures of other tools may count such as failed."""
    note: str = ""
    misses: tuple[Miss, ...] = ()
    ablations: Mapping[str, Mapping[str, Figure]] = field(
        default_factory=dict[str, Mapping[str, Figure]]
    )
    ablated_without: Mapping[str, int] = field(default_factory=dict[str, int])
    """Parts that failed or were late in ablations, with the number of recalls: those figures mean less."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What was asked with: budget, size of an answer, models."""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def evaluate(
    dataset: Dataset,
    system: System,
    *,
    ks: Sequence[int] = (5, 10, 20),
    seed: int = 0,
    index: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Index every bank (unless it exists), ask every query, and summarise."""
    measures()
    judged: list[Judged] = []
    for bank in dataset.banks:
        if index and bank.units:
            system.index(bank)
        judged += ask(bank, system, progress)
    return summary(dataset, system, judged, ks=tuple(ks), seed=seed)


def ask(bank: Bank, system: System, progress: Progress | None = None) -> Iterable[Judged]:
    for number, query in enumerate(bank.queries, start=1):
        ranked = system.search(bank, query)
        tell(progress, f"recall {bank.id}", number, len(bank.queries))
        yield Judged(query, *wanted(bank, system, query), ranked)


def wanted(bank: Bank, system: System, query: Query) -> tuple[frozenset[str], frozenset[str]]:
    """Gold and forbidden, by the ids under which the system returns them."""
    gold = frozenset(system.gold_key(bank, id) for id in query.gold)
    return gold, frozenset(system.gold_key(bank, id) for id in query.forbidden) - gold


def summary(
    dataset: Dataset, system: System, judged: Sequence[Judged], *, ks: tuple[int, ...], seed: int
) -> Report:
    overall, by_category = summarise(judged, ks, seed=seed)
    return Report(
        dataset=dataset.name,
        system=system.name,
        ks=ks,
        seed=seed,
        units=sum(len(bank.units) for bank in dataset.banks),
        queries=len(judged),
        overall=overall,
        by_category=by_category,
        latency=_latency(judged),
        merged=getattr(system, "merged", 0),
        shortened=getattr(system, "shortened", 0),
        cut=_cut(judged, max(*ks, TOP), getattr(system, "settings", {}).get("max_tokens")),
        degraded=_degraded(judged),
        incomplete=sum(bool(one.ranked.degraded) for one in judged),
        unjudged=sum(map(_unjudged, judged)),
        note=dataset.note,
        misses=tuple(_misses(judged)),
        settings=getattr(system, "settings", {}),
        versions=versions(),
    )


def ablate(
    report: Report, dataset: Dataset, system: Recollect, *, progress: Progress | None = None
) -> Report:
    """With the same queries asked with parts alone and left out; the banks are already indexed."""
    found: dict[str, dict[str, Figure]] = {}
    lost = Counter[str]()
    with system.asked_again():
        for arm, judged in _each_arm(dataset, system, progress).items():
            found[f"only {arm}"] = summarise(judged, report.ks, seed=report.seed)[0]
            lost |= Counter(_degraded(judged))  # one recall gave what each of them found
        for name, without in ablations():
            twin = system.variant(name, without)
            judged = [one for bank in dataset.banks for one in ask(bank, twin, progress)]
            found[name] = summarise(judged, report.ks, seed=report.seed)[0]
            lost += Counter(_degraded(judged))
    return replace(report, ablations=found, ablated_without=dict(lost))


def _each_arm(
    dataset: Dataset, system: Recollect, progress: Progress | None
) -> dict[str, list[Judged]]:
    """Every arm's own ranking, from one recall a query."""
    by_arm: dict[str, list[Judged]] = {}
    for bank in dataset.banks:
        for number, query in enumerate(bank.queries, start=1):
            gold, forbidden = wanted(bank, system, query)
            for arm, ranked in system.arms(bank, query).items():
                by_arm.setdefault(arm, []).append(Judged(query, gold, forbidden, ranked))
            tell(progress, f"arms {bank.id}", number, len(bank.queries))
    return by_arm


def _degraded(judged: Iterable[Judged]) -> dict[str, int]:
    return dict(Counter(part for one in judged for part in one.ranked.degraded))


def versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    names = ("recollect", "numpy", "onnxruntime", "ir-measures")
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _latency(judged: Sequence[Judged]) -> dict[str, Mapping[str, float]]:
    wall: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    for one in judged:
        for stage, took, own in one.ranked.stages:
            wall.setdefault(f"stage {stage}", []).append(took)
            cpu.setdefault(f"stage {stage}", []).append(own)
    stages = {name: {**percentiles(wall[name]), **percentiles(cpu[name], "cpu_p")} for name in wall}
    return {
        "wall": percentiles([one.ranked.wall_ms for one in judged]),
        "cpu": percentiles([one.ranked.cpu_ms for one in judged]),
        **stages,
    }


def _unjudged(one: Judged) -> bool:
    return not (one.gold or one.forbidden or one.query.answerable is False)


def _cut(judged: Sequence[Judged], k: int, limit: int | None) -> int:
    """Long units fill an answer before its k-th place, and figures @k would speak of `max_tokens`."""
    if limit is None:
        return 0
    short = (one.ranked for one in judged if len(one.ranked.ids) < k)
    return sum(found.left_out > 0 or sum(found.tokens) >= FULL * limit for found in short)


def headline(report: Report) -> int:
    """The cut-off that stands for all where there is room for one."""
    return 10 if 10 in report.ks else max(report.ks)


def remarks(report: Report) -> list[str]:
    """What must be known to read the figures rightly."""
    nothing = report.queries and not report.overall
    lost = 0 if nothing else report.unjudged
    return [
        *([f"units recognised as already known: {report.merged:,}"] if report.merged else []),
        *(
            [f"queries longer than a recall takes, asked in part: {report.shortened:,}"]
            if report.shortened
            else []
        ),
        *([f"not judged, for they name no evidence that is in the file: {lost:,}"] if lost else []),
        *([report.note] if report.note else []),
        *(
            [f"answers full before place {max(*report.ks, TOP)}, see --max-tokens: {report.cut:,}"]
            if report.cut
            else []
        ),
        *_beyond(report),
        *(f"recalls that had to do without {part}: {n:,}" for part, n in report.degraded.items()),
        *(
            f"recalls of ablations that had to do without {part}: {n:,}"
            for part, n in report.ablated_without.items()
        ),
        *(["no query has gold, so there is nothing but times"] if nothing else []),
    ]


def _beyond(report: Report) -> Iterable[str]:
    """What fits into more tokens than an answer may have was not asked for."""
    limit = report.settings.get("max_tokens")
    names = [f"recall@{n}tokens" for n in TOKEN_LIMITS if limit is not None and limit < n]
    if shown := [name for name in names if name in report.overall]:
        yield f"of answers of {limit:,} tokens, see --max-tokens: {', '.join(shown)}"


def times(report: Report) -> dict[str, tuple[float | None, ...]]:
    """What a recall and each of its stages took: wall p50 and p95, CPU p50 and p95."""
    asked = ("p50", "p95", "cpu_p50", "cpu_p95")
    whole = {**report.latency["wall"]} | {f"cpu_{p}": v for p, v in report.latency["cpu"].items()}
    parts = {n: found for n, found in report.latency.items() if n not in ("wall", "cpu")}
    return {name: tuple(map(found.get, asked)) for name, found in {"all": whole, **parts}.items()}


def _misses(judged: Sequence[Judged], limit: int = 50) -> Iterable[Miss]:
    rows = score_queries(judged, (10,))
    # the turn that a trick question twists is no evidence, here as in the figures
    due = (i for i, one in enumerate(judged) if rows[i] and one.query.answerable is not False)
    order = sorted((rows[i]["recall@10"], i) for i in due)
    for found, i in order[:limit]:
        if found >= 1:
            return
        one = judged[i]
        top = set(one.ranked.ids[:10])
        yield Miss(one.query.text, one.query.category, found, tuple(sorted(one.gold - top)))

"""The quality gate: "recall@10=0.8, mrr>=0.5, forbidden@10<=0" against a report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recollect.eval.data import Query
from recollect.eval.metrics import Figure, asked_figures, figure_names
from recollect.eval.trouble import DatasetError

_RULE = re.compile(
    r"^\s*(?P<metric>[a-z_-]+(?:@\d+(?:tokens)?)?)\s*(?:\[(?P<category>[^\]]+)\])?"
    r"\s*(?P<op>>=|<=|=)\s*(?P<bound>\d+(?:\.\d+)?|\.\d+)\s*$"
)
_BETWEEN = re.compile(r"[,;](?![^\[]*\])")  # a category may hold a comma
DEGRADED = "degraded"  # the share of recalls that had to do without a part
_LOWER_IS_BETTER = ("forbidden", DEGRADED)
_ROUNDING = 1e-9  # the mean of ten times 0.6 is a little less than 0.6
_GOLD = '"gold" that names a unit'
_MEASURED_OF = {
    "abstention_recall": 'an empty "gold"',
    "abstention_precision": '"gold", empty or not',
    "forbidden": '"forbidden"',
}
_EXAMPLE = 'write e.g. "recall@10=0.8, forbidden@10<=0"'


@dataclass(frozen=True, slots=True)
class Rule:
    metric: str
    bound: float
    at_most: bool = False
    category: str | None = None

    def holds(self, value: float) -> bool:
        if self.at_most:
            return value <= self.bound + _ROUNDING
        return value >= self.bound - _ROUNDING

    def __str__(self) -> str:
        where = f"[{self.category}]" if self.category else ""
        return f"{self.metric}{where} {'<=' if self.at_most else '>='} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Verdict:
    rule: Rule
    value: float
    passed: bool

    @property
    def shown(self) -> str:
        """Three digits, or as many more as it takes to see why it passed or did not."""
        texts = (f"{self.value:.{digits}f}" for digits in range(3, 10))
        return next((t for t in texts if self.rule.holds(float(t)) is self.passed), str(self.value))


def parse_rules(text: str) -> tuple[Rule, ...]:
    """`>=` sets a floor, `<=` a ceiling, `=` the one that keeps quality up; `metric[category]`
    narrows it."""
    rules = tuple(_rule(part) for part in _BETWEEN.split(text) if part.strip())
    if not rules:  # a variable of a build that was not set
        raise DatasetError(f"{text!r} holds no rule", hint=_EXAMPLE)
    return rules


def _rule(text: str) -> Rule:
    found = _RULE.match(text)
    if not found:
        raise DatasetError(f"{text.strip()!r} is not a rule", hint=_EXAMPLE)
    if (bound := float(found["bound"])) > 1:
        raise DatasetError(
            f"{text.strip()!r}: every figure is a share from 0 to 1",
            hint=f"80 % is {found['metric']}=0.8",
        )
    lower = found["metric"].startswith(_LOWER_IS_BETTER)
    if lower and found["op"] == ">=":  # it would hold whatever came back
        raise DatasetError(
            f"{text.strip()!r}: of {found['metric']} less is better",
            hint=f"write {found['metric']}<={found['bound']}",
        )
    return Rule(found["metric"], bound, lower or found["op"] == "<=", found["category"])


def check_rules(rules: Sequence[Rule], ks: Sequence[int], queries: Sequence[Query]) -> None:
    """What can be known to be wrong before anything is measured is said before."""
    asked = {
        category: asked_figures([q for q in queries if q.category == category], ks)
        for category in sorted({query.category for query in queries})
    }
    overall = asked_figures(queries, ks, headline=True)
    for rule in rules:
        if rule.metric == DEGRADED:
            _check_degraded(rule)
            continue
        if rule.metric not in figure_names(ks):
            raise _unmeasured(rule.metric, figure_names(ks))
        if rule.category is not None and rule.category not in asked:
            raise _unheard_of(rule.category, asked)
        if rule.metric not in (overall if rule.category is None else asked[rule.category]):
            raise _unasked(rule)


def _check_degraded(rule: Rule) -> None:
    if rule.category is not None:
        raise DatasetError(
            f"{DEGRADED!r} is counted of all recalls, not of a category",
            hint=f"write {DEGRADED}<={rule.bound:g}",
        )


def _unasked(rule: Rule) -> DatasetError:
    where = f" of the category {rule.category!r}" if rule.category else ""
    name = rule.metric.partition("@")[0]
    return DatasetError(
        f"no query{where} asks for {rule.metric!r}",
        hint=f"it is measured of queries with {_MEASURED_OF.get(name, _GOLD)}",
    )


def _unmeasured(metric: str, measured: Iterable[str]) -> DatasetError:
    there = ", ".join(measured) or "nothing, for no query can be judged"
    return DatasetError(f"{metric!r} is not measured here", hint=f"measured: {there}")


def _unheard_of(category: str, categories: Iterable[str]) -> DatasetError:
    return DatasetError(
        f"no query has the category {category!r}", hint="categories here: " + ", ".join(categories)
    )


def judge(
    rules: Sequence[Rule],
    overall: Mapping[str, Figure],
    by_category: Mapping[str, Mapping[str, Figure]],
    *,
    degraded: float = 0.0,
) -> tuple[Verdict, ...]:
    """A rule about a figure that was not measured is an error: a gate must not pass by absence. Nor by figures of
    something else: where recalls did without a part (`degraded`, their share) and no rule allows it, it fails."""
    if degraded and all(rule.metric != DEGRADED for rule in rules):
        rules = (*rules, Rule(DEGRADED, 0.0, at_most=True))
    return tuple(_judge(rule, overall, by_category, degraded) for rule in rules)


def _judge(
    rule: Rule,
    overall: Mapping[str, Figure],
    by_category: Mapping[str, Mapping[str, Figure]],
    degraded: float,
) -> Verdict:
    if rule.metric == DEGRADED:
        return Verdict(rule, degraded, rule.holds(degraded))
    if rule.category is not None and rule.category not in by_category:
        raise _unheard_of(rule.category, by_category)
    figures = overall if rule.category is None else by_category[rule.category]
    if rule.metric not in figures:
        raise _unmeasured(rule.metric, figures)
    value = figures[rule.metric].value
    return Verdict(rule, value, rule.holds(value))

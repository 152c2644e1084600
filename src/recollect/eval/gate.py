"""The quality gate: "recall@10=0.8, mrr>=0.5, forbidden@10<=0" against a report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.eval.metrics import Figure
from recollect.eval.trouble import DatasetError

_RULE = re.compile(
    r"^\s*(?P<metric>[a-z_-]+(?:@\d+(?:tokens)?)?)\s*(?:\[(?P<category>[^\]]+)\])?"
    r"\s*(?P<op>>=|<=|=)\s*(?P<bound>\d+(?:\.\d+)?|\.\d+)\s*$"
)
_EXAMPLE = 'write e.g. "recall@10=0.8, forbidden@10<=0"'


@dataclass(frozen=True, slots=True)
class Rule:
    metric: str
    bound: float
    at_most: bool = False
    category: str | None = None

    def __str__(self) -> str:
        where = f"[{self.category}]" if self.category else ""
        return f"{self.metric}{where} {'<=' if self.at_most else '>='} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Verdict:
    rule: Rule
    value: float
    passed: bool


def parse_rules(text: str) -> tuple[Rule, ...]:
    """`metric=value` and `>=` set a floor, `<=` a ceiling; `metric[category]` narrows it."""
    rules = tuple(_rule(part) for part in re.split(r"[,;]", text) if part.strip())
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
    return Rule(found["metric"], bound, found["op"] == "<=", found["category"])


def judge(
    rules: Sequence[Rule],
    overall: Mapping[str, Figure],
    by_category: Mapping[str, Mapping[str, Figure]],
) -> tuple[Verdict, ...]:
    """A rule about a figure that was not measured is an error: a gate must not pass by absence."""
    return tuple(_judge(rule, overall, by_category) for rule in rules)


def _judge(
    rule: Rule, overall: Mapping[str, Figure], by_category: Mapping[str, Mapping[str, Figure]]
) -> Verdict:
    if rule.category is not None and rule.category not in by_category:
        raise DatasetError(
            f"no query has the category {rule.category!r}",
            hint="categories here: " + ", ".join(by_category),
        )
    figures = overall if rule.category is None else by_category[rule.category]
    if rule.metric not in figures:
        raise DatasetError(
            f"{rule.metric!r} was not measured", hint="measured: " + ", ".join(figures)
        )
    value = figures[rule.metric].value
    return Verdict(rule, value, value <= rule.bound if rule.at_most else value >= rule.bound)

"""A small chart parser: rules over categories, tried bottom-up from right to left.

A rule is a line such as `@rule("T", "REL UNIT")`: its output category, and the categories
that must stand side by side. Capitals are captured and handed to the function; lower-case
names are function words ("of", "the"), `?` makes an element optional and `|` gives a choice.
Words belong to the lexicon's data files, so the same rules serve every language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeVar

from recollect.language.time.period import Context

Edge = tuple[str, Any, int]  # category, value, index of the token after it
Action = Callable[..., Any]
_Function = TypeVar("_Function", bound=Action)

RULES: list[tuple[str, str, Action]] = []
# A pathological text must not make the reader slow: no real phrase comes near these.
_EDGES_PER_TOKEN = 160


def rule(output: str, *patterns: str) -> Callable[[_Function], _Function]:
    """Declare a rule. The function may return None, or raise ValueError, to decline."""

    def declare(action: _Function) -> _Function:
        RULES.extend((output, pattern, action) for pattern in patterns)
        return action

    return declare


@dataclass(slots=True)
class Node:
    children: dict[str, Node] = field(default_factory=dict[str, "Node"])
    actions: list[tuple[str, Action, tuple[int, ...]]] = field(
        default_factory=list[tuple[str, Action, tuple[int, ...]]]
    )


def _variants(pattern: str) -> Iterator[tuple[str, ...]]:
    choices: list[list[str | None]] = []
    for element in pattern.split():
        names: list[str | None] = [*element.rstrip("?").split("|")]
        choices.append([*names, None] if element.endswith("?") else names)
    for variant in product(*choices):
        yield tuple(name for name in variant if name is not None)


def compile_rules(rules: list[tuple[str, str, Action]]) -> Node:
    """Put all the rules in one trie over categories."""
    root = Node()
    for output, pattern, action in rules:
        for variant in _variants(pattern):
            node = root
            for name in variant:
                node = node.children.setdefault(name, Node())
            captured = tuple(place for place, name in enumerate(variant) if name[0].isupper())
            node.actions.append((output, action, captured))
    return root


class Chart:
    """All the edges of one text. Edges that begin further right are complete first."""

    def __init__(self, root: Node, lexical: list[list[Edge]], contexts: Sequence[Context]) -> None:
        self.edges: list[list[Edge]] = [[] for _ in range(len(lexical) + 1)]
        for position in range(len(lexical) - 1, -1, -1):
            if lexical[position]:
                self._context = contexts[position]
                self._fill(root, position, lexical[position])

    def _fill(self, root: Node, position: int, lexical: list[Edge]) -> None:
        agenda = list(lexical)
        seen: set[tuple[int, str, int]] = set()
        self.edges[position] = agenda
        for category, value, end in agenda:  # grows while it is walked
            node = root.children.get(category)
            if node is not None and len(agenda) < _EDGES_PER_TOKEN:
                self._walk(node, end, [value], agenda, seen)

    def _walk(
        self,
        node: Node,
        end: int,
        values: list[Any],
        agenda: list[Edge],
        seen: set[tuple[int, str, int]],
    ) -> None:
        for output, action, captured in node.actions:
            key = (id(action), output, end)
            if key in seen and output != "T":
                continue
            made = self._apply(action, [values[place] for place in captured])
            if made is not None:
                seen.add(key)
                agenda.append((output, made, end))
        if node.children:
            for category, value, after in self.edges[end]:
                child = node.children.get(category)
                if child is not None:
                    self._walk(child, after, [*values, value], agenda, seen)

    def _apply(self, action: Action, values: list[Any]) -> Any:
        try:
            return action(self._context, *values)
        except (ValueError, OverflowError):
            # Not an error of ours: the words name no time that exists (30 February).
            return None

"""Tags as somebody remembers them: "typsecript" still means what is tagged typescript."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from recollect.recall.request import DEEPEST_GROUP, tag_filter

ALIKE = 0.3  # share of the trigrams of either that both have


def spelled(groups: Any, known: Callable[[], Iterable[str]]) -> Any:
    """The groups in the bank's own words; it is asked for its tags only where that matters."""
    given = _read(groups)
    tag_filter(None, "any", given)  # checked before anybody walks through it
    if not _asks(given):
        return given
    tags = list(known())
    return [_resolved(group, tags) for group in given]


def _read(given: Any, depth: int = 0) -> Any:
    """As lists and dicts: a set or a tuple of tags is as good as a list, and some can be read only once.
    Deeper than a group may be, nobody looks."""
    if depth > 2 * DEEPEST_GROUP or isinstance(given, str | bytes):
        return given
    if isinstance(given, Mapping):
        parts = cast("Mapping[Any, Any]", given)
        return {name: _read(part, depth + 1) for name, part in parts.items()}
    if isinstance(given, Iterable):
        return [_read(part, depth + 1) for part in cast("Iterable[Any]", given)]
    return given


def _asks(groups: Any) -> bool:
    """Whether any leaf of these groups wants its tags resolved."""
    if isinstance(groups, Mapping):
        group = cast("Mapping[str, Any]", groups)
        return group.get("resolve") == "fuzzy" or any(_asks(v) for v in group.values())
    return isinstance(groups, list) and any(_asks(g) for g in cast("list[Any]", groups))


def _resolved(given: Mapping[str, Any], known: Iterable[str]) -> Mapping[str, Any]:
    """The group with every fuzzy leaf's tags replaced by those of the bank that are like them. A
    tag that is like none stays as it is, and matches nothing."""
    if "tags" in given:
        return _leaf(given, known) if given.get("resolve") == "fuzzy" else given
    return {
        name: [_resolved(g, known) for g in cast("list[Any]", part)]
        if isinstance(part, list)
        else _resolved(part, known)
        for name, part in given.items()
    }


def _leaf(given: Mapping[str, Any], known: Iterable[str]) -> Mapping[str, Any]:
    match = given.get("match", "any_strict")
    found = [alike(tag, known) for tag in given["tags"]]
    if not found:
        return given
    if match == "exact":  # a set is the same or it is not: each becomes the one it is most like
        return {"tags": [tags[0] for tags in found], "match": match}
    if str(match).startswith("any"):
        return {"tags": list(dict.fromkeys(t for tags in found for t in tags)), "match": match}
    every = {"and": [{"tags": tags, "match": "any_strict"} for tags in found]}
    untagged: Mapping[str, Any] = {"tags": [], "match": "exact"}
    return every if str(match).endswith("_strict") else {"or": [every, untagged]}


def alike(tag: str, known: Iterable[str]) -> list[str]:
    """Itself, if the bank has it; else those that share enough of it, best first; else itself."""
    names = list(known)
    if tag in names:
        return [tag]
    own = _trigrams(tag)
    scored = [(_share(own, _trigrams(name)), name) for name in names]
    near = sorted((-score, name) for score, name in scored if score >= ALIKE)
    return [name for _, name in near] or [tag]


def _trigrams(text: str) -> frozenset[str]:
    padded = f"  {text.casefold()} "
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def _share(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b)

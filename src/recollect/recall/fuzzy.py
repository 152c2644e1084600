"""Tags as somebody remembers them: "typsecript" still means what is tagged typescript."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from recollect.recall.request import tag_filter

ALIKE = 0.3  # share of the trigrams of either that both have


def spelled(groups: Any, known: Callable[[], Iterable[str]]) -> Any:
    """The groups in the bank's own words; it is asked for its tags only where that matters. What
    can be read only once is left to who reads it."""
    if not groups or not isinstance(groups, Sequence | Mapping):
        return groups
    tag_filter(None, "any", cast("Any", groups))  # checked before anybody walks through it
    if not _asks(groups):
        return cast("Any", groups)
    tags = list(known())
    return [_resolved(group, tags) for group in cast("Sequence[Any]", groups)]


def _asks(groups: Any) -> bool:
    """Whether any leaf of these groups wants its tags resolved."""
    if isinstance(groups, Mapping):
        group = cast("Mapping[str, Any]", groups)
        return group.get("resolve") == "fuzzy" or any(_asks(v) for v in group.values())
    if isinstance(groups, Sequence) and not isinstance(groups, str):
        return any(_asks(g) for g in cast("Sequence[Any]", groups))
    return False


def _resolved(group: Any, known: Iterable[str]) -> Any:
    """The group with every fuzzy leaf's tags replaced by those of the bank that are like them. A
    tag that is like none stays as it is, and matches nothing."""
    if not isinstance(group, Mapping):
        return group
    given = cast("Mapping[str, Any]", group)
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
    if not isinstance(given["tags"], list):  # refused where all tags are checked
        return given
    found = [alike(tag, known) for tag in cast("list[Any]", given["tags"])]
    if match == "exact":  # a set is the same or it is not: each becomes the one it is most like
        return {"tags": [tags[0] for tags in found], "match": match}
    if str(match).startswith("any"):
        return {"tags": list(dict.fromkeys(t for tags in found for t in tags)), "match": match}
    every = {"and": [{"tags": tags, "match": "any_strict"} for tags in found]}
    untagged: Mapping[str, Any] = {"tags": [], "match": "exact"}
    return every if str(match).endswith("_strict") else {"or": [every, untagged]}


def alike(tag: Any, known: Iterable[str]) -> list[Any]:
    """Itself, if the bank has it; else those that share enough of it, best first; else itself."""
    if not isinstance(tag, str):
        return [tag]
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

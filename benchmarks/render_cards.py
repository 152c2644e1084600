"""The tables of figures in the model cards and in mcp.md, from the results that the page is rendered from.

A table stands between two comments, which name it: `<!-- shipped: begin -->` and `<!-- shipped: end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SETS = {
    "chats": "our chats",
    "assistants": "assistants and agents",
    "notes": "notes, records and articles",
    "answers": "long answers",
    "lifebench": "LifeBench",
    "friendsqa": "FriendsQA",
    "timeqa": "TimeQA",
    "musique": "MuSiQue-100",
    "hotpot": "HotpotQA-100",
    "scifact": "SciFact",
    "realmem-as-of": "RealMem as of then",
}
LEAN = {
    "story": "demo story",
    "realmem": "RealMem (long messages)",
    "lifebench": "LifeBench (phone records)",
    "friendsqa": "FriendsQA (dialogues)",
}
_TABLE = re.compile(r"(<!-- (\w+): begin -->\n).*?(<!-- \2: end -->)", re.DOTALL)
_LATE = "without cross-encoder"


def cards(result: Json, docs: Path) -> dict[str, str]:
    """Path under docs/ → the card with its tables made anew."""
    tables = {name: [*table(result["sets"])] for name, table in _TABLES.items()}
    written = {path: path.read_text("utf-8") for path in sorted(docs.glob("model-cards/*.md"))}
    return {
        path.relative_to(docs).as_posix(): _filled(text, tables) for path, text in written.items()
    }


def answers(result: Json, docs: Path) -> dict[str, str]:
    """The page about agents, with what `lean.py` printed."""
    text = (docs / "mcp.md").read_text("utf-8")
    return {"mcp.md": _filled(text, {"lean": lean(result["printed"])})}


def _filled(text: str, tables: Mapping[str, Iterable[str]]) -> str:
    held = {name: "\n".join(lines) for name, lines in tables.items()}
    return _TABLE.sub(lambda found: f"{found[1]}\n{held[found[2]]}\n\n{found[3]}", text)


def lean(printed: str) -> Iterator[str]:
    yield "| | lean | full | saved | lean, then load the best hit | saved of the object |"
    yield "|---|---|---|---|---|---|"
    for line in printed.splitlines():
        name, *rest = line.split() or [""]
        if name in LEAN:
            few, many, saved, _, _, of_object, steps = rest[:7]
            texts = (f"{int(few):,}", f"{int(many):,}", saved, f"{int(steps):,}", of_object)
            yield f"| {LEAN[name]} | {' | '.join(texts).replace('%', ' %')} |"


def shipped(sets: Json) -> Iterator[str]:
    yield "| | NDCG@10 |"
    yield "|---|---|"
    for name, one in _measured(sets):
        yield f"| {SETS[name]} | {_cell(one['recollect']['overall'])} |"


def vectors(sets: Json) -> Iterator[str]:
    """Where parts were measured alone, too."""
    yield "| NDCG@10 | MiniLM, cosine | cosine alone | recall without the cross-encoder |"
    yield "|---|---|---|---|"
    for name, one in _measured(sets):
        if parts := one["recollect"].get("ablations"):
            figures = one["MiniLM"]["overall"], parts["only semantic"], parts[_LATE]
            yield f"| {SETS[name]} | {' | '.join(map(_cell, figures))} |"


_TABLES: dict[str, Callable[[Json], Iterator[str]]] = {"shipped": shipped, "vectors": vectors}


def _measured(sets: Json) -> Iterator[tuple[str, Json]]:
    return ((name, sets[name]["systems"]) for name in SETS if name in sets)


def _cell(figures: Json) -> str:
    value, low, high = (100 * figures["ndcg@10"][key] for key in ("value", "low", "high"))
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"

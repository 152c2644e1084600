"""The tables of figures in the model cards, from the results that the page is rendered from.

A table stands between two comments, which name it: `<!-- shipped: begin -->` and `<!-- shipped: end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
_TABLE = re.compile(r"(<!-- (\w+): begin -->\n).*?(<!-- \2: end -->)", re.DOTALL)
_LATE = "without cross-encoder"


def cards(result: Json, docs: Path) -> dict[str, str]:
    """Path under docs/ → the card with its tables made anew."""

    def made(found: re.Match[str]) -> str:
        lines = "\n".join(_TABLES[found[2]](result["sets"]))
        return f"{found[1]}\n{lines}\n\n{found[3]}"

    written = {path: path.read_text("utf-8") for path in sorted(docs.glob("model-cards/*.md"))}
    return {
        path.relative_to(docs).as_posix(): _TABLE.sub(made, text) for path, text in written.items()
    }


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

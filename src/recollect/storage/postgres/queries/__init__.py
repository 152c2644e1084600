"""Named queries, from the .sql files beside this one: `-- name: …`, then the statement."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


@cache
def queries() -> dict[str, str]:
    """Every named query; a name is used once over all files."""
    found: dict[str, str] = {}
    for file in sorted(files(__name__).iterdir(), key=lambda f: f.name):
        if file.name.endswith(".sql"):
            parts = _NAME.split(file.read_text("utf-8"))
            for name, text in zip(parts[1::2], parts[2::2], strict=True):
                if name in found:
                    raise ValueError(f"two queries are called {name}")
                found[name] = text.strip()
    return found


SEEN = "f.state <= 1"  # active or superseded: the filter of whoever gives none
WITHDRAWN = "f.state > 1"


@lru_cache(maxsize=1024)
def query(name: str, allowed: str = "true", dimensions: int = 0, order: str = "") -> bytes:
    """A query with its filter, the length of its vectors and its order filled in."""
    # Looking up what is withdrawn, hardly anything, costs a third of reading each row's state.
    anti, joined, kept = (
        ("LEFT ", WITHDRAWN, "f.key IS NULL") if allowed == SEEN else ("", allowed, "true")
    )
    text = queries()[name].replace("{allowed}", allowed).replace("{order}", order)
    text = text.replace("{anti}", anti).replace("{joined}", joined).replace("{kept}", kept)
    return text.replace("{dimensions}", str(int(dimensions))).encode()
